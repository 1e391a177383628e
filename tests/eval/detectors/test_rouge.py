"""The rouge detector: by hand, against rouge-score, and its limits."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.grounding import ArgumentGroup, Grounding, Source
from eirene.core.scores import Scores, Unscored, number
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.eval.detectors.rouge import NO_ARGUMENT_WORDS, RougeDetector, score_rouge
from eirene.text.sentences import split_sentences
from eirene.text.words import stems


def _case(answer: str, pro: tuple[str, ...], con: tuple[str, ...], source: Source = "perspectives") -> Case:
    return Case("?", answer, Grounding(source, (ArgumentGroup("pro", pro), ArgumentGroup("con", con))))


def test_scores_agree_with_a_computation_by_hand() -> None:
    """Answer: wind, power, is clean, wind, cheap. pro: wind power clean; wind safe. con: turbin kill bird."""
    case = _case(
        "Wind power is clean. Wind is cheap.", ("Wind power is clean.", "Wind: safe!"), ("Turbines kill birds",)
    )
    scores = score_rouge(case)
    # Words said: wind(2) power clean cheap; given: wind(2) power clean safe turbin kill bird. Matched: 4 of 5.
    assert scores.hallucination == pytest.approx(1 - 4 / 5)
    # Recall of pro: wind(2) power clean of wind(2) power clean safe = 4 of 5; of con 0 of 3: the least counts.
    assert scores.coverage == 1.0
    assert [(a.group, a.n, a.coverage) for a in scores.arguments] == [("pro", 1, 0.0), ("pro", 2, 0.5), ("con", 1, 1.0)]
    assert [s.hallucination for s in scores.sentences] == [0.0, 0.5]
    assert [(w.start, w.end, w.score) for w in scores.words] == [
        (0, 4, 0.0), (5, 10, 0.0), (14, 19, 0.0), (21, 25, 0.0), (29, 34, 1.0),
    ]  # fmt: skip


def test_counts_are_clipped() -> None:
    """A word said three times and given once is matched once, at its first place."""
    scores = score_rouge(_case("Jobs, jobs, jobs.", ("Jobs grow.",), ("Jobs",)))
    assert scores.hallucination == pytest.approx(1 / 3)
    assert [w.score for w in scores.words] == [0.0, 0.0, 1.0]


def test_scores_agree_with_rouge_score_on_random_texts() -> None:
    """Precision and recall of another implementation, over words that both cut alike."""
    from rouge_score import rouge_scorer

    class Split:
        def tokenize(self, text: str) -> list[str]:
            return list(stems(text))

    scorer = rouge_scorer.RougeScorer(["rouge1"], tokenizer=Split())
    rng = np.random.default_rng(0)
    words = ["taxes", "rents", "schools", "cars", "police", "birds", "wind", "wages", "towns", "rivers"]
    for _ in range(50):
        pro, con, answer = (" ".join(rng.choice(words, rng.integers(1, 15))) for _ in range(3))
        scores = score_rouge(_case(answer, (pro,), (con,)))
        everything = scorer.score(f"{pro} {con}", answer)["rouge1"]
        recalls = [scorer.score(text, answer)["rouge1"].recall for text in (pro, con)]
        assert number(scores.hallucination) == pytest.approx(1 - everything.precision)
        assert number(scores.coverage) == pytest.approx(1 - min(recalls))


TEXTS = st.text(alphabet=st.sampled_from("ab .!é中"), max_size=30)


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3), st.lists(TEXTS, min_size=1, max_size=3))
def test_every_number_is_in_range_and_everything_else_says_why(answer: str, pro: list[str], con: list[str]) -> None:
    scores = score_rouge(_case(answer, tuple(pro), tuple(con)))
    parts = [scores.hallucination, scores.coverage, *(s.hallucination for s in scores.sentences)]
    for score in [*parts, *(a.coverage for a in scores.arguments)]:
        assert (isinstance(score, Unscored) and score.unscored) or 0.0 <= (number(score) or 0.0) <= 1.0
    if words := scores.words:
        assert number(scores.hallucination) == pytest.approx(sum(w.score for w in words) / len(words))


@given(TEXTS)
def test_an_answer_that_is_what_was_given_has_no_errors(text: str) -> None:
    scores = score_rouge(_case(text, (text,), (text,)))
    expected = Unscored(unscored=NO_ARGUMENT_WORDS) if not Counter(stems(text)) else 0.0
    assert (scores.hallucination, scores.coverage) == (expected, expected)


def test_without_content_words_it_is_unscored_not_zero() -> None:
    assert isinstance(score_rouge(_case("It is.", ("taxes",), ("wages",))).hallucination, Unscored)
    assert score_rouge(_case("taxes", ("it is",), ("!",))) == Scores.none(NO_ARGUMENT_WORDS)


def test_derived_text_gives_coverage_but_no_hallucination() -> None:
    scores = score_rouge(_case("Taxes rise.", ("Taxes rise.",), ("Say why.",), source="derived"))
    assert isinstance(scores.hallucination, Unscored) and "judge" in scores.hallucination.unscored
    assert scores.coverage == 1.0


async def test_it_is_a_detector_that_calls_no_model() -> None:
    meter = Meter()
    scores = await RougeDetector().score(_case("Taxes rise.", ("Taxes rise.",), ("Taxes",)), meter=meter)
    assert (RougeDetector.name, number(scores.coverage), meter.total.calls) == ("rouge", 0.0, 0)


@given(st.text(alphabet=st.sampled_from("tax rise.!? \n"), max_size=60), TEXTS)
def test_a_sentence_scores_as_it_would_alone(answer: str, argument: str) -> None:
    case = _case(answer, ("taxes rise", argument), ("wages",))
    alone = [score_rouge(replace(case, answer=s.raw)).hallucination for s in split_sentences(answer)]
    if any(not isinstance(score, Unscored) for score in alone):
        assert [number(s.hallucination) for s in score_rouge(case).sentences] == [number(score) for score in alone]


def test_an_arguments_words_are_marked_where_the_answer_does_not_say_them() -> None:
    """Of "Wind power is clean" the answer says wind; passages are not spelled out."""
    case = _case("Wind, wind.", ("Wind power is clean.",), ("Wind wind wind",))
    pro, con = score_rouge(case).arguments
    assert [(w.start, w.end, w.score) for w in pro.words] == [(0, 4, 0.0), (5, 10, 1.0), (14, 19, 1.0)]
    assert [w.score for w in con.words] == [0.0, 0.0, 1.0]
    assert all(not a.words for a in score_rouge(replace(case, given=Grounding("context", case.given.groups))).arguments)
