"""The Python of the documentation's pages runs and prints what they say."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest

from eirene.data.topics import parse_topic
from eirene.eval import registry
from eirene.models.costs import read_prices
from eirene.testing.loopback import LoopbackServer

from .pages import ROOT, code_blocks, read_page, run_blocks, stated_output

pytest.importorskip("torch", reason="the pages use every extra")
WITH_OUTPUT = [
    "guides/backends", "guides/people", "guides/costs", "guides/rag", "guides/verify",
    "guides/chatbot", "guides/tracing", "guides/datasets", "guides/batch", "guides/corpus", "guides/compare",
    "concepts/replies", "guides/detector", "guides/ci",
]  # fmt: skip
PRINTING = ["concepts/detectors"]


@pytest.fixture
def openai_server(loopback: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a page's `ChatOpenAI` reaches: a server on this machine that says one side of the page's question."""
    with LoopbackServer("Supporters say that zoos teach children about animals.") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        yield


def test_every_page_runs_and_prints_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], openai_server: None
) -> None:
    """Those of `PRINTING` print something that they do not state, and so do the scripts of `examples/`."""
    monkeypatch.setattr(registry, "_declared", {**registry.DETECTORS})  # a page declares one more
    wrong = {}
    for n, name in enumerate([*WITH_OUTPUT, *PRINTING, "concepts/loop"]):
        folder = tmp_path / str(n)
        folder.mkdir()
        (folder / "examples").symlink_to(ROOT / "examples")
        monkeypatch.chdir(folder)
        page = read_page(name)
        try:
            run_blocks(code_blocks(page), name)
        except Exception as error:  # every page that fails is named
            wrong[name] = [repr(error)]
            continue
        printed = capsys.readouterr().out.splitlines()
        if (name in WITH_OUTPUT and printed != stated_output(page)) or (name != "concepts/loop" and not printed):
            wrong[name] = printed
    monkeypatch.chdir(ROOT)
    for script in sorted(set(ROOT.glob("examples/*.py")) - {ROOT / "examples/eirene_hook.py"}):
        try:
            runpy.run_path(str(script), run_name="__main__")
        except Exception as error:
            wrong[script.name] = [repr(error)]
        if not capsys.readouterr().out:
            wrong.setdefault(script.name, ["printed nothing"])
    assert wrong == {}


def test_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    run_blocks(code_blocks((ROOT / "README.md").read_text("utf-8"))[:1], "README")
    assert capsys.readouterr().out.startswith("accepted Supporters say")


def test_a_feedback_model_of_ones_own_takes_at_most_20_lines() -> None:
    first = code_blocks(read_page("guides/backends"))[0]
    body = re.search(r"^class .*?(?=^\S)", first.partition("\nparts =")[0] + "\nend", re.MULTILINE | re.DOTALL)
    assert body is not None
    assert len([line for line in body.group().splitlines() if line.strip()]) <= 20


def test_the_example_of_a_price_file_is_one(tmp_path: Path) -> None:
    (block,) = code_blocks(read_page("guides/costs"), "toml")
    (tmp_path / "prices.toml").write_text(block, encoding="utf-8")
    prices = read_prices(str(tmp_path / "prices.toml"))
    small, local = prices.of("openai:gpt-4o-mini"), prices.of("ollama:llama3.2")
    assert small is not None and small.cached_usd == 0.075
    assert local is not None and local.input_usd == 0


def test_npov_writes_a_response_that_the_loop_takes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    names = run_blocks(code_blocks(read_page("guides/npov")), "guides/npov")
    assert names["record"].status == "complete"  # type: ignore[attr-defined]
    assert capsys.readouterr().out.splitlines()[-1].startswith("car-free-centres 0.7")


def test_the_example_of_a_topic_is_one() -> None:
    page = read_page("guides/npov")
    found = re.search(r'^    (\{"id": "wild-wolves".*?"meta": \{\}\})$', page, re.MULTILINE | re.DOTALL)
    assert found is not None
    assert [side.speakers for side in parse_topic(json.loads(found[1])).sides] == ["conservationists", "farmers"]


def test_synth_makes_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names = run_blocks(code_blocks(read_page("guides/synthetic")), "guides/synthetic")
    assert names["rows"]
