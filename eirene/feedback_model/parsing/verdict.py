"""The verdict on one sentence: its number, tag and reason in running text, compared with the answer's statements.

Every pattern is anchored where it is tried and bounded, so that parsing takes time linear in the reply.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace

from eirene.core.critique import Tag
from eirene.core.memo import memoised
from eirene.feedback_model.parsing.vocabulary import LABELS, NO, REASONS, TAGS, VERDICTS, YES, fold, is_reason, stream
from eirene.models.reply_text import UnreadableError
from eirene.text.remembered import remembered
from eirene.text.sentences import Sentence

# A word of any script, its combining marks included: whatever is no space, digit, dressing or punctuation.
_TICKS = "✅✔✓☑❌✗✘❎⚠🟢🔴🟡\ufe0f"
_WORD = r"[^\s\d.,:;!?()\[\]{}<>*_`~\"'“”‘’«»|/\\=#№。，；：！？、．（）［］【】〔〕「」『』–—→" + _TICKS + r"-]{1,24}"
_WORDS = re.compile(rf"{_WORD}(?:[ \u00A0]{_WORD}){{0,2}}")
_DRESS = re.compile(r"[\s*_`\"'“”‘’" + _TICKS + "]{0,12}")  # emphasis, quotes, ticks; not "~": struck out
_BRACKETED = re.compile(r"[\[［【〔「『(（<{]([^\[\]［］【】〔〕「」『』()（）<>{}\n]{1,40})[\]］】〕」』)）>}]")
_IN_BRACKETS = re.compile(r"[\[［【〔]([^\[\]［］【】〔〕\n]{1,40})[\]］】〕]")
# A bare word is a verdict only where it is set off from what follows: "Complete nonsense" is none.
_SET_OFF = re.compile(r"[*_`\"'”’]{0,6}(?:[.:;,!。：；，！、|—–→(（]|\s{1,8}[-–—→=(（|]|\s{0,60}$)")
_ASKED = re.compile(r"[\s*_`\])]{0,6}[?？]")
_ANSWERED = re.compile(rf"[\s*_`\])]{{0,6}}[?？:：=,-]{{0,3}}[\s*_`]{{0,6}}({_WORD})[*_`]{{0,3}}(?:$|[.,;!。，])")
_COLON = re.compile(r"[*_`]{0,3}\s{0,3}[:：=-]")
_GLUE = re.compile(r"[\s*_`\"'“”‘’«»)\]|.,;:!?…。！？：—–→=>-]{0,24}")
_NUMBER = re.compile(
    rf"[*_`]{{0,4}}(?P<label>{_WORD}(?: {_WORD})?)?(?P<of>\s{{0,3}}(?:no\.?|nr\.?|n°|№)?\s{{0,3}}\.?\s{{0,2}})?"
    r"(?P<hash>[#№]{0,2})(?P<open>[(（\[［【])?[#№]?(?P<n>\d{1,6})(?P<close>[)）\]］】])?(?P<unit>[句条項号番번])?[*_`]{0,4}"
    r"(?P<sep>\s{1,8}(?:is|ist|est|es|è)\b|\s{0,8}(?:[.:)）、．：。=|]|=>|->|[-–—→](?=\s|\[))[.:]?|)[*_`]{0,4}\s{0,8}",
    re.IGNORECASE,
)
_NEAR_DIGIT = re.compile(r"\D{0,40}\d")
_MARKED = re.compile(r"[\[［【〔「『(（<{✅✔✓☑❌✗✘❎⚠🟢🔴🟡]|$")
_SEPARATOR = re.compile(r"[\s*_`\"”’]{0,8}(?:[:：.。,，;；!]|[-–—→|=>]{1,3}(?=\s|$))?[\s*_`]{0,8}")
_REASON_WORD = re.compile(
    rf"[\s*_`(\[<]{{0,8}}({_WORD}(?: {_WORD})?)(?:\(s\))?[*_`)\]>]{{0,6}}\s{{0,4}}"
    r"(?:[:：=]|[-–—→.](?=\s)|$)[\s*_`)\]>]{0,8}",
    re.IGNORECASE,
)
_BECAUSE = re.compile(r"\s{0,8}because\s", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W_]{1,200}")
_ANY_NUMBER = re.compile(r"(?<!\d)\d{1,6}[.:)\s]{1,3}")
_KEPT = 64  # answers whose samples come in side by side
_KEPT_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of the answer as it may come back in a reply: its number by place, and its letters and digits."""

    n: int
    text: str
    stream: str
    begins_with_tag: bool


