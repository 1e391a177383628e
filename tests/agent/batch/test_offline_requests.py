"""The sampling step by way of a provider's batch endpoint: requests out, replies in, and the same records."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.batch.offline import CustomId, SamplingStep, export_requests, import_replies
from eirene.agent.run import arefine
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.errors import InputError
from eirene.core.records import Item, Record, parse_item
from eirene.feedback_model.model import ChatFeedback
from eirene.models.cache import CallCache
from eirene.models.chat import ChatModel
from eirene.models.scripted import ScriptedChatModel
from eirene.refiners.model import ChatRefiner
from eirene.testing.script import BrokenReply, HttpError, ScriptedReply, ScriptedRequest, TextReply
from tests.batch_endpoint import answer_requests

pytestmark = pytest.mark.usefixtures("loopback")

SETTINGS = Settings(samples=6, seed=3, stop="none")
TAGS = ("1. [Complete]\n2. [Complete]", "1. [Incomplete] Reasons: Cost is missing.\n2. [Complete]",
        "1. [Incomplete] Reasons: Pollution is missing.\n2. [Complete]")  # fmt: skip


def item(n: int) -> Item:
    sides = [{"name": "trams", "arguments": ["Trams are quiet.", f"Trams pollute less in town {n}."]}]
    return parse_item({"id": f"row-{n}", "question": f"Trams or buses in town {n}?",
                       "answer": f"Trams are quiet in town {n}. Buses are cheap.", "perspectives": sides})  # fmt: skip


ITEMS = [item(n) for n in range(4)]


def critique(request: ScriptedRequest, index: int) -> ScriptedReply:
    """A reply that hangs on the seed that was sent and the place of the choice."""
    return TAGS[(int(request.body["seed"]) + index) % len(TAGS)]


def parts_with(cache: CallCache | None, **chat: Any) -> tuple[Parts, ScriptedChatModel]:
    """A model that gives the same critiques as `critique`, and rewrites."""

    class Live(ScriptedChatModel):
        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
            text = "\n".join(str(m.content) for m in messages)
            if "You mend the answer" in text:
                self._left.append("1: Trams are quiet and pollute less.")
            else:
                body = {"seed": self.seed, "messages": []}
                self._left.extend(str(critique(ScriptedRequest(0, 0, body, {}), i)) for i in range(self.n or 1))
            return super()._generate(messages, stop, run_manager, **kwargs)

    model = Live(script=[], **chat)
    shared = ChatModel(model, name="openai:m", cache=cache)
    embedded = resolve_backend("embedded")
    own = replace(
        embedded, backend="openai:m", version="v", feedback_model=ChatFeedback(shared), refiner=ChatRefiner(shared)
    )
    return own, model


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CallCache]:
    made = CallCache(tmp_path / "calls.sqlite")
    yield made
    made.close()


def replies_for(tmp_path: Path, script: Any = critique, items: Sequence[Item] = ITEMS, **how: Any) -> list[str]:
    """The lines that the fake endpoint gives for the items' requests."""
    step = SamplingStep(parts_with(None)[0], how.pop("settings", SETTINGS))
    file = tmp_path / "requests.jsonl"
    export_requests(items, step, str(file), **how)
    lines = answer_requests(file, script)
    file.unlink()
    return lines


def written(tmp_path: Path, lines: Sequence[str]) -> str:
    path = tmp_path / "replies.jsonl"
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return str(path)


async def records(parts: Parts) -> list[Record]:
    return [await arefine(one, backend=parts, settings=SETTINGS) for one in ITEMS]


def but_usage(record: Record) -> dict[str, Any]:
    return record.model_dump(exclude={"usage"})


@pytest.mark.parametrize("one_reply", [False, True])
async def test_records_by_way_of_the_files_are_those_of_a_live_run(
    cache: CallCache, tmp_path: Path, one_reply: bool
) -> None:
    """Shuffled replies, in one request a row or in one a sample: the same critiques, and only rewrites are called."""
    lines = replies_for(tmp_path, one_reply=one_reply)
    assert len(lines) == len(ITEMS) * (6 if one_reply else 1)
    random.Random(0).shuffle(lines)
    parts, model = parts_with(cache)
    found = import_replies([written(tmp_path, lines)], ITEMS, SamplingStep(parts, SETTINGS))
    assert (found.rows, found.complete, found.replies, found.errors) == (4, 4, 24, 0)
    imported = await records(parts)
    assert all("You mend the answer" in call.text for call in model.calls)
    assert {record.usage.cache_hits for record in imported} == {6}
    if not one_reply:  # the seeds of single requests differ, and with them what this model says
        live = await records(parts_with(None)[0])
        assert [but_usage(r) for r in imported] == [but_usage(r) for r in live]


