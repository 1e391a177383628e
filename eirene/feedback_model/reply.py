"""Reads a reply as a critique of completeness: JSON by sentence, numbered lines, or one line with a tag a sentence.

A reply in another form, or one that may mean two things, is an invalid sample with its cause: the vote goes on without
it. The answer may hold tags of its own, to steer the critic, so that a verdict is read only where a line begins or
after the whole of a repeated sentence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from eirene.core.critique import Sample, Tag
from eirene.models.replies import ending
from eirene.models.reply_text import UnreadableError, cleaned_instruct
from eirene.models.structured import json_object
from eirene.text.refusals import is_refusal
from eirene.text.sentences import Sentence

# A reply far longer than any critique of that many sentences is a model that does not stop.
_ROOM = (20_000, 5_000)  # characters: for any reply, and more for each sentence
_LINES = (500, 100)
_SURROGATE = re.compile("[\ud800-\udfff]")  # half a pair, which no record can hold
_LONGEST = 400  # characters of a line beside the verdicts that are looked at, from either end

_LEAD = re.compile(r"[\s*_`•#-]{0,12}")
_NUMBER = re.compile(
    r"(?:(?:answer|response):\s)?(?:(?:statement|sentence)\s)?[\[(#]{0,2}(?P<n>\d{1,6})"
    r"(?:\s?[\])*_`.:=–—-]{1,4}>?|(?= \[))(?![\d-])[\s*_`]{0,6}",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"[\s*_`\"”’.✅❌-]{0,8}(?:[\[(][*_` ]{0,3}(?P<held>(?:not |in)?complete)[*_` ]{0,3}[\])](?![*_`]{0,3}[?/])"
    r"|(?P<bare>(?:not |in)?complete)(?!\s?[:=]\s?(?:yes|no|true|false)\b)"
    r"(?=[*_`\"]{0,3}(?:\s{0,4}(?:[.:;,(–—-]|$)|\s(?:because|reasons?)\b)))",
    re.IGNORECASE,
)
_HELD_TAG = re.compile(r"\[[*_` ]{0,3}((?:in)?complete)[*_` ]{0,3}\]", re.IGNORECASE)
_REASON = re.compile(
    r"[\s*_`.:;,–—>-]{0,12}(?:(?:reasons?|why)[*_]{0,2}(?:[:.]| -)[*_]{0,2}|because\b)?[\s*_`•-]{0,12}", re.IGNORECASE
)
_NO_REASON = re.compile(
    r"<.*>|\[.*\]|\W*+(?>none|n/?a|null|nothing|no|(?:your |no )?reasons?(?: here)?|unknown|)\W*+", re.I
)
_BACK = (
    r"correction|wait|on second thoughts?|revised|not my (?:verdict|evaluation|judge?ment)"
    r"|(?:ignore|disregard) (?:the|all|any|this)"
)
_TAKEN_BACK = re.compile(rf"\b(?:{_BACK})\b", re.IGNORECASE)
_DOUBT = re.compile(
    rf"\b(?:{_BACK}|examples?|e\.g\.|template|would (?:look|read)|prompt injection|corrected"
    r"|(?:tells?|told|asks|instruct(?:s|ed)|wants?|ordered|tries) (?:me|us|it)\b|was told to|says to|demands"
    r"|i (?:can(?:not|['’]t)|will not|won['’]t|decline|refuse|am (?:unable|not able))\b(?!.{1,80}\bbut\b))|<!--",
    re.IGNORECASE,
)
"""What lines beside the verdicts say where these are not meant, or are not the last word."""
_IN_DOUBT = "ambiguous: what stands beside the verdicts puts them in doubt"


@dataclass(slots=True)
class _SentenceVerdict:
    """A verdict on sentence `n` (None without a number), its line, and all that is said beside the tag, by lines."""

    n: int | None
    tag: Tag
    line: str
    said: list[str]

    @property
    def comment(self) -> str:
        """What is said, on one line without the word "Reasons:"; of an Incomplete its reason."""
        return _comment("\n".join(self.said))


def _comment(said: str) -> str:
    return " ".join(said[_past(_REASON, said) :].split()).rstrip("*_` ")


def read_reply(text: str, sentences: Sequence[Sentence], *, finish_reason: str | None = None) -> Sample:
    """The reply as a sample: one tag a sentence and a reason for every Incomplete, or invalid with a short cause.

    `sentences` are the answer's, numbered by their place. `finish_reason` is the provider's word for why the reply
    ended; a reply cut off or withheld is invalid whatever it holds. Never raises; takes time linear in the reply.
    The causes begin with one of: empty, cut off, withheld, too long, refusal, no verdict, ambiguous, conflict,
    missing, extra, no reason.
    """
    try:
        check_end(finish_reason)
        verdicts = _read(text, sentences)
    except UnreadableError as error:
        return Sample(invalid=str(error))
    reasons = (_SURROGATE.sub("\ufffd", v.comment) if v.tag == "Incomplete" else None for v in verdicts)
    return Sample(tags=tuple(v.tag for v in verdicts), reasons=tuple(reasons))


def check_end(finish_reason: str | None) -> None:
    """Raises `UnreadableError` where the provider says that the reply was cut off or withheld."""
    why = {"length": "cut off", "content_filter": "withheld"}.get(ending(finish_reason or ""))
    if why is not None:
        raise UnreadableError(why)


def _read(text: str, sentences: Sequence[Sentence]) -> list[_SentenceVerdict]:
    if not sentences:
        raise UnreadableError("extra: the answer has no sentences")
    body = cleaned_instruct(text, quotable=(s.text for s in sentences))
    if len(body) > _ROOM[0] + _ROOM[1] * len(sentences) or body.count("\n") > _LINES[0] + _LINES[1] * len(sentences):
        raise UnreadableError("too long")
    if not body.strip():
        raise UnreadableError("empty" if not text.strip() else "empty: nothing after the thinking")
    written = body[max(body.find("{"), 0) : body.rfind("}") + 1]
    verdicts = list(_of_json(json_object(written) or {}))
    if verdicts:
        _check_not_quoted(written, sentences)
        _check_beside(*body.split(written, 1))
    else:
        verdicts = _of_lines(body, sentences)
    if not verdicts:
        raise UnreadableError("refusal" if is_refusal(body) else "no verdict")
    return _settled(verdicts, len(sentences))


def _of_json(held: Mapping[str, Any]) -> Iterator[_SentenceVerdict]:
    """`{"1": "Complete", "2": "Incomplete: ..."}`, the form that is asked for, or objects with tag and reason."""
    for key, entry in held.items():
        value = f"{entry.get('tag')}: {entry.get('reason') or ''}" if isinstance(entry, dict) else entry
        found = _TAG.match(value) if isinstance(value, str) and key.isdecimal() else None
        if found is not None:
            yield _SentenceVerdict(int(key[:6]), _tag(found), "", [value[found.end() :]])


def _tag(found: re.Match[str]) -> Tag:
    return "Complete" if (found["held"] or found["bare"]).lower() == "complete" else "Incomplete"


def _of_lines(body: str, sentences: Sequence[Sentence]) -> list[_SentenceVerdict]:
    """The verdicts of a reply's lines, in order; lines below an Incomplete go on with its reason up to a blank one."""
    is_suspect = any(_holds_tag(s.text) for s in sentences)
    found: list[_SentenceVerdict] = []
    is_open, has_numbers, in_doubt = False, False, False
    for line in body.split("\n"):
        verdict = _of_line(line, () if is_suspect else sentences)
        if verdict is not None:
            found.append(verdict)
            is_open = True
        elif not line.strip() or line.startswith("```"):
            is_open = is_open and found[-1].tag == "Incomplete" and not _comment(found[-1].said[-1])
        else:
            if is_open:
                found[-1].said.append(line[_past(_LEAD, line) :])
            if not is_open or found[-1].tag == "Complete":
                in_doubt |= _is_in_doubt(line, is_below=bool(found))
                has_numbers |= _number(line) is not None
    if found and in_doubt:
        raise UnreadableError(_IN_DOUBT)
    if has_numbers and any(v.n is None for v in found):
        raise UnreadableError("ambiguous: verdicts with and without a number")
    if is_suspect:
        _check_suspect(found, sentences)
    return found


