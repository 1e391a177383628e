"""GPTScore and pseudo-entropy against their definitions: by hand, and by a plain pass of a tiny model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.records import parse_item
from eirene.core.scores import Scores, Unscored, number
from eirene.core.usage import Meter, Usage
from eirene.eval.base import Case, case_of
from eirene.eval.detectors.judge import bounded
from eirene.eval.detectors.likelihood import (
    HALF_ENTROPY,
    HALF_NLL,
    GptScore,
    PseudoEntropy,
    gptscore_messages,
    pseudo_entropy,
)
from eirene.eval.registry import build_detector
from eirene.eval.resources import Resources
from eirene.eval.scoring import Scorer
from eirene.models.local.model import LocalModel, load_local
from eirene.models.token_scores import ScoredToken
from eirene.prompts import Message
from tests.tiny_llama import make_llama

NOTHING = Grounding("derived", ())
PASSAGES = Grounding("context", (ArgumentGroup("context", ("Trams are quiet.",)),))
SIDES = Grounding(
    "perspectives", (ArgumentGroup("pro", ("Trams are quiet.",)), ArgumentGroup("con", ("Buses are cheap.",)))
)


class Table:
    """A scorer that gives a word the log-probabilities in its table; no model. `spaced`: with the space before it."""

    name = "table"

    def __init__(self, table: dict[str, tuple[float, ...]], *, spaced: bool = False) -> None:
        self.table = table
        self.spaced = spaced
        self.asked: list[tuple[Sequence[Message], str]] = []

    async def score(self, messages: Sequence[Message], text: str, *, top: int, meter: Meter) -> list[ScoredToken]:
        self.asked.append((messages, text))
        meter.add(Usage(calls=1))
        found, at = [], 0
        for word in text.split():
            start = text.index(word, at)
            at = start + len(word)
            first = start - (self.spaced and start > 0)
            found.append(ScoredToken(first, at, self.table[word][0], self.table[word]))
        return found

    async def laid_out(self, lay_out: Any) -> Any:
        return lay_out(lambda messages, text: 0, None)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LocalModel:
    return load_local(f"hf:{make_llama(tmp_path_factory.mktemp('llama'))}", device="cpu")


async def scored(detector: GptScore | PseudoEntropy, answer: str, given_text: Grounding = NOTHING) -> Scores:
    return await detector.score(Case("Trams?", answer, given_text), meter=Meter())


def test_pseudo_entropy_is_that_of_a_hand_computation() -> None:
    """p = (1/2, 1/4), p~ = (2/3, 1/3): 2/3 ln 2 + 1/3 ln 4 = 4/3 ln 2; with all of the mass it is Shannon's entropy."""
    assert pseudo_entropy([math.log(0.5), math.log(0.25)]) == pytest.approx(4 / 3 * math.log(2))
    assert pseudo_entropy([math.log(0.25)] * 4) == pytest.approx(math.log(4))
    assert pseudo_entropy([math.log(0.1)]) == pytest.approx(math.log(10))
    assert pseudo_entropy([0.0, -9999.0]) == 0.0


def test_mass_outside_the_top_raises_it() -> None:
    """What sets it apart from PPL5 (appendix A.4): the same shape with less mass is less sure."""
    sure, unsure = [math.log(0.5), math.log(0.5)], [math.log(0.05), math.log(0.05)]
    assert pseudo_entropy(unsure) == pytest.approx(pseudo_entropy(sure) + math.log(10))


@given(st.lists(st.floats(-60, 0), min_size=1, max_size=8))
def test_pseudo_entropy_is_finite_and_its_order_does_not_matter(logprobs: list[float]) -> None:
    found = pseudo_entropy(logprobs)
    assert 0 <= found < math.inf
    assert pseudo_entropy(logprobs[::-1]) == pytest.approx(found)


async def test_the_largest_counts_and_sentences_have_their_own() -> None:
    table = Table({"Sure.": (math.log(0.5), math.log(0.5)), "No": (0.0,), "idea.": (math.log(0.2), math.log(0.1))})
    found = await scored(PseudoEntropy(table), "  Sure. No idea.")
    low, high = math.log(2), pseudo_entropy([math.log(0.2), math.log(0.1)])
    assert found.raw == {"max_pseudo_entropy": pytest.approx(high), "tokens": 3.0}
    assert found.hallucination == pytest.approx(bounded(high, half=HALF_ENTROPY))
    assert [number(s.hallucination) for s in found.sentences] == pytest.approx(
        [bounded(low, half=HALF_ENTROPY), bounded(high, half=HALF_ENTROPY)]
    )


async def test_a_token_with_the_space_before_it_is_of_the_sentence_that_its_letters_stand_in() -> None:
    """As servers that echo count, and tokenizers that keep the space: it ends the sentence before."""
    table = Table({"Trams": (-1.0,), "hum.": (-1.0,), "Cows": (-9.0,), "fly.": (-9.0,)}, spaced=True)
    found = await scored(GptScore(table), " Trams hum. Cows fly.")
    assert [number(s.hallucination) for s in found.sentences] == pytest.approx([1 / 3, 9 / 11])


