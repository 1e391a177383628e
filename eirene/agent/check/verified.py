"""Verified rows: what `verify` says of each row of a data set, which rows fail, and lines that a rerun goes on from."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from eirene.agent.check.rows import asked_of, given_digest, read_faults, verified
from eirene.core.errors import InputError
from eirene.core.quality import VerifiedRow
from eirene.core.records import Item
from eirene.core.scores import Unscored
from eirene.core.signature import digest
from eirene.core.validation import described
from eirene.core.verification import Verification
from eirene.eval.detectors.token_judge import TokenJudge
from eirene.models.verifier.runtime import shipped_verifier
from eirene.verification.judging import version_of

NOTHING_GIVEN = Unscored(unscored="the row gives no 'context' and no 'perspectives'")


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A row's verification, or why there is none; its line, and whether that was known before."""

    found: Verification | Unscored
    line: dict[str, Any]
    is_new: bool = True
    """Whether the line is to be kept: it was not known before, and did not fail for a call that may be tried again."""

    def json(self) -> str:
        """The verification, or why there is none, as JSON."""
        return json.dumps(_shown(self.line), ensure_ascii=False, allow_nan=False)


class RowVerifier:
    """Verifies rows, by a `judge` where the verifier is unsure. What it was told by `know` it does not read again."""

    def __init__(self, judge: TokenJudge | None = None) -> None:
        self.version = version_of(shipped_verifier()) if judge is None else judge.version
        self.judge = judge
        self._known: dict[str, dict[str, Any]] = {}

    def know(self, line: dict[str, Any]) -> None:
        """A line of an earlier run. Raises `ValueError` for one that is none, or was verified otherwise."""
        if not all(isinstance(line.get(name), str) for name in ("id", "row", "verifier")):
            raise ValueError("it is no verification of a row")
        if line["verifier"] != self.version:
            raise ValueError(
                f"it was verified otherwise ({line['verifier']}; now: {self.version}); --force begins anew"
            )
        self._known[line["id"]] = line

    @property
    def unread(self) -> int:
        """How many rows it was told of and has not been asked for."""
        return len(self._known)

    async def read(self, item: Item) -> ReadRow:
        """What is known of a row, or read in a thread. A call that fails leaves it unscored, with the reason.

        Raises `InputError` where what is known is of another row, and `PERMANENT_ERRORS` of the judge.
        """
        key = digest([given_digest(item), item.answer])[:16]
        line = self._known.pop(item.id, None)
        if line is not None:
            if line["row"] != key:
                raise InputError(
                    f"row {item.id!r} is another than the one verified; --force verifies all anew", field="out"
                )
            return ReadRow(_found_in(line), line, is_new=False)
        read = await verified(item, self.judge)
        found = NOTHING_GIVEN if read is None else read
        if isinstance(found, Verification):
            found = found.model_copy(update={"id": item.id})
        said = {"id": item.id, "row": key, "verifier": self.version}
        return ReadRow(found, said | found.model_dump(mode="json"), is_new=not isinstance(read, Unscored))


def _shown(line: dict[str, Any]) -> dict[str, Any]:
    """A line without what only a rerun needs."""
    return {name: value for name, value in line.items() if name != "row"}


def _found_in(line: dict[str, Any]) -> Verification | Unscored:
    if "unscored" in line:
        return Unscored(unscored=line["unscored"])
    return Verification.model_validate(_shown(line))


FAIL_WORDS = ("contradicted", "unsupported", "unclear", "unread", "unscored")
"""What a verified row can fail on: a sentence's verdict, one in a language that is not read, nothing verified."""


@dataclass(frozen=True, slots=True)
class FailRule:
    """What makes a verified row fail: some of `FAIL_WORDS`, and a risk of the answer above `threshold`, in [0, 1]."""

    words: frozenset[str] = frozenset()
    threshold: float | None = None

    @classmethod
    def of(cls, words: Sequence[str], threshold: float | None) -> Self:
        """A rule; raises `InputError` for an unknown word and a threshold outside [0, 1]."""
        unknown = next((word for word in words if word not in FAIL_WORDS), None)
        if unknown is not None:
            raise InputError(f"fail-on must be of {', '.join(FAIL_WORDS)}, got {unknown!r}", field="fail-on")
        if threshold is not None and not 0.0 <= threshold <= 1.0:
            raise InputError(f"threshold must be in [0, 1], got {described(threshold)}", field="threshold")
        return cls(frozenset(words), threshold)

    def broken(self, found: Verification | Unscored) -> tuple[str, ...]:
        """What of the rule a verification breaks, in words; empty where it passes."""
        if isinstance(found, Unscored):
            return ("unscored",) if "unscored" in self.words else ()
        others = (("unread", found.unread), ("unscored", not found.checked))
        there = {claim.verdict for claim in found.claims} | {word for word, is_so in others if is_so}
        told = [word for word in FAIL_WORDS if word in self.words & there]
        if self.threshold is not None and found.risk is not None and found.risk > self.threshold:
            told.append(f"risk {found.risk:.2f} > {self.threshold:g}")
        return tuple(told)


def verified_row(name: str, found: Verification | Unscored, rule: FailRule) -> VerifiedRow:
    """The row of a verification, or of what was not verified, with the reason."""
    failed = rule.broken(found)
    if isinstance(found, Unscored):
        return VerifiedRow(name, None, {}, why=found.unscored, failed=failed)
    why = None if found.checked else next((claim.why for claim in found.claims if claim.why), "it has no sentence")
    verdicts = Counter[str](claim.verdict for claim in found.claims)
    return VerifiedRow(name, found.risk, verdicts, read_faults(found), why, failed, *asked_of(found))
