"""Accounts of a job: which rows went in, what came out for each, and what of it is lost, doubled, wrong or leaked.

What came out is read from records, scores and messages as users get them, and held against the server's book. A row is
wrongly scored where it has a verdict for which no quorum of sound replies was sent, where a reply that is not sound was
read as one, or where a rewrite is shown that the server never sent whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from benchmarks.faults.rows import ADDED, KEY, answer, has_error, tags
from benchmarks.faults.server import Book
from eirene.eval.detectors.judge import quorum_of

COUNTS = ("lost", "doubled", "wrongly scored", "hung", "leaked")
"""What must be 0."""
FENCE = re.compile(r"TEXT-(?:[bdfgklmnprstvwxz][aeio]){2,}")
"""The word on the lines around a text in a prompt."""
_PIECES = (KEY, KEY[:14], "CANARY")


@dataclass(frozen=True)
class Out:
    """What came out for row `n`: its text as a user gets it, the `shown` answer, the record, and scores of a judge.

    `error`: what a caller was told in their place.
    """

    n: int
    text: str
    shown: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    scores: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> Out:
        """A record's JSON."""
        judged = record.get("scores", {}).get("original", {}).get("chainpoll", {})
        return cls(int(record["id"].removeprefix("i")), str(record), record["answer"], record, judged)


@dataclass
class Account:
    """What became of the rows of one job. `notes` say of each count which row, and why."""

    items: int = 0
    out: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    def found(self, count: str, note: str, n: int = 1) -> None:
        """Notes something that must not be."""
        self.counts[count] += n
        self.notes.append(f"{count}: {note}"[:400])

    def to_json(self) -> dict[str, Any]:
        """JSON values."""
        return {"items": self.items, "out": self.out, "statuses": dict(self.statuses), "counts": dict(self.counts),
                "faults": dict(self.faults), "notes": self.notes}  # fmt: skip

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Account:
        """Back from there."""
        counted = {name: Counter(values[name]) for name in ("statuses", "counts", "faults")}
        return cls(values["items"], values["out"], **counted, notes=list(values["notes"]))

    def add(self, other: Account) -> None:
        """Another job's as well."""
        self.items, self.out = self.items + other.items, self.out + other.out
        for name in ("statuses", "counts", "faults"):
            getattr(self, name).update(getattr(other, name))
        self.notes += other.notes


def account(wanted: Iterable[int], came: Iterable[Out], book: Book, *, logs: str = "") -> Account:
    """Holds what came out against what went in and what was sent. `logs`: all that was logged or printed."""
    rows, seen = set(wanted), Counter[int]()
    made = Account(items=len(rows), faults=Counter(book.faults))
    for out in came:
        seen[out.n] += 1
        made.out += 1
        made.statuses[out.error or str(out.record.get("status") or "scored")] += 1
        for why in wrong(out, book):
            made.found("wrongly scored", f"row {out.n}: {why}")
        for what in leaks(out.text, out.shown):
            made.found("leaked", f"row {out.n}: {what}")
    for n in sorted(rows - set(seen)):
        made.found("lost", f"row {n}")
    for n, times in seen.items():
        if times > 1 or n not in rows:
            made.found("doubled", f"row {n}, {times} times", n=times - (n in rows))
    for what in leaks(logs, logs):
        made.found("leaked", f"in what was logged: {what}")
    return made


def leaks(text: str, shown: str) -> list[str]:
    """Pieces of the key anywhere, and the words of a fence where they are no business of the reader's."""
    found = [f"the key, {text[max(text.find(piece) - 80, 0) :][:160]!r}" for piece in _PIECES if piece in text][:1]
    fence = FENCE.search(shown)
    return found if fence is None else [*found, f"a fence, {shown[max(fence.start() - 80, 0) :][:160]!r}"]


def wrong(out: Out, book: Book) -> list[str]:
    """What the row has that the server gave no ground for."""
    return [*_wrong_critique(out, book), *_wrong_score(out, book), *_wrong_answer(out, book)]


def _wrong_critique(out: Out, book: Book) -> list[str]:
    found, sent, true = [], book.sound[out.n, "critique"], list(tags(out.n))
    for round_ in list(out.record.get("rounds", ()))[:1]:
        samples = round_.get("samples") or []
        read = [list(s["tags"]) for s in samples if not s.get("invalid")]
        found += [f"a sample was read as {other}, true is {true}" for other in read if other != true][:1]
        if round_.get("critique") and sent < quorum_of(len(samples)):
            found.append(f"a critique of {sent} sound samples")
    status = out.record.get("status")
    if out.record.get("mode") == "fine-grained" and status in ("complete", "no_fault_found") and "Incomplete" in true:
        found.append(f"{status}, and it is not")
    return found


def _wrong_score(out: Out, book: Book) -> list[str]:
    replies = (out.scores.get("polls") or {}).get("replies", ())
    true, sent, score = has_error(out.n), book.sound[out.n, "verdict"], out.scores.get("hallucination")
    found = [f"a vote was read as {r['error']}" for r in replies if r["error"] not in (None, true)][:1]
    if isinstance(score, int | float):
        if score != float(true):
            found.append(f"its score is {score}, {float(true)} is true")
        if sent < quorum_of((out.scores.get("polls") or {}).get("requested", 1)):
            found.append(f"a score of {sent} sound votes")
    return found


def _wrong_answer(out: Out, book: Book) -> list[str]:
    if out.error or not out.shown:
        return []
    sent = book.sound[out.n, "rewrite"] + book.sound[out.n, "patch"] + book.sound[out.n, "draft"]
    allowed = {answer(out.n)} | ({f"{answer(out.n)} {ADDED}"} if sent else set())
    return [] if out.shown in allowed else [f"its answer is {out.shown[:120]!r}"]
