"""Reading the documentation's pages: their code blocks, and the output that they say the code has."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
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
    """Whether a dotted name is a module, or a name in one, perhaps an attribute of a class.

    Its source is read, so that no heavy package is loaded; a module with names that only it knows is imported.
    """
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        base, rest = ROOT.joinpath(*parts[:cut]), parts[cut:]
        source = next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.exists()), None)
        if source is not None:
            return set(rest) <= _names_in(source) or _has(importlib.import_module(".".join(parts[:cut])), rest)
    return False


def _has(found: object, names: list[str]) -> bool:
    for name in names:
        found = getattr(found, name, None)
    return found is not None


@cache
def _names_in(source: Path) -> frozenset[str]:
    """The names that a module defines or imports, in whatever block."""
    nodes = [node for node in ast.walk(ast.parse(source.read_text("utf-8")))]
    defined = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    assigned = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    imported = {a.asname or a.name for n in nodes if isinstance(n, ast.ImportFrom) for a in n.names}
    return frozenset(defined | assigned | imported)
