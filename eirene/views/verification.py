"""A verification as data for all views, alone or of a record; at a terminal; and as a web page.

Each sentence has its verdict, risk and evidence, and so have the quotations. A record does not hold what was given, so
its answer is verified with its item at hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from markupsafe import Markup
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eirene.core.errors import InputError
from eirene.core.records import Item, Record, found_ids
from eirene.core.verification import (
    ClaimVerdict,
    Evidence,
    FaultyWords,
    QuotationCheck,
    QuotationWord,
    Unit,
    Verification,
)
from eirene.text.quoting import one_line
from eirene.views.facts import verdicts_in_words, visible
from eirene.views.faults import style_of
from eirene.views.page import page, script_safe
from eirene.views.terminal import section

MARKED: Mapping[str, int] = {"supported": 6, "unclear": 12, "unsupported": 53}
"""Percent of the sentences of each verdict that people had marked, in RAGTruth: benchmarks/results/verifier.md."""
FOREIGN: Mapping[str, int] = {"supported": 5, "unclear": 21, "unsupported": 41}
"""Percent that hold an argument that was not given, in constructed answers to given arguments: the same page."""
CAUTION: Mapping[Unit, str] = {
    "passage": (
        "A small model's estimates: read the evidence. In one test (RAGTruth) people had marked "
        f"{MARKED['unsupported']} % of the sentences that it calls unsupported, {MARKED['unclear']} % of the unclear "
        f"and {MARKED['supported']} % of the supported ones."
    ),
    "argument": (
        "A small model's estimates, made for passages: arguments that are said in other words are often called "
        f"unsupported. In one test with given arguments (Perspectrum) {FOREIGN['unsupported']} % of the unsupported "
        f"sentences held an argument that was not given; of the supported {FOREIGN['supported']} % did."
    ),
}
"""How far to trust the verdicts."""
_UNSAID_CAUTION = (
    "P: how likely people would miss the sentence. In one test (QA-Feedback) they missed 3 in 10 of these."
)
MEANING: Mapping[str, str] = {
    "supported": "what was given says it",
    "unclear": "not clearly said there, but most of it stands there",
    "unsupported": "said nowhere there",
    "contradicted": "said otherwise there: with a few words from there in place of its own it would be supported",
    "not checked": "claims nothing that can be checked, cannot be read, or is too much to look up",
    "exact": "word for word",
    "altered": "but for some words, or in pieces",
    "not found": "nowhere there",
}
"""What each verdict means."""
_COLOURS = {"f-complete": "", "f-contradicted": "bold red", "f-unchecked": "dim"}
Verified = Callable[[Item, str], Verification | None]
"""`eirene.verify` of a text against what an item gives; None where it gives nothing."""


@dataclass(frozen=True, slots=True)
class ShownEvidence:
    """What stands before it, where it is in words, its text, and the passage's number."""

    lead: str
    place: str
    text: str
    passage: int


@dataclass(frozen=True, slots=True)
class ShownVerdict:
    """A sentence, or a quotation in sentence `n`, with its verdict and its evidence.

    `said`: why a sentence was not checked, or what differs in a quotation. `figures`: its probabilities in words.
    """

    n: int
    verdict: str
    text: str
    said: str
    evidence: ShownEvidence | None
    figures: str = ""


@dataclass(frozen=True, slots=True)
class ShownVerification:
    """The outcome in sentences, the claims, the quotations, what the answer seems to leave out."""

    outcome: tuple[str, ...]
    claims: tuple[ShownVerdict, ...]
    quotations: tuple[ShownVerdict, ...]
    unsaid: tuple[ShownEvidence, ...] = ()

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


def shown_verification(found: Verification) -> ShownVerification:
    """A verification as pages draw it."""

    def evidence(at: Evidence | None, verdict: str = "") -> ShownEvidence | None:
        lead = "nearest, " if verdict in ("unclear", "unsupported") else ""
        return None if at is None else ShownEvidence(lead, place_of(at, found.unit), at.text, at.passage)

    claims = [
        ShownVerdict(
            c.n, c.verdict, c.text, c.why or _told(c.words), evidence(c.evidence, c.verdict), _figures(c, found.unit)
        )
        for c in found.claims
    ]
    quoted = [ShownVerdict(q.n, q.verdict, q.text, said_of(q), evidence(q.evidence)) for q in found.quotations]
    missed = ((f"P {one.probability:.2f}, ", one.evidence) for one in found.unsaid)
    left_out = (ShownEvidence(lead, place_of(at), at.text, at.passage) for lead, at in missed)
    return ShownVerification(tuple(outcome_of(found)), tuple(claims), tuple(quoted), tuple(left_out))


