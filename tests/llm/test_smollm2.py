"""The loop with a real language model. It is weak: asserted is that its replies are read, and that nothing is lost."""

from __future__ import annotations

import asyncio
import faulthandler
from pathlib import Path
from typing import Any

import openai
import pytest

import eirene
from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.experiments.compare import ComparePlan, acompare
from eirene.core.critique import Sample
from eirene.core.errors import InputError, UnusableReplyError
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.records import STATUSES, Item
from eirene.core.usage import Meter, Usage
from eirene.data.topics import parse_topic
from eirene.eval.base import Case
from eirene.eval.registry import build_detectors
from eirene.eval.resources import Resources
from eirene.feedback_model.base import FeedbackRequest
from eirene.models.chat import ChatModel, Sampling
from eirene.models.gguf.chat import GgufScorer
from eirene.models.gguf.trial import server_of, try_model
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.npov.writers import ChatWriter, WriteTask
from eirene.prompts import Message
from eirene.text.sentences import split_sentences
from tests.agent.server.serving import running
from tests.llm.conftest import LlamaServer
from tests.llm.smollm2 import make_folder

SLOW = pytest.mark.slow
pytestmark = [pytest.mark.llm, pytest.mark.usefixtures("loopback")]

ITEM = Item(id="lamp", question="Who keeps the lamp, and what does it burn?", answer="The keeper lights the lamp.")
SIDES = {"pro": "Trams are quiet.", "con": "Tracks cost a lot to lay."}


def named(file: Path) -> str:
    return f"gguf:{file}?threads=1&context=8192&tokens=120"


async def critiques(
    backend: str, *, kind: str = "completeness", count: int, **options: Any
) -> tuple[list[Sample], Usage]:
    parts = resolve_backend(backend, BackendOptions(**options))
    model = parts.feedback_model if kind == "completeness" else parts.hallucination_model
    assert model is not None
    request, meter = FeedbackRequest(ITEM, ITEM.answer, split_sentences(ITEM.answer), 7), Meter()
    return [sample async for sample in model.draw(request, start=0, count=count, meter=meter)], meter.total


@pytest.mark.parametrize(
    ("kind", "count"),
    [("completeness", 4), pytest.param("completeness", 20, marks=SLOW), pytest.param("hallucination", 6, marks=SLOW)],
)
async def test_critiques_are_one_call_and_can_be_read(gguf_file: Path, kind: str, count: int) -> None:
    samples, usage = await critiques(named(gguf_file), kind=kind, count=count)
    assert sum(sample.is_valid for sample in samples) >= count - 1
    assert usage.calls == 1
    assert usage.output_tokens >= count * 4  # of all of them: the shortest reply has more tokens than that


@pytest.mark.slow
async def test_a_text_is_as_likely_as_when_the_model_wrote_it(gguf_file: Path) -> None:
    """What it writes by itself, handed in as a text to be scored, has the same tokens and probabilities."""
    chat, prompt = resolve_chat(named(gguf_file)), (Message("user", "What is a lamp?"),)
    reply = await chat.ask(prompt, sampling=Sampling(temperature=0.0, top_logprobs=3), meter=Meter())
    told = [token for token in reply.tokens if token.text]
    found = await GgufScorer(named(gguf_file)).score(prompt, reply.text, top=3, meter=(meter := Meter()))
    assert [reply.text[t.start : t.end] for t in found] == [token.text for token in told]
    assert [t.logprob for t in found] == pytest.approx([token.logprob for token in told], abs=0.05)
    assert meter.total.calls == 1 and all(3 <= len(t.top) <= 4 for t in found)


async def test_a_seed_holds_whatever_ran_before(gguf_file: Path) -> None:
    first, _ = await critiques(named(gguf_file), count=4)
    await resolve_chat(named(gguf_file)).ask([Message("user", "Hello.")], sampling=Sampling(seed=1), meter=Meter())
    assert (await critiques(named(gguf_file), count=4))[0] == first


