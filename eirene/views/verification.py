"""A verification at a terminal: each sentence with verdict, risk and evidence, and the quotations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eirene.core.verification import ClaimVerdict, Evidence, QuotationCheck, QuotationWord, Verification
from eirene.views.facts import visible
from eirene.views.faults import style_of
from eirene.views.terminal import section

Unit = Literal["passage", "argument"]
"""What an answer is verified against: the passages of a context, or the arguments of perspectives."""
MARKED: Mapping[str, int] = {"supported": 6, "unclear": 11, "unsupported": 37}
"""Percent of the sentences of each verdict that people had marked, in RAGTruth: benchmarks/results/verifier.md."""
FOREIGN: Mapping[str, int] = {"supported": 5, "unclear": 13, "unsupported": 41}
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


def render_verification(found: Verification) -> RenderableType:
    """The outcome in words, a table of the sentences, and one of the quotations if there are any."""
    parts = [*section("Outcome", *(Text(line) for line in outcome_of(found))), *section("Sentences", _claims(found))]
    if found.quotations:
        parts += section("Quotations", _quotations(found.quotations))
    parts.append(Text(CAUTION["passage"], style="dim"))
    return Group(*parts)


def outcome_of(found: Verification, unit: Unit = "passage") -> list[str]:
    """What was found, a sentence each: how many sentences have which verdict, the risk, the quotations.

    Of arguments there is no risk: it is fitted on what people mark in answers from passages.
    """
    counts = Counter(claim.verdict for claim in found.claims)
    checked = len(found.checked)
    against = f"{found.passages:,} {_plural(unit, found.passages)}"
    if not checked:
        why = next((claim.why for claim in found.claims if claim.why), "the answer has no sentence")
        lines = [f"No sentence could be checked against {against}: {why}."]
    else:
        named = {word: counts[word] for word in ("unclear", "unsupported")} | {
            "perhaps contradicted": counts["contradicted"]
        }
        rest = "".join(f", {count:,} {word}" for word, count in named.items() if count)
        left = f"; {counts['not checked']:,} not checked" if counts["not checked"] else ""
        lines = [f"{counts['supported']:,} of {checked:,} checked sentences supported by {against}{rest}{left}."]
    if found.risk is not None and unit == "passage":  # it is fitted on passages
        lines.append(f"Risk that people would mark one of them: {found.risk:.2f}.")
    if found.quotations:
        words = Counter(quotation.verdict for quotation in found.quotations)
        said = ", ".join(f"{words[word]:,} {word}" for word in get_args(QuotationWord) if words[word])
        lines.append(f"{len(found.quotations):,} {_plural('quotation', len(found.quotations))}: {said}.")
    return lines


def lead_in(claim: ClaimVerdict) -> str:
    """What stands before a sentence's evidence."""
    return "nearest, " if claim.verdict in ("unclear", "unsupported") else ""


def place_of(evidence: Evidence) -> str:
    """The passage in words: `passage 2 (bridges.txt:2)`."""
    return f"passage {evidence.passage}" + (f" ({evidence.id})" if evidence.id else "")


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


def _claims(found: Verification) -> RenderableType:
    table = _grid()
    for claim in found.claims:
        table.add_row(str(claim.n), _word(claim.verdict), _number(claim.risk), _claim_text(claim))
    return Group(table, Text("The figure is the risk that people would mark the sentence.", style="dim"))


def _claim_text(claim: ClaimVerdict) -> Text:
    text = Text(visible(claim.text))
    if claim.why is not None:
        text.append(f"\n{visible(claim.why)}", style="dim")
    if claim.evidence is not None:
        text.append(f"\n{lead_in(claim)}{visible(place_of(claim.evidence))}: ", style="bold")
        text.append(visible(claim.evidence.text), style="yellow")
    return text


def _quotations(quotations: Sequence[QuotationCheck]) -> RenderableType:
    table = _grid()
    for quotation in quotations:
        text = Text(visible(quotation.text))
        if said_of(quotation):
            text.append(f"\n{visible(said_of(quotation))}", style="yellow")
        if quotation.evidence is not None:
            text.append(f"\n{visible(place_of(quotation.evidence))}: ", style="bold")
            text.append(visible(quotation.evidence.text), style="yellow")
        table.add_row(str(quotation.n), _word(quotation.verdict), "", text)
    return table


def _grid() -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right")
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _word(word: str) -> Text:
    return Text(word, style=_COLOURS.get(style_of(word), "bold yellow"))


def _number(value: float | None) -> Text:
    return Text("" if value is None else f"{value:.2f}", style="dim")


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
