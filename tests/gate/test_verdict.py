"""The gate's two tests, and what it does where they cannot be made."""

from __future__ import annotations

import math
from importlib.resources import files
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from eirene.agent.run import refine
from eirene.agent.settings import Settings
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.records import EditDecision, RewriteComparison
from eirene.core.scores import ArgumentScore, PairJudgement, Scores, SentenceScore, Unscored
from eirene.gate import judge, unusable
from eirene.gate.verdict import _OF_THE_PROMPT, Verdict, judge_comparison
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


def test_the_reason_names_the_score_with_its_change() -> None:
    """The best of what got better, the worst of what got worse, and by how much it would have had to."""
    for before, after, why in [
        ((0.5, 0.6), (0.3, 0.5), "better, and nothing is worse by more than 0.02: unsupported content 0.50 -> 0.30"),
        ((0.5, 0.5), (0.5, 0.49), "nothing is better by 0.02: the best is missing content 0.50 -> 0.49"),
        ((0.5, 0.5), (0.6, 0.8), "worse than before: missing content 0.50 -> 0.80"),
    ]:  # fmt: skip
        assert judge(one(*before), one(*after), gain_measurable=True, settings=Settings()).why == f"{why} (by d)"
    strict = judge(one(0.5, 0.5), one(0.5, 0.4), gain_measurable=True, settings=Settings(tolerance=0))
    assert strict.why == "better, and nothing is worse: missing content 0.50 -> 0.40 (by d)"
    other = judge({**one(0.5, 0.5), "e": Scores.none("no judge")}, one(0.5, 0.5), gain_measurable=True,
                  settings=Settings())  # fmt: skip
    assert other.test == "gain"  # what had no score before is no loss


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
    verdict = judge(one(0.5, 0.5), {}, gain_measurable=True, settings=Settings())
    lost = "it may be worse, and that cannot be told: missing content 0.50 -> unscored (not scored) (by d)"
    assert verdict == Verdict(False, "unmeasured", lost)


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


def test_the_pairwise_judge_stands_for_the_gain_and_never_against_the_harm() -> None:
    """Accepted from 1 - judge_risk, whatever fault was put right; where a note was followed, unless surely worse."""
    same, worse = one(0.5, 0.5), one(0.9, 0.5)
    surely, perhaps, hardly = math.log(3.01), 0.0, -math.log(3.01)  # 0.75, which the default asks for, and 0.25
    human = {"settings": Settings(mode="human")}
    rows: list[tuple[Any, float | Unscored, dict[str, Any], tuple[bool, str]]] = [
        (same, surely, {}, (True, "pairwise")),
        (same, math.log(2.99), {}, (False, "pairwise")),
        (same, math.log(2.99), {"settings": Settings(judge_risk=0.3)}, (True, "pairwise")),
        (same, perhaps, {}, (False, "pairwise")),
        (same, hardly, {}, (False, "pairwise")),
        (same, Unscored(unscored="no word"), {}, (False, "pairwise")),
        (worse, surely, {}, (False, "harm")),
        (same, perhaps, {"mended": ["names: Bern"]}, (False, "pairwise")),
        (same, perhaps, human, (False, "gain")),
        (same, surely, human, (True, "pairwise")),
        (same, hardly, {"mended": ["names: Bern"]}, (False, "pairwise")),
        (same, hardly, human, (False, "pairwise")),
        (same, Unscored(unscored="no word"), human, (False, "pairwise")),
    ]
    for after, odds, more, expected in rows:
        given: dict[str, Any] = {"settings": Settings(), **more}
        judged = PairJudgement.of(odds, odds, judge="m")
        verdict = judge(same, after, gain_measurable=True, pairwise=judged, **given)
        assert (verdict.accept, verdict.test) == expected, (odds, more)
    judged = PairJudgement.of(0.0, 0.0, judge="m", votes=6)
    said = judge(same, same, gain_measurable=False, settings=Settings(), pairwise=judged).why
    assert said == "the pairwise judge finds it better with probability 0.50 by 6 votes, and 0.75 is needed"


def test_a_mended_fault_is_a_gain_whatever_the_scores_can_show() -> None:
    verdict = judge(one(0.5, 0.5), one(0.5, 0.5), gain_measurable=True, settings=Settings(), mended=["Bern"])
    assert verdict.accept and verdict.why == "a fault was corrected, and nothing got worse"
    unmeasured = judge(one(0.5, 0.5), one(0.5, 0.5), gain_measurable=False, settings=Settings(), mended=["names: Bern"])
    assert (unmeasured.accept, unmeasured.test) == (True, "gain")


PRO = ArgumentGroup("pro", ("It is quick.", "It is cheap."))


