"""How far to trust a verdict, as the pages and the guide say it: the figures of the measured table, rounded."""

from __future__ import annotations

import re

import pytest

from eirene.views.verification import CAUTION, FOREIGN, MARKED
from tests.rows import each

from .pages import ROOT, read_page, section

MEASURED = section((ROOT / "benchmarks" / "results" / "verifier.md").read_text("utf-8"), "As `eirene.verify`")


def rows_of(text: str, heading: str) -> dict[str, list[str]]:
    """The cells by the first one of the table whose head holds `heading`."""
    lines = text[text.index(heading) :].split("\n\n", maxsplit=1)[0].splitlines()
    cells = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines[2:]]
    return {first: rest for first, *rest in cells}


def percent(cell: str) -> float:
    return float(cell.split(maxsplit=1)[0])


@each("heading, figures", [("| RAGTruth: n", MARKED), ("| Perspectrum: n", FOREIGN)])
def test_a_page_warns_with_the_measured_figures(heading: str, figures: dict[str, int]) -> None:
    measured = rows_of(MEASURED, heading)
    assert {word: percent(measured[word][1]) for word in figures} == pytest.approx(figures, abs=0.5)
    assert set(figures) == {"supported", "unclear", "unsupported"}  # contradicted is too rare to measure


def test_every_figure_of_a_warning_is_one_of_them() -> None:
    said = {unit: [int(figure) for figure in re.findall(r"(\d+) %", text)] for unit, text in CAUTION.items()}
    assert said["passage"] == [MARKED[word] for word in ("unsupported", "unclear", "supported")]
    assert said["argument"] == [FOREIGN["unsupported"], FOREIGN["supported"]]
    assert all(len(re.findall(r"\d+", text)) == len(said[unit]) for unit, text in CAUTION.items())


def test_the_guide_has_the_figures_and_counts_of_the_table() -> None:
    """A share of few is written as a count, `5 of 8`."""
    measured = rows_of(MEASURED, "| RAGTruth: n")
    told = rows_of(read_page("guides/verify"), "| RAGTruth | QA-Feedback |")
    assert set(told) == set(MARKED)
    for word, cells in told.items():
        for cell, count, share in zip(cells, measured[word][0::3], measured[word][1::3], strict=True):
            hits, whole = re.fullmatch(r"(\d+)( %)? of ([\d,]+)", cell).group(1, 3)  # type: ignore[union-attr]  # it fits
            assert whole == count
            exact = percent(share) if "%" in cell else percent(share) * float(count) / 100
            assert float(hits) == pytest.approx(exact, abs=0.5)
