"""The shell lines of README and docs run as they are written, each page in a folder with the examples.

Left out are those that need a paid model, a server, training or an extra download, and those that show a form
(`FILE`, `[flags]`, `...`) and no command.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.cli.run import Run

from .pages import DOCS, ROOT
from .test_commands import command_lines

PAGES = [ROOT / "README.md", ROOT / "examples/README.md", *sorted(DOCS.rglob("*.md"))]
A_FORM = re.compile(r"[\[\]|]|\.\.\.|\b[A-Z]{1,}(?:\b|_)(?![\w./-]*[a-z])|\$")
ELSEWHERE = re.compile(
    r"\b(?:openai|anthropic|ollama|hf|gguf|hf-dataset):|--(?:ray|interactive|corpus-encoder|rerank|base-url)\b"
)
LONG = re.compile(r"^eirene (?:train|serve|salience)\b|^python3? -m|^eirene batch .*\bworker")


def runnable(page: Path) -> list[str]:
    """The page's lines that need nothing but the repository, each in one line."""
    lines = [" ".join(line.split()) for line in command_lines(page.read_text("utf-8"))]
    return [line for line in lines if not any(kind.search(line) for kind in (A_FORM, ELSEWHERE, LONG))]


SLOW = {"synthetic.md", "calibrate.md", "compare.md", "training.md", "detectors.md"}


@pytest.mark.parametrize("slow", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["quick pages", "slow pages"])
def test_the_shell_lines_of_every_page_run(
    slow: bool, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = {}
    for n, page in enumerate(page for page in PAGES if (page.name in SLOW) == slow):
        folder = tmp_path / str(n)
        shutil.copytree(ROOT / "examples", folder / "examples")
        monkeypatch.chdir(folder)
        for line in runnable(page):
            result = run(*shlex.split(line)[1:])
            if result.code != 0:
                failed[f"{page.name}: {line}"] = result.err or result.out
    assert failed == {}


def test_no_line_of_the_readme_is_left_out() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert len(runnable(ROOT / "README.md")) == len(list(command_lines(readme))) >= 1
