"""A comment that denies its tag is told from one that agrees, takes back, or speaks of another thing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.feedback_model.parsing.contradiction import is_contradicted

PHRASINGS = [
    json.loads(line) for line in Path(__file__).with_name("contradictions.jsonl").read_text("utf-8").split("\n") if line
]
HOSTILE = (
    "a ", "actually ", "this sentence ", "is ", "it is not ", "information of a ", "missing ", "says a b c ", '"', "“",
    "(", "and ", "but ", ". ", "it's ", "however, ", "more information about ", "i think that ", "no mention of a ",
    "  ", "\n", "does not clearly ", "*", "- ", "it says that ", "nothing ", "’",
)  # fmt: skip


@pytest.mark.parametrize("case", PHRASINGS, ids=[f"{c['tag']}-{c['comment'][:60]}" for c in PHRASINGS])
def test_a_phrasing_is_read_as_a_careful_reader_would(case: dict[str, Any]) -> None:
    assert is_contradicted(case["tag"], case["comment"]) is case["contradicts"]


def test_both_sets_hold_both_kinds_for_both_tags() -> None:
    kinds = {(c["set"], c["tag"], c["contradicts"]) for c in PHRASINGS if c["set"] != "added later"}
    assert len(kinds) == 8
    assert len({(c["tag"], c["comment"]) for c in PHRASINGS}) == len(PHRASINGS)


@pytest.mark.parametrize("comment", ["", " ", "\n", "…", "-", "“", "n't", "(" * 5000, "完全"])
def test_a_comment_without_words_denies_no_complete(comment: str) -> None:
    assert not is_contradicted("Complete", comment)


@given(st.text(max_size=200))
def test_no_comment_contradicts_both_tags(comment: str) -> None:
    assert not (is_contradicted("Complete", comment) and is_contradicted("Incomplete", comment))


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_long_comment_is_read_in_linear_time(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No time is asserted; anything quadratic would take minutes here."""
    monkeypatch.setattr("eirene.feedback_model.parsing.contradiction._LOOKED_AT", 200_000)
    text = unit * (200_000 // len(unit))
    assert {is_contradicted("Complete", text), is_contradicted("Incomplete", text)} != {True}
