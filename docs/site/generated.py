"""Pages of the site that no one writes: every command with its flags, and the pages that stand outside docs/."""

from __future__ import annotations

import html
import re
from pathlib import Path

import mkdocs_gen_files
import typer.main
from typer.cli import get_docs_for_click

from eirene.cli.app import app

ROOT = Path(__file__).parents[2]


def commands() -> str:
    """Every command of `eirene`, from the declarations that `--help` prints."""
    command = typer.main.get_command(app)
    text = html.unescape(get_docs_for_click(obj=command, ctx=typer.Context(command), name="eirene"))
    text = re.sub(r"\((docs/[\w/]+\.md)\)", lambda found: f"([more](../{found[1].removeprefix('docs/')}))", text)
    return text.replace("# `eirene`", "# Every command\n\nMade of the program's own `--help`.", 1)


def outside() -> list[Path]:
    """The pages beside docs/ that belong to the documentation."""
    return [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md", ROOT / "examples/README.md",
            *sorted((ROOT / "benchmarks/results").rglob("*.md"))]  # fmt: skip


with mkdocs_gen_files.open("reference/commands.md", "w") as page:
    page.write(commands())
with mkdocs_gen_files.open("project/README.md", "w") as page:
    page.write((ROOT / "README.md").read_text("utf-8"))
for path in outside():
    with mkdocs_gen_files.open(str(path.relative_to(ROOT)), "w") as page:
        page.write(path.read_text("utf-8"))
