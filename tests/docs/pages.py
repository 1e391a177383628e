"""Reading the documentation's pages: their code blocks, and the output that they say the code has."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def read_page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text("utf-8")


def section(page: str, heading: str) -> str:
    """What stands between a heading of the second level and the next."""
    return page.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def code_blocks(page: str, language: str = "python") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.MULTILINE | re.DOTALL)


def stated_output(page: str) -> list[str]:
    """The printed lines that a page states, each as "It prints `...`" or "It prints `...`, then `...`"."""
    sentences = re.findall(r"^It prints (`[^`]+`(?:,\s+then\s+`[^`]+`)*)", page, re.MULTILINE)
    return [line for sentence in sentences for line in re.findall(r"`([^`]+)`", sentence)]


def run_blocks(blocks: list[str], page: str) -> dict[str, object]:
    """Runs the blocks of a page as one session and returns the names that they defined."""
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, f"docs/{page}.md", "exec", dont_inherit=True), names)
    return names


def is_there(name: str) -> bool:
    """Whether a dotted name is a module, or a name in one, perhaps an attribute of a class."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part, None)
        return found is not None
    return False
