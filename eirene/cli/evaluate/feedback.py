"""`eirene evaluate feedback`: how well a feedback model finds what answers lack."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eirene.cli import data_flags, flags
from eirene.cli.data_flags import SelectionFlags
from eirene.cli.evaluate.rows import RowFlags
from eirene.cli.flags import LoopFlags, Only, with_groups
from eirene.cli.model_flags import BackendFlags
from eirene.cli.terminal import console, output, say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.data import Selection
    from eirene.eval.datasets.base import FeedbackCase

_Table = tuple[str, tuple[str, ...], list[tuple[str, list[str]]]]
"""Title, columns, and rows of a name and its cells."""

Data = Annotated[
    str, typer.Argument(metavar="DATA|-", help="HaluQuestQA (published or row form) or QA-Feedback, in any format.")
]
Split = Annotated[str, typer.Option(help="A part of HaluQuestQA's published file: all, train or test.")]


@with_groups()
def feedback(
    data: Data,
    *,
    models: BackendFlags,
    loop: Annotated[LoopFlags, Only("samples", "stop", "seed", "min_consistency")],
    rows: RowFlags,
    split: Split = "all",
    format: data_flags.Format = "auto",
    selection: SelectionFlags,
    draws: flags.Draws = 10_000,
    as_json: flags.FiguresAsJson = False,
    config: flags.Config = None,
) -> None:
    """Measure a feedback model on labelled answers, with intervals, next to baselines that need no model."""
    with output():
        cases = _cases(data, format, split, selection.selection())
        from eirene.agent.experiments.critic import aevaluate_feedback
        from eirene.eval.metrics.bootstrap import Resamples
        from eirene.eval.metrics.feedback import feedback_report

        settings = loop.settings()
        Resamples(draws=draws)  # says what is wrong before anything is spent
        done = rows.make(aevaluate_feedback, cases, models.parts(), settings=settings)
        if done.n_from_journal:
            say(f"{done.n_from_journal} of {len(cases)} rows were in {rows.out} already")
        report = {"signature": done.rows[0].signature, **feedback_report(done.rows, draws=draws, seed=loop.seed)}
        if as_json:
            typer.echo(json.dumps(report, ensure_ascii=False, allow_nan=False))
        else:
            _show(report)
    if report["counts"]["failed"]:
        raise typer.Exit(1)


def _cases(data: str, format: str, split: str, selection: Selection) -> list[FeedbackCase]:
    from eirene.data import open_source
    from eirene.data.haluquestqa import published_split, read_tagged_answers
    from eirene.eval.datasets.base import case_of, read_feedback_cases, with_own_ids

    if split not in ("all", "train", "test"):
        raise InputError(f"split must be one of all, train, test, got {split!r}", field="split")
    source = open_source(data, format=format)
    if split == "all":
        cases = read_feedback_cases(source)
    else:
        train, test = published_split(read_tagged_answers(source))
        cases = list(with_own_ids(map(case_of, train if split == "train" else test)))
    places = selection.places(len(cases))
    return cases if places is None else [cases[place] for place in places]


def _show(report: dict[str, Any]) -> None:
    from rich.table import Table

    screen, counts = console(), report["counts"]
    screen.print(report["signature"])
    screen.print(
        f"{counts['answers']} answers: {counts['scored']} scored, {counts['abstained']} abstained, "
        f"{counts['failed']} failed; {counts['answers_that_lack_something']} lack something; "
        f"{counts['samples_valid']} of {counts['samples_drawn']} samples valid"
    )
    for cause in counts["causes"]:
        screen.print(f"  {cause['answers']} times: {cause['why']}")
    if counts["scored"] < counts["answers"]:
        screen.print(f"All figures below are of the {counts['scored']} scored answers alone.")
    for title, columns, rows in _tables(report):
        table = Table(title=title, title_justify="left")
        for name in ("", *columns):
            table.add_column(name, justify="left" if not name else "right")
        for name, cells in rows:
            table.add_row(name, *cells)
        screen.print(table)
    for name in ("sentences", "answers"):
        if "unscored" in report[name]:
            screen.print(f"{name}: not measured: {report[name]['unscored']}")


def _tables(report: dict[str, Any]) -> list[_Table]:
    """The tables that there are figures for."""
    found: list[_Table] = []
    if "unscored" not in report["sentences"]:
        found += [_sentence_table(report["sentences"]), _paper_table(report["paper"])]
    if "unscored" not in report["calibration"]:
        found.append(_calibration_table(report["calibration"]))
    if "unscored" not in report["answers"]:
        found.append(_answer_table(report["answers"]))
    return found


def _sentence_table(sentences: dict[str, Any]) -> _Table:
    rows = []
    for name, figures in sentences.items():
        parts = {name: figures.get("overall", figures), f"{name}, within answers": figures.get("within")}
        for label, part in parts.items():
            if part is not None:
                rows.append((label, [_cell(part.get(k)) for k in ("auc", "ap", "f1")]))
    return "Sentences that lack something", ("ROC AUC", "AP", "F1 at the vote"), rows


def _paper_table(paper: dict[str, Any]) -> _Table:
    names = ("exact", "adjacent", "different")
    rows = [(label, [_cell(part[n]) for n in names]) for label, part in paper.items()]
    return "The first sentence named (EIR, table 3)", names, rows


def _calibration_table(calibration: dict[str, Any]) -> _Table:
    rows = []
    for kind, quality in (("tag_consistency", "tags right"), ("reason_consistency", "overlap of reasons")):
        part, name = calibration[kind], kind.replace("_", " ")
        for b in part["bins"]:
            rows.append((f"{name} {b['from']:g} to {b['to']:g}", [str(b["quality"]["n"]), _cell(b["quality"])]))
        rows.append((f"rank correlation with {quality}", ["", _cell(part["spearman"])]))
        if "spearman_given_length" in part:
            rows.append(("the same, length taken out", ["", _cell(part["spearman_given_length"])]))
    return "Are consistent critiques better ones?", ("answers", "quality"), rows


def _answer_table(answers: dict[str, Any]) -> _Table:
    any_fault, mean, vote, base = (answers[k] for k in ("any_fault", "mean_share", "vote", "always lacking"))
    rows = [
        ("share of samples with any fault", [_cell(any_fault["auc"]), _cell(any_fault["ap"]), "", ""]),
        ("mean share over sentences", [_cell(mean["auc"]), _cell(mean["ap"]), "", ""]),
        ("at the vote", ["", "", _cell(vote["f1"]), _cell(vote["accuracy"])]),
        ("always lacking", [_cell(base[k]) for k in ("auc", "ap", "f1", "accuracy")]),
    ]
    return "Answers that lack something", ("ROC AUC", "AP", "F1", "accuracy"), rows


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}"
    if "unscored" in value:
        return "-"
    return f"{value['value']:.3f} [{value['low']:.3f}, {value['high']:.3f}]"
