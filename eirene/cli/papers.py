"""`eirene papers`: the tables of the four papers, measured on your data with your model, beside what they print."""

from __future__ import annotations

import json
import re
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer

from eirene.cli.flags import with_groups
from eirene.cli.progress import watch
from eirene.cli.terminal import output, resumable, say
from eirene.core.errors import InputError

Json = dict[str, Any]
Table = Annotated[str | None, typer.Argument(metavar="TABLE", help="Which table, such as eir-3 (none: a list of all).")]
Data = Annotated[str | None, typer.Option(metavar="DIR", help="The folder with the published data sets.")]
Model = Annotated[str, typer.Option(help="The model: embedded, provider:model, hf:... or gguf:...")]
Judge = Annotated[str | None, typer.Option(help="The model that judges, where it is another one.")]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="The server of the chat models.")]
Sample = Annotated[
    str | None, typer.Option(metavar="N[,SEED]", help="Sample so many rows of each data set (default: all).")
]
Draws = Annotated[int | None, typer.Option("--samples", help="Polls, critiques or answers drawn (default: as there).")]
Out = Annotated[str, typer.Option(metavar="DIR", help="The folder for rows, figures and the page papers.md.")]
Note = Annotated[str, typer.Option(help="What is said beside the figures: machine, the model's whole name.")]


@with_groups()
def papers(
    table: Table = None,
    *,
    data: Data = None,
    model: Model = "embedded",
    judge: Judge = None,
    base_url: BaseUrl = None,
    sample: Sample = None,
    samples: Draws = None,
    out: Out = "papers",
    note: Note = "",
) -> None:
    """Measure a table of the papers and show its printed figures beside yours; without a table, list all.

    Run the same command again to resume. papers.md in the folder has every table measured there.
    """
    import asyncio

    from eirene.agent.experiments.papers import PaperRun, measure
    from eirene.data.output import make_folder, write_text

    with output():
        if table is None:
            typer.echo(listing())
            return
        if data is None or not Path(data).is_dir():
            came = "" if data is None else f": {data} is not a folder"
            raise InputError(f"a table is measured on published data: give --data DIR{came}", field="data")
        size, _, seed = (sample or "0").partition(",")
        if not (size.isdecimal() and (seed or "0").isdecimal()):
            raise InputError(f"sample wants rows, such as 100, or 100,7 with a seed, got {sample!r}", field="sample")
        folder = Path(out) / table / re.sub(r"[^\w.-]+", "-", shown_name(model))
        made = count(1)
        with watch(0) as progress, resumable(folder):
            run = PaperRun(
                data=Path(data), out=folder, model=model, judge=judge, base_url=base_url, size=int(size),
                seed=int(seed or 0), samples=samples, on_row=lambda _: progress.count(next(made), "rows"),
            )  # fmt: skip
            found = asyncio.run(measure(table, run))
        flags = [("--data", "DIR"), ("--model", shown_name(model)), ("--judge", judge and shown_name(judge)),
                 ("--sample", sample), ("--samples", samples)]  # fmt: skip
        said = " ".join(f"{flag} {value}" for flag, value in flags if value is not None)
        found |= {"command": f"eirene papers {table} {said}", "model": shown_name(model), "note": note}
        make_folder(folder)
        write_text(str(folder / "summary.json"), json.dumps(found, ensure_ascii=False, indent=1) + "\n", force=True)
        write_text(str(Path(out) / "papers.md"), page(Path(out)), force=True)
        typer.echo(table_text(found))
        say(f"see {Path(out) / 'papers.md'}")


def shown_name(model: str) -> str:
    """The model's name without the folder that it lies in."""
    kind, colon, rest = model.partition(":")
    path, mark, options = rest.partition("?")
    return f"{kind}{colon}{path.rpartition('/')[2] if kind == 'gguf' else path}{mark}{options}"


def listing() -> str:
    """Every table of the papers: the command of it, or why there is none."""
    from eirene.agent.experiments.papers import papers as known

    lines = []
    for name, paper in known()["papers"].items():
        own = {key: t for key, t in known()["tables"].items() if key.rpartition("-")[0] == name}
        lines += [f"## {paper}", ""]
        for key, t in own.items():
            how = f"`eirene papers {key}`" if "run" in t else f"no command: {t['why']}"
            lines.append(f"- Table {key.rpartition('-')[2]}, {t['title']}: {how}")
        lines.append("")
    return "\n".join(lines)


def page(folder: Path) -> str:
    """Every table that has a command, as it was measured in a folder, and why the others have none."""
    from eirene.agent.experiments.papers import papers as known

    parts, others = ["# The papers' tables", HEAD], []
    for name, table in known()["tables"].items():
        if "run" not in table:
            others.append(f"- {name}, {table['title']}: {table['why']}")
            continue
        found = [json.loads(f.read_text("utf-8")) for f in sorted((folder / name).glob("*/summary.json"))]
        paper = known()["papers"][name.rpartition("-")[0]]
        parts += [f"## {name}: {table['title']}", f"{paper}, table {name.rpartition('-')[2]}."]
        parts += [" ".join(table["differs"].split()), *map(table_text, found)]
        parts += [] if found else [f"Not measured here yet: `eirene papers {name}`."]
    return "\n\n".join([*parts, "## Tables without a command", "\n".join(others)]) + "\n"


HEAD = """What each paper prints, what Eirene gives on the data named by `eirene papers TABLE --data DIR --model M`.
In a cell stands the paper's figure -> ours. Brackets are 95 % intervals by bootstrap; n is what a figure is of. A
number in parentheses stands for a figure that is unscored: the reason is below the table."""


def table_text(found: Json) -> str:
    """One run of a table in Markdown: what is printed -> ours, and the reasons of what is not scored."""
    from eirene.agent.experiments.papers import papers as known
    from eirene.views.tables import markdown_table

    columns, reasons, lines = known()["tables"][found["table"]]["columns"], dict[str, int](), []
    for block in found["blocks"]:
        where = f"{block['name']} ({block['data']}, {block['read']} rows)" if block["read"] else block["name"]
        for row in block["rows"]:
            printed = row["printed"] or [""] * len(columns)
            cells = [_cell(one, reasons, percent="%" in name) for one, name in zip(row["ours"], columns, strict=True)]
            lines.append([where, row["name"], *(f"{a} -> {b}".strip() for a, b in zip(printed, cells, strict=True))])
            where = ""
    told = [f"`{found['command']}`", *([found["note"]] if found["note"] else [])]
    notes = [f"{number}. {why}" for why, number in reasons.items()]
    return "\n\n".join([": ".join(told), markdown_table(["", "", *columns], lines), "\n".join(notes)]).strip()


def _cell(one: Json, reasons: dict[str, int], *, percent: bool) -> str:
    from eirene.views.tables import figure

    if "value" not in one:
        return f"({reasons.setdefault(one['unscored'], len(reasons) + 1)})"
    scaled = {key: 100 * one[key] for key in ("value", "low", "high") if percent and one.get(key) is not None}
    return figure({**one, **scaled}, 1 if percent else 3) + (f", n = {one['n']:,}" if "n" in one else "")
