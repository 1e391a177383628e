"""Recent runs: kept within bounds, followed live, written to a file, opened as pages; and what is counted."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import socket
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from eirene.agent.server.result import shown_diff
from eirene.agent.server.runs import Runs
from eirene.core.errors import InputError
from eirene.core.records import Item, Record
from eirene.testing.loopback import LoopbackServer
from eirene.text.cancellation import check_cancelled
from tests.agent.server.serving import ASK, DRAFT, GIVEN, MODEL, QUESTION, Served, chat_engine, embedded_engine, served
from tests.rows import each


def start(server: Served, **more: Any) -> str:
    reply = httpx.post(f"{server.root}/v1/runs", json={"question": QUESTION, "answer": DRAFT, **GIVEN, **more})
    assert reply.status_code == 202, reply.text
    return str(reply.json()["id"])


def events(server: Served, run: str) -> list[dict[str, Any]]:
    text = httpx.get(f"{server.root}/v1/runs/{run}/events", timeout=20).text
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


@pytest.mark.usefixtures("loopback")
def test_a_run_can_be_followed_from_draft_to_decision() -> None:
    with served(embedded_engine()) as server:
        run = start(server)
        told = events(server, run)
        kinds = [e["kind"] for e in told]
        assert kinds.count("sample") == 20
        assert kinds[:2] == ["queued", "started"]  # before anything is computed
        order = ["draft", "sample", "votes", "critique_chosen", "rewrite", "scored", "decided", "ended"]
        assert sorted(order, key=kinds.index) == order
        by_kind = {e["kind"]: e for e in told}
        assert by_kind["votes"]["incomplete"] == [20]
        assert "suffer" in by_kind["rewrite"]["after"]
        assert (
            by_kind["scored"]["after"]["alignment"]["coverage"] < by_kind["scored"]["before"]["alignment"]["coverage"]
        )
        assert by_kind["ended"]["status"] == "accepted"
        assert events(server, run) == told  # whoever comes late sees all of it


@pytest.mark.usefixtures("loopback")
def test_a_finished_run_shows_its_whole_record_and_a_page() -> None:
    with LoopbackServer(DRAFT) as up, served(embedded_engine(up)) as server:
        url = f"{server.root}/v1/chat/completions"
        reply = httpx.post(url, json={"model": MODEL, "messages": ASK, **GIVEN})
        run = reply.headers["x-eirene-run-id"]
        found = httpx.get(f"{server.root}/v1/runs/{run}").json()
        assert found["state"] == "done"
        assert Record.model_validate(found["records"][0]).answer == reply.json()["choices"][0]["message"]["content"]
        assert httpx.get(f"{server.root}/runs/{run}").text == f"<p>accepted {QUESTION}</p>"
        assert httpx.get(f"{server.root}/runs/{run}?choice=1").status_code == 404
        listed = httpx.get(f"{server.root}/v1/runs").json()["data"]
        assert [(r["id"], r["status"], r["question"]) for r in listed] == [(run, "accepted", QUESTION)]


@pytest.mark.usefixtures("loopback")
def test_a_page_is_made_once_and_holds_up_no_chat() -> None:
    """Whoever asks meanwhile waits for the same; the list, and further chats, do not."""
    made, may_go_on = [], threading.Event()

    def render(record: Record, item: Item) -> str:
        made.append(record.status)
        assert may_go_on.wait(60)
        return f"<p>{record.status}</p>"

    with served(embedded_engine(), render=render) as server, ThreadPoolExecutor(6) as clients:
        run, other = start(server), start(server)
        for begun in (run, other):
            events(server, begun)
        asked = [clients.submit(httpx.get, f"{server.root}/runs/{run}", timeout=60) for _ in range(5)]
        asked.append(clients.submit(httpx.get, f"{server.root}/runs/{other}", timeout=60))
        for _ in range(3):
            assert events(server, start(server))[-1]["status"] == "accepted"
        may_go_on.set()
        assert {reply.result().text for reply in asked} == {"<p>accepted</p>"}
        assert httpx.get(f"{server.root}/runs/{run}").text == "<p>accepted</p>"
    assert made == ["accepted", "accepted"]


@pytest.mark.usefixtures("loopback")
def test_a_page_that_nobody_waits_for_is_given_up() -> None:
    begun, given_up, calls = threading.Event(), threading.Event(), itertools.count()

    def render(record: Record, item: Item) -> str:
        if next(calls):
            return "<p>at the second</p>"
        begun.set()
        try:
            while True:
                check_cancelled()
        finally:
            given_up.set()

    with served(embedded_engine(), render=render) as server:
        run = start(server)
        events(server, run)
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(f"GET /runs/{run} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            assert begun.wait(60)
        assert given_up.wait(60)
        assert httpx.get(f"{server.root}/runs/{run}").text == "<p>at the second</p>"


@pytest.mark.usefixtures("loopback")
def test_a_run_can_be_cancelled() -> None:
    """It ends as cancelled, calls no model any more, and can be cancelled again; one that is done stays done."""
    with (
        LoopbackServer('["Complete"]', n="refuses", latency_s=0.2) as up,
        served(chat_engine(up, calls=1, samples=20)) as server,
    ):
        run = start(server)
        cancel = f"{server.root}/v1/runs/{run}/cancel"
        assert [httpx.post(cancel).json()["state"] for _ in range(2)] == ["cancelled", "cancelled"]
        assert events(server, run)[-1]["state"] == "cancelled"
        found = httpx.get(f"{server.root}/v1/runs/{run}/result").json()
        assert (found["state"], found["result"]) == ("cancelled", None)
        assert len(up.requests) < 20
        assert httpx.post(f"{server.root}/v1/runs/none/cancel").status_code == 404
    with served(embedded_engine()) as server:
        run = start(server)
        events(server, run)
        assert httpx.post(f"{server.root}/v1/runs/{run}/cancel").json()["state"] == "done"


@pytest.mark.usefixtures("loopback")
def test_a_chat_is_not_cancelled_from_outside() -> None:
    """It belongs to its client, whose going away ends it."""
    with LoopbackServer(DRAFT, latency_s=1.0) as up, served(embedded_engine(up)) as server:
        body = {"model": MODEL, "messages": ASK, **GIVEN}
        asking = threading.Thread(
            target=httpx.post, args=(f"{server.root}/v1/chat/completions",), kwargs={"json": body}
        )
        asking.start()
        while not (runs := httpx.get(f"{server.root}/v1/runs").json()["data"]):
            pass
        reply = httpx.post(f"{server.root}/v1/runs/{runs[0]['id']}/cancel")
        assert (reply.status_code, reply.json()["error"]["code"]) == (409, "not_cancellable")
        asking.join()


@pytest.mark.usefixtures("loopback")
def test_a_finished_run_tells_the_page_what_to_show() -> None:
    """The answer, the comparison by sentence, the faults in words, scores by row; nothing where nothing was refined."""
    with served(embedded_engine()) as server:
        run = start(server)
        events(server, run)
        found = httpx.get(f"{server.root}/v1/runs/{run}/result").json()
        result = found["result"]
        assert (found["status"], result["status"], "suffer" in result["answer"]) == ("accepted", "accepted", True)
        assert [line["kind"] for line in result["diff"]] == ["same", "new"]
        assert result["changes"] == "1 sentence added"
        (sentence,) = result["rounds"][0]["critique"]["sentences"]
        assert (sentence["faults"], sentence["gaps"][0]["label"], sentence["votes"]) == ([], "missing here", [20, 20])
        assert {row["advisory"] for row in result["scores"]["rows"]} == {True, False}
        assert result["item"]["answer"] == DRAFT
        failed = httpx.post(f"{server.root}/v1/runs", json={"question": QUESTION}).json()["id"]
        events(server, failed)
        found = httpx.get(f"{server.root}/v1/runs/{failed}/result").json()
        assert (found["result"], found["error"]["code"]) == (None, "no_draft")


def test_a_sentence_that_shares_little_is_compared_as_a_whole() -> None:
    """A word diff of a full rewrite cannot be read: the old sentence and the new one stand below each other."""
    old = "Zoos teach children about animals and keep rare kinds alive."
    near = "Zoos teach children about animals and keep some kinds alive."
    assert [line["kind"] for line in shown_diff(old, near)] == ["changed"]
    far = "Zoos, by contrast, were never meant to show anybody how wild animals really live."
    lines = shown_diff(old, far)
    assert [line["kind"] for line in lines] == ["gone", "new"]
    assert ["".join(piece["text"] for piece in line["pieces"]) for line in lines] == [old, far]


@pytest.mark.usefixtures("loopback")
def test_a_run_that_cannot_be_done_says_why() -> None:
    with served(embedded_engine()) as server:
        reply = httpx.post(f"{server.root}/v1/runs", json={"question": QUESTION})
        told = events(server, reply.json()["id"])
        assert (told[-1]["state"], told[-1]["status"]) == ("failed", "no_draft")
        found = httpx.get(f"{server.root}/v1/runs/{reply.json()['id']}").json()
        assert found["error"]["code"] == "no_draft"
        for body in ({}, {"question": " "}, {"question": "?", "mode": "human"}, {"question": "?", "other": 1}):
            assert httpx.post(f"{server.root}/v1/runs", json=body).status_code == 400


@pytest.mark.usefixtures("loopback")
def test_what_happened_is_counted() -> None:
    with LoopbackServer(DRAFT) as up, served(embedded_engine(up)) as server:
        for model in (MODEL, MODEL, "none"):
            httpx.post(f"{server.root}/v1/chat/completions", json={"model": model, "messages": ASK, **GIVEN})
        httpx.get(f"{server.root}/made/up")
        text = httpx.get(f"{server.root}/metrics").text
        for line in (
            'eirene_requests_total{path="/v1/chat/completions",status="200"} 2.0',
            'eirene_requests_total{path="/v1/chat/completions",status="404"} 1.0',
            'eirene_requests_total{path="other",status="404"} 1.0',
            'eirene_outcomes_total{mode="fine-grained",status="accepted"} 2.0',
            f'eirene_tokens_total{{direction="output"}} {up.output_tokens:.1f}',
            "eirene_in_flight 0.0",
        ):
            assert line in text


def kept(runs: Runs) -> list[str]:
    return [run.question for run in runs.recent()]


async def test_the_oldest_finished_runs_go_first() -> None:
    runs = Runs(keep=2, keep_bytes=10**6)
    under_way = runs.begin(model="m", mode="improve", question="under way")
    for n in range(4):
        await runs.finish(runs.begin(model="m", mode="improve", question=str(n)), "done")
    assert kept(runs) == ["3", "2", "under way"]
    await runs.finish(under_way, "done")
    assert runs.get("run-0") is None
    assert len(kept(runs)) == 2


async def test_bytes_are_bounded_and_the_newest_stays_however_large() -> None:
    runs = Runs(keep=100, keep_bytes=5_000)
    paged = runs.begin(model="m", mode="improve", question="with a page")
    await runs.finish(paged, "done")
    runs.keep_page(paged, 0, b"x" * 4_000)
    for n in range(50):
        await runs.finish(runs.begin(model="m", mode="improve", question=str(n)), "done", text="x" * 1000)
    assert 1 < len(kept(runs)) < 6
    await runs.finish(runs.begin(model="m", mode="improve", question="large"), "done", text="x" * 100_000)
    assert kept(runs) == ["large"]
    runs.keep_page(paged, 1, b"x" * 4_000)  # of a run that is gone
    assert list(paged.pages) == [0]


async def test_all_who_follow_see_the_end() -> None:
    runs = Runs(keep=2, keep_bytes=10**6)
    run = runs.begin(model="m", mode="improve")

    async def followed() -> list[str]:
        return [json.loads(text)["kind"] async for text in run.follow()]

    watching = [asyncio.create_task(followed()) for _ in range(3)]
    await asyncio.sleep(0)
    run.tell({"kind": "draft"})
    await runs.finish(run, "done")
    assert await asyncio.gather(*watching) == [["draft", "ended"]] * 3


async def test_a_file_of_runs_is_appended_to_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    runs = Runs(keep=10, keep_bytes=10**6, path=str(path))
    for n in range(3):
        await runs.finish(runs.begin(model="m", mode="improve", question=str(n)), "done", status="kept", records=[])
    with path.open("a") as file:
        file.write('{"id": "torn')
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = Runs(keep=2, keep_bytes=10**6, path=str(path))
    assert kept(again) == ["2", "1"] or kept(again) == ["2"]
    assert again.recent()[0].status == "kept"


async def test_a_file_of_runs_stays_within_its_bound_and_loses_the_oldest(tmp_path: Path) -> None:
    path, real = tmp_path / "runs.jsonl", tmp_path / "elsewhere.jsonl"
    path.symlink_to(real)
    runs = Runs(keep=10, keep_bytes=10**6, path=str(path), file_bytes=10_000)
    for n in range(30):
        await runs.finish(runs.begin(model="m", mode="improve", question=str(n)), "done", text="x" * 1000)
        assert real.stat().st_size <= 11_500
    assert path.is_symlink() and stat.S_IMODE(real.stat().st_mode) == 0o600
    found = kept(Runs(keep=100, keep_bytes=10**6, path=str(path)))
    assert found == [str(n) for n in range(29, 29 - len(found), -1)] and len(found) >= 4
    assert sorted(os.listdir(tmp_path)) == ["elsewhere.jsonl", "runs.jsonl"]


async def test_a_run_is_not_written_behind_a_torn_line(tmp_path: Path) -> None:
    """A server that was killed, or a disk that was full, costs the line that it was at, and not the next one."""
    path = tmp_path / "runs.jsonl"
    path.write_text('{"id":"run-torn')
    runs = Runs(keep=10, keep_bytes=10**6, path=str(path))
    for name in "ab":
        await runs.finish(runs.begin(model="m", mode="improve", question=name), "done")
    assert path.read_text().splitlines()[0] == '{"id":"run-torn'
    assert kept(Runs(keep=10, keep_bytes=10**6, path=str(path))) == ["b", "a"]


async def test_a_run_that_was_changed_on_disk_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """By its checksum, and a warning says so."""
    path = tmp_path / "runs.jsonl"
    runs = Runs(keep=10, keep_bytes=10**6, path=str(path))
    for name in ("trams", "buses"):
        await runs.finish(runs.begin(model="m", mode="improve", question=name), "done", status="kept")
    path.write_text(path.read_text().replace("trams", "trains"))
    assert kept(Runs(keep=10, keep_bytes=10**6, path=str(path))) == ["buses"]
    assert "1 runs in" in caplog.text and "are damaged or of another version" in caplog.text


@each("text", ["My notes", "My notes\nand more\n", '{"id": "a"}\n', "id,question\n1,Why?\n", "\n"])
def test_a_file_of_something_else_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    path = tmp_path / "runs.jsonl"
    path.write_text(text)
    with pytest.raises(InputError, match="is no file of a server's runs"):
        Runs(keep=2, keep_bytes=100, path=str(path))
    assert path.read_text() == text


@pytest.mark.usefixtures("loopback")
def test_a_run_of_another_version_is_listed_and_says_why_it_has_no_page(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    old = {"id": "run-old", "created": 1, "model": "m", "mode": "improve", "question": QUESTION, "status": "kept",
           "records": [{"answer": "A."}], "items": [{"question": QUESTION}]}  # fmt: skip
    path.write_text(json.dumps(old) + "\n" + json.dumps({**old, "question": 5}) + "\n")
    with served(embedded_engine(), runs=str(path)) as server:
        assert [run["id"] for run in httpx.get(f"{server.root}/v1/runs").json()["data"]] == ["run-old"]
        reply = httpx.get(f"{server.root}/runs/run-old")
        assert (reply.status_code, "another version" in reply.text) == (404, True)


def test_a_file_that_cannot_be_written_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        Runs(keep=2, keep_bytes=100, path=str(tmp_path))


async def test_a_full_disk_costs_the_line_and_not_the_answer() -> None:
    runs = Runs(keep=2, keep_bytes=10**6, path="/dev/full")
    run = runs.begin(model="m", mode="improve")
    await runs.finish(run, "done")
    assert run.state == "done"
