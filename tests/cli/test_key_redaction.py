"""A provider's error that quotes the key goes into no output of any command: the real client, a server that echoes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedReply, ScriptedRequest
from tests.canary import KEY, assert_hidden, echo
from tests.cli.batch.batch_runs import data
from tests.cli.run import GIVEN, Result, Run, write

pytestmark = pytest.mark.usefixtures("loopback")

STATUSES = pytest.mark.parametrize("status", [400, 401, 503])


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def at(server: LoopbackServer) -> list[str]:
    return ["--backend", "openai:test", "--base-url", server.base_url]


def check(done: Result, folder: Path, server: LoopbackServer) -> None:
    """The key was sent, the failure was told, and no stream and no file shows the key."""
    assert server.calls > 0
    assert "HTTP " in done.out + done.err + "".join(f.read_text("utf-8", "replace") for f in files(folder))
    assert_hidden(done.out, done.err, *files(folder))


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


@STATUSES
def test_batch(run: Run, tmp_path: Path, status: int) -> None:
    out, page = tmp_path / "out.jsonl", tmp_path / "out.html"
    with LoopbackServer(echo(status)) as server:
        done = run("--verbose", "batch", data(tmp_path, 3), "--out", out, *at(server))
        check(done, tmp_path, server)
    if status != 401:  # a refused key ends the run, and no row is written
        assert b'"error"' in out.read_bytes()
        check(run("report", out, "-o", page), tmp_path, server)
        assert page.exists()


@STATUSES
@pytest.mark.parametrize("form", [(), ("--json",), ("--html", "page.html")], ids=str)
def test_refine(run: Run, tmp_path: Path, status: int, form: tuple[str, ...]) -> None:
    shown = [str(tmp_path / one) if one.endswith(".html") else one for one in form]
    with LoopbackServer(echo(status)) as server:
        check(run("-v", "refine", write(tmp_path / "in.jsonl", GIVEN), *at(server), *shown), tmp_path, server)


@STATUSES
def test_the_judge_and_the_refiner(run: Run, tmp_path: Path, status: int) -> None:
    def refuses_rewrites(request: ScriptedRequest, index: int) -> ScriptedReply:
        if "improved answer" in request.text or request.body["model"] == "judge":
            return echo(status)(request, index)
        return "1. [Incomplete] Reasons: Animals are missing."

    with LoopbackServer(refuses_rewrites) as server:
        command = ("-v", "refine", write(tmp_path / "in.jsonl", GIVEN), *at(server), "--judge", "openai:judge")
        check(run(*command, "--json"), tmp_path, server)
        check(run("-v", "score", tmp_path / "in.jsonl", "--detectors", "chainpoll", "--judge", "openai:judge",
                  "--base-url", server.base_url, "--out", tmp_path / "scored.jsonl"), tmp_path, server)  # fmt: skip


@STATUSES
@pytest.mark.parametrize(
    "command",
    [
        ("compare", "in.jsonl", "--out", "out"),
        ("evaluate", "feedback", "labelled.jsonl", "--out", "rows.jsonl"),
    ],
    ids=lambda command: command[0],
)
def test_what_makes_figures(run: Run, tmp_path: Path, status: int, command: tuple[str, ...]) -> None:
    write(tmp_path / "in.jsonl", GIVEN)
    write(
        tmp_path / "labelled.jsonl", {"question": "Q?", "sentences": [{"text": "Trams are quiet.", "tag": "Complete"}]}
    )
    placed = [str(tmp_path / one) if "." in one or one == "out" else one for one in command]
    with LoopbackServer(echo(status)) as server:
        check(run("-v", *placed, *at(server)), tmp_path, server)


def test_what_the_address_carries(run: Run, tmp_path: Path) -> None:
    with LoopbackServer(echo(400)) as server:
        address = server.base_url.replace("//", "//me:CANARY-pw-77@")
        done = run(
            "-v", "refine", write(tmp_path / "in.jsonl", GIVEN), "--backend", "openai:test", "--base-url", address
        )
        check(done, tmp_path, server)


def test_replies_of_a_batch_endpoint(run: Run, tmp_path: Path) -> None:
    """A failed request's message is told where the file is read."""
    out, asked, cache = (tmp_path / name for name in ("out.jsonl", "asked.jsonl", "cache.sqlite"))
    with LoopbackServer(echo(400)) as server:
        command = ("batch", data(tmp_path, 1), "--out", out, *at(server))
        assert run(*command, "--export-requests", asked).code == 0
        line = json.loads(asked.read_text().splitlines()[0])
        failed = {"custom_id": line["custom_id"], "error": {"message": "bad key sk-CANARY-123456"}, "response": None}
        replies = write(tmp_path / "replies.jsonl", failed)
        done = run(*command, "--cache", cache, "--import-replies", replies)
        assert "bad key" in done.err
        replies.unlink()
        check(done, tmp_path, server)
