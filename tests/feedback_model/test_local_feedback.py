"""The local feedback model and refiner: which prompt is shown, what comes back, and the whole loop over them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from eirene.agent.backends import resolve_backend
from eirene.agent.run import arefine
from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.core.signature import derive_seed
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import COMPLETENESS, HALLUCINATION, LocalFeedback
from eirene.feedback_model.request import feedback_instruct, feedback_messages
from eirene.models.local.layout import CarriedPrompt
from eirene.models.local.model import LocalModel, load_local
from eirene.models.local.sampling import LocalSampling
from eirene.models.replies import Reply
from eirene.prompts import PromptSet, load_prompt, read_prompts
from eirene.prompts.loader import shipped_text
from eirene.refiners.base import RefineTask
from eirene.refiners.model import local_refiner
from eirene.text.sentences import split_sentences
from tests.tiny_llama import make_llama

ANSWER = "Trams are quiet. Buses are cheap."
ITEM = Item(question="Trams or buses?", answer=ANSWER)
REQUEST = FeedbackRequest(ITEM, ANSWER, split_sentences(ANSWER), seed=3)
SHORT = LocalSampling(max_new_tokens=6)


class Said(LocalModel):
    """A model that says what it is told to, and records what it was shown."""

    name = "hf:said"
    version = None
    layout = "instruct"
    prompt = None

    def __init__(self, *texts: str, finish_reason: str = "stop") -> None:
        self._texts = texts
        self._finish_reason = finish_reason
        self.seen: list[tuple[list[str], list[int]]] = []

    def encode_text(self, text: str) -> list[str]:
        return [text]

    async def sample(
        self, ids: list[str], seeds: Sequence[int], *, sampling: LocalSampling, meter: Meter
    ) -> list[Reply]:
        self.seen.append((ids, list(seeds)))
        return [Reply(t, self._finish_reason) for t in self._texts]

    draw = sample


async def test_a_copy_of_a_long_answer_has_room() -> None:
    """The critic of hallucinations gives the answer back, so that its replies may be longer than a critique."""
    asked: list[int] = []

    class Counts(Said):
        def encode_text(self, text: str) -> list[str]:
            return text.split()

        async def sample(self, *given: Any, sampling: LocalSampling, meter: Meter) -> list[Reply]:
            asked.append(sampling.max_new_tokens)
            return [Reply("", "stop")]

    for answer in ("word " * 2000, "word"):
        request = FeedbackRequest(ITEM, answer, split_sentences(answer), seed=3)
        for asking in (HALLUCINATION, COMPLETENESS):
            critic = LocalFeedback(cast(Any, Counts()), sampling=LocalSampling(), asking=asking)
            _ = [s async for s in critic.draw(request, start=0, count=1, meter=Meter())]
    assert asked == [4000, 1024, 1024, 1024]


def said(*texts: str, finish_reason: str = "stop") -> Any:
    return Said(*texts, finish_reason=finish_reason)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_llama(tmp_path_factory.mktemp("base"))


async def draw(model: LocalFeedback, start: int = 0, count: int = 3) -> list[Any]:
    return [s async for s in model.draw(REQUEST, start=start, count=count, meter=Meter())]


async def test_replies_are_read_and_noise_is_invalid() -> None:
    model = said("1. [Complete]\n2. [Incomplete] Reasons: prices are missing.", "I would rather not.")
    good, bad = await draw(LocalFeedback(model, sampling=SHORT), count=2)
    assert (good.tags, good.reasons) == (("Complete", "Incomplete"), (None, "prices are missing."))
    assert bad.invalid


async def test_a_cut_off_reply_is_invalid() -> None:
    (sample,) = await draw(LocalFeedback(said("1. [Complete]\n2. [Complete]", finish_reason="length")), count=1)
    assert sample.invalid


async def test_sample_i_is_seeded_with_the_request_and_i() -> None:
    model = said("")
    await draw(LocalFeedback(model), start=4, count=2)
    assert model.seen[0][1] == [derive_seed(3, "sample", 4), derive_seed(3, "sample", 5)]


async def test_samples_drawn_in_rounds_are_those_drawn_at_once(base: Path) -> None:
    """Their raw replies are compared: an untrained model's samples are all invalid, and so all alike."""
    model = load_local(f"hf:{base}", device="cpu")
    ids, seeds = LocalFeedback(model).prompt_ids(REQUEST), [derive_seed(3, "sample", i) for i in range(5)]
    whole = await model.sample(ids, seeds, sampling=SHORT, meter=Meter())
    parts = [await model.sample(ids, part, sampling=SHORT, meter=Meter()) for part in (seeds[:2], seeds[2:])]
    assert whole == parts[0] + parts[1]
    assert len({r.text for r in whole}) > 1


async def test_a_local_model_is_read_out_as_a_chat_model(base: Path) -> None:
    """The tiny model says neither word: nothing is guessed then."""
    sample = await LocalFeedback(load_local(f"hf:{base}", device="cpu")).read_out(REQUEST, meter=Meter())
    assert sample.chances or "the model says" in (sample.invalid or "")


