"""`eirene papers`: the tables of the four papers, measured on your data with your model, beside what they print."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer

from eirene.cli.data_flags import SelectionFlags
from eirene.cli.flags import with_groups
from eirene.cli.progress import watch
from eirene.cli.terminal import output, resumable, say
from eirene.core.errors import InputError
from eirene.models.gguf.spec import PREFIX, check_file, file_digest, parse_gguf

Json = dict[str, Any]
Table = Annotated[str | None, typer.Argument(metavar="TABLE", help="Which table, such as eir-3 (none: a list of all).")]
Data = Annotated[str | None, typer.Option(metavar="DIR", help="The folder with the published data sets.")]
Model = Annotated[str, typer.Option(help="The model: embedded, provider:model, hf:... or gguf:...")]
Judge = Annotated[str | None, typer.Option(help="The model that judges, where it is another one.")]
BaseUrl = Annotated[str | None, typer.Option("--base-url", help="The address of the chat models' server.")]
Sample = Annotated[
    str | None, typer.Option(metavar="N[,SEED]", help="Sample so many rows of each data set (default: all).")
]
Draws = Annotated[
    int | None, typer.Option("--samples", help="Polls, critiques or answers drawn (default: as in the paper).")
]
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

    from eirene.agent.experiments.papers import PaperRun, measure, table_named
    from eirene.data.output import make_folder, write_text

    with output():
        if table is None:
            typer.echo(listing())
            return
        table_named(table)
        if data is None or not Path(data).is_dir():
            came = "" if data is None else f": {data} is not a folder"
            raise InputError(f"a table is measured on published data: give --data DIR{came}", field="data")
        chosen = SelectionFlags(sample=sample).selection()
        page(Path(out))  # says what is wrong with other runs before this one is paid for
        folder = Path(out) / table / folder_name(model)
        made = count(1)
        with watch(0) as progress, resumable(folder):
            run = PaperRun(
                data=Path(data), out=folder, model=model, judge=judge, base_url=base_url, size=chosen.sample,
                seed=chosen.seed, samples=samples, on_row=lambda _: progress.count(next(made), "rows"),
            )  # fmt: skip
            found = asyncio.run(measure(table, run))
        flags = [("--data", "DIR"), ("--model", shown_name(model)), ("--judge", judge and shown_name(judge)),
                 ("--sample", sample), ("--samples", samples)]  # fmt: skip
        said = " ".join(f"{flag} {value}" for flag, value in flags if value is not None)
        found |= {"command": f"eirene papers {table} {said}", "model": shown_name(model), "note": note}
        make_folder(folder)
        write_text(str(folder / "summary.json"), json.dumps(found, ensure_ascii=False, indent=1) + "\n", force=True)
        write_text(str(Path(out) / "papers.md"), page(Path(out)), force=True)
        typer.echo(page(Path(out), only=table))
        say(f"see {Path(out) / 'papers.md'}")


def shown_name(model: str) -> str:
    """The model's name without the folder that it lies in."""
    return re.sub(r"(?i)^(gguf:)(?:[^?]*/)?|^(hf:)[/.~][^?]*/", r"\1\2", model)


def folder_name(model: str) -> str:
    """What the folder of a model's rows is called; two GGUF files of one name are told apart by what is in them.

    Raises `InputError` for a GGUF file that cannot be used.
    """
    name = re.sub(r"[^\w.-]+", "-", shown_name(model))
    if not model.startswith(PREFIX):
        return name
    check_file(spec := parse_gguf(model))
    return f"{name}-{file_digest(spec.path)}"


def listing() -> str:
    """Every table of the papers: the command of it, or why there is none."""
    from eirene.agent.experiments.papers import papers as known

    said = [f"{key}-N: table N of {paper}" for key, paper in known()["papers"].items()]
    for name, table in known()["tables"].items():
        how = f"`eirene papers {name}`" if "run" in table else f"no command: {table['why']}"
        said.append(f"- {name}, {table['title']}: {how}")
    return "\n".join(said)


HEAD = """In a cell stands the paper's figure -> ours, with its 95 % interval by bootstrap, and n where it is not that
of all rows. A letter names the run; what needs no model is of the run with most rows. A number in parentheses is the
reason why there is no figure, behind a row's name for the whole row. `eirene papers` lists the other tables."""


