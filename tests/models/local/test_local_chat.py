"""A local model as a chat model: replies by seed, the first token's probabilities, and the beginning read once."""

from __future__ import annotations

import pytest
import torch

from eirene.core.errors import TooLongError
from eirene.core.usage import Meter
from eirene.eval.detectors.chainpoll import ChainPoll
from eirene.eval.detectors.geval import GEval
from eirene.eval.detectors.judge import ErrorJudge
from eirene.eval.detectors.samples import SampleSource
from eirene.eval.detectors.trained_judges import TrainedJudge
from eirene.eval.pairwise import ChatPairwise
from eirene.models.chat import ChatModel, Sampling
from eirene.models.local.chat import chat_of
from eirene.models.local.model import LocalModel, load_local
from eirene.models.protocols import PROTOCOLS
from eirene.models.scripted import ScriptedChatModel
from eirene.models.token_choice import TokenChoice
from eirene.prompts import Message
from tests.tiny_llama import make_llama

SHARED = "The given text of the question and answer statements. " * 8


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> LocalModel:
    return load_local(f"hf:{make_llama(tmp_path_factory.mktemp('llama'))}", device="cpu")


def asked(claim: str) -> list[Message]:
    return [Message("user", f"{SHARED}\nClaim: {claim}")]


def plain(model: LocalModel, messages: list[Message]) -> torch.Tensor:
    """The log-probabilities of every first token, from one plain pass."""
    ids = torch.tensor([model.encode_messages(messages)])
    with torch.inference_mode():
        logits: torch.Tensor = model.model(input_ids=ids).logits[0, -1]
    return logits.log_softmax(-1)


async def test_the_log_odds_are_those_of_a_plain_pass(model: LocalModel) -> None:
    """Between the two likeliest words; the tokens that are the same word but for a space are summed."""
    logprobs = plain(model, asked("trams"))
    words: dict[str, list[float]] = {}
    for logprob, token in zip(*(found.tolist() for found in logprobs.topk(20)), strict=True):
        word = str(model.tokenizer.decode([token])).strip()
        words.setdefault(word.casefold() if len(word) > 1 else word, []).append(logprob)
    one, other = [word for word in words if word][:2]
    found = await TokenChoice(chat_of(model), (one, other)).ask(asked("trams"), meter=Meter())
    odds = [torch.tensor(words[word]).logsumexp(0) for word in (one, other)]
    assert found == pytest.approx(float(odds[0] - odds[1]), abs=1e-4)


async def test_the_beginning_of_prompts_is_read_once_and_changes_no_probability(model: LocalModel) -> None:
    meter = Meter()
    for claim in ("trams", "buses", "the reasons are missing"):
        tokens = await model.next_tokens(model.encode_messages(asked(claim)), top=50, meter=meter)
        best = plain(model, asked(claim)).topk(50).values
        assert [logprob for _, logprob in tokens] == pytest.approx(best.tolist(), abs=1e-4)
    assert meter.total.calls == 3 and meter.total.output_tokens == 3
    assert meter.total.cached_tokens > 0.6 * meter.total.input_tokens


async def test_a_seed_holds_and_n_replies_have_one_reading(model: LocalModel) -> None:
    chat, meter = chat_of(model), Meter()
    assert chat.takes_n and not chat.cache
    how = Sampling(temperature=1.0, max_tokens=5)
    first = await chat.send(asked("trams"), sampling=how, seeds=[3, 4, 5], meter=meter)
    again = await chat.send(asked("trams"), sampling=how, seeds=[3], meter=Meter())
    assert len(first) == 3 and again[0] == first[0] and len({reply.text for reply in first}) > 1
    assert meter.total.calls == 1 and 3 <= meter.total.output_tokens <= 15 and meter.total.cost_usd == 0.0


def test_whatever_judges_by_it_has_its_weights_in_its_version(model: LocalModel) -> None:
    """Scores of other weights under the same name are not taken for these."""
    chat = chat_of(model)
    assert chat.digest == model.version and ChatModel(ScriptedChatModel([])).digest is None
    for judge in (
        ChainPoll(chat), GEval(chat), ErrorJudge(chat), ChatPairwise(chat), SampleSource(chat),
        TrainedJudge(PROTOCOLS["lynx"], chat),
    ):  # fmt: skip
        assert judge.version.startswith(f"{model.name},{model.version},prompt="), judge


async def test_a_prompt_beyond_the_context_is_told(model: LocalModel) -> None:
    with pytest.raises(TooLongError):
        await TokenChoice(chat_of(model)).ask([Message("user", SHARED * 200)], meter=Meter())
