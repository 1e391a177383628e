"""`eirene prompts`: lists the prompts with their fields and digests, and writes them to a folder to begin from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from eirene.cli import flags
from eirene.cli.terminal import console, output, say
from eirene.prompts.loader import SHIPPED, PromptSet, read_prompts

Own = Annotated[
    PromptSet | None,
    typer.Option(
        metavar="FOLDER", help="Check this folder, and list its prompts among the shipped.", parser=read_prompts
    ),
]
Out = Annotated[str | None, typer.Option(metavar="FOLDER", help="Write the shipped prompts here, a file each.")]
Names = Annotated[str | None, typer.Option("--names", help="Write these alone, comma-separated.")]


def prompts(prompts: Own = None, out: Out = None, names: Names = None, force: flags.Force = False) -> None:
    """List the prompts that can be replaced by own ones, or write them to a folder to begin from."""
    from eirene.core.errors import InputError

    with output():
        if names is not None and out is None:
            raise InputError("--names goes with --out", field="names")
        if out is None:
            _show(prompts or SHIPPED)
        else:
            _write(out, flags.listed(names), force=force)


def _show(found: PromptSet) -> None:
    from rich.table import Table

    from eirene.prompts.loader import replaceable_names

    shown = Table(box=None)
    for title in ("prompt", "digest", "", "fields"):
        shown.add_column(title)
    for name in replaceable_names():
        prompt = found.load(name)
        fields = " ".join(sorted(prompt.placeholders))
        shown.add_row(name, prompt.digest, "own" if found.has_own(name) else "", fields)
    console().print(shown, markup=False)


def _write(out: str, names: tuple[str, ...], *, force: bool) -> None:
    """Writes the files once it is sure that all of them can be written."""
    from eirene.core.errors import InputError
    from eirene.data.output import check_output, make_folder, write_text
    from eirene.prompts.loader import replaceable_names, shipped_text

    known = replaceable_names()
    unknown = next((name for name in names if name not in known), None)
    if unknown is not None:
        raise InputError(f"no prompt {unknown!r}; known: {', '.join(known)}", field="names")
    folder = make_folder(out)
    files = {str(Path(folder, f"{name}.md")): name for name in names or known}
    for file in files:
        check_output(file, force=force)
    for file, name in files.items():
        write_text(file, shipped_text(name), force=force)
    say(f"{len(files)} prompts written to {folder}; keep those that you change, and name it with --prompts")
