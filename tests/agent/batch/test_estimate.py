"""What a batch may take: bounds that hold what a run then takes, and intervals from rows that were made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.agent.backends import resolve_backend
from eirene.agent.batch.estimate import estimate
from eirene.agent.detectors import with_judge
from eirene.agent.run import arefine
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.records import parse_item
from eirene.eval.pairwise import ChatPairwise
from eirene.feedback_model.model import ChatFeedback
from eirene.models.cache import CallCache
from eirene.models.chat import ChatModel
from eirene.models.costs import Price, rough_count
from eirene.models.scripted import ScriptedChatModel
from eirene.refiners.model import ChatRefiner
from eirene.text.sentences import split_sentences
from tests.scripted_judges import ScriptedPairJudge, longer

ITEMS = [
    parse_item({"id": f"row-{n}", "question": "Trams or buses?",
                "answer": " ".join(f"Trams are quiet in town number {i}." for i in range(n + 2)),
                "perspectives": [{"name": "trams", "arguments": ["Trams are quiet."]}]})
    for n in range(4)
]  # fmt: skip


def words(text: str) -> int:
    """How the scripted model counts."""
    return len(text.split())


def parts_with(reply: Any, *, n: bool = True, cache: CallCache | None = None) -> Parts:
    chat = ChatModel(ScriptedChatModel(reply), name="openai:m", cache=cache)
    if not n:
        chat._calls.refuse({"n"})
    return replace(
        resolve_backend("embedded"), backend="openai:m", feedback_model=ChatFeedback(chat), refiner=ChatRefiner(chat)
    )


def spotless(messages: list[Any]) -> str:
    return "\n".join(f"{n}. [Complete]" for n in range(1, 9) if f"{n}. Trams" in str(messages[-1].content))


def faulty(messages: list[Any]) -> str:
    text = "\n".join(str(m.content) for m in messages)
    if "You mend the answer" in text or "Write the improved answer now" in text:
        return " ".join(f"Trams are loud in town number {len(text)}." for _ in range(3)) + " No more."
    return spotless(messages).replace("[Complete]", "[Incomplete] Reasons: Much is missing from this.")


@pytest.mark.parametrize(
    ("mode", "script", "takes_n"),
    [("fine-grained", spotless, True), ("fine-grained", faulty, False), ("improve", faulty, True)],
)
async def test_a_run_takes_no_less_and_no_more_than_was_said(mode: Any, script: Any, takes_n: bool) -> None:
    """Calls and tokens of a real run lie between the bounds, whatever the model finds."""
    settings = Settings(mode=mode, samples=5)
    parts = parts_with(script, n=takes_n)
    found = estimate(ITEMS, rows=4, parts=parts, settings=settings, polls=5, count=words)
    records = [await arefine(item, backend=parts_with(script, n=takes_n), settings=settings) for item in ITEMS]
    assert all(record.error is None for record in records)
    for at, name in enumerate(("calls", "input_tokens", "output_tokens")):
        took = sum(getattr(record.usage, name) for record in records)
        slack = 0 if name == "calls" else 0.35 * took  # the chat format's own tokens, and words of other lengths
        assert found.loop[0, at] - slack <= took <= found.loop[1, at] + slack, (name, took, found.loop)
    assert not found.judge.any()


@pytest.mark.parametrize(("judge", "takes_n"), [(longer, True), (lambda *_: "tie", False)])
async def test_where_nothing_is_given_the_votes_on_every_rewrite_are_in_the_bounds(judge: Any, takes_n: bool) -> None:
    """The backend's own model compares each rewrite with the text before, unless that is turned off."""
    rows = [item.model_copy(update={"perspectives": None}) for item in ITEMS]
    pairs, settings = ScriptedPairJudge(better=judge), Settings(mode="improve")

    def script(messages: list[Any]) -> str:
        rewrite = f"{messages[-1].content.split('TEXT-')[-2]} It is {len(str(messages))}."
        return pairs.reply("\n".join(str(m.content) for m in messages)) or rewrite.partition("\n")[2]

    def made() -> Parts:
        parts = parts_with(script, n=takes_n)
        assert isinstance(parts.refiner, ChatRefiner)
        return replace(parts, pairwise=ChatPairwise(parts.refiner.chat), checks=())

    found = estimate(rows, rows=4, parts=made(), settings=settings, polls=5, count=words)
    records = [await arefine(row, backend=made(), settings=settings) for row in rows]
    assert all(record.rounds[0].pairwise is not None for record in records)
    for at, name in enumerate(("calls", "input_tokens", "output_tokens")):
        assert sum(getattr(record.usage, name) for record in records) <= found.loop[1, at], name
    off = Settings(mode="improve", judge_risk=0)
    assert (
        estimate(rows, rows=4, parts=made(), settings=off, polls=5, count=words).loop[1, 0] == 4 * 2 * 2
    )  # rows, rounds, draws