def test_without_a_template_the_instruct_layout_is_shown_and_with_one_the_chat(base: Path, tmp_path: Path) -> None:
    plain, chat = (
        load_local(f"hf:{base}", device="cpu"),
        load_local(f"hf:{make_llama(tmp_path, chat=True)}", device="cpu"),
    )
    assert LocalFeedback(plain).prompt_ids(REQUEST) == plain.encode_text(feedback_instruct(REQUEST))
    assert LocalFeedback(chat).prompt_ids(REQUEST) == chat.encode_chat(feedback_messages(REQUEST))
    forced = load_local(f"hf:{tmp_path}?layout=instruct", device="cpu")
    assert LocalFeedback(forced).prompt_ids(REQUEST) == forced.encode_text(feedback_instruct(REQUEST))


def test_a_carried_prompt_is_the_one_that_is_shown(tmp_path: Path) -> None:
    folder = make_llama(tmp_path, chat=True)
    carried = CarriedPrompt("feedback", "instruct", load_prompt("feedback_instruct"), "Judge every statement.")
    (folder / "eirene_prompt.json").write_text(json.dumps(carried.to_json()))
    model = load_local(f"hf:{folder}", device="cpu")
    shown = model.tokenizer.decode(LocalFeedback(model).prompt_ids(REQUEST))
    assert model.layout == "instruct"
    assert "Judge every statement." in str(shown)


def test_a_damaged_prompt_file_is_an_input_error(subtests: pytest.Subtests) -> None:
    for bad in [
        {},
        {"layout": "chat", "name": 3},
        {**CarriedPrompt("feedback", "chat", load_prompt("feedback")).to_json(), "instruction": 3},
    ]:
        with subtests.test(bad=bad), pytest.raises(InputError, match=r"eirene_prompt\.json needs"):
            CarriedPrompt.read(bad, where="x")


async def test_the_refiner_shows_the_task_and_returns_the_rewrite() -> None:
    model = said("Sure, here is the improved answer:\nTrams are quiet and cheap.")
    task = RefineTask(ITEM, ANSWER, "generic", None, (), seed=11)
    (draft,) = await local_refiner(model).refine(task, meter=Meter())
    assert draft.text == "Trams are quiet and cheap."
    assert ANSWER in model.seen[0][0][0]
    assert model.seen[0][1] == [11]


async def test_a_rewrite_that_was_cut_off_says_so() -> None:
    task = RefineTask(ITEM, ANSWER, "improve", None, (), seed=11)
    (draft,) = await local_refiner(said("Trams are", finish_reason="length")).refine(task, meter=Meter())
    assert "cut off" in (draft.unusable or "")


async def test_the_loop_runs_on_an_hf_backend(base: Path) -> None:
    """An untrained model gives critiques in form and rewrites of no use: the original is kept, its tokens counted."""
    record = await arefine(ITEM, backend=f"hf:{base}?device=cpu", samples=3, max_rounds=1)
    assert (record.status, record.answer) == ("kept", ANSWER)
    assert record.rounds[0].critique is not None and record.rounds[0].critique.n_valid == 3
    as_text = await arefine(ITEM, backend=f"hf:{base}?device=cpu", samples=3, backend_options={"structured": "text"})
    assert (as_text.status, as_text.usage.calls) == ("abstained", 1)  # nothing that it says can be read
    assert record.backend == f"hf:{base}"
    assert record.usage.calls >= 2
    assert record.usage.input_tokens > 50
    assert record.usage.output_tokens > 0


def test_an_hf_backend_is_loaded_once(base: Path) -> None:
    assert resolve_backend(f"hf:{base}?device=cpu") is resolve_backend(f"hf:{base}?device=cpu")


def own_prompt(home: Path, name: str) -> PromptSet:
    home.mkdir()
    (home / f"{name}.md").write_text(f"{shipped_text(name)}\nOUR WORDS\n", "utf-8")
    return read_prompts(home)


def test_a_local_model_is_asked_in_own_prompts(tmp_path: Path) -> None:
    model = Said("1. [Complete]")
    feedback = LocalFeedback(model, prompts=own_prompt(tmp_path / "f", "feedback_instruct"))
    assert "OUR WORDS" in str(feedback.prompt_ids(REQUEST))
    assert "OUR WORDS" not in str(LocalFeedback(model).prompt_ids(REQUEST))


def test_an_own_prompt_in_the_place_of_a_carried_one_is_refused(tmp_path: Path) -> None:
    """The model would not be asked in it: it knows the one that it was tuned in."""
    model = Said("")
    model.prompt = CarriedPrompt("feedback", "chat", load_prompt("feedback")).to_json()
    with pytest.raises(InputError, match=r"hf:said carries the prompt .* leave feedback\.md out"):
        LocalFeedback(model, prompts=own_prompt(tmp_path / "f", "feedback"))
    LocalFeedback(model, prompts=own_prompt(tmp_path / "r", "refine_improve"))  # another role's
    model.prompt = CarriedPrompt("refiner", "chat", load_prompt("refine_improve")).to_json()
    with pytest.raises(InputError, match=r"leave refine_improve\.md out"):
        local_refiner(model, prompts=own_prompt(tmp_path / "s", "refine_improve"))
