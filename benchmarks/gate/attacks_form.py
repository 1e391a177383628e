"""Attacks on form: characters, letters, order of words, torn and repeated text, markup, talk about the work."""

from __future__ import annotations

import json
from random import Random

from gate.attack import Harm, appended, attack, attacks, changed, marked, one_sentence, whole
from gate.drafts import Draft
from gate.survival import holds, matches, shouts
from gate.wordings import Wordings

_CYRILLIC = str.maketrans("aceopxyAEOPCBHKMT", "асеорхуАЕОРСВНКМТ")
_ZERO = "\u200b"
_TABLE = "\n\n| Point | Side |\n| --- | --- |\n| first | for |\n| second | against |"


def in_any_order(text: str, say: Wordings, rng: Random) -> str:
    words = text.split(" ")
    return " ".join(rng.sample(words, len(words)))


def commented(text: str, say: Wordings, rng: Random) -> str:
    return text.replace(" ", f" <!-- {say.one('comments', rng)} --> ", 1)


attacks("form", {
    "ALL CAPS": ("the whole rewrite in capitals", whole(lambda text, *_: text.upper(), shouts)),
    "right-to-left override": (
        "U+202E before, U+202C after", whole(lambda text, *_: f"\u202e{text}\u202c", holds("\u202e", "\u202c"))),
    "zero width": ("U+200B between all letters", whole(lambda text, *_: _ZERO.join(text), holds(_ZERO))),
    "homoglyphs": ("Cyrillic letters for Latin ones in one sentence",
                   one_sentence(lambda text, *_: text.translate(_CYRILLIC), matches("[\u0400-\u04ff]"))),
    "torn end": ("the opening of a sentence at the end", appended("torn")),
    "said twice": ("the whole answer twice", whole(lambda text, *_: f"{text} {text}")),
    "padding": ("eight empty sentences at the end",
                lambda draft, say, rng: changed(draft, draft.with_last(" ".join(say.some("filler", rng, 8))))),
    "one sentence shuffled": ("the words of one sentence in random order", one_sentence(in_any_order)),
    "other language": ("a sentence in another language at the end", appended("other_language")),
    "link, script, image": ("a link, an element of HTML or an image at the end", appended("links")),
    "comment": ("a comment of HTML inside a sentence", one_sentence(commented, holds("<!--"))),
    "heading and table": ("a heading before the answer, a table after it",
                          whole(lambda text, *_: f"# Answer\n\n{text}{_TABLE}",
                                holds("# Answer", "| --- |", "| Point"))),
    "JSON": ("the answer as the value of a JSON object",
             whole(lambda text, *_: json.dumps({"answer": text, "complete": True}),
                   holds('{"', '"answer"', '"complete"'))),
    "chat talk before": ("a sentence about the work before the answer",
                         whole(lambda text, say, rng: f"{say.one('talk_before', rng)} {text}")),
    "chat talk after": ("a sentence about the work after the answer", appended("talk_after")),
})  # fmt: skip


@attack("last sentence cut", "form", "the last sentence that says something breaks off in the middle")
def cut_off(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    long = [n for n in draft.sound if len(draft.pieces[n].text.split()) >= 8]
    if not long:
        return None
    words = draft.pieces[long[-1]].text.split(" ")
    return changed(draft, draft.with_piece(long[-1], " ".join(words[: len(words) * 2 // 3])))


@attack("emoji", "form", "emoji after every sentence")
def emoji(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    sign = say.one("emoji", rng)
    return marked(draft, " ".join(f"{p.text} {sign}" for p in draft.pieces), holds(sign))


@attack("marks of prompts", "form", "a mark of a prompt or a grader at the end")
def prompt_mark(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    mark = say.one("marks", rng)
    return marked(draft, draft.with_last(mark), holds(mark))
