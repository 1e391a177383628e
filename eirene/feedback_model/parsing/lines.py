"""Parses verdicts from lines: numbered, in tables, under headings, or one a line without numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from eirene.core.critique import Tag
from eirene.feedback_model.parsing.verdict import (
    AnswerRead,
    Statement,
    StatementVerdict,
    after_echo,
    bracketed_tags,
    fold_space,
    number_at,
    reason_in,
    tag_at,
    verdict_at,
)
from eirene.feedback_model.parsing.vocabulary import stream
from eirene.models.reply_text import UnreadableError

_LEAD = re.compile(
    r"\s{0,40}(?:(?:[-*+•‣▪●○·–—]|#{1,6})\s{1,8}){0,2}(?:[*_]{0,2}(?:answer|response|output|reply)[*_]{0,2}:[*_]{0,2}\s{0,4})?",
    re.IGNORECASE,
)
_BULLET = re.compile(r"\s{0,40}[-*+•‣▪●○·–—]\s{1,8}")
_RULE = re.compile(r"\s{0,8}(?:[-*_=]{3,80}\s*$|#{1,6}\s)")
_FENCE = re.compile(r"\s{0,8}(?:`{3,}|~{3,})[\w-]{0,20}\s*$")
_SAYS = re.compile(r"[\s*_>]{0,12}(?:statement|sentence|text)?[*_]{0,3}\s{0,3}[:：]?[\s\"'“‘«*_]{0,8}", re.IGNORECASE)
_NUMBERED = re.compile(r"\W{0,12}(?:[^\W\d]{1,20}\W{1,4})?\d{1,6}\b")
_CHAIN = re.compile(r"[\s*_`,;.|]{0,12}")


@dataclass(slots=True)
class Reading:
    """What a reply's lines hold: claims in order, how many statements were repeated, and the lines before and after.

    `has_numbers` where a line without a verdict has a number, as a heading has that its verdict stands apart from.
    """

    claims: list[StatementVerdict] = field(default_factory=list)
    repeated: int = 0
    has_numbers: bool = False
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Open:
    """A claim that further lines may belong to."""

    n: int | None
    tag: Tag
    parts: list[str]
    raw: list[str]
    gap: bool = False
    has_text: bool = False


class LineReader:
    """Reads one reply. Where the answer holds tags of its own, what could be a quotation is no verdict."""

    def __init__(self, answer: AnswerRead) -> None:
        self._statements = answer.statements
        self._is_suspect = answer.is_suspect
        self._tags_in_answer = answer.tags
        self._open: _Open | None = None
        self._pending: int | None = None
        self._reading = Reading()

    def read(self, text: str) -> Reading:
        """The reading of a reply's text. Raises `UnreadableError` for what could be read in two ways."""
        for line in text.split("\n"):
            if not line.strip() or _FENCE.match(line):
                if self._open:
                    self._open.gap = True
            elif not (self._table_row(line) or self._numbered(line) or self._unnumbered(line)):
                self._other(line)
        self._close()
        return self._reading

    def _statement(self, n: int) -> Statement | None:
        return self._statements[n - 1] if 1 <= n <= len(self._statements) else None

    def _start(self, n: int | None, tag: Tag, line: str, at: int) -> None:
        self._close()
        self._pending = None
        self._open = _Open(n, tag, [line[at:]], [line], has_text=bool(reason_in(line[at : at + 200])))

    def _close(self) -> None:
        if self._open is None:
            return
        claim, self._open = self._open, None
        rest = " ".join(claim.parts)
        where = f"sentence {claim.n}" if claim.n else "a sentence"
        for tag in bracketed_tags(rest):
            if claim.tag == "Complete" or (tag != claim.tag and tag not in self._tags_in_answer):
                raise UnreadableError(f"conflict: {where} has a second tag")
        if self._is_suspect and claim.tag == "Complete" and len(claim.parts) > 1:
            raise UnreadableError(f"ambiguous: {where} is followed by text, and the answer holds tags of its own")
        if claim.tag == "Complete":
            self._reading.after += map(fold_space, claim.parts[1:])
        comment = reason_in(rest)
        reason = comment if claim.tag == "Incomplete" else None
        self._reading.claims.append(StatementVerdict(claim.n, claim.tag, reason or None, "\n".join(claim.raw), comment))

    def _numbered(self, line: str) -> bool:
        lead = _LEAD.match(line)
        head = number_at(line, lead.end() if lead else 0)
        if head is None:
            return False
        n, at = head
        statement = self._statement(n)
        verdict = verdict_at(line, at, statement)
        if verdict is not None:
            self._start(n, *_turned(verdict, line))
            self._chain(n, line)
            return True
        repeats = statement is not None and after_echo(line, at, statement) is not None
        if repeats or not line[at:].strip("*_`:：.- \t"):
            self._close()
            self._pending, self._reading.has_numbers = n, True
            self._reading.repeated += repeats
            return True
        return False

    def _chain(self, n: int, line: str) -> None:
        """Further verdicts on the same line, each right after a Complete and with the next number."""
        while self._open and self._open.tag == "Complete" and not self._is_suspect and n < len(self._statements):
            gap = _CHAIN.match(self._open.parts[0])
            rest = self._open.parts[0]
            head = number_at(rest, gap.end() if gap else 0)
            verdict = verdict_at(rest, head[1], self._statement(head[0])) if head and head[0] == n + 1 else None
            if head is None or verdict is None:
                return
            self._open.raw = [self._open.raw[0].removesuffix(rest)]
            self._open.parts = [""]
            n += 1
            self._start(n, verdict[0], rest, verdict[1])

    def _unnumbered(self, line: str) -> bool:
        """A verdict without a number: the pending heading's, or one of a list where none has a number."""
        lead = _LEAD.match(line)
        at = lead.end() if lead else 0
        if self._pending is not None:
            return self._under_heading(self._pending, line, at)
        verdict = tag_at(line, at) if self._open is None or self._open.n is None else None
        if verdict is None:
            return False
        is_alone = not line[verdict[1] :].strip("*_`.!。 \t")
        if not (is_alone or bracketed_tags(line[at : verdict[1]])):
            return False
        self._start(None, *_turned(verdict, line))
        return True

    def _under_heading(self, n: int, line: str, at: int) -> bool:
        """The line after "Statement 2:": its verdict, or the statement once more and the verdict still to come."""
        statement = self._statement(n)
        verdict = verdict_at(line, at, statement)
        if verdict is not None:
            self._start(n, *_turned(verdict, line))
            return True
        says = _SAYS.match(line, at)
        repeats = statement is not None and after_echo(line, says.end() if says else at, statement) is not None
        self._pending = n if repeats else None
        return repeats

    def _table_row(self, line: str) -> bool:
        """A row of a Markdown table: a cell with the number, later a cell that is a tag, then the reason."""
        if not line.lstrip().startswith("|"):
            return False
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        head = number_at(cells[0])
        if head is None or cells[0][head[1] :].strip("*_` "):
            return False
        n, tags = head[0], [(i, t) for i, c in enumerate(cells[1:], start=1) if (t := tag_at(c)) is not None]
        if not tags:
            return False
        place, (tag, at) = tags[0]
        statement = self._statement(n)
        said = stream("".join(cells[1 : place + 1]))
        if len(tags) > 1 or (statement and said in statement.stream and (place > 1 or statement.begins_with_tag)):
            raise UnreadableError(f"ambiguous: sentence {n} has a table row whose tag may be its own")
        self._start(n, tag, line, len(line))
        rest = [c for c in (cells[place][at:], *cells[place + 1 :]) if c.strip("-–— ")]
        if self._open:
            self._open.parts = [" ".join(rest)]
            self._open.gap = self._open.has_text = True
        return True

    def _other(self, line: str) -> None:
        """A line without a verdict: more of the open claim's reason, or text around the critique."""
        claim = self._open
        self._reading.has_numbers |= _NUMBERED.match(line) is not None
        if claim is not None:
            is_said = claim.has_text or claim.tag == "Complete"
            ends = claim.gap and is_said and not (line[0].isspace() or _BULLET.match(line))
            if not (ends or _RULE.match(line) or line.lstrip().startswith(("|", ">"))):
                bullet = _BULLET.match(line)
                text = line[bullet.end() if bullet else 0 :]
                claim.parts.append(text if claim.has_text else reason_in(text))
                claim.raw.append(line)
                claim.gap, claim.has_text = False, claim.has_text or bool(reason_in(text[:200]))
                return
            self._close()
        target = self._reading.after if self._reading.claims else self._reading.before
        target.append(fold_space(line))


def _turned(verdict: tuple[Tag, int], line: str) -> tuple[Tag, str, int]:
    return verdict[0], line, verdict[1]


def quotes_answer(claims: Sequence[StatementVerdict], statements: Sequence[Statement]) -> bool:
    """Whether the claims, as written, stand one after the other in the answer: then they may be a quotation of it."""
    written = stream("".join(c.raw for c in claims))
    return bool(written) and written in "".join(s.stream for s in statements)