async def test_what_the_files_lack_is_called_live(cache: CallCache, tmp_path: Path) -> None:
    """A request that failed, one that never came back and a reply that was cut off cost a live call each, no more."""
    seen = iter(range(10))

    def script(request: ScriptedRequest, index: int) -> ScriptedReply:
        if index:
            return TextReply("1. [Comp", "length") if index == 5 else critique(request, index)
        n = next(seen)
        return [critique(request, 0), HttpError(500, "it fell over"), BrokenReply("drop"), critique(request, 0)][n]

    parts, model = parts_with(cache)
    found = import_replies([written(tmp_path, replies_for(tmp_path, script))], ITEMS, SamplingStep(parts, SETTINGS))
    assert (found.complete, found.partial, found.replies, found.unusable) == (0, 2, 10, 2)
    assert (found.errors, found.first_error) == (1, "it fell over")
    await records(parts)
    drawn = [call.n for call in model.calls if "You mend the answer" not in call.text]
    assert sorted(drawn) == [1, 1, 6, 6]


def test_ids_that_come_twice_or_are_not_ours_are_counted_and_left_out(cache: CallCache, tmp_path: Path) -> None:
    """The first line of an id counts; foreign lines and those of rows nobody asks about harm nothing."""
    lines = replies_for(tmp_path)
    foreign = json.dumps({"custom_id": "request-1", "response": {"status_code": 200, "body": {}}, "error": None})
    parts, _ = parts_with(cache)
    step = SamplingStep(parts, SETTINGS)
    found = import_replies([written(tmp_path, [*lines, lines[0], foreign, ""])], ITEMS[:2], step)
    assert (found.rows, found.complete, found.others) == (2, 2, 4)


def test_replies_of_another_configuration_are_refused(cache: CallCache, tmp_path: Path) -> None:
    """Nothing is taken from them, and the message says which flags count."""
    file = written(tmp_path, replies_for(tmp_path))
    for changed in ({"seed": 4}, {"samples": 5}):
        other = Settings.of(**{**SETTINGS.model_dump(), **changed})
        with pytest.raises(InputError, match=r"line 1: answers a request of another configuration"):
            import_replies([file], ITEMS, SamplingStep(parts_with(cache)[0], other))
    assert len(cache) == 0


def test_replies_of_a_row_that_was_changed_since_are_not_taken(cache: CallCache, tmp_path: Path) -> None:
    """An id is tied to the row's text."""
    file = written(tmp_path, replies_for(tmp_path))
    other = [ITEMS[0].model_copy(update={"answer": "Trams are loud. Buses are cheap."}), *ITEMS[1:]]
    found = import_replies([file], other, SamplingStep(parts_with(cache)[0], SETTINGS))
    assert (found.complete, found.others) == (3, 1)


