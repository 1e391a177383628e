"""Replies are read as what they hold: well-formed ones as verdicts, doubtful and hostile ones as invalid."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from eirene.core.critique import Tag
from eirene.feedback_model.reply import read_reply
from eirene.text.sentences import Sentence, split_sentences
from recipes.train.critics import render_reply


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(__file__).with_name(name).read_text("utf-8").split("\n") if line]


CAUSES = ("empty", "cut off", "withheld", "too long", "refusal", "no verdict", "ambiguous", "conflict",
          "missing", "extra", "no reason")  # fmt: skip


def sentences(texts: list[str]) -> tuple[Sentence, ...]:
    result, at = [], 0
    for n, text in enumerate(texts, start=1):
        result.append(Sentence(n=n, start=at, end=at + len(text) + 1, raw=text + " "))
        at += len(text) + 1
    return tuple(result)


THREE = sentences(["Trams are quiet.", "Buses are cheap.", "Bikes are both."])


def test_every_reply_of_the_corpus_is_read_as_a_careful_reader_would_or_not_at_all() -> None:
    wrong = []
    for case in rows("replies.jsonl"):
        sample = read_reply(case["reply"], sentences(case["answer_sentences"]), finish_reason=case.get("finish_reason"))
        expect = case["expect"]
        if "invalid" in expect:
            is_right = (sample.invalid or "valid").partition(":")[0] == expect["invalid"] in CAUSES
        else:
            is_right = (list(sample.tags), list(sample.reasons)) == (expect["tags"], expect["reasons"])
        if not is_right:
            wrong.append((case["name"], sample.invalid or sample.tags, sample.reasons, expect))
    assert not wrong


# The styles that a known critique is written in and must be read back from.
Style = Callable[[Sequence[str | None]], str]


def lines(form: str, complete: str = "[Complete]", incomplete: str = "[Incomplete] Reasons: {reason}") -> Style:
    def write(reasons: Sequence[str | None]) -> str:
        return "\n".join(
            form.format(n=n, verdict=complete if reason is None else incomplete.replace("{reason}", reason))
            for n, reason in enumerate(reasons, start=1)
        )

    return write


def tags_of(reasons: Sequence[str | None]) -> list[Tag]:
    return ["Complete" if reason is None else "Incomplete" for reason in reasons]


def entries(reasons: Sequence[str | None]) -> list[dict[str, Any]]:
    return [
        {"n": n, "tag": tag, "reason": r} for n, (tag, r) in enumerate(zip(tags_of(reasons), reasons, strict=True), 1)
    ]


STYLES: dict[str, Style] = {
    "as asked": lambda reasons: render_reply(tags_of(reasons), reasons),
    "brackets": lines("({n}) {verdict}"),
    "hash": lines("#{n}: {verdict}"),
    "label": lines("**Statement {n}:** {verdict}"),
    "bullets": lines("- {n}. {verdict}"),
    "no numbers": lines("- {verdict}"),
    "lower case": lines("{n}. {verdict}", "[complete]", "[incomplete] reasons: {reason}"),
    "bare": lines("{n}. {verdict}", "Complete", "Incomplete. Reason: {reason}"),
    "next line": lines("{n}. {verdict}", "[Complete]", "[Incomplete]\n   Reasons: {reason}"),
    "fenced": lambda reasons: "```\n" + STYLES["as asked"](reasons) + "\n```",
    "after thinking": lambda reasons: "<think>1. [Complete]\nhm</think>\n" + STYLES["as asked"](reasons),
    "map": lambda reasons: json.dumps({e.pop("n"): e for e in entries(reasons)}),
}
SAID = (
    "the",
    "names",
    "no",
    "date",
    "(2019)",
    "50%",
    "p.",
    "4,",
    "one;",
    "source:",
    "“so”",
    "—",
    "why?",
    "é",
    "数",
    "don't",
)
said = st.lists(st.sampled_from(SAID), min_size=2, max_size=9).map(lambda words: f"It {' '.join(words)} here.")
critiques = st.lists(st.none() | said, min_size=3, max_size=3)


@given(critiques, st.sampled_from(sorted(STYLES)))
def test_a_critique_written_in_any_style_is_read_back(reasons: list[str | None], style: str) -> None:
    sample = read_reply(STYLES[style](reasons), THREE)
    assert (sample.invalid, list(sample.tags), list(sample.reasons)) == (None, tags_of(reasons), reasons)


NOISE = (
    "", "---", "Here is my view.", "> quoted", "Overall, fair.", "| a | b |", "```", "ignore the above", "3 of 4", "{}",
    "all complete", "All [Complete].", "- a point", "# Verdicts", "1. one", "2. [Maybe]", "</think>",
)  # fmt: skip


@given(critiques, st.lists(st.tuples(st.integers(0, 3), st.sampled_from(NOISE)), max_size=6))
def test_noise_between_the_lines_never_turns_a_tag(reasons: list[str | None], noise: list[tuple[int, str]]) -> None:
    reply = STYLES["as asked"](reasons).split("\n")
    for place, line in noise:
        reply.insert(place, line)
    sample = read_reply("\n".join(reply), THREE)
    assert sample.invalid is not None or list(sample.tags) == tags_of(reasons)


pieces = st.sampled_from([
    "1.", "2.", "3.", "[Complete]", "[Incomplete]", "Reasons:", "no figure", "\n", "<think>", "</think>", "{", "}", "[",
    "]", '"tag"', ":", ",", "```json", "```", "|", "Statement 2:", "complete", "Trams are quiet.", "\u202e", "~~",
    "0", "unvollständig", '{"1":', '"Complete"', "1. [Complete]\n", "2. [Incomplete] Reasons: x\n", "3. [Complete]\n",
    "\ud800", "#",
])  # fmt: skip
hostile = st.sampled_from([
    THREE,
    sentences(["1. [Complete]", "He wrote 3. [Complete] there.", "[Incomplete] Reasons: x"]),
    split_sentences("One </think> ends. ```\n1. [Complete]\n``` and\n\n- two\n- three"),
    sentences(["…", " ", "完全"]),
])  # fmt: skip


@given(st.lists(pieces | st.text(max_size=8), max_size=40).map(" ".join), hostile, st.none() | st.text(max_size=6))
def test_no_reply_raises_and_every_one_is_whole_or_invalid(
    reply: str, answer: tuple[Sentence, ...], finish_reason: str | None
) -> None:
    sample = read_reply(reply, answer, finish_reason=finish_reason)
    if sample.invalid is not None:
        assert sample.invalid.startswith(CAUSES)
    else:
        assert len(sample.tags) == len(sample.reasons) == len(answer)


@given(st.lists(pieces, max_size=30).map("".join))
def test_a_tag_is_only_read_where_the_reply_holds_that_tag(reply: str) -> None:
    sample = read_reply(reply, THREE)
    told = reply.casefold()
    assert "Incomplete" not in sample.tags or "incomplete" in told
    assert "Complete" not in sample.tags or "complete" in told.replace("incomplete", "")


UNITS = (
    "1. [Complete]\n", "1. [Complete] ", "[", "{", '{"a":\n', "<think>", "</think>\n", "Reasons: ", '"',
    "[Incomplete] ",
    " ", "\n", "*\n", "-\n\n", "1. Item number", "\u0327\u0301", "i can't ", "it is not ", "no a ", "> ",
)  # fmt: skip


def test_a_reply_of_a_megabyte_is_read_in_linear_time() -> None:
    """250 sentences leave room for a megabyte. No time is asserted; anything quadratic would take minutes here."""
    answer = sentences([f"Item number {n}" for n in range(250)])
    for unit in UNITS:
        reply = "1. [Incomplete] Reasons: x " + unit * (1_000_000 // len(unit))
        assert read_reply(reply, answer).invalid is not None
        assert read_reply(unit + reply, answer).invalid is not None


def test_a_long_valid_reply_is_read_and_an_endless_one_is_not() -> None:
    answer = sentences([f"Item number {n}" for n in range(200)])
    assert read_reply(STYLES["as asked"](["It says little. " * 200 + "End."] * 200), answer).is_valid
    assert read_reply(STYLES["as asked"](["It says little. " * 9000 + "End."] * 3), THREE).invalid == "too long"


def test_the_room_for_a_reply_is_exact() -> None:
    """Of three sentences 35,000 characters and 800 line breaks."""
    short = "1. [Complete]\n2. [Complete]\n3. [Incomplete] Reasons: It is short of "
    for more in (0, 1):
        spaced = "1. [Complete]\n" + "\n" * (798 + more) + "2. [Complete]\n3. [Complete]"
        for reply in (spaced, short + "y" * (35_000 + more - len(short))):
            assert read_reply(reply, THREE).invalid == ("too long" if more else None)


def test_a_number_beyond_the_sentences_is_a_cause_where_the_answer_holds_tags() -> None:
    answer = sentences(["1. [Complete]", "He wrote 3. [Complete] there.", "It is so."])
    reply = "1. [Incomplete] Reasons: Who?\n2. [Incomplete] Reasons: Where?\n9. [Incomplete] Reasons: Why?"
    assert (read_reply(reply, answer).invalid or "").startswith(CAUSES)


def test_an_answer_without_sentences_has_no_critique() -> None:
    assert read_reply("1. [Complete]", ()).invalid == "extra: the answer has no sentences"


def test_half_a_surrogate_pair_in_a_reason_is_replaced() -> None:
    sample = read_reply("1. [Incomplete] Reasons: half \ud800 a pair\n2. [Complete]\n3. [Complete]", THREE)
    assert sample.reasons[0] == "half \ufffd a pair"
