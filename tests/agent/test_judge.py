"""A judge in the loop: what it measures where nothing was given, what it costs, and what the gate makes of it."""

from __future__ import annotations

import doctest
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

import eirene
from eirene.agent import detectors
from eirene.agent.check.rows import verified
from eirene.agent.detectors import with_judge
from eirene.agent.state import Parts
from eirene.core.errors import InputError
from eirene.core.records import Item, Record
from eirene.core.scores import Scores, Unscored
from eirene.eval.detectors.token_judge import cascade_of
from eirene.eval.resources import Resources
from eirene.models.scripted import ScriptedChatModel
from tests.agent.loop import FAULTY, ITEM, OPEN_ITEM, ORIGINAL, scores
from tests.scripted_parts import ScriptedDetector, scripted_parts

SAME = scores(0.1, 0.2)


def judge_that_says_yes_to(*texts: str) -> ScriptedChatModel:
    def reply(messages: list[BaseMessage]) -> str:
        found = any(text in str(messages[-1].content) for text in texts)
        return f"One claim after the other.\n\nVerdict: {'yes' if found else 'no'}"

    return ScriptedChatModel(reply)


def parts(*rewrites: str, judge: ScriptedChatModel, **more: Any) -> Parts:
    table: dict[str, Scores] = dict.fromkeys((ORIGINAL, *rewrites), SAME)
    made = scripted_parts(samples=[FAULTY] * 20, rewrites=rewrites, scores=table)
    return with_judge(made, judge, **more)


def run(item: dict[str, Any], made: Parts, **options: Any) -> Record:
    return eirene.refine(item, backend=made, **options)


def test_a_gain_is_measured_on_an_open_question() -> None:
    """Without critique and given text only a judge can tell: the original has an error, the rewrite has none."""
    judge = judge_that_says_yes_to(ORIGINAL)
    record = run(OPEN_ITEM, parts("Trams are quiet.", judge=judge), mode="improve")
    assert record.status == "accepted" and "unsupported content 1.00 -> 0.00 (by judge)" in record.why
    assert record.scores.original["judge"].hallucination == 1.0
    polls = record.scores.final["judge"].polls
    assert polls is not None and polls.asked == "correctness" and polls.replies[0].text.startswith("One claim")


def test_without_a_judge_that_gain_is_unmeasured() -> None:
    made = parts("Trams are quiet.", judge=judge_that_says_yes_to(ORIGINAL))
    bare = replace(made, detectors=made.detectors[:1], judges=frozenset(), pairwise=None)
    record = run(OPEN_ITEM, bare, mode="improve", max_rounds=1)
    assert record.status == "kept" and "nothing to measure a gain with" in record.why


def test_a_rewrite_that_makes_something_up_is_kept_out() -> None:
    judge = judge_that_says_yes_to("Trams fly.")
    record = run(OPEN_ITEM, parts("Trams fly.", judge=judge), mode="improve", max_rounds=1)
    assert (record.status, record.answer) == ("kept", ORIGINAL)
    assert "worse than before: unsupported content 0.00 -> 1.00 (by judge)" in record.why


async def test_given_text_is_what_the_judge_holds_an_answer_against() -> None:
    judge = judge_that_says_yes_to("Trams fly.")
    record = run(ITEM, parts("Trams fly.", judge=judge), mode="improve", max_rounds=1)
    polls = record.rounds[0].scores["judge"].polls
    assert polls is not None and polls.asked == "adherence"
    assert "Trams pollute less." in judge.calls[0].text
    wrong = "It was in 1930 that Queen Anna let the public into the library."
    given = ["The library was opened to the public by Queen Anna in 1903, after eight years of building."]
    item = Item(question="When was it opened?", answer=wrong, context=given)
    right = wrong.replace("1930", "1903")
    for says, answer, verdict in (("1930", right, "contradicted"), ("Anna", wrong, "unsupported")):
        judge = judge_that_says_yes_to(f"in {says} that", f"{says} let")
        assert eirene.refine(item, backend=with_judge(eirene.resolve_backend("embedded"), judge)).answer == answer
        found = await verified(item, cascade_of(Resources(judge_model=judge)))
        assert isinstance(found, eirene.Verification) and [claim.verdict for claim in found.claims] == [verdict]


def test_one_text_is_polled_once_in_all_rounds_and_every_call_is_counted() -> None:
    judge = judge_that_says_yes_to("Trams fly.", "Trams swim.")
    made = parts("Trams fly.", "Trams swim.", judge=judge)
    record = run(OPEN_ITEM, made, mode="improve", max_rounds=2, patience=1)
    assert len(record.rounds) == 2
    assert [call.n for call in judge.calls] == [5, 5, 5]  # the original and two rewrites
    assert record.usage.calls == 3 + 2  # and the scripted refiner's own two


def test_a_judge_that_cannot_be_read_lets_nothing_pass() -> None:
    """Scored before and unscored after: it may be worse, and that cannot be told."""
    replies = ["Verdict: yes"] * 5 + ["I cannot tell."] * 5
    record = run(OPEN_ITEM, parts("Trams fly.", judge=ScriptedChatModel(replies)), mode="improve", max_rounds=1)
    assert record.status == "kept" and "it may be worse, and that cannot be told: " in record.why
    assert isinstance(record.rounds[0].scores["judge"].hallucination, Unscored)


def test_a_judge_that_fails_leaves_its_scores_unscored_and_the_run_goes_on() -> None:
    def fails(_: list[BaseMessage]) -> Exception:
        return RefusedError("no such model")

    record = run(OPEN_ITEM, parts("Trams are quiet.", judge=ScriptedChatModel(fails)), mode="improve", max_rounds=1)
    assert record.error is None
    found = record.scores.original["judge"].hallucination
    assert isinstance(found, Unscored) and "no such model" in found.unscored


class RefusedError(Exception):
    status_code = 404


def test_the_signature_names_the_judge() -> None:
    made = parts(judge=judge_that_says_yes_to())
    assert made.version is not None and "judge:" in made.version and "n=5" in made.version
    assert isinstance(made.detectors[0], ScriptedDetector)


def test_what_is_no_judge_is_refused() -> None:
    for judge in ("gpt", "x.gguf"):
        with pytest.raises(InputError, match="provider:model"):
            with_judge(scripted_parts(), judge, polls=5)
    with pytest.raises(InputError, match="polls must be at least 3"):
        with_judge(scripted_parts(), judge_that_says_yes_to(), polls=2)


def test_the_example_in_the_docstring_holds() -> None:
    found = doctest.testmod(detectors)
    assert found.attempted > 0 and found.failed == 0
