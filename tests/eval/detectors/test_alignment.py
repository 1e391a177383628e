"""The alignment detector: scores at every level, and what it leaves unscored."""

from __future__ import annotations

import pytest

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Scores, Unscored, number
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.eval.detectors.alignment import AlignmentDetector, score_alignment
from eirene.models.encoder import Encoder, load_encoder

GIVEN = Grounding(
    "perspectives",
    (
        ArgumentGroup("pro", ("The air in town becomes cleaner without cars.", "Children can walk to school safely.")),
        ArgumentGroup("con", ("Shops lose customers who come by car.",)),
    ),
)
GOOD = (
    "Pollution falls when no cars drive downtown. Kids get to school without danger. Stores without drivers sell less."
)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder(threads=1)


def _score(answer: str, encoder: Encoder, given: Grounding = GIVEN) -> Scores:
    return score_alignment(Case("Should cities close their centres to cars?", answer, given), encoder)


def test_the_answer_is_as_bad_as_its_worst_argument_and_sentence(encoder: Encoder) -> None:
    scores = _score(GOOD, encoder)
    assert [(a.group, a.n) for a in scores.arguments] == [("pro", 1), ("pro", 2), ("con", 1)]
    assert scores.coverage == max(number(a.coverage) or 0.0 for a in scores.arguments)
    assert scores.hallucination == max(number(s.hallucination) or 0.0 for s in scores.sentences)
    assert [s.n for s in scores.sentences] == [1, 2, 3]


def test_leaving_out_and_making_up_each_raise_their_own_score(encoder: Encoder) -> None:
    good = _score(GOOD, encoder)
    less = _score(GOOD.replace("Kids get to school without danger. ", ""), encoder)
    more = _score(GOOD + " Nuclear plants need much water.", encoder)
    assert (number(less.coverage) or 0) > 0.5 > (number(good.coverage) or 0)
    assert (number(more.hallucination) or 0) > 0.5 > (number(good.hallucination) or 0)
    assert more.coverage == pytest.approx(number(good.coverage), abs=0.02)


def test_derived_text_gives_coverage_but_no_hallucination(encoder: Encoder) -> None:
    scores = _score("Cars are banned.", encoder, Grounding("derived", (ArgumentGroup("kept", ("Cars are banned.",)),)))
    assert isinstance(scores.hallucination, Unscored) and "judge" in scores.hallucination.unscored
    assert (number(scores.coverage) or 0) < 0.5


def test_with_nothing_given_there_is_no_score(encoder: Encoder) -> None:
    scores = _score("Cars are banned.", encoder, Grounding("derived", ()))
    assert isinstance(scores.hallucination, Unscored) and isinstance(scores.coverage, Unscored)


async def test_passages_are_compared_sentence_by_sentence(encoder: Encoder) -> None:
    passages = ArgumentGroup("context", ("Oslo banned most cars from its centre in 2019. The city lies on a fjord.",))
    case = Case("When did Oslo ban cars?", "Oslo closed its centre to cars in 2019.", Grounding("context", (passages,)))
    scores = await AlignmentDetector(encoder).score(case, meter=Meter())
    assert (number(scores.hallucination) or 0) < 0.5 and (number(scores.coverage) or 0) < 0.5
