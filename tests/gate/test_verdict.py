"""The gate's two tests, and what it does where they cannot be made."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eirene.agent.run import refine
from eirene.agent.settings import Settings
from eirene.core.scores import ArgumentScore, Scores, Unscored
from eirene.gate import judge
from eirene.models.scripted import ScriptedChatModel

unit = st.floats(0, 1)
score = unit | st.just(Unscored(unscored="why"))
pair = st.builds(Scores, hallucination=score, coverage=score)


def one(hallucination: float | Unscored, coverage: float | Unscored) -> dict[str, Scores]:
    return {"d": Scores(hallucination=hallucination, coverage=coverage)}


def test_no_harm_and_gain() -> None:
    for before, after, accept, test in [
        ((0.5, 0.5), (0.5, 0.4), True, "gain"),
        ((0.5, 0.5), (0.5, 0.48), True, "gain"),  # exactly min_gain
        ((0.5, 0.5), (0.5, 0.49), False, "gain"),
        ((0.5, 0.5), (0.52, 0.1), True, "gain"),  # exactly tolerance
        ((0.5, 0.5), (0.53, 0.1), False, "harm"),
        ((0.5, 0.5), (0.5, 0.5), False, "gain"),
    ]:
        verdict = judge(one(*before), one(*after), gain_measurable=True, settings=Settings())
        assert (verdict.accept, verdict.test) == (accept, test)


def test_a_zero_min_gain_still_wants_something_better() -> None:
    verdict = judge(one(0.5, 0.5), one(0.5, 0.5), gain_measurable=True, settings=Settings(min_gain=0))
    assert not verdict.accept


def test_a_score_that_was_lost_counts_as_harm_that_cannot_be_ruled_out() -> None:
    verdict = judge(
        one(0.5, 0.5), one(Unscored(unscored="judge failed"), 0.0), gain_measurable=True, settings=Settings()
    )
    assert not verdict.accept
    assert "judge failed" in verdict.why


def test_a_detector_missing_after_the_rewrite_counts_as_lost() -> None:
    assert judge(one(0.5, 0.5), {}, gain_measurable=True, settings=Settings()).test == "unmeasured"


def test_without_any_common_score_the_original_is_kept() -> None:
    nothing = {"d": Scores.none("no text")}
    verdict = judge(nothing, one(0.0, 0.0), gain_measurable=True, settings=Settings())
    assert verdict.test == "unmeasured" and "no text" in verdict.why
    assert not judge({}, {}, gain_measurable=False, settings=Settings()).accept


def test_when_gain_is_unmeasured_the_setting_decides() -> None:
    for rule, accept in [("accept", True), ("keep", False)]:
        verdict = judge(
            one(0.5, 0.5), one(0.5, 0.5), gain_measurable=False, settings=Settings.of(when_gain_unmeasured=rule)
        )
        assert (verdict.accept, verdict.test) == (accept, "gain-unmeasured")


@given(pair, pair)
def test_what_is_accepted_harms_nothing_and_betters_something(before: Scores, after: Scores) -> None:
    """The verdict agrees with the two tests written out over all four numbers."""
    verdict = judge({"d": before}, {"d": after}, gain_measurable=True, settings=Settings())
    pairs = [(before.hallucination, after.hallucination), (before.coverage, after.coverage)]
    if verdict.accept:
        numbers = [(b, a) for b, a in pairs if not isinstance(b, Unscored)]
        assert all(not isinstance(a, Unscored) and a <= b + 0.02 + 1e-8 for b, a in numbers)
        assert any(not isinstance(a, Unscored) and a <= b - 0.02 + 1e-8 for b, a in numbers)


def said_of(*coverages: float | Unscored) -> dict[str, Scores]:
    arguments = tuple(ArgumentScore(group="pro", n=n, coverage=c) for n, c in enumerate(coverages, start=1))
    worst = max(c for c in coverages if isinstance(c, float))
    return {"d": Scores(hallucination=0.5, coverage=worst, arguments=arguments)}


def test_an_argument_that_was_said_must_not_go_missing() -> None:
    for before, after, accept in [
        ((0.9, 0.1), (0.6, 0.6), False),  # the worst is better, and what was said is gone
        ((0.9, 0.1), (0.2, 0.4), True),  # still said, if less surely
        ((0.9, 0.7), (0.6, 0.75), True),  # was missing before
        ((0.9, 0.49), (0.6, 0.5), True),  # within the tolerance
        ((0.9, 0.1), (0.6, Unscored(unscored="why")), True),  # nothing is known of it
    ]:
        verdict = judge(said_of(*before), said_of(*after), gain_measurable=True, settings=Settings())
        assert verdict.accept is accept
        assert accept or verdict.why == "an argument is lost: d coverage of pro 2 0.10 -> 0.60"


def test_an_answer_to_an_open_question_is_not_replaced_by_a_shorter_one() -> None:
    """What the answer said counts as given where nothing else is; two words that say none of it are no gain."""
    item = {"question": "How should I commute?", "answer": "Trams are quiet. Buses are cheap."}
    critique = "1. [Complete]\n2. [Incomplete] Reasons: the price is missing"
    chat = ScriptedChatModel(lambda messages: critique if "Examine statements" in str(messages) else "I think so.")
    record = refine(item, backend=chat, samples=3)
    assert (record.status, record.answer) == ("kept", item["answer"])
