"""What the rows of a batch add up to."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from eirene.agent.batch.entries import STATUSES, Entries
from eirene.records import Record
from eirene.usage import Usage


@dataclass(slots=True)
class Totals:
    """Rows by status, and their usage. An unknown cost makes the sum unknown."""

    statuses: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATUSES, 0))
    usage: Usage = field(default_factory=Usage)

    @classmethod
    def of(cls, entries: Entries) -> Totals:
        """Of the lines of a journal, of which none is damaged."""
        counts = np.bincount(entries["status"].astype(np.int64), minlength=len(STATUSES))
        cost = float(entries["cost_usd"].sum())
        usage = Usage(
            **{
                name: int(entries[name].sum())
                for name in ("calls", "retries", "cache_hits", "input_tokens", "output_tokens", "cached_tokens")
            },
            cost_usd=None if math.isnan(cost) else cost,
            seconds=float(entries["seconds"].sum()),
        )
        return cls(dict(zip(STATUSES, counts.tolist(), strict=True)), usage)

    def add(self, record: Record) -> None:
        """Counts one more row."""
        self.statuses[record.status] += 1
        self.usage = self.usage + record.usage

    @property
    def rows(self) -> int:
        """How many there are."""
        return sum(self.statuses.values())