async def test_a_cancelled_request_ends_soon_and_the_next_is_answered(gguf_file: Path) -> None:
    chat = resolve_chat(named(gguf_file))
    long = asyncio.create_task(
        chat.ask([Message("user", "Count to a thousand.")], sampling=Sampling(seed=1), meter=Meter())
    )
    await asyncio.sleep(0)
    long.cancel()
    with pytest.raises(asyncio.CancelledError):
        await long
    reply = await chat.ask([Message("user", "Say yes.")], sampling=Sampling(seed=1, temperature=0.0), meter=Meter())
    assert reply.text.strip()


def test_a_server_may_be_dropped_as_soon_as_it_is_loaded(gguf_file: Path) -> None:
    """Its loop has begun by then; one that is told to end before never would, nor would the process, which a failure
    of this test ends with where it stood."""
    settings = {"path": str(gguf_file), "context": 256, "threads": 1, "template": None}
    faulthandler.dump_traceback_later(120, exit=True)
    for _ in range(3):
        server_of(settings, "key", warmup=False)
    faulthandler.cancel_dump_traceback_later()


def test_refine_keeps_the_original_or_says_what_it_accepted(gguf_file: Path) -> None:
    samples = {"auto": 1, "vote": 5}
    for readout, n in samples.items():
        options = eirene.Settings.of(critic_readout=readout, samples=5, max_rounds=1, judge_risk=0)
        record = eirene.refine(ITEM, backend=named(gguf_file), settings=options)
        assert record.status in {*STATUSES} - {"failed"}, record.why
        assert record.original == ITEM.answer
        assert len(record.rounds[0].samples) == n
        assert ("readout:probabilities" in record.signature) == (readout == "auto")
    assert record.usage.cost_usd == 0.0


@pytest.mark.slow
async def test_a_follow_up_is_judged_in_its_conversation_within_the_models_context(gguf_file: Path) -> None:
    history = [("user", "What burns in old lamps? " * 40), ("assistant", "Whale oil. " * 80)] * 24
    item = Item(question="And who lights them?", answer="The keeper does.", history=history)
    parts = resolve_backend(f"gguf:{gguf_file}?threads=1&context=2048&tokens=60")
    request, meter = FeedbackRequest(item, item.answer, split_sentences(item.answer), 7), Meter()
    samples = [sample async for sample in parts.feedback_model.draw(request, start=0, count=2, meter=meter)]
    assert [sample.is_valid for sample in samples] == [True, True]
    assert 800 < meter.total.input_tokens - meter.total.cached_tokens < 2048  # forty times as much was said


@pytest.mark.slow
async def test_three_modes_are_compared(gguf_file: Path, tmp_path: Path) -> None:
    settings = {"samples": 3, "max_rounds": 1, "judge_risk": 0}
    plan = ComparePlan(modes=("improve", "generic", "fine-grained"), settings=settings)  # type: ignore[arg-type]  # made
    parts = resolve_backend(named(gguf_file))
    found = await acompare([ITEM], plan=plan, parts=parts, out=tmp_path)
    assert len(found.rows) == 3
    assert all(row.record.original == ITEM.answer for row in found.rows)


@pytest.mark.slow
async def test_one_file_is_judge_and_local_model_of_every_detector(gguf_file: Path) -> None:
    given = Grounding("context", (ArgumentGroup("context", ("The lamp burns oil.",)),))
    case = Case("What does the lamp burn?", "It burns oil.", given)
    resources = Resources(judge_model=named(gguf_file), polls=3, samples=3)
    names = ["chainpoll", "gptscore", "pseudo-entropy", "selfcheck-ngram"]
    meters = [Meter() for _ in names]
    built = zip(build_detectors(names, resources), meters, strict=True)
    polled, *others = [await detector.score(case, meter=meter) for detector, meter in built]
    assert [meter.total.calls for meter in meters] == [1, 1, 1, 1]
    assert polled.polls is not None
    assert sum(poll.error is not None for poll in polled.polls.replies) >= 2
    assert all(isinstance(scores.hallucination, float) for scores in others)