def claims_of(record: Record, item: Item | None, verified: Verified) -> RecordClaims | None:
    """How a record's answer and original stand to what its item gives; None where it gives nothing."""
    why = "no row with this id was given" if item is None else _other_row(record, item)
    if item is None or why:
        return RecordClaims("passage", why=why)
    unit: Unit = "argument" if item.perspectives else "passage"
    texts = (record.answer,) if record.answer == record.original else (record.answer, record.original)
    try:
        found = [verified(item, text) for text in texts]
    except InputError as error:  # a record that was written by others may hold what no run makes
        return RecordClaims(unit, why=str(error))
    shown = [shown_verification(each) for each in found if each is not None]
    if not shown:
        return None
    return RecordClaims(unit, shown[0], shown[1] if len(shown) > 1 else None)


def _other_row(record: Record, item: Item) -> str:
    """Why an item is not the one that the record is of; empty where it is."""
    if (item.question, item.answer) != (record.question, record.original):
        return "the row with this id has another question or answer"
    return "" if found_ids(item) == record.passages else "the row with this id has other passages than the run had"


def _figures(claim: ClaimVerdict, unit: Unit) -> str:
    if claim.risk is None or claim.supported is None or claim.contradicted is None:
        return ""
    read = f"robability that it is supported {claim.supported:.2f}, contradicted {claim.contradicted:.2f}"
    return f"Risk that people would mark it {claim.risk:.2f}; p{read}" if unit == "passage" else f"P{read}"


def outcome_of(found: Verification) -> list[str]:
    """What was found, a sentence each: how many sentences have which verdict, the risk, the quotations.

    Of arguments there is no risk: it is fitted on what people mark in answers from passages.
    """
    counts, unit = Counter(claim.verdict for claim in found.claims), found.unit
    checked = len(found.checked)
    against = f"{found.passages:,} {_plural(unit, found.passages)}"
    if not checked:
        why = next((claim.why for claim in found.claims if claim.why), "the answer has no sentence")
        lines = [f"No sentence could be checked against {against}: {why}."]
    else:
        lines = [verdicts_in_words(counts, against)]
    if found.risk is not None and unit == "passage":  # it is fitted on passages
        lines.append(f"Risk that people would mark one of them: {found.risk:.2f}.")
    if found.quotations:
        words = Counter(quotation.verdict for quotation in found.quotations)
        said = ", ".join(f"{words[word]:,} {word}" for word in get_args(QuotationWord) if words[word])
        lines.append(f"{len(found.quotations):,} {_plural('quotation', len(found.quotations))}: {said}.")
    return lines


def place_of(evidence: Evidence, unit: Unit = "passage") -> str:
    """Where evidence is in words: `passage 2 (bridges.txt:2)`, or `pro, argument 1`."""
    return _named(unit, evidence.passage, evidence.id)


def _named(unit: Unit, n: int, name: str | None) -> str:
    if name is None:
        return f"{unit} {n}"
    return name if unit == "argument" else f"passage {n} ({name})"


def said_of(quotation: QuotationCheck) -> str:
    """What differs between a quotation and the passage, in words; empty for one that is exact or was not found."""
    if quotation.verdict != "altered":
        return ""
    if not quotation.changes:
        return "its pieces stand in another order, or in other passages"
    return "; ".join(_changed(change.quoted, change.passage) for change in quotation.changes)


def _changed(quoted: str, passage: str) -> str:
    if not passage:
        return f'"{quoted}" is added'
    return f'"{passage}" is left out' if not quoted else f'"{quoted}" for "{passage}"'


