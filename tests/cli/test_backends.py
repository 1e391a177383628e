"""`eirene refine` on models of other kinds: the real console script, the real client, a server that misbehaves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from eirene.testing.loopback import LoopbackServer, NPolicy
from eirene.testing.script import BrokenReply, HttpError, ScriptedReply, ScriptedRequest
from tests.cli.run import Result, Run, assert_error, write
from tests.rows import each

ITEM: dict[str, Any] = {
    "id": "trams",
    "question": "Trams or buses?",
    "answer": "Trams are quiet. Buses are cheap.",
    "perspectives": [
        {"name": "trams", "arguments": ["Trams are quiet.", "Trams pollute less."]},
        {"name": "buses", "arguments": ["Buses are cheap."]},
    ],
}
LABELLED = {"question": "Trams?", "sentences": [{"text": "Trams are quiet.", "tag": "Complete"}]}
CRITIQUE = "1. [Incomplete] Reasons: Pollution is missing.\n2. [Complete]"
REWRITE = "Trams are quiet and pollute less. Buses are cheap."
FAULTS: tuple[ScriptedReply, ...] = (
    HttpError(429, "slow down", headers={"Retry-After": "0.1"}),
    HttpError(500, "the model fell over", headers={"Retry-After": "0.1"}),
    BrokenReply("drop"),
    BrokenReply("cut"),
    BrokenReply("garbage"),
)


def is_rewrite(request: ScriptedRequest) -> bool:
    return "Write the improved answer now" in request.text


def good(request: ScriptedRequest, _: int) -> ScriptedReply:
    return REWRITE if is_rewrite(request) else CRITIQUE


def script_command(*arguments: str | Path, key: str | None = None) -> Result:
    """The console script as a shell would run it, in a process of its own and without any key but the given one."""
    found = Path(sys.executable).with_name("eirene")
    assert found.is_file(), "install the package: the console script is what is tested here"
    env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    env |= {"COLUMNS": "80", "NO_COLOR": "1"} | ({} if key is None else {"OPENAI_API_KEY": key})
    command = [str(found), *(str(a) for a in arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120, env=env)
    return Result(done.returncode, done.stdout, done.stderr)


@pytest.mark.usefixtures("loopback")
@each("policy, replies", [("takes", 1), ("refuses", 20), ("ignores", 20)])
def test_a_command_gives_a_full_record_whatever_goes_wrong_on_the_way(
    policy: NPolicy, replies: int, run: Run, tmp_path: Path
) -> None:
    """Latency, 429 with Retry-After, 500, a dropped connection, half a reply, malformed JSON: all are met."""
    met: list[ScriptedReply] = []

    def script(request: ScriptedRequest, index: int) -> ScriptedReply:
        # Which request meets which fault is the order of their coming; of twenty at once, each meets one at most.
        if request.attempt <= (3 if replies == 1 else 1) and len(met) < len(FAULTS):
            met.append(FAULTS[len(met)])
            return met[-1]
        return good(request, index)

    with LoopbackServer(script, latency_s=0.05, n=policy) as server:
        item = write(tmp_path / "item.json", ITEM)
        done = run("refine", item, "--backend", "openai:test", "--base-url", server.base_url, "--stop=none", "--json")
        assert (done.code, met) == (0, list(FAULTS)), done
        record = done.record
        critique = record["rounds"][0]["critique"]
        assert (record["status"], record["answer"], record["backend"]) == ("accepted", REWRITE, "openai:test")
        assert (critique["n_drawn"], critique["n_valid"], critique["tag_consistency"]) == (20, 20, 1.0)
        assert set(record["scores"]["final"]) == {"rouge", "alignment", "arrangement"}
        usage = record["usage"]
        assert (usage["calls"], usage["input_tokens"], usage["output_tokens"]) == (
            server.calls,
            server.input_tokens,
            server.output_tokens,
        )
        # A request whose `n` was refused is no failed attempt: it has told us something.
        assert usage["retries"] == len(FAULTS)
        # The script has no list of changes, so the whole answer is asked for next.
        assert server.calls == replies + 2 + len(FAULTS) + (policy == "refuses")


@pytest.mark.usefixtures("loopback")
def test_a_wrong_key_is_asked_with_once_and_keeps_the_original(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LoopbackServer(good, key="right") as server:
        command = ("refine", write(tmp_path / "item.json", ITEM), "--backend", "openai:test",
                   "--base-url", server.base_url, "--json")  # fmt: skip
        done = script_command(*command, key="wrong")
        assert (done.code, server.calls) == (2, 1)
        record = done.record
        assert (record["status"], record["answer"], record["error"]["kind"]) == ("failed", ITEM["answer"], "AuthError")
        assert (record["usage"]["calls"], record["usage"]["retries"]) == (1, 0)
        assert "wrong" not in done.out + done.err
        monkeypatch.setenv("OPENAI_API_KEY", "right")
        assert run(*command).code == 0


@pytest.mark.usefixtures("loopback")
def test_a_wrong_key_is_bad_usage_in_every_command_that_asks_a_model(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "wrong")
    item, labelled = write(tmp_path / "item.jsonl", ITEM), write(tmp_path / "rows.jsonl", LABELLED)
    with LoopbackServer(good, key="right") as server:
        for command in (("compare", item, "--out", tmp_path / "out"), ("evaluate", "feedback", labelled)):
            done = run(*command, "--backend", "openai:test", "--base-url", server.base_url)
            assert (done.code, done.out) == (2, "")
            assert "HTTP 401" in done.err and "Traceback" not in done.err


@pytest.mark.usefixtures("loopback")
def test_a_request_that_is_refused_fails_the_run_and_keeps_the_original(run: Run, tmp_path: Path) -> None:
    with LoopbackServer(lambda *_: HttpError(404, "no such model: test")) as server:
        item = write(tmp_path / "item.json", ITEM)
        done = run("refine", item, "--backend", "openai:test", "--base-url", server.base_url)
    assert (done.code, server.calls) == (1, 1)
    assert "FAILED" in done.out and "no such model: test" in done.out
    assert ITEM["answer"] in done.out
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    "absent",
    [
        ("anthropic:x", "langchain_anthropic", "'langchain-anthropic': pip install 'eirene[anthropic]'"),
        ("ollama:x", "langchain_ollama", "'langchain-ollama': pip install 'eirene[ollama]'"),
        ("groq:x", "langchain_groq", "'langchain-groq': pip install langchain-groq"),
        ("hf:x", "torch", "'torch': pip install 'eirene[local]'"),
        ("hf:x", "transformers", "'transformers': pip install 'eirene[local]'"),
        ("hf:x", "peft", "'peft': pip install 'eirene[local]'"),
    ],
)
def test_what_is_not_installed_is_one_line_with_the_command_that_installs_it(
    absent: tuple[str, str, str], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend, module, needed = absent
    monkeypatch.setitem(sys.modules, module, None)
    item, labelled = write(tmp_path / "item.jsonl", ITEM), write(tmp_path / "rows.jsonl", LABELLED)
    for command in (
        ("refine", item),
        ("compare", item, "--out", tmp_path / "out"),
        ("evaluate", "feedback", labelled, "--out", tmp_path / "out"),
    ):
        assert_error(run(*command, "--backend", backend), f"this needs the package {needed}")


def test_so_it_is_with_openais_package(tmp_path: Path) -> None:
    """In a process of its own: LangChain remembers the classes that it has found."""
    code = (
        "import sys; sys.modules['langchain_openai'] = None; from eirene.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", code, "refine", str(write(tmp_path / "item.json", ITEM)), "--backend", "openai:x"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    result = Result(done.returncode, done.stdout, done.stderr)
    assert_error(result, "this needs the package 'langchain-openai': pip install 'eirene[openai]'")
