"""Reading a judge's reply: a corpus of our own, and what holds for any reply."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.eval.detectors.verdict import read_verdict
from eirene.models.replies import Reply

CORPUS = [
    json.loads(line)
    for line in Path(__file__).with_name("verdict_replies.jsonl").read_text("utf-8").split("\n")
    if line.strip()
]


def verdict(text: str) -> bool | None:
    return read_verdict(Reply(text)).error


@pytest.mark.parametrize("row", CORPUS, ids=lambda row: row["name"])
def test_the_corpus_is_read_as_a_careful_reader_would(row: dict[str, Any]) -> None:
    found = read_verdict(Reply(row["reply"], row.get("finish_reason", "stop")))
    assert found.error is row["error"]
    assert found.text == row["reply"]
    assert (found.unread is None) == (found.error is not None)


def test_the_corpus_has_all_three_readings() -> None:
    assert {True, False, None} == {row["error"] for row in CORPUS}
    assert len(CORPUS) == len({row["name"] for row in CORPUS}) >= 60


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200), st.booleans())
def test_a_labelled_last_line_is_read_whatever_stands_before_it(before: str, error: bool) -> None:
    """Unless what stands before opens a block of thinking, or ends the reply."""
    if not any(mark in before for mark in "<[|"):
        assert verdict(f"{before}\n\nVerdict: {'yes' if error else 'no'}") is error


@given(st.text(max_size=200))
def test_without_the_words_yes_and_no_there_is_no_verdict(text: str) -> None:
    folded = "".join(c for c in text.casefold() if c.isalpha())
    if "yes" not in folded and "no" not in folded and text.isascii():
        assert verdict(text) is None


@given(st.text(max_size=300))
def test_no_reply_is_too_odd_to_be_read(text: str) -> None:
    found = read_verdict(Reply(text))
    assert found.text == text and found.error in (True, False, None)


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "no ",
        "yes ",
        "verdict: ",
        "a.b",
        "<think>",
        "\n",
        "the ",
        "my final ",
        "so, ",
        ", ",
        "(",
        "not supported ",
        "hallucination ",
        "is ",
        "- ",
        '"verdict":',
        "not ",
        "the answer is ",
        "it contains a ",
        "all claims ",
        '": ',
        "no hallucination in ",
    ],
)
def test_a_very_long_reply_is_read_in_time(piece: str) -> None:
    """Regular expressions that go back and forth would take minutes here, and the suite would notice."""
    assert verdict(piece * 20_000 + "\n\nVerdict: yes") is (None if piece == "<think>" else True)
    read_verdict(Reply(piece * 20_000 + "\n\nand so on"))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"thinking": "It is not in the text. Verdict: no", "verdict": "yes"}', True),
        ('```json\n{"thinking": "All of it is there.", "verdict": "no"}\n```', False),
        ('{"thinking": "", "verdict": "perhaps"}', None),
        ('{"thinking": "The answer contains a hallucination.", "verdict": "no"}', None),
    ],
)
def test_a_verdict_in_json_is_that_of_its_field(text: str, error: bool | None) -> None:
    assert verdict(text) is error