def said_of(*coverages: float | Unscored) -> dict[str, Scores]:
    arguments = tuple(ArgumentScore(group="pro", n=n, coverage=c) for n, c in enumerate(coverages, start=1))
    worst = max(c for c in coverages if isinstance(c, float))
    return {"d": Scores(hallucination=0.5, coverage=worst, arguments=arguments)}


def test_an_argument_that_was_said_must_not_go_missing() -> None:
    rows: list[tuple[Any, Any, bool]] = [
        ((0.9, 0.1), (0.6, 0.6), False),  # the worst is better, and what was said is gone
        ((0.9, 0.1), (0.2, 0.4), True),  # still said, if less surely
        ((0.9, 0.7), (0.6, 0.75), True),  # was missing before
        ((0.9, 0.49), (0.6, 0.5), True),  # within the tolerance
        ((0.9, 0.1), (0.6, Unscored(unscored="why")), True),  # nothing is known of it
        ((0.9, Unscored(unscored="why")), (0.6, 0.55), True),  # nor was before
        ((0.9, 0.375), (0.6, 0.5), False),  # missing from one half on, by more than a little
        ((0.9, 0.5), (0.6, 0.8), True),  # at one half it was missing before
    ]
    for before, after, accept in rows:
        verdict = judge(said_of(*before), said_of(*after), gain_measurable=True, settings=Settings())
        assert verdict.accept is accept
        assert accept or verdict.why == "an argument is lost: argument 2 of pro"
    given: Any = {"gain_measurable": True, "settings": Settings(), "given": Grounding("perspectives", (PRO,))}
    assert judge(said_of(0.9, 0.1), said_of(0.6, 0.6), **given).why == 'an argument is lost: "It is cheap." (pro)'
    given["given"] = Grounding("context", (PRO,))  # of passages no side is named
    assert judge(said_of(0.9, 0.1), said_of(0.6, 0.6), **given).why == 'an argument is lost: "It is cheap."'


def test_one_argument_that_is_said_now_is_a_gain_though_the_worst_stays() -> None:
    rows: list[tuple[Any, Any, bool]] = [
        ((0.9, 0.7), (0.9, 0.3), True),
        ((0.9, 0.7), (0.9, 0.5), False),  # not said yet
        ((0.9, 0.5), (0.9, 0.375), True),
        ((0.9, 0.3), (0.9, 0.25), False),  # hardly surer
        ((0.9, Unscored(unscored="why")), (0.9, 0.1), False),
        ((0.9, 0.7), (0.9, Unscored(unscored="why")), False),
    ]
    for before, after, accept in rows:
        verdict = judge(said_of(*before), said_of(*after), gain_measurable=True, settings=Settings())
        assert verdict.accept is accept, (before, after)
        assert not accept or "a missing argument is said now" in verdict.why
    wide = Settings(min_gain=0.5)
    assert not judge(said_of(0.9, 0.7), said_of(0.9, 0.3), gain_measurable=True, settings=wide).accept
    assert judge(said_of(0.9, 0.75), said_of(0.9, 0.25), gain_measurable=True, settings=wide).accept


def test_the_score_of_one_sentence_or_argument_must_change_by_more() -> None:
    """Fine is fine under one half, and under 0.2 there is nothing to gain: 0.03 to 0.01 is as well supported."""

    def held_of(worst: float) -> dict[str, Scores]:
        sentence = SentenceScore(n=1, hallucination=worst)
        return {"d": Scores(hallucination=worst, coverage=0.5, sentences=(sentence,))}

    for before, after, expected in [
        (0.03, 0.01, (False, "gain")),
        (0.15, 0.25, (False, "gain")),  # fine before and after
        (0.3, 0.15, (True, "gain")),
        (0.21, 0.01, (False, "gain")),  # 0.01 above where nothing is to gain
        (0.55, 0.64, (False, "gain")),  # worse by a little
        (0.55, 0.66, (False, "harm")),
        (0.1, 0.59, (False, "gain")),  # 0.09 above what is fine
        (0.1, 0.62, (False, "harm")),
    ]:
        verdict = judge(held_of(before), held_of(after), gain_measurable=True, settings=Settings())
        assert (verdict.accept, verdict.test) == expected, (before, after)
    wide = Settings(tolerance=0.3)
    assert judge(held_of(0.55), held_of(0.8), gain_measurable=True, settings=wide).test == "gain"


