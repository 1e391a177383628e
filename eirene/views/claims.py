"""Claims with evidence on pages: the sentences and quotations of a verification, drawn as data, alone or of a record.

A record does not hold what was given, so its answer is verified with its item at hand.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from eirene.core.errors import InputError
from eirene.core.records import Item, Record, found_ids
from eirene.core.verification import ClaimVerdict, Evidence, QuotationCheck, Verification
from eirene.views.verification import MEANING, Unit, lead_in, outcome_of, place_of, said_of

Verified = Callable[[Item, str], Verification | None]
"""`eirene.verify` of a text against what an item gives; None where it gives nothing."""
Place = Callable[[Evidence], str]


@dataclass(frozen=True, slots=True)
class ShownEvidence:
    """What stands before it, where it is in words, its text, and the passage's number."""

    lead: str
    place: str
    text: str
    passage: int


@dataclass(frozen=True, slots=True)
class ShownClaim:
    """A sentence with its verdict, why it was not checked, its evidence, and its probabilities in words."""

    n: int
    verdict: str
    text: str
    why: str
    evidence: ShownEvidence | None
    figures: str


@dataclass(frozen=True, slots=True)
class ShownQuotation:
    """A quotation in sentence `n` with its verdict, what differs, and where it stands."""

    n: int
    verdict: str
    text: str
    said: str
    evidence: ShownEvidence | None


@dataclass(frozen=True, slots=True)
class ShownVerification:
    """The outcome in sentences, the claims, the quotations."""

    outcome: tuple[str, ...]
    claims: tuple[ShownClaim, ...]
    quotations: tuple[ShownQuotation, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The verdicts that occur, supported first."""
        found = {one.verdict for one in self.claims} | {one.verdict for one in self.quotations}
        return tuple(word for word in MEANING if word in found)


@dataclass(frozen=True, slots=True)
class RecordClaims:
    """A record's answer and, where it is another text, its original; or the reason why neither was verified."""

    unit: Unit
    answer: ShownVerification | None = None
    original: ShownVerification | None = None
    why: str = ""


def shown_verification(found: Verification, *, place: Place = place_of, unit: Unit = "passage") -> ShownVerification:
    """A verification as pages draw it; `place` says in words where evidence is."""

    def evidence(at: Evidence | None, lead: str = "") -> ShownEvidence | None:
        return None if at is None else ShownEvidence(lead, place(at), at.text, at.passage)

    def claim(one: ClaimVerdict) -> ShownClaim:
        return ShownClaim(
            one.n, one.verdict, one.text, one.why or "", evidence(one.evidence, lead_in(one)), _figures(one, unit)
        )

    def quotation(one: QuotationCheck) -> ShownQuotation:
        return ShownQuotation(one.n, one.verdict, one.text, said_of(one), evidence(one.evidence))

    claims, quotations = tuple(map(claim, found.claims)), tuple(map(quotation, found.quotations))
    return ShownVerification(tuple(outcome_of(found, unit)), claims, quotations)


def claims_of(record: Record, item: Item | None, verified: Verified) -> RecordClaims | None:
    """How a record's answer and original stand to what its item gives; None where it gives nothing."""
    why = "no row with this id was given" if item is None else _other_row(record, item)
    if item is None or why:
        return RecordClaims("passage", why=why)
    unit: Unit = "argument" if item.perspectives else "passage"
    place = _argument_places(item) if item.perspectives else place_of
    texts = (record.answer,) if record.answer == record.original else (record.answer, record.original)
    try:
        found = [verified(item, text) for text in texts]
    except InputError as error:  # a record that was written by others may hold what no run makes
        return RecordClaims(unit, why=str(error))
    shown = [shown_verification(each, place=place, unit=unit) for each in found if each is not None]
    if not shown:
        return None
    return RecordClaims(unit, shown[0], shown[1] if len(shown) > 1 else None)


def _other_row(record: Record, item: Item) -> str:
    """Why an item is not the one that the record is of; empty where it is."""
    if (item.question, item.answer) != (record.question, record.original):
        return "the row with this id has another question or answer"
    return "" if found_ids(item) == record.passages else "the row with this id has other passages than the run had"


def _argument_places(item: Item) -> Place:
    names = [
        f"{side.name}, argument {n}" for side in item.perspectives or () for n in range(1, len(side.arguments) + 1)
    ]
    return lambda at: names[at.passage - 1]


def _figures(claim: ClaimVerdict, unit: Unit) -> str:
    if claim.risk is None or claim.supported is None or claim.contradicted is None:
        return ""
    read = f"robability that it is supported {claim.supported:.2f}, contradicted {claim.contradicted:.2f}"
    return f"Risk that people would mark it {claim.risk:.2f}; p{read}" if unit == "passage" else f"P{read}"