def _holds_tag(text: str) -> bool:
    return _HELD_TAG.search(text) is not None or _of_line(text, ()) is not None


def _of_line(line: str, sentences: Sequence[Sentence]) -> _SentenceVerdict | None:
    """The verdict of a line: behind a number, or behind that and the statement; or a tag that stands first."""
    number = _number(line)
    if number is None:
        found = _TAG.match(line)
        is_plain = found is not None and (found["held"] or not line[found.end() :].strip("*_`. "))
        return _SentenceVerdict(None, _tag(found), line, [line[found.end() :]]) if found and is_plain else None
    n, at = int(number["n"]), number.end()
    statement = sentences[n - 1].text if 1 <= n <= len(sentences) else ""
    begins = at + len(line[at:]) - len(line[at:].lstrip("\"“'*_> "))
    if statement and line.startswith(statement, begins):
        at = begins + len(statement)
    found = _TAG.match(line, at)
    return None if found is None else _SentenceVerdict(n, _tag(found), line, [line[found.end() :]])


def _number(line: str) -> re.Match[str] | None:
    return _NUMBER.match(line, _past(_LEAD, line))


def _past(pattern: re.Pattern[str], text: str) -> int:
    found = pattern.match(text)
    return found.end() if found else 0


def _is_in_doubt(line: str, *, is_below: bool) -> bool:
    comes_back = is_below and (_HELD_TAG.search(line) or line.lstrip().startswith(("{", "[{")))
    return bool(comes_back or _DOUBT.search(line[:_LONGEST]) or _DOUBT.search(line[-_LONGEST:]))


