"""Long answers and long passages are read whole: what stands at their very end counts."""

from __future__ import annotations

import pytest

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Scores, number
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.eval.registry import build_detector
from eirene.eval.resources import Resources
from eirene.models.encoder import load_encoder

RESOURCES = Resources(own_encoder=load_encoder(threads=1))
SAID = "Trams are quiet and clean."
FOREIGN = "Volcanoes in Iceland melt glaciers every century."
MANY = 400


async def scores(name: str, answer: str, *given: str, source: str = "perspectives") -> Scores:
    groups = (ArgumentGroup("pro", given),)
    case = Case("Trams?", answer, Grounding("context" if source == "context" else "perspectives", groups))
    return await build_detector(name, RESOURCES).score(case, meter=Meter())


async def test_a_foreign_sentence_after_thousands_of_words_is_found(subtests: pytest.Subtests) -> None:
    for name in ["rouge", "alignment"]:
        with subtests.test(name=name):
            found = await scores(name, f"{SAID} " * MANY + FOREIGN, SAID)
            marks = [number(s.hallucination) or 0.0 for s in found.sentences]
            assert len(marks) == MANY + 1
            assert marks[-1] > 0.8 and max(marks[:-1]) < 0.1


async def test_what_the_last_sentence_of_a_long_answer_says_is_covered(subtests: pytest.Subtests) -> None:
    for name in ["rouge", "alignment"]:
        with subtests.test(name=name):
            found = await scores(name, f"{FOREIGN} " * MANY + SAID, SAID)
            assert (number(found.arguments[0].coverage) or 0.0) < 0.1


async def test_the_end_of_a_long_passage_supports_an_answer(subtests: pytest.Subtests) -> None:
    """One sentence of 3,000 words in the passage, and the supporting one behind it."""
    for name in ["rouge", "alignment"]:
        with subtests.test(name=name):
            passage = " ".join(["Volcanoes melt glaciers"] * 1000) + f". {SAID}"
            found = await scores(name, SAID, passage, source="context")
            assert (number(found.hallucination) or 0.0) < 0.1


async def test_a_sentence_longer_than_the_encoders_window_is_read_to_its_end() -> None:
    """Two sentences of 600 words that part in their last 300 are not the same to the encoder."""
    head, tail = "trams run on rails " * 75, ["glaciers melt in spring " * 75, "bread is baked at night " * 75]
    first, second = RESOURCES.encoder.encode([head + t for t in tail])
    assert float(first @ second) < 0.95
