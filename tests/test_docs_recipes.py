"""The recipes do what they say, as far as a scripted model allows: every block of Python runs, over a real server."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from eirene.testing.loopback import LoopbackServer

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "recipes.md").read_text("utf-8")
DRAFT = "Supporters say that zoos teach children about animals."


def blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def printed(page: str) -> list[str]:
    return re.findall(r"^It prints `([^`]+)`", page, re.MULTILINE)


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
def litellm_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteLLM's one class that the hook extends: the package itself is larger than all of ours together."""
    logger = ModuleType("litellm.integrations.custom_logger")
    logger.CustomLogger = object  # type: ignore[attr-defined]
    for name in ("litellm", "litellm.integrations"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, logger.__name__, logger)


def choice(text: str | None, *, calls: Any = None, ended: str = "stop") -> SimpleNamespace:
    return SimpleNamespace(message=SimpleNamespace(content=text, tool_calls=calls), finish_reason=ended)


@pytest.mark.usefixtures("litellm_stands_in")
def test_the_pages_code_prints_what_the_page_says(serving: str, capsys: pytest.CaptureFixture[str]) -> None:
    """One test, as the blocks are one session; then the LiteLLM hook that it has defined is called as LiteLLM does."""
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(PAGE):
        exec(
            compile(block.replace("http://127.0.0.1:8400", serving), "docs/recipes.md", "exec", dont_inherit=True),
            names,
        )
    assert capsys.readouterr().out.splitlines() == printed(PAGE)

    data = {"messages": [{"role": "user", "content": "Should zoos be closed?"}], "perspectives": names["SIDES"]}
    untouched = [choice("It is cut", ended="length"), choice(None, calls=["a call"], ended="tool_calls")]
    reply = SimpleNamespace(choices=[choice(DRAFT), *untouched])
    found = asyncio.run(names["hook"].async_post_call_success_hook(data, None, reply))
    texts = [c.message.content for c in found.choices]
    assert "suffer" in texts[0] and texts[1:] == ["It is cut", None]
    assert asyncio.run(names["hook"].async_post_call_success_hook(data, None, [])) == []


def test_the_page_on_checkpoints_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "checkpoints.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    for block in blocks(page):
        exec(compile(block, "docs/checkpoints.md", "exec", dont_inherit=True), names)
    assert capsys.readouterr().out.splitlines() == printed(page)