def test_the_comparison_accepts_from_its_threshold_on() -> None:
    """With the reasons of the edits that stay, three of them; and says what is needed where it does not accept."""
    told = ((True, "One"), (False, "Undone"), (True, "Two"), (True, None), (True, "Three"), (True, "Four"))
    at: Any = {"kind": "reworded", "before": (0, 1), "after": (0, 1), "old": "a", "new": "b"}
    edits = [EditDecision(**at, taken=taken, why=why) for taken, why in told]
    rows: list[tuple[float, float | None, bool, str]] = [
        (0.9, 0.9, True, "One; Two; Three; and 1 more (better with probability 0.90)"),
        (0.899, 0.9, False, "not surely better: better with probability 0.90, and 0.90 is needed for a risk of 0.05"),
        (0.5, 0.4, False, "not better: better with probability 0.50"),
        (0.99, None, False, "better with probability 0.99, and none is high enough for a risk of 0.05"),
    ]
    for better, threshold, accept, why in rows:
        comparison = RewriteComparison(better=better, threshold=threshold, risk=0.05, calibration="c")
        assert judge_comparison(comparison, edits) == Verdict(accept, "comparison", why)
    comparison = RewriteComparison(better=0.9, threshold=0.6, risk=0.05, calibration="c")
    assert judge_comparison(comparison, []).why == "the answer changed (better with probability 0.90)"
    assert judge_comparison(comparison, edits[:5]).why.startswith("One; Two; Three (")
    given: Any = {"gain_measurable": True, "settings": Settings(), "edits": edits[:1]}
    better = judge(one(0.5, 0.5), one(0.3, 0.5), **given)
    assert better.why.startswith("One; better, and nothing is worse by more than 0.02: unsupported content")
    assert judge(one(0.5, 0.5), one(0.3, 0.5), **given, mended=["Bern"]) == Verdict(True, "gain", "One")


def test_what_only_a_mended_fault_said_can_go() -> None:
    """Without the faults an argument was said as well as the rest says it, and each is looked at by itself."""
    before, after = said_of(0.9, 0.1), said_of(0.9, 0.9)
    fixed: dict[str, Any] = {"gain_measurable": True, "settings": Settings(), "mended": ["names: Bern"]}
    assert judge(before, after, **fixed).why == "an argument is lost: argument 2 of pro"
    assert judge(before, after, **fixed, without_errors=said_of(0.9, 0.8)).accept
    assert judge(before, after, **fixed, without_errors={"d": Scores.none("no text")}).test == "harm"
    assert judge(before, after, **fixed, without_errors=said_of(0.9, 0.05)).test == "harm"  # never better than it was
    whole, worse = said_of(0.6, 0.55), said_of(0.8, 0.8)
    assert judge(whole, worse, gain_measurable=True, settings=Settings()).test == "harm"
    assert judge(whole, worse, **fixed).accept  # the worst argument's score may have been the fault's


def test_some_replies_are_rejected_before_they_are_scored() -> None:
    refusal = "I'm sorry, but I can't help with that."
    for candidate, answer, best, rejected, why in [
        (" \n", "a", "a", [], "the rewrite is empty"),
        ("b", "a", "a", [], None),
        (" a ", "z", "a", [], "the refiner returned the text unchanged"),
        ("b ", "a", "a", ["c", " b"], "the rewrite repeats one that was already rejected"),
        ("x" * 4_010, "a" * 10, "a", [], None),
        ("x" * 4_011, "a" * 10, "a", [],
         "the rewrite has 4011 characters; for an answer of 10 at most 4010 are read"),
        ("x" * 8_000, "a" * 2_000, "a", [], None),
        ("x" * 8_001, "a" * 2_000, "a", [],
         "the rewrite has 8001 characters; for an answer of 2000 at most 8000 are read"),
        (refusal, "a", "a", [], "the reply is a refusal, not a rewrite"),
        (refusal, refusal, refusal + " It is late.", [], None),
        ("The criticism, by sentence:\nSentence 1: no.", "a", "a", [],
         "the reply copies the criticism, and is no rewrite"),
    ]:  # fmt: skip
        assert unusable(candidate, answer=answer, best=best, rejected=rejected) == why, candidate[:50]
    prompt = (files("eirene.prompts") / "refine_fine_grained.md").read_text("utf-8")
    assert all(words in prompt for words in _OF_THE_PROMPT)  # what small models copy is what the prompt says


def test_an_answer_to_an_open_question_is_not_replaced_by_a_shorter_one() -> None:
    """What the answer said counts as given where nothing else is; two words that say none of it are no gain."""
    item = {"question": "How should I commute?", "answer": "Trams are quiet. Buses are cheap."}
    critique = "1. [Complete]\n2. [Incomplete] Reasons: the price is missing"
    chat = ScriptedChatModel(lambda messages: critique if "Examine statements" in str(messages) else "I think so.")
    record = refine(item, backend=chat, samples=3)
    assert (record.status, record.answer) == ("kept", item["answer"])