def _check_beside(above: str, below: str) -> None:
    """What stands around the JSON must not take it back; further verdicts below would be other ones."""
    held = any(_HELD_TAG.search(line) or line.lstrip().startswith(("{", "[{")) for line in below.split("\n"))
    if held or _TAKEN_BACK.search(above) or _TAKEN_BACK.search(below):
        raise UnreadableError(_IN_DOUBT)


def _check_suspect(found: Sequence[_SentenceVerdict], sentences: Sequence[Sentence]) -> None:
    """Where the answer holds tags, every line could quote it: verdicts have numbers in order, and quote nothing."""
    numbers = [v.n or 0 for v in found]
    if any(after <= before for before, after in pairwise([0, *numbers])):
        raise UnreadableError("ambiguous: verdicts out of order, and the answer holds tags of its own")
    for verdict in found:
        statement = sentences[verdict.n - 1].text if verdict.n and verdict.n <= len(sentences) else ""
        repeats = _letters(verdict.line).startswith(f"{verdict.n}{_letters(statement)}") and _holds_tag(statement)
        if repeats or (verdict.tag == "Complete" and verdict.comment):
            raise UnreadableError(f"ambiguous: sentence {verdict.n}, and the answer holds tags of its own")
    _check_not_quoted("".join(v.line for v in found), sentences)


def _check_not_quoted(written: str, sentences: Sequence[Sentence]) -> None:
    if written and _letters(written) in _letters("".join(s.text for s in sentences)):
        raise UnreadableError("ambiguous: the verdicts stand in the answer")


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _settled(found: Sequence[_SentenceVerdict], n_sentences: int) -> list[_SentenceVerdict]:
    """One verdict a sentence, in order. Raises `UnreadableError` for a missing, further or second one."""
    if all(v.n is None for v in found):
        found = [replace(v, n=n) for n, v in enumerate(found, start=1)]
    held: dict[int, _SentenceVerdict] = {}
    for verdict in found:
        n = verdict.n
        if n is None:
            raise UnreadableError("ambiguous: verdicts with and without a number")
        if not 1 <= n <= n_sentences:
            raise UnreadableError(f"extra: sentence {n}")
        before = held.setdefault(n, verdict)
        if before.tag != verdict.tag or (verdict.comment and verdict.comment != before.comment):
            raise UnreadableError(f"conflict: sentence {n} has two verdicts")
        if any(
            t != verdict.tag or t == "Complete" for t in map(str.capitalize, _HELD_TAG.findall("\n".join(verdict.said)))
        ):
            raise UnreadableError(f"conflict: sentence {n} has a second tag")
    for n in range(1, n_sentences + 1):
        if n not in held:
            raise UnreadableError(f"missing: sentence {n}")
        if held[n].tag == "Incomplete" and _NO_REASON.fullmatch(held[n].comment):
            raise UnreadableError(f"no reason: sentence {n}")
    return [held[n] for n in range(1, n_sentences + 1)]