def statements_of(sentences: Sequence[Sentence]) -> list[Statement]:
    """The statements that a reply is compared with."""
    return [Statement(n, s.text, stream(s.text), tag_at(s.text) is not None) for n, s in enumerate(sentences, start=1)]


@dataclass(frozen=True, slots=True)
class StatementVerdict:
    """A verdict on sentence `n` (from 1; None where the reply gives no number), and the text that it was read from.

    `comment` is all that is said beside the tag; of an Incomplete it is the reason.
    """

    n: int | None
    tag: Tag
    reason: str | None
    raw: str
    comment: str = ""


def fold_space(text: str) -> str:
    """The text on one line, with single spaces."""
    return " ".join(text.split())


@remembered(4096, longest=400)
def number_at(text: str, at: int = 0) -> tuple[int, int] | None:
    """A sentence's number at a place, with the place after it and its separator; None where there is none.

    "3 complete" may be a count: a number without separator needs a bracket, a label, or a bracketed tag after it.
    """
    found = _NUMBER.match(text, at) if _NEAR_DIGIT.match(text, at) else None
    if found is None or not all(word in LABELS for word in fold(found["label"] or "").split()):
        return None
    has_open, close = found["open"] is not None, found["close"]
    if has_open != (close is not None) and (has_open or close not in (")", "）")):
        return None
    is_set_off = any(found.group("label", "hash", "close", "unit", "sep")) or _MARKED.match(text, found.end())
    return (int(found["n"]), found.end()) if is_set_off else None


@remembered(4096, longest=400)
def tag_at(text: str, at: int = 0) -> tuple[Tag, int] | None:
    """A tag at a place, with the place after it. "Complete?" asks and "Complete: no" is unclear: neither is one."""
    at = _past(_DRESS, text, at)
    label = _words_at(text, at, VERDICTS)
    colon = _COLON.match(text, label) if label else None
    at = _past(_DRESS, text, colon.end()) if colon else at
    bracketed = _BRACKETED.match(text, at)
    if bracketed:
        tag, end = TAGS.get(fold(bracketed.group(1).strip("*_`\"' "))), bracketed.end()
        if tag is None or (
            text[end : end + 1].isascii() and text[end : end + 1].isalpha() and not _reason_at(text, end)
        ):
            return None
    else:
        end = _words_at(text, at, TAGS) or at
        if end == at or not (_SET_OFF.match(text, end) or _reason_at(text, end) or _BECAUSE.match(text, end)):
            return None
        tag = TAGS[fold(text[at:end])]
    answered = _ANSWERED.match(text, end)
    word = fold(answered.group(1)) if answered else ""
    # "[Incomplete] No, it does not" is a reason; "Incomplete: no" and "[Complete] No." could mean anything.
    is_open = word in NO or word in YES if not bracketed else tag == "Complete" and word in NO
    return None if is_open or _ASKED.match(text, end) else (tag, end)


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at


def _words_at(text: str, at: int, known: Container[str]) -> int | None:
    """The place after the longest known run of one to three words."""
    found = _WORDS.match(text, at)
    end = found.end() if found else at
    while end > at:
        if fold(text[at:end]) in known:
            return end
        end = max(text.rfind(" ", at, end), text.rfind("\u00a0", at, end))
    return None


def _reason_at(text: str, at: int) -> int | None:
    """The place after the word "Reasons:", in any of the languages."""
    found = _REASON_WORD.match(text, at)
    return found.end() if found and fold(found.group(1)) in REASONS else None


@remembered(4096, longest=400)
def reason_in(text: str) -> str:
    """The reason in what follows a tag: without separator, without the word "Reasons:", on one line."""
    at = _past(_SEPARATOR, text, 0)
    marked = _reason_at(text, at) or _past(_BECAUSE, text, at)
    return fold_space(text[marked:]).rstrip("*_` ")


def bracketed_tags(text: str) -> list[Tag]:
    """Every tag in square brackets in a text, in order."""
    said = (fold(inner.strip("*_`\"' ")) for inner in _IN_BRACKETS.findall(text))
    return [TAGS[word] for word in said if word in TAGS]


