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
LONG = re.compile(r"^eirene (?:serve|salience)\b|^python3? -m|^eirene batch .*\bworker")


def runnable(page: Path) -> list[str]:
    """The page's lines that need nothing but the repository, each in one line."""
    lines = [" ".join(line.split()) for line in command_lines(page.read_text("utf-8"))]
    shown = [re.sub(r'"[^"]*"', '""', line) for line in lines]  # a quoted text is no form
    kinds = (A_FORM, ELSEWHERE, LONG)
    return [line for line, bare in zip(lines, shown, strict=True) if not any(kind.search(bare) for kind in kinds)]


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


NEEDS = {
    "calibrate.md": "calibrate", "costs.md": "openai", "local_models.md": "gguf", "scaling.md": "ray",
    "server.md": "server", "tracing.md": "otel", "training.md": "train",
}  # fmt: skip
"""The guides whose first command takes more than the small install, which they say."""


def test_the_first_command_of_every_guide_runs_in_a_clone_or_the_guide_says_what_it_needs() -> None:
    wrong = []
    for guide in sorted((DOCS / "guides").glob("*.md")):
        page = guide.read_text("utf-8")
        first = next((" ".join(line.split()) for line in command_lines(page)), None)
        if guide.name in NEEDS:
            told = re.search(rf"(?:extra `|\.\[)[\w,]*\b{NEEDS[guide.name]}\b", page) is not None
        else:
            told = first is None or first in runnable(guide)
        if not told:
            wrong.append(f"{guide.name}: {first}")
    assert wrong == []


def test_no_line_of_the_readme_is_left_out() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    assert len(runnable(ROOT / "README.md")) == len(list(command_lines(readme))) >= 1