async def test_the_rows_own_log_probabilities_come_first() -> None:
    item = parse_item(
        {"question": "Q?", "answer": "A b.", "meta": {"token_logprobs": [[-0.1, -3.0], [-1.0, -1.2, -1.4]]}}
    )
    table = Table({})
    found = await PseudoEntropy(table).score(case_of(item), meter=Meter())
    assert found.raw["max_pseudo_entropy"] == pytest.approx(pseudo_entropy([-1.0, -1.2, -1.4]))
    assert table.asked == []


async def test_without_log_probabilities_it_is_unscored() -> None:
    found = await scored(PseudoEntropy(), "A.")
    assert isinstance(found.hallucination, Unscored) and "token_logprobs" in found.hallucination.unscored
    with pytest.raises(InputError, match="top must be at least 1, got 0"):
        PseudoEntropy(top=0)


async def test_gptscore_is_the_mean_of_a_hand_computation() -> None:
    table = Table({"Trams": (-1.0,), "hum.": (-3.0,), "Yes.": (-0.5,)})
    found = await scored(GptScore(table), "Trams hum. Yes.")
    assert found.raw == {"mean_logprob": pytest.approx(-1.5), "tokens": 3.0}
    assert found.hallucination == pytest.approx(bounded(1.5, half=HALF_NLL))
    assert [number(s.hallucination) for s in found.sentences] == pytest.approx([2 / 4, 0.5 / 2.5])


async def test_gptscore_is_minus_the_loss_of_the_model(model: LocalModel) -> None:
    """The language modelling loss that transformers computes over the answer's tokens alone."""
    case = Case("Trams?", "Trams are quiet. They are not.", PASSAGES)
    meter = Meter()
    found = await build_detector("gptscore", Resources(local=model)).score(case, meter=meter)
    before = model.encode_text(gptscore_messages(case)[0].content + "\n")
    ids = model.encode_more(case.answer)
    with torch.inference_mode():
        labels = torch.tensor([[-100] * len(before) + ids])
        loss = model.model(input_ids=torch.tensor([before + ids]), labels=labels).loss
    assert found.raw["mean_logprob"] == pytest.approx(-float(loss), abs=1e-5)
    assert found.raw["tokens"] == len(ids) and meter.total.calls == 1
    assert len(found.sentences) == 2


async def test_pseudo_entropy_is_that_of_the_models_own_distribution(model: LocalModel) -> None:
    case = Case("Trams?", "Trams are quiet.", NOTHING)
    found = await build_detector("pseudo-entropy", Resources(local=model)).score(case, meter=Meter())
    before, ids = model.encode_text("Trams?\n"), model.encode_more(case.answer)
    with torch.inference_mode():
        logits = model.model(input_ids=torch.tensor([before + ids])).logits[0, len(before) - 1 : -1]
    values = []
    for row, token in zip(logits.log_softmax(-1), ids, strict=True):
        which = set(row.topk(5).indices.tolist()) | {token}
        p = row[list(which)].exp()
        values.append(float(-(p / p.sum() * p.log()).sum()))
    assert found.raw["max_pseudo_entropy"] == pytest.approx(max(values), abs=1e-4)


def test_what_the_answer_is_held_against_stands_in_the_prompt() -> None:
    texts = [gptscore_messages(Case("Trams?", "A.", g))[0].content for g in (NOTHING, PASSAGES, SIDES)]
    assert "quiet" not in texts[0] and "Texts:\n- Trams are quiet." in texts[1]
    assert "Arguments, pro:\n- Trams are quiet.\n\nArguments, con:\n- Buses are cheap." in texts[2]


async def test_an_answer_without_tokens_is_unscored(subtests: pytest.Subtests) -> None:
    for answer in ["", " \n"]:
        with subtests.test(answer=answer):
            for detector in (GptScore(Table({})), PseudoEntropy(Table({}))):
                assert isinstance((await scored(detector, answer)).hallucination, Unscored)


async def test_an_answer_beyond_the_context_is_unscored_with_the_reason_and_never_cut(
    subtests: pytest.Subtests, model: LocalModel
) -> None:
    """It is no failure either: asking again would change nothing."""
    for name in ["gptscore", "pseudo-entropy"]:
        with subtests.test(name=name):
            detector = build_detector(name, Resources(local=model))
            outcome = (await Scorer([detector]).score(Case("Q?", "x" * 3000, NOTHING)))[name]
            assert not outcome.failed
            assert isinstance(outcome.scores.hallucination, Unscored)
            assert "nothing is cut off" in outcome.scores.hallucination.unscored
            assert outcome.usage.calls == 0