def after_echo(text: str, at: int, statement: Statement) -> int | None:
    """The place after a repetition of the statement, whatever its punctuation; None where there is none."""
    wanted, matched = statement.stream, 0
    if not wanted:
        return None
    for found in _LETTERS.finditer(text, at):
        said = found.group().casefold()
        if not wanted.startswith(said, matched):
            return None
        matched += len(said)
        if matched == len(wanted):
            return None if text[found.end() : found.end() + 1].isalnum() else found.end()
    return None


def verdict_at(text: str, at: int, statement: Statement | None) -> tuple[Tag, int] | None:
    """The verdict on a statement at a place: right there or after a repetition of the statement; None if there is none.

    Raises `UnreadableError` where a tag may be the model's or the statement's own.
    """
    end = after_echo(text, at, statement) if statement is not None else None
    if statement is None or end is None:
        return tag_at(text, at)
    if statement.begins_with_tag:
        raise UnreadableError(f"ambiguous: sentence {statement.n} begins with a tag and the reply repeats it")
    glue = _GLUE.match(text, end)
    return tag_at(text, end) or tag_at(text, glue.end() if glue else end)


def holds_tag(text: str) -> bool:
    """Whether a text has something in it that reads as a verdict: a tag in brackets, or a numbered or leading tag."""
    starts = [0, *(found.end() for found in _ANY_NUMBER.finditer(text))]
    return bool(bracketed_tags(text)) or any(tag_at(text, at) is not None for at in starts)


def assign(claims: Sequence[StatementVerdict], n_sentences: int, *, has_numbers: bool) -> list[StatementVerdict]:
    """Gives unnumbered claims their numbers by order: only where all are unnumbered and there is one a sentence.

    `has_numbers` says that other lines have numbers: then the order may not be the answer's.
    """
    loose = [c for c in claims if c.n is None]
    if not loose:
        return list(claims)
    if len(loose) != len(claims) or has_numbers:
        raise UnreadableError("ambiguous: verdicts with and without a number")
    if len(loose) != n_sentences:
        what = "missing" if len(loose) < n_sentences else "extra"
        raise UnreadableError(f"{what}: {len(loose)} verdicts without numbers for {n_sentences} sentences")
    return [replace(claim, n=n) for n, claim in enumerate(claims, start=1)]


def settle(claims: Sequence[StatementVerdict], n_sentences: int) -> list[StatementVerdict]:
    """One claim a sentence, in order. Raises `UnreadableError` for a missing, further or contradictory one."""
    held: dict[int, StatementVerdict] = {}
    for claim in claims:
        n = claim.n or 0
        if not 1 <= n <= n_sentences:
            raise UnreadableError(f"extra: sentence {n}")
        before = held.get(n)
        if before is not None and before.tag != claim.tag:
            raise UnreadableError(f"conflict: sentence {n}")
        if before is not None and before.reason and claim.reason and fold(before.reason) != fold(claim.reason):
            raise UnreadableError(f"conflict: sentence {n} has two reasons")
        if before is None or not before.reason:
            held[n] = claim
    for n in range(1, n_sentences + 1):
        if n not in held:
            raise UnreadableError(f"missing: sentence {n}")
        if held[n].tag == "Incomplete" and not is_reason(held[n].reason or ""):
            raise UnreadableError(f"no reason: sentence {n}")
    return [held[n] for n in range(1, n_sentences + 1)]


@dataclass(frozen=True, slots=True)
class AnswerRead:
    """An answer's statements, whether any holds what reads as a verdict, and the bracketed tags in them."""

    statements: tuple[Statement, ...]
    is_suspect: bool
    tags: frozenset[Tag]


def answer_read(sentences: Sequence[Sentence]) -> AnswerRead:
    """The answer of these sentences. The latest few are remembered: a critique is sampled twenty times and more."""
    return _read(tuple(sentences))


@memoised(_KEPT, small=lambda sentences: sum(len(s.text) for s in sentences) <= _KEPT_CHARACTERS)
def _read(sentences: tuple[Sentence, ...]) -> AnswerRead:
    statements = tuple(statements_of(sentences))
    return AnswerRead(
        statements,
        is_suspect=any(holds_tag(s.text) for s in statements),
        tags=frozenset(tag for s in statements for tag in bracketed_tags(s.text)),
    )