def test_a_line_that_is_none_of_such_a_file_is_one_clear_error(cache: CallCache, tmp_path: Path) -> None:
    """It names the file and the line."""
    step = SamplingStep(parts_with(cache)[0], SETTINGS)
    for line, said in (
        ("not json", "line 1"), ("[]", "no 'custom_id'"), ("{}", "no 'custom_id'"), ('{"custom_id": NaN}', "line 1"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            import_replies([written(tmp_path, [line])], ITEMS, step)


def test_a_reply_without_a_completion_is_a_failed_request(cache: CallCache, tmp_path: Path) -> None:
    """Whatever form a failure has, it is counted as one."""
    custom_id = json.loads(replies_for(tmp_path)[0])["custom_id"]
    for response in (
        None, 5, {}, {"status_code": 200}, {"status_code": 200, "body": {"choices": "no"}},
        {"status_code": 200, "body": {"choices": [7]}}, {"status_code": 429, "body": {"choices": []}},
    ):  # fmt: skip
        line = json.dumps({"custom_id": custom_id, "response": response, "error": None})
        found = import_replies([written(tmp_path, [line])], ITEMS, SamplingStep(parts_with(cache)[0], SETTINGS))
        assert (found.errors, found.replies) == (1, 0), response


async def test_half_a_surrogate_pair_in_a_reply_costs_no_other(cache: CallCache, tmp_path: Path) -> None:
    """The endpoint's JSON may hold one: the reply is mended, and the file is read."""
    script = "1. [Incomplete] Reasons: Cost \ud800 is missing.\n2. [Complete]"
    lines = replies_for(tmp_path, lambda *_: script)
    found = import_replies([written(tmp_path, lines)], ITEMS, SamplingStep(parts_with(cache)[0], SETTINGS))
    assert (found.complete, found.replies) == (4, 24)
    record = await arefine(ITEMS[0], backend=parts_with(cache)[0], settings=SETTINGS)
    assert "Cost \ufffd is missing" in record.to_json()


def test_replies_need_a_cache_with_room(tmp_path: Path) -> None:
    """Without one, or in one that is too small, the command says so before anything is called."""
    file = written(tmp_path, replies_for(tmp_path))
    with pytest.raises(InputError, match="--cache FILE"):
        import_replies([file], ITEMS, SamplingStep(parts_with(None)[0], SETTINGS))
    small = CallCache(tmp_path / "small.sqlite", max_bytes=600)
    with pytest.raises(InputError, match="do not fit into the cache of 600 bytes"):
        import_replies([file], ITEMS, SamplingStep(parts_with(small)[0], SETTINGS))
    small.close()


def test_a_file_holds_each_request_once_and_none_is_written_over(tmp_path: Path) -> None:
    step, path = SamplingStep(parts_with(None)[0], SETTINGS), tmp_path / "r.jsonl"
    assert export_requests(ITEMS, step, str(path), one_reply=True) == (4, 24)
    ids = [CustomId.read(json.loads(line)["custom_id"]) for line in path.read_text("utf-8").splitlines()]
    assert len(set(ids)) == 24 and None not in ids
    with pytest.raises(InputError, match="exists already; name another file, or take it away"):
        export_requests(ITEMS[:1], step, str(path))
    assert len(path.read_text("utf-8").splitlines()) == 24


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on a file's size there")
def test_a_disk_that_is_full_at_the_end_leaves_no_half_file(tmp_path: Path) -> None:
    """What is buffered is written when a file is closed, and fails then."""
    import resource

    step, before = SamplingStep(parts_with(None)[0], SETTINGS), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(InputError, match=r"r\.jsonl: cannot be written: File too large"):
            export_requests(ITEMS[:2], step, str(tmp_path / "r.jsonl"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_draws_nothing_from_a_chat_model_has_no_requests() -> None:
    """The message says which runs have some."""
    with pytest.raises(InputError, match="'embedded' sends no requests"):
        SamplingStep(resolve_backend("embedded"), SETTINGS)
    with pytest.raises(InputError, match="mode fine-grained"):
        SamplingStep(parts_with(None)[0], Settings(mode="improve"))


@pytest.mark.parametrize(("structured", "asked"), [("auto", "one compact JSON object"), ("text", "one line for each")])
def test_requests_ask_for_critiques_as_a_live_run_does(structured: Any, asked: str, tmp_path: Path) -> None:
    parts = resolve_backend("openai:m", BackendOptions(offline=True, structured=structured))
    export_requests(ITEMS[:1], SamplingStep(parts, SETTINGS), str(tmp_path / "requests.jsonl"))
    body = json.loads((tmp_path / "requests.jsonl").read_text("utf-8"))["body"]
    assert asked in "".join(message["content"] for message in body["messages"])
    assert ("response_format" in body) is (structured == "auto")


async def test_critiques_that_came_as_reasoning_are_read(cache: CallCache, tmp_path: Path) -> None:
    """As vLLM's batches have them: the content is null, the JSON stands beside it."""
    held = TextReply("", fields={"content": None, "reasoning_content": '{"1":"Complete","2":"Complete"}'})
    lines = replies_for(tmp_path, lambda *_: held)
    parts, _ = parts_with(cache)
    import_replies([written(tmp_path, lines)], ITEMS, SamplingStep(parts, SETTINGS))
    record = await arefine(ITEMS[0], backend=parts, settings=SETTINGS)
    assert record.status == "complete"
