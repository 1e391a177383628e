"""The arrangement detector: arguments on the wrong side or made twice, and nothing where there are no sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Scores, Unscored, number
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.eval.detectors.alignment import ArrangementDetector, score_alignment, score_arrangement
from eirene.models.encoder import Encoder, load_encoder

PRO = ("A car-free centre has cleaner air.", "Children can walk to school safely without cars.")
CON = ("Shops lose customers who come by car.", "Frail people cannot walk far.")
AIR = "Supporters say that the air gets cleaner when cars stay out."
SAFE = "They add that pupils are safer on their way to school."
SHOPS = "Opponents say that traders lose those customers who drive."
FRAIL = "They add that people who are frail cannot walk long distances."
RIGHT = f"{AIR} {SAFE} {SHOPS} {FRAIL}"
WRONG = f"{AIR} {SAFE} They add that people who are frail cannot walk long distances. {SHOPS}"


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder()


def score(encoder: Encoder, answer: str, *groups: ArgumentGroup, source: str = "perspectives") -> Scores:
    given = Grounding(source, groups or (ArgumentGroup("pro", PRO), ArgumentGroup("con", CON)))  # type: ignore[arg-type]  # one of three
    return score_arrangement(Case("Should the centre be free of cars?", answer, given), encoder)


def value(scores: Scores) -> float:
    found = number(scores.hallucination)
    assert found is not None
    return found


def test_an_argument_on_the_wrong_side_counts_for_its_share(encoder: Encoder) -> None:
    """One of four: at most a quarter, and the sentence that says it is the worst by far."""
    wrong, right = score(encoder, WRONG), score(encoder, RIGHT)
    assert value(right) < 0.02
    assert 0.1 < value(wrong) < 0.25
    by_sentence = [number(s.hallucination) or 0.0 for s in wrong.sentences]
    assert by_sentence.index(max(by_sentence)) == 2
    assert max(by_sentence) > 0.4
    assert sorted(by_sentence)[-2] < 0.2


def test_an_argument_made_twice_counts_for_its_share(encoder: Encoder) -> None:
    again = f"{AIR} Supporters say that the air gets cleaner if cars stay out. {SAFE} {SHOPS} {FRAIL}"
    assert value(score(encoder, again)) - value(score(encoder, RIGHT)) > 0.1
    assert number(score(encoder, again).sentences[1].hallucination) == 1.0


def test_a_copy_of_an_answer_with_more_good_sentences_is_no_worse(encoder: Encoder) -> None:
    short = f"{AIR} {SHOPS}"
    assert value(score(encoder, RIGHT)) <= value(score(encoder, short)) + 0.02


def test_an_argument_that_both_sides_make_is_at_home_with_both(encoder: Encoder) -> None:
    shared = (ArgumentGroup("pro", (*PRO, CON[1])), ArgumentGroup("con", CON))
    assert value(score(encoder, RIGHT, *shared)) < 0.02
    assert value(score(encoder, WRONG, *shared)) < 0.05


class Heard:
    """The encoder, and the texts that it was asked for."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.digest = encoder.digest
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        return self._encoder.encode(texts)


def test_it_asks_the_encoder_for_nothing_that_alignment_asked_for(encoder: Encoder) -> None:
    """Two detectors of one answer share its alignment: the second encodes only what it alone looks at."""
    case = Case(
        "Should the centre be free of cars?",
        WRONG,
        Grounding("perspectives", (ArgumentGroup("a", PRO), ArgumentGroup("b", CON))),
    )
    first, second = Heard(encoder), Heard(encoder)
    score_arrangement(case, second)
    alone = len(second.texts)
    score_alignment(case, first)
    shared = list(first.texts)
    score_arrangement(case, first)
    assert shared
    assert len(first.texts) == alone


def test_coverage_is_not_its_business(encoder: Encoder) -> None:
    assert isinstance(score(encoder, RIGHT).coverage, Unscored)


def test_without_two_sides_there_is_no_wrong_one(subtests: pytest.Subtests, encoder: Encoder) -> None:
    for groups, source in [
        ((ArgumentGroup("pro", PRO),), "perspectives"),
        ((ArgumentGroup("context", PRO),), "context"),
        ((ArgumentGroup("kept", PRO),), "derived"),
    ]:
        with subtests.test(groups=groups, source=source):
            found = score(encoder, RIGHT, *groups, source=source)
            assert found.hallucination == Unscored(
                unscored="needs two perspectives: without sides there is no wrong one"
            )


def test_an_empty_answer_is_unscored(subtests: pytest.Subtests, encoder: Encoder) -> None:
    for answer in ["", " \n"]:
        with subtests.test(answer=answer):
            assert score(encoder, answer).hallucination == Unscored(unscored="the answer is empty")


def test_an_answer_that_says_none_of_the_arguments_has_nothing_out_of_place(
    subtests: pytest.Subtests, encoder: Encoder
) -> None:
    for answer in ["Ja.", "?", "1. 2. 3.", "That is what it is about. " * 50, "It depends.\n\n- \n- x"]:
        with subtests.test(answer=answer):
            assert value(score(encoder, answer)) < 0.3


async def test_the_detector_is_the_function_and_names_its_fit(encoder: Encoder) -> None:
    detector = ArrangementDetector(encoder)
    case = Case("Cars?", WRONG, Grounding("perspectives", (ArgumentGroup("pro", PRO), ArgumentGroup("con", CON))))
    assert await detector.score(case, meter=Meter()) == score_arrangement(case, encoder)
    assert f"encoder={encoder.digest}," in detector.version
