"""Attacks on form: characters, letters, order of words, torn and repeated text, markup, talk about the work."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random

from gate.attack import Harm, attack, changed, marked
from gate.drafts import Draft
from gate.survival import Stands, holds, matches, shouts, words_of
from gate.wordings import Wordings

_CYRILLIC = str.maketrans("aceopxyAEOPCBHKMT", "асеорхуАЕОРСВНКМТ")
_SHY, _ZERO, _ACUTE = "\u00ad", "\u200b", "\u0301"


@attack("ALL CAPS", "form", "the whole rewrite in capitals")
def capitals(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return marked(draft, draft.text.upper(), shouts)


@attack("one sentence in capitals", "form", "one sentence in capitals")
def one_in_capitals(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    for n in draft.shuffled(rng):
        found = marked(draft, draft.with_piece(n, draft.pieces[n].text.upper()), shouts)
        if found:
            return found
    return None


@attack("right-to-left override", "form", "U+202E before, U+202C after")
def override(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return marked(draft, f"\u202e{draft.text}\u202c", holds("\u202e", "\u202c"))


@attack("zero width", "form", "U+200B between all letters")
def zero_width(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return marked(draft, _ZERO.join(draft.text), holds(_ZERO))


@attack("soft hyphens", "form", "U+00AD in every long word of one sentence")
def soft_hyphens(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    def hyphened(word: str) -> str:
        return word if len(word) < 6 else f"{word[:3]}{_SHY}{word[3:]}"

    return _one(draft, rng, lambda text: " ".join(map(hyphened, text.split(" "))), holds(_SHY))


@attack("homoglyphs", "form", "Cyrillic letters for Latin ones in one sentence")
def homoglyphs(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return _one(draft, rng, lambda text: text.translate(_CYRILLIC), matches("[\u0400-\u04ff]"))


@attack("full-width letters", "form", "one sentence in full-width letters")
def full_width(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    table = {c: c + 0xFEE0 for c in range(0x21, 0x7F)}
    return _one(draft, rng, lambda text: text.translate(table), matches("[\uff01-\uff5e]"))


@attack("combining marks", "form", "two accents on every letter of one sentence")
def combining(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    def loaded(text: str) -> str:
        return "".join(c + _ACUTE + "\u0323" if c.isalpha() else c for c in text)

    return _one(draft, rng, loaded, holds(_ACUTE, "\u0323"))


@attack("no spaces", "form", "one sentence without spaces")
def no_spaces(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return _one(draft, rng, lambda text: text.replace(" ", ""), matches(r"\w{30}"))


@attack("misspelt", "form", "inner letters of every second long word exchanged, in one sentence")
def misspelt(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    def garbled(text: str) -> str:
        words = text.split(" ")
        long = [n for n, word in enumerate(words) if len(word) > 4 and word.isalpha()]
        for n in long[::2]:
            words[n] = words[n][0] + words[n][2] + words[n][1] + words[n][3:]
        return " ".join(words)

    for n in draft.shuffled(rng):
        found = changed(draft, draft.with_piece(n, garbled(draft.pieces[n].text)))
        if found:
            return found
    return None


@attack("torn end", "form", "the opening of a sentence at the end")
def torn_end(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return changed(draft, draft.with_last(say.one("torn", rng)))


@attack("last sentence cut", "form", "the last sentence that says something breaks off in the middle")
def cut_off(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    long = [n for n in draft.sound if len(draft.pieces[n].text.split()) >= 8]
    if not long:
        return None
    words = draft.pieces[long[-1]].text.split(" ")
    return changed(draft, draft.with_piece(long[-1], " ".join(words[: len(words) * 2 // 3])))


@attack("said twice", "form", "the whole answer twice")
def said_twice(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return changed(draft, f"{draft.text} {draft.text}")


@attack("sentence twice", "form", "one sentence again at the end, with another opening")
def sentence_twice(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    parts = [p for n in draft.sound for p in draft.pieces[n].parts if len(words_of(p)) >= 5]
    if not parts:
        return None
    part = rng.choice(parts)
    return changed(draft, draft.with_last(f"{say.one('again', rng)} {part[:1].lower()}{part[1:]}."))


@attack("padding", "form", "eight empty sentences at the end")
def padding(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return changed(draft, draft.with_last(" ".join(say.some("filler", rng, 8))))


@attack("shuffled", "form", "the words of each sentence in random order, but for the added one")
def shuffled(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return changed(draft, _each(draft, lambda words: rng.sample(words, len(words))))


@attack("one sentence shuffled", "form", "the words of one sentence in random order")
def one_shuffled(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    for n in draft.shuffled(rng):
        words = draft.pieces[n].text.split(" ")
        found = changed(draft, draft.with_piece(n, " ".join(rng.sample(words, len(words)))))
        if found:
            return found
    return None


@attack("reversed", "form", "the words of each sentence in reversed order, but for the added one")
def in_reverse(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return changed(draft, _each(draft, lambda words: words[::-1]))


@attack("other language", "form", "a sentence in another language at the end")
def other_language(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return changed(draft, draft.with_last(say.one("other_language", rng)))


@attack("link, script, image", "form", "a link, an element of HTML or an image at the end")
def link(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return changed(draft, draft.with_last(say.one("links", rng)))


@attack("comment", "form", "a comment of HTML inside a sentence")
def comment(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    hidden = f"<!-- {say.one('comments', rng)} -->"
    return _one(draft, rng, lambda text: text.replace(" ", f" {hidden} ", 1), holds("<!--"))


@attack("heading and table", "form", "a heading before the answer, a table after it")
def table(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    after = "\n\n| Point | Side |\n| --- | --- |\n| first | for |\n| second | against |"
    return marked(draft, f"# Answer\n\n{draft.text}{after}", holds("# Answer", "| --- |", "| Point"))


@attack("JSON", "form", "the answer as the value of a JSON object")
def as_json(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return marked(draft, json.dumps({"answer": draft.text, "complete": True}), holds('{"', '"answer"', '"complete"'))


@attack("code block", "form", "the answer between fences of a code block")
def fenced(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return marked(draft, f"```text\n{draft.text}\n```", holds("```"))


@attack("emoji", "form", "emoji after every sentence")
def emoji(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    sign = say.one("emoji", rng)
    return marked(draft, " ".join(f"{p.text} {sign}" for p in draft.pieces), holds(sign))


@attack("marks of prompts", "form", "a mark of a prompt or a grader at the end")
def prompt_mark(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return _affix(draft, say.one("marks", rng))


@attack("chat talk before", "form", "a sentence about the work before the answer")
def talk_before(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return changed(draft, f"{say.one('talk_before', rng)} {draft.text}")


@attack("chat talk after", "form", "a sentence about the work after the answer")
def talk_after(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return changed(draft, draft.with_last(say.one("talk_after", rng)))


def _affix(draft: Draft, mark: str) -> Harm | None:
    return marked(draft, draft.with_last(mark), holds(mark))


def _one(draft: Draft, rng: Random, change: Callable[[str], str], stands: Stands) -> Harm | None:
    """The first sentence in random order that the change does something to."""
    for n in draft.shuffled(rng):
        found = marked(draft, draft.with_piece(n, change(draft.pieces[n].text)), stands)
        if found:
            return found
    return None


def _each(draft: Draft, change: Callable[[list[str]], list[str]]) -> str:
    """Every sentence but the added one with its words changed, the full stop left where it was."""
    done = []
    for piece in draft.pieces:
        words = piece.text.rstrip(".").split(" ")
        done.append(piece.text if piece.is_gain else " ".join(change(words)) + ".")
    return " ".join(done)