def test_one_request_for_all_critiques_reads_the_prompt_once(tmp_path: Path) -> None:
    """A model that takes n makes a call a vote; one that does not makes one a sample; known replies make none."""
    some = ITEMS[:1]

    def least(parts: Parts, stop: Any) -> Any:
        settings = Settings(samples=20, stop=stop)
        return estimate(some, rows=1, parts=parts, settings=settings, polls=5, count=words).loop[0]

    once, each = least(parts_with(spotless), "none"), least(parts_with(spotless, n=False), "none")
    assert (once[0], each[0]) == (1, 20)
    assert each[1] == 20 * once[1] and each[2] == once[2]
    auto, early = least(parts_with(spotless), "auto"), least(parts_with(spotless, n=False), "auto")
    assert (auto[0], auto[1], 4 * auto[2]) == (*once[:2], once[2]) and early[0] == 3  # 5 of 20 may decide


def test_a_readout_is_a_token_for_each_sentence_and_at_most_the_reasons() -> None:
    settings = Settings(critic_readout="probabilities", mode="edit", critic="both", samples=3)
    vote = estimate(ITEMS[:1], rows=1, parts=parts_with(spotless), settings=settings, polls=5, count=words).loop
    assert vote[0, [0, 2]].tolist() == [2, 2] and vote[1, 0] == 3 and vote[1, 2] > 2


def test_a_judge_is_counted_apart_and_without_its_price_nothing_is_known() -> None:
    """Polls are about the original and every rewrite; an unknown price is never taken for none."""
    settings = Settings(samples=5)
    parts = with_judge(parts_with(spotless), ScriptedChatModel(spotless), polls=5)
    found = estimate(ITEMS, rows=4, parts=parts, settings=settings, polls=5, count=words)
    asked = [5 + 2 * len(split_sentences(item.answer)) for item in ITEMS]  # a poll, and a sentence of a longer text
    assert found.judge[0, 0] == 4 and found.judge[1, 0] == 3 * sum(asked)
    assert found.cost_usd(Price(1, 2), None) is None and found.cost_usd(None, Price(1, 2)) is None
    low, high = found.cost_usd(Price(1, 2), Price(1, 2)) or (0, 0)
    assert 0 < low < high


def test_parts_that_call_no_model_take_nothing() -> None:
    parts, settings = resolve_backend("embedded"), Settings()
    found = estimate(ITEMS, rows=4, parts=parts, settings=settings, polls=5, count=words)
    assert found.cost_usd(None, None) == (0.0, 0.0)


def test_of_rows_that_were_drawn_the_bounds_are_wider() -> None:
    """Where not every row was looked at, a sampling error is added on both sides."""
    settings, parts = Settings(samples=5), parts_with(spotless)
    whole = estimate(ITEMS, rows=4, parts=parts, settings=settings, polls=5, count=words)
    drawn = estimate(ITEMS, rows=400, parts=parts, settings=settings, polls=5, count=words)
    assert drawn.loop[0, 1] < 100 * whole.loop[0, 1] and drawn.loop[1, 1] > 100 * whole.loop[1, 1]
    assert drawn.loop[0, 0] == 400


@given(st.text(), st.text())
def test_the_rule_of_thumb_counts_every_text_and_grows_with_it(one: str, other: str) -> None:
    """No text has a negative count, only the empty one and a space have none, and more text has no fewer tokens."""
    assert (rough_count(one) == 0) == (one in ("", " "))
    assert rough_count(one + "\n" + other) >= max(rough_count(one), rough_count(other))


def test_the_rule_of_thumb_by_hand(subtests: pytest.Subtests) -> None:
    """Words, long words, digits by three, other scripts by the letter, line breaks."""
    cases: list[tuple[str, int]] = [
        ("Trams are quiet.", 4),
        ("internationalization", 3),
        ("1234567", 3),
        ("电车很安静", 5),
        ("a\n\nb", 3),
        ("", 0),
    ]
    for text, tokens in cases:
        with subtests.test(case=text):
            assert rough_count(text) == tokens