def page(folder: Path, *, only: str = "") -> str:
    """Every table that has a command, or `only` one, as it was measured in a folder.

    Raises `InputError` for a summary there that cannot be read.
    """
    from eirene.agent.experiments.papers import papers as known

    tables = {name: t for name, t in known()["tables"].items() if "run" in t and only in ("", name)}
    runs = {name: list(map(_summary, sorted((folder / name).glob("*/summary.json")))) for name in tables}
    said = sorted({_run(run) for found in runs.values() for run in found})
    letters = {how: chr(ord("A") + n) if len(said) > 1 else "" for n, how in enumerate(said)}
    parts, numbers = list[str](), dict[str, int]()
    for name, table in tables.items():
        parts += [f"## {name}: {table['title']}", " ".join(table["differs"].split())]
        none = f"Not measured: `eirene papers {name}`{' asks a chat model for every row' if 'needs' in table else ''}."
        parts += [table_text(runs[name], letters, numbers) if runs[name] else none]
    of = "\n".join(f"- {name}-N: table N of {paper}" for name, paper in known()["papers"].items())
    how = "\n".join(" ".join(filter(None, ("-", letters[one], one))) for one in said)
    why = "\n".join(f"{number}. {reason}" for reason, number in numbers.items())
    parts = ["# The papers' tables", HEAD, of, how, *parts, *(["## Why a figure is missing", why] if why else [])]
    return "\n\n".join(filter(None, parts)) + "\n"


def _run(run: Json) -> str:
    """How a run was made, whichever table it is of."""
    flags = run["command"].replace(f" {run['table']} ", " TABLE ", 1)
    return f"`{flags}`" + (f": {run['note']}" if run["note"] else "")


def _summary(file: Path) -> Json:
    try:
        found: Json = json.loads(file.read_bytes())
        table_text([found], {_run(found): ""}, {})  # what it lacks shows there
        if found["table"] != file.parents[1].name:
            raise ValueError(f"it is of {found['table']}")
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        why = f"is not as `eirene papers` wrote it ({type(error).__name__}: {error})"
        raise InputError(f"{why}; delete it: the same command makes it again from the rows", where=str(file)) from None
    return found


def table_text(runs: Sequence[Json], letters: Json, numbers: dict[str, int]) -> str:
    """The runs of a table as one in Markdown: what is printed -> what they gave, or the numbers of the reasons."""
    from eirene.agent.experiments.papers import papers as known
    from eirene.eval.registry import DETECTORS
    from eirene.views.tables import markdown_table

    table, lines = known()["tables"][runs[0]["table"]], []
    free = {name for name in table.get("detectors", ()) if DETECTORS[name].needs <= {"given"}}
    for at, block in enumerate(table["blocks"]):
        made = [(letters[_run(run)], run["blocks"][at]) for run in runs]
        rows = ", ".join(f"{letter} {own['read']}".strip() for letter, own in made if own["read"])
        file = next((own["data"] for _, own in made if own["read"]), None)
        where = f"{block.get('name', '')} ({file}: {rows} rows)".strip() if file else block.get("name", "")
        for n, row in enumerate(block["rows"]):
            is_free = free & {row.get("of"), *".".join(row.get("ours", ())).split(".")}
            own = [max(made, key=lambda one: one[1]["read"] or 0)] if is_free else made
            ours = [[(letter, cell, found["read"]) for cell in found["rows"][n]["ours"]] for letter, found in own]
            columns = zip(table["columns"], zip(*ours, strict=True), strict=True)
            cells = [_cell(cells, numbers, percent="%" in name) for name, cells in columns]
            why = {cell for cell in cells if cell}
            is_bare = len(why) == 1 and min(why).startswith("(")
            printed = row.get("printed") or ["" if cell or is_bare else "-" for cell in cells]
            pairs = zip(printed, cells, strict=True)
            told = (f"{said} -> {cell}".strip() if cell and not is_bare else said for said, cell in pairs)
            lines.append([where, f"{row['name']} {min(why)}" if is_bare else row["name"], *told])
            where = ""
    return markdown_table(["", "", *table["columns"]], lines)


def _cell(ours: Sequence[tuple[str, Json, int | None]], numbers: dict[str, int], *, percent: bool) -> str:
    """The figures of runs (letter, figure, rows read), one that several have once; else why there is none.

    "" for what the row does not have.
    """
    from eirene.agent.experiments.papers import NO_FIGURE
    from eirene.views.tables import figure

    said: dict[str, str] = {}
    for letter, one, read in ours:
        if "value" in one:
            scaled = {key: 100 * one[key] for key in ("value", "low", "high") if percent and one.get(key) is not None}
            n = f", n = {one['n']:,}" if one.get("n", read) != read else ""
            text = figure({**one, **scaled}, 1 if percent else 3) + n
            said[text] = said.get(text, "").replace(letter, "") + letter
    if said:
        return "; ".join(f"{own} {text}".strip() for text, own in said.items())
    reasons = dict.fromkeys(one["unscored"] for _, one, _ in ours if one["unscored"] != NO_FIGURE)
    told = ", ".join(str(numbers.setdefault(why, len(numbers) + 1)) for why in reasons)
    return f"({told})" if told else ""
