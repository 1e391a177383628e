"""`eirene papers`: the tables of the four papers, measured on your data with your model, beside what they print."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import typer

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
        size, _, seed = (sample or "0").partition(",")
        if not (size.isdecimal() and (seed or "0").isdecimal()):
            raise InputError(f"sample wants rows, such as 100, or 100,7 with a seed, got {sample!r}", field="sample")
        page(Path(out))  # says what is wrong with other runs before this one is paid for
        folder = Path(out) / table / folder_name(model)
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
        legend = Legend([found])
        typer.echo(
            "\n\n".join([legend.runs().replace(" TABLE ", f" {table} "), table_text([found], legend), legend.reasons()])
        )
        say(f"see {Path(out) / 'papers.md'}")


def shown_name(model: str) -> str:
    """The model's name without the folder that it lies in."""
    folder = Path(parse_gguf(model).path).parent if model.startswith(PREFIX) else None
    return model if folder is None else model.replace(f"{folder}/", "", 1)


def folder_name(model: str) -> str:
    """What the folder of a model's rows is called; two GGUF files of one name are told apart by what is in them.

    Raises `InputError` for a GGUF file that cannot be used.
    """
    name = re.sub(r"[^\w.-]+", "-", shown_name(model))
    if not model.startswith(PREFIX):
        return name
    spec = parse_gguf(model)
    check_file(spec)
    return f"{name}-{file_digest(spec.path)}"


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
    """Every table that has a command, as it was measured in a folder, and why the others have none.

    Raises `InputError` for a summary there that cannot be read.
    """
    from eirene.agent.experiments.papers import papers as known

    tables = known()["tables"]
    runs = {name: list(map(_summary, sorted((folder / name).glob("*/summary.json")))) for name in tables}
    legend = Legend([run for found in runs.values() for run in found])
    of = "\n".join(f"- {name}-N: table N of {paper}" for name, paper in known()["papers"].items())
    parts, others = ["# The papers' tables", HEAD, of, legend.runs()], dict[str, list[str]]()
    for name, table in tables.items():
        if "run" not in table:
            others.setdefault(table["why"], []).append(name)
            continue
        parts += [f"## {name}: {table['title']}", " ".join(table["differs"].split())]
        parts += [table_text(runs[name], legend)] if runs[name] else [f"Not measured here yet: `eirene papers {name}`."]
    parts += ["## Why a figure is missing", legend.reasons()] if legend.numbers else []
    parts += ["## Tables without a command", "\n".join(f"- {', '.join(names)}: {why}" for why, names in others.items())]
    return "\n\n".join(parts) + "\n"


HEAD = """In a cell stands the paper's figure -> ours, with its 95 % interval by bootstrap, and n where it is not that
of all rows. A letter names the run; what needs no model is of the run with most rows. A number in parentheses is the
reason why there is no figure."""


def _summary(file: Path) -> Json:
    """The figures of one run, as they were kept."""
    try:
        found: Json = json.loads(file.read_bytes())
        table_text([found], Legend([found]))  # what it lacks shows there
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        why = f"is not as `eirene papers` wrote it ({type(error).__name__}: {error})"
        raise InputError(f"{why}; delete it: the same command makes it again from the rows", where=str(file)) from None
    return found


class Legend:
    """What a page says once: the runs, by a letter where there are several, and the reasons by number."""

    def __init__(self, runs: Sequence[Json]) -> None:
        said = sorted(set(map(_run, runs)))
        self.letters = {how: chr(ord("A") + n) if len(said) > 1 else "" for n, how in enumerate(said)}
        self.numbers: dict[str, int] = {}

    def runs(self) -> str:
        """How tables were measured; letters are those of the cells."""
        return "\n".join(f"- {letter}: {how}" if letter else how for how, letter in self.letters.items())

    def reasons(self) -> str:
        """The reasons that cells name by their numbers."""
        return "\n".join(f"{number}. {why}" for why, number in self.numbers.items())

    def cell(self, ours: Sequence[tuple[str, Json, int | None]], *, percent: bool) -> str:
        """The figures of runs (letter, figure, rows read), one that several have once; else why there is none."""
        from eirene.views.tables import figure

        said: dict[str, str] = {}
        for letter, one, read in ours:
            if "value" in one:
                scaled = {k: 100 * one[k] for k in ("value", "low", "high") if percent and one.get(k) is not None}
                n = f", n = {one['n']:,}" if one.get("n", read) != read else ""
                text = figure({**one, **scaled}, 1 if percent else 3) + n
                said[text] = said.get(text, "") + letter
        if said:
            return "; ".join(f"{letters} {text}".strip() for text, letters in said.items())
        numbers = (self.numbers.setdefault(one["unscored"], len(self.numbers) + 1) for _, one, _ in ours)
        return f"({', '.join(map(str, dict.fromkeys(numbers)))})"


def _run(run: Json) -> str:
    """How a run was made, whichever table it is of."""
    flags = run["command"].replace(f" {run['table']} ", " TABLE ", 1)
    return f"`{flags}`" + (f": {run['note']}" if run["note"] else "")


def table_text(runs: Sequence[Json], legend: Legend) -> str:
    """The runs of a table as one in Markdown: what is printed -> what they gave, or the numbers of the reasons."""
    from eirene.agent.experiments.papers import papers as known
    from eirene.views.tables import markdown_table

    table, lines = known()["tables"][runs[0]["table"]], []
    named = [(legend.letters[_run(run)], run["blocks"]) for run in runs]
    for at, block in enumerate(table["blocks"]):
        made = [(letter, blocks[at]) for letter, blocks in named]
        where = _block_name(block.get("name", ""), made)
        for n, row in enumerate(block["rows"]):
            own = [max(made, key=lambda one: one[1]["read"] or 0)] if _is_free(table, row) else made
            ours = [[(letter, cell, found["read"]) for cell in found["rows"][n]["ours"]] for letter, found in own]
            columns = zip(table["columns"], zip(*ours, strict=True), strict=True)
            cells = [legend.cell(cells, percent="%" in name) for name, cells in columns]
            printed = row.get("printed") or [""] * len(cells)
            lines.append([where, row["name"], *(f"{a} -> {b}".strip() for a, b in zip(printed, cells, strict=True))])
            where = ""
    return markdown_table(["", "", *table["columns"]], lines)


def _is_free(table: Json, row: Json) -> bool:
    """Whether a row's figures are of a detector that needs no model."""
    from eirene.eval.registry import DETECTORS

    of = f".{row.get('of', '')}. {' '.join(row.get('ours', ()))}"
    return any(f".{name}." in of and DETECTORS[name].needs <= {"given"} for name in table.get("detectors", ()))


def _block_name(name: str, made: Sequence[tuple[str, Json]]) -> str:
    """A block's name with its file, and how many rows of it each run has read."""
    read = [(letter, block) for letter, block in made if block["read"]]
    rows = ", ".join(f"{letter} {block['read']}".strip() for letter, block in read)
    return f"{name} ({read[0][1]['data']}: {rows} rows)".strip() if read else name