@pytest.mark.slow
async def test_an_npov_response_is_written(gguf_file: Path) -> None:
    topic = parse_topic({"id": "trams", "question": "Should the town build a tram line?", "perspectives": SIDES})
    writer, meter = ChatWriter(resolve_chat(named(gguf_file))), Meter()
    try:
        text = (await writer.write(WriteTask(topic.question, topic, 1), meter=meter)).main
    except UnusableReplyError as error:  # it may go on and on
        text = error.reply or ""
    assert len(text.split()) > 20
    assert 20 < meter.total.output_tokens <= 120


@pytest.mark.slow
async def test_a_server_of_llama_cpp_takes_the_schema_and_every_token_is_counted(
    llama_server: LlamaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", llama_server.key)
    samples, usage = await critiques("openai:smollm2", count=6, base_url=llama_server.base_url)
    assert sum(sample.is_valid for sample in samples) >= 5
    assert usage.calls == 1
    with openai.OpenAI(base_url=llama_server.base_url, api_key=llama_server.key) as client:
        told = client.chat.completions.create(
            model="smollm2", messages=[{"role": "user", "content": "Hello."}], n=4, seed=2, max_tokens=20, logprobs=True
        )
        ours = Meter()
        chat = resolve_chat("openai:smollm2", options=ChatOptions(base_url=llama_server.base_url))
        limited = ChatModel(chat.model.model_copy(update={"max_tokens": 20}))
        await limited.send([Message("user", "Hello.")], sampling=Sampling(seed=2), seeds=range(2, 6), meter=ours)
    came = sum(len(choice.logprobs.content or ()) for choice in told.choices if choice.logprobs)
    assert told.usage is not None
    assert told.usage.completion_tokens < came  # what the server says is one choice's
    assert ours.total.output_tokens == came


@pytest.mark.slow
def test_serve_answers_openai_s_client_in_one_piece_and_streamed(gguf_file: Path) -> None:
    ask: Any = [
        {"role": "user", "content": ITEM.question},
        {"role": "assistant", "content": ITEM.answer},
    ]
    flags = ["--backend", named(gguf_file), "--samples", "3", "--max-rounds", "1", "--judge-risk", "0"]
    with running(*flags) as (_, address), openai.OpenAI(base_url=f"{address}/v1", api_key="any", timeout=250) as client:
        model = client.models.list().data[0].id
        whole = client.chat.completions.create(model=model, messages=ask)
        assert whole.choices[0].message.content
        pieces = client.chat.completions.create(model=model, messages=ask, stream=True)
        text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    assert text == whole.choices[0].message.content
    assert str(gguf_file.parent) not in model


@pytest.mark.slow
async def test_a_local_model_and_a_gguf_file_are_held_to_the_same_schema(gguf_file: Path, tmp_path: Path) -> None:
    samples, usage = await critiques(make_folder(tmp_path / "smollm2"), count=2)
    assert [sample.invalid for sample in samples] == [None, None]
    assert usage.calls == 1


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("chatlm", "'chatlm' leaves the system and the user message out"),
        ("{{ " + "(" * 60_000 + "1" + ")" * 60_000 + " }}", "makes llama.cpp crash or run for ever"),
        pytest.param(
            "{% for n in range(1000000000) %}{% endfor %}", "makes llama.cpp crash or run for ever", marks=SLOW
        ),
        ("{% for", "llama.cpp cannot load"),
    ],
)
def test_a_template_that_shows_no_messages_loops_or_is_nested_without_end_is_refused(
    gguf_file: Path, template: str, said: str
) -> None:
    settings = {"path": str(gguf_file), "context": 256, "threads": 1, "template": template}
    with pytest.raises(InputError, match=said):
        try_model(settings, template=f"the template {template[:9]!r}", cpu_s=3)
