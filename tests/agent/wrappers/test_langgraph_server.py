"""`langgraph.json` and the graph that it names: what a LangGraph server runs."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import eirene
from eirene.agent.wrappers.node import graph
from eirene.testing.loopback import LoopbackServer

ROOT = Path(__file__).parents[3]
ROW: Any = {
    "question": "Should zoos be closed?",
    "answer": "Supporters say that zoos teach children about animals.",
    "perspectives": [
        {"name": "pro", "arguments": ["Zoos teach children about animals."]},
        {"name": "con", "arguments": ["Cages make animals suffer."]},
    ],
}


def named(config: dict[str, Any]) -> Any:
    (path,) = config["graphs"].values()
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("dependencies", [["."], ["eirene"]])
def test_langgraph_takes_the_configuration_of_a_clone_and_of_an_install(
    dependencies: list[str], tmp_path: Path
) -> None:
    """`langgraph validate` itself; the graph is named as a module, so that it is found in either."""
    pytest.importorskip("langgraph_cli")
    config = json.loads((ROOT / "langgraph.json").read_text("utf-8"))
    assert named(config) is graph
    file = tmp_path / "langgraph.json"
    file.write_text(json.dumps({**config, "dependencies": dependencies}), "utf-8")
    command = [str(Path(sys.executable).with_name("langgraph")), "validate", "-c", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 graph found" in done.stdout and "warning" not in done.stdout


def test_a_row_goes_in_and_an_answer_and_a_record_come_out() -> None:
    """Settings come from the run's `configurable`; what a server puts there beside them is passed over."""
    config: Any = {"configurable": {"samples": 4, "thread_id": "t", "__request_start_time_ms__": 1}}
    state = graph(config).invoke(ROW, config)
    assert "suffer" in state["answer"]
    assert "n:4" in state["record"]["signature"]


def test_a_run_may_ask_for_a_review() -> None:
    config: Any = {"configurable": {"thread_id": "t", "review": True}}
    built = graph(config)
    built.checkpointer = InMemorySaver()  # as the server does
    assert "__interrupt__" in built.invoke(ROW, config)
    assert built.invoke(Command(resume={"action": "stop"}), config)["record"]["status"] == "flagged"


def test_a_setting_that_cannot_be_used_is_named() -> None:
    with pytest.raises(eirene.InputError, match="'samples' must be"):
        graph({"configurable": {"samples": 1}})


@pytest.mark.usefixtures("loopback")
def test_the_backend_is_the_environments_and_never_a_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that could name a server or a path would spend, or read, what is not its own."""
    with LoopbackServer(
        "Supporters say that zoos teach children about animals. Critics say that cages make animals suffer."
    ) as server:
        monkeypatch.setenv("EIRENE_BACKEND", "openai:test")
        monkeypatch.setenv("EIRENE_BASE_URL", server.base_url)
        asked = {"backend": "hf:/etc", "base_url": "http://192.0.2.1/v1", "mode": "improve"}
        record = graph({"configurable": asked}).invoke(ROW)["record"]
    assert (record["backend"], record["mode"], server.calls) == ("openai:test", "improve", 1)