def _told(words: Sequence[FaultyWords]) -> str:
    """The words that decide, in words."""
    others = [_changed(one.text, one.instead) for one in words if one.instead is not None]
    absent = ", ".join(f'"{one.text}"' for one in words if one.instead is None)
    return "; ".join([*others, *([f"not there: {absent}"] if absent else [])])


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def render_verification(found: Verification) -> RenderableType:
    """The outcome in words, a table of the sentences, and one of the quotations if there are any."""
    shown = shown_verification(found)
    sentences = _rows(shown.claims, [claim.risk for claim in found.claims])
    legend = [Text("The figure is the risk that people would mark the sentence.", style="dim")] if found.checked else []
    parts = [*section("Outcome", *map(Text, shown.outcome)), *section("Sentences", sentences, *legend)]
    if shown.quotations:
        parts += section("Quotations", _rows(shown.quotations))
    if shown.unsaid:
        parts += section("Perhaps left out of the answer", *_unsaid(shown.unsaid))
    if found.checked:
        parts.append(Text(CAUTION[found.unit], style="dim"))
    return Group(*parts)


def _unsaid(found: Sequence[ShownEvidence]) -> Iterator[Text]:
    for one in found:
        yield Text.assemble((f"{one.lead}{visible(one.place)}: ", "bold"), (visible(one.text), "yellow"))
    yield Text(_UNSAID_CAUTION, style="dim")


def _rows(found: Sequence[ShownVerdict], risks: Sequence[float | None] = ()) -> Table:
    table = _grid()
    for n, one in enumerate(found):
        text = Text(visible(one.text))
        if one.said:
            text.append(f"\n{visible(one.said)}", style="dim" if risks else "yellow")
        if one.evidence is not None:
            text.append(f"\n{one.evidence.lead}{visible(one.evidence.place)}: ", style="bold")
            text.append(one_line(visible(one.evidence.text), 2_000), style="yellow")
        risk = risks[n] if risks else None
        colour = _COLOURS.get(style_of(one.verdict), "bold yellow")
        shown = "" if risk is None else f"{risk:.2f}"
        table.add_row(str(one.n), Text(one.verdict, style=colour), Text(shown, style="dim"), text)
    return table


def _grid() -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right")
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def render_verification_page(
    found: Verification, given: Sequence[str], *, question: str = "", ids: Sequence[str] = ()
) -> str:
    """The page; everything in it is escaped. `given`: the passages or arguments that were read, with `ids` if any."""
    shown = shown_verification(found)
    return page(
        "verification.html.j2",
        styles=("page.css", "record.css", "verification.css"),
        scripts=("page.js",),
        found=found,
        question=question,
        shown=shown,
        caution=CAUTION[found.unit],
        heading=f"{found.unit.capitalize()}s",
        words=[(word, MEANING[word]) for word in shown.words],
        passages=list(_passages(found, given, ids)),
        json=script_safe(found.model_dump_json()),
    )


def _passages(found: Verification, given: Sequence[str], ids: Sequence[str]) -> Iterator[tuple[str, Markup]]:
    """The name and the text of each passage or argument, what is evidence in it marked."""
    places: dict[int, list[Evidence]] = {}
    for place in [*(claim.evidence for claim in found.claims), *(quoted.evidence for quoted in found.quotations)]:
        if place is not None:
            places.setdefault(place.passage, []).append(place)
    for n, text in enumerate(given, start=1):
        own = places.get(n, [])
        used = len(set(own))
        name = _named(found.unit, n, ids[n - 1] if ids else None)
        name = f"{name[:1].upper()}{name[1:]}" if found.unit == "passage" else name
        yield name + (f": {used:,} {'place' if used == 1 else 'places'} used" if used else ""), _marked(text, own)


def _marked(text: str, places: Sequence[Evidence]) -> Markup:
    """The text with a mark around each place; places that overlap share one."""
    parts, at = list[Markup](), 0
    for start, end in _merged(places):
        parts.append(Markup("{}<mark>{}</mark>").format(visible(text[at:start]), visible(text[start:end])))
        at = end
    return Markup("").join([*parts, Markup("{}").format(visible(text[at:]))])


def _merged(places: Sequence[Evidence]) -> Iterator[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for start, end in sorted((place.start, place.end) for place in places):
        if runs and start < runs[-1][1]:
            runs[-1] = (runs[-1][0], max(end, runs[-1][1]))
        else:
            runs.append((start, end))
    yield from runs
