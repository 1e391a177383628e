"""The salience detector on a Llama made on the spot: what it scores, what it says it cannot, and how it shares out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eirene.core.errors import InputError
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Unscored, number
from eirene.core.usage import Meter
from eirene.eval.base import Case, layout_digest
from eirene.eval.detectors.salience import SalienceDetector, WordMaps, prompt_text
from eirene.models.local.model import LocalModel, load_local
from tests.tiny_llama import make_llama

SIDES = (
    ArgumentGroup("pro", ("Wind power is clean.", "It is cheap.")),
    ArgumentGroup("con", ("Turbines kill birds and bats.",)),
)
CASE = Case("Is wind power good?", "Wind is clean. Turbines kill birds.", Grounding("perspectives", SIDES))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    texts = [CASE.question, CASE.answer, *CASE.given.arguments]
    return make_llama(tmp_path_factory.mktemp("llama"), texts=texts, context=160)


@pytest.fixture(scope="module")
def model(folder: Path) -> LocalModel:
    return load_local(f"hf:{folder}")


async def test_every_level_is_scored_and_the_levels_agree(model) -> None:
    scores = await SalienceDetector(WordMaps(model)).score(CASE, meter=Meter())
    assert [(a.group, a.n, len(a.words)) for a in scores.arguments] == [("pro", 1, 3), ("pro", 2, 1), ("con", 1, 4)]
    assert [CASE.answer[w.start : w.end] for w in scores.words] == ["Wind", "clean", "Turbines", "kill", "birds"]
    contribution = {
        name: np.exp(np.mean([np.log1p(-w.score) for a in scores.arguments if a.group == name for w in a.words]))
        for name in ("pro", "con")
    }
    assert number(scores.coverage) == pytest.approx(1 - min(contribution.values()))
    attribution = np.exp(np.mean([np.log1p(-w.score) for w in scores.words]))
    assert number(scores.hallucination) == pytest.approx(1 - attribution)
    assert len(scores.sentences) == 2


async def test_the_same_case_has_the_same_scores(model) -> None:
    detector = SalienceDetector(WordMaps(model))
    assert await detector.score(CASE, meter=Meter()) == await detector.score(CASE, meter=Meter())


async def test_calls_and_tokens_go_on_the_meter(model) -> None:
    meter = Meter()
    await SalienceDetector(WordMaps(model)).score(CASE, meter=meter)
    assert meter.total.calls == 1
    assert meter.total.input_tokens > 20


async def test_what_is_too_long_is_shared_out_with_the_answer_whole_in_each_pass(model) -> None:
    """Every argument and every word of the answer is there, in more passes."""
    meter = Meter()
    maps = WordMaps(model, max_tokens=64)
    found = await maps.get(CASE, meter=meter)
    whole = await WordMaps(model).get(CASE, meter=Meter())
    assert not isinstance(found, Unscored) and not isinstance(whole, Unscored)
    assert meter.total.calls > 1
    assert found.rows == whole.rows
    assert found.columns == whole.columns


async def test_an_argument_too_long_for_one_pass_is_cut_between_words(model) -> None:
    long = " ".join(["Turbines kill birds and bats."] * 30)
    case = Case(CASE.question, CASE.answer, Grounding("context", (ArgumentGroup("context", (long,)),)))
    meter = Meter()
    found = await WordMaps(model).get(case, meter=meter)
    assert not isinstance(found, Unscored)
    assert [long[r.start : r.end] for r in found.rows] == ["Turbines", "kill", "birds", "bats"] * 30
    assert meter.total.calls > 1


async def test_an_answer_that_leaves_no_room_is_unscored_not_cut(model) -> None:
    case = Case(CASE.question, "Wind is clean. " * 100, CASE.given)
    scores = await SalienceDetector(WordMaps(model)).score(case, meter=Meter())
    assert isinstance(scores.coverage, Unscored)
    assert "more than the 160 that fit" in scores.coverage.unscored


async def test_what_cannot_be_scored_says_why(subtests: pytest.Subtests, model) -> None:
    for answer, given, why in [
        ("  ", CASE.given, "the answer is empty"),
        (
            "Wind.",
            Grounding("perspectives", (ArgumentGroup("pro", ("It is so.",)),)),
            "no content words among what was given",
        ),
        ("Wind.", Grounding("derived", ()), "no content words among what was given"),
    ]:
        with subtests.test(answer=answer, given=given, why=why):
            scores = await SalienceDetector(WordMaps(model)).score(Case("Q?", answer, given), meter=Meter())
            assert scores.coverage == scores.hallucination == Unscored(unscored=why)


async def test_an_answer_of_stop_words_has_coverage_but_no_hallucination(model) -> None:
    scores = await SalienceDetector(WordMaps(model)).score(Case("Q?", "It is.", CASE.given), meter=Meter())
    assert number(scores.coverage) == 1.0
    assert isinstance(scores.hallucination, Unscored)


async def test_without_given_text_only_coverage_is_scored(model) -> None:
    derived = Grounding("derived", (ArgumentGroup("kept", ("Wind is clean.",)),))
    scores = await SalienceDetector(WordMaps(model)).score(Case("Q?", CASE.answer, derived), meter=Meter())
    assert number(scores.coverage) is not None
    assert isinstance(scores.hallucination, Unscored)


async def test_special_tokens_in_a_text_are_letters(model) -> None:
    """A text that spells out the end token neither ends the prompt nor shifts the offsets."""
    case = Case("</s>?", "Wind </s> kills <|assistant|> birds.", CASE.given)
    scores = await SalienceDetector(WordMaps(model)).score(case, meter=Meter())
    assert [case.answer[w.start : w.end] for w in scores.words] == ["Wind", "kills", "assistant", "birds"]


async def test_a_chat_model_is_asked_in_its_template(tmp_path: Path) -> None:
    chat = load_local(f"hf:{make_llama(tmp_path, texts=CASE.given.arguments, chat=True)}")
    scores = await SalienceDetector(WordMaps(chat)).score(CASE, meter=Meter())
    assert [len(a.words) for a in scores.arguments] == [3, 1, 4]
    assert number(scores.coverage) is not None


def test_an_unknown_option_is_named_with_those_there_are(subtests: pytest.Subtests, model) -> None:
    for option in [{"aggregate": "median"}, {"mean": "harmonic"}]:
        with subtests.test(option=option), pytest.raises(InputError, match="must be one of"):
            SalienceDetector(WordMaps(model), **option)


def test_an_unknown_measure_is_named_with_those_there_are(model) -> None:
    with pytest.raises(InputError, match="must be one of dot, l2, got 'l1'"):
        WordMaps(model, measure="l1")


async def test_detectors_on_the_same_maps_share_the_passes(model) -> None:
    """Three aggregates cost what one costs."""
    maps, meter = WordMaps(model), Meter()
    scores = [await SalienceDetector(maps, aggregate=a).score(CASE, meter=meter) for a in ("max", "sum", "entropy")]
    assert meter.total.calls == 1
    assert len({number(s.coverage) for s in scores}) == 3


async def test_shares_are_the_maps_entries_at_the_places_of_the_words(model) -> None:
    """Kept only where they are asked for, largest first, and no other score changes."""
    maps = WordMaps(model)
    plain = await SalienceDetector(maps).score(CASE, meter=Meter())
    kept = await SalienceDetector(maps, keep_shares=True).score(CASE, meter=Meter())
    found = await maps.get(CASE, meter=Meter())
    assert not isinstance(found, Unscored)
    assert plain.shares == () and kept.model_copy(update={"shares": ()}) == plain
    assert [s for _, _, s in kept.shares] == sorted((s for _, _, s in kept.shares), reverse=True)
    assert {(i, j): s for i, j, s in kept.shares} == {
        (i, j): round(float(found.values[i, j]), 3)
        for i in range(len(found.rows))
        for j in range(len(found.columns))
        if found.values[i, j] >= 0.01
    }
    rows = [(row.start, row.end) for row in found.rows]
    assert rows == [(word.start, word.end) for argument in kept.arguments for word in argument.words]


def test_the_version_names_the_layout_of_the_prompt_and_how_a_conversation_comes_into_it(model) -> None:
    digest = layout_digest(prompt_text)
    for measure in ("dot", "l2"):
        assert f",prompt={digest},{measure}," in SalienceDetector(WordMaps(model, measure=measure)).version
    assert layout_digest(lambda case: prompt_text(replace(case, history=()))) != digest
