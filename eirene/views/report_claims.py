"""Verdicts of a report, counted: sentences and quotations of originals and answers, and what is not verified."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from markupsafe import Markup

from eirene.views.claims import RecordClaims, ShownVerification
from eirene.views.faults import style_of
from eirene.views.tables import HtmlTable, RowGroup
from eirene.views.verification import CAUTION, MEANING, Unit

_NOTHING_GIVEN = "the row gives no passages and no arguments"


class ClaimsTally:
    """Counts what was found of each record."""

    def __init__(self) -> None:
        self.verified = 0
        self._before, self._after = _VerdictCounts(), _VerdictCounts()
        self._records: Counter[str] = Counter()
        self._why: Counter[str] = Counter()
        self._units: Counter[Unit] = Counter()

    def add(self, found: RecordClaims | None) -> None:
        """Counts a record; None is one whose row gives nothing."""
        if found is None or found.answer is None:
            self._why[_NOTHING_GIVEN if found is None else found.why] += 1
            return
        self.verified += 1
        self._units[found.unit] += 1
        self._after.add(found.answer)
        self._before.add(found.original or found.answer)
        self._records.update(found.answer.words)

    def table(self) -> HtmlTable | None:
        """Sentences and quotations by verdict, before and after; None where no record was verified."""
        groups = [RowGroup("Sentences", self._rows("claims")), RowGroup("Quotations", self._rows("quotations"))]
        caption = f"What was given says of {self.verified:,} record{'' if self.verified == 1 else 's'}."
        shown = [group for group in groups if group.rows]
        return HtmlTable(caption, ("Verdict", "Originals", "Answers"), shown) if self.verified else None

    def _rows(self, part: str) -> list[tuple[Markup | str, ...]]:
        before, after = getattr(self._before, part), getattr(self._after, part)
        chip = Markup('<strong class="fault {}">{}</strong>')
        return [
            (chip.format(style_of(word), word), f"{before[word]:,}", f"{after[word]:,}")
            for word in MEANING
            if before[word] or after[word]
        ]

    def notes(self) -> Iterator[str]:
        """Which records were not verified, and how far to trust the verdicts."""
        for why, count in self._why.most_common():
            yield f"{count:,} record{'' if count == 1 else 's'} not verified: {why}."
        for unit, caution in CAUTION.items():
            if self._units[unit]:
                yield caution

    def words(self) -> list[tuple[str, str]]:
        """The verdicts that occur with their meaning."""
        counts = (self._before, self._after)
        found = {word for each in counts for part in (each.claims, each.quotations) for word in part}
        return [(word, meaning) for word, meaning in MEANING.items() if word in found]

    def choices(self) -> list[tuple[str, int]]:
        """The verdicts in answers, with the number of records whose answer has one."""
        return [(word, self._records[word]) for word in MEANING if self._records[word]]


class _VerdictCounts:
    def __init__(self) -> None:
        self.claims: Counter[str] = Counter()
        self.quotations: Counter[str] = Counter()

    def add(self, found: ShownVerification) -> None:
        self.claims.update(claim.verdict for claim in found.claims)
        self.quotations.update(quotation.verdict for quotation in found.quotations)
