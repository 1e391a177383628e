"""The server's page: its clients' code runs against a real `eirene serve` in front of a scripted model."""

from __future__ import annotations

import asyncio
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from eirene.testing.loopback import LoopbackServer

from .pages import ROOT, code_blocks, read_page, run_blocks, stated_output

DRAFT = "Supporters say that zoos teach children about animals."


@pytest.fixture
def serving(loopback: None) -> Iterator[str]:
    """The address of `eirene serve`, a process of its own, as the page starts it."""
    with LoopbackServer(DRAFT) as upstream:
        flags = ["--port", "0", "--upstream", "openai:test", "--base-url", upstream.base_url]
        command = [sys.executable, "-m", "eirene", "serve", *flags]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ}) as process:
            assert process.stderr is not None
            found = re.search(r"http://[\d.]+:\d+", process.stderr.readline())
            assert found is not None
            try:
                yield found[0]
            finally:
                process.kill()


@pytest.fixture
def fake_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteLLM's one class that the hook extends: the package itself is larger than all of ours together."""
    logger = ModuleType("litellm.integrations.custom_logger")
    logger.CustomLogger = object  # type: ignore[attr-defined]
    for name in ("litellm", "litellm.integrations"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, logger.__name__, logger)


def choice(text: str | None, *, calls: Any = None, ended: str = "stop") -> SimpleNamespace:
    return SimpleNamespace(message=SimpleNamespace(content=text, tool_calls=calls), finish_reason=ended)


def test_the_openai_client_prints_what_the_page_says(serving: str, capsys: pytest.CaptureFixture[str]) -> None:
    page = read_page("guides/server")
    run_blocks([code_blocks(page)[0].replace("http://127.0.0.1:8400", serving)], "server")
    assert capsys.readouterr().out.splitlines() == stated_output(page) != []


@pytest.mark.usefixtures("fake_litellm")
def test_the_hook_for_litellm_refines_whole_replies_and_no_others() -> None:
    hook: Any = runpy.run_path(str(ROOT / "examples/eirene_hook.py"))["hook"]
    sides = {"pro": "Zoos teach children about animals.", "con": "Cages make animals suffer."}
    data = {"messages": [{"role": "user", "content": "Should zoos be closed?"}], "perspectives": sides}
    untouched = [choice("It is cut", ended="length"), choice(None, calls=["a call"], ended="tool_calls")]
    reply = SimpleNamespace(choices=[choice(DRAFT), *untouched])
    found = asyncio.run(hook.async_post_call_success_hook(data, None, reply))
    texts = [c.message.content for c in found.choices]
    assert "suffer" in texts[0] and texts[1:] == ["It is cut", None]
    assert asyncio.run(hook.async_post_call_success_hook(data, None, [])) == []
