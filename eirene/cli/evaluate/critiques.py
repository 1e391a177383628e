"""`eirene evaluate critic` and `evaluate feedback`: critiques drawn for labelled answers, and how good they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from eirene.cli import data_flags, flags
from eirene.cli.data_flags import SelectionFlags
from eirene.cli.flags import LoopFlags, Only, with_groups
from eirene.cli.model_flags import BackendFlags
from eirene.cli.progress import watch
from eirene.cli.terminal import console, output, say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts
    from eirene.data import Selection
    from eirene.eval.datasets.annotated import AnnotatedSet
    from eirene.eval.datasets.base import FeedbackCase
    from eirene.eval.metrics.feedback import FeedbackRow

T = TypeVar("T")
Json = dict[str, Any]
Row = tuple[str, Sequence[str]]
"""A name and its cells."""


@dataclass(frozen=True, kw_only=True)
class RowFlags:
    """How rows are made and kept."""

    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="Keep a row for each answer here; a rerun resumes from it.")
    ] = None
    concurrency: Annotated[int, typer.Option(help="Answers at once.")] = 8
    retry_failed: flags.RetryFailed = False

    def make(
        self, run: Callable[..., Coroutine[Any, Any, T]], cases: Sequence[object], parts: Parts, *, settings: Settings
    ) -> T:
        """What `run` (such as `aevaluate_feedback`) makes of the cases, with a line of progress."""
        import asyncio

        numbers = count(1)
        with watch(len(cases)) as progress:
            work = run(
                cases, parts, settings=settings, journal=self.out, concurrency=self.concurrency,
                retry_failed=self.retry_failed, on_row=lambda _: progress.advance(next(numbers), "drawing critiques"),
            )  # fmt: skip
            return asyncio.run(work)


AnnotatedData = Annotated[
    str,
    typer.Argument(
        metavar="DATA|-", help="Annotated answers: a published set, or own rows (docs/evaluation/findings.md)."
    ),
]
Predictions = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Findings made before, by id: tagged texts, findings, critiques or records."),
]


@with_groups()
def critic(
    data: AnnotatedData,
    *,
    predictions: Predictions = None,
    reader: data_flags.Reader = None,
    models: BackendFlags,
    loop: Annotated[LoopFlags, Only("critic", "samples", "stop", "seed", "min_consistency", "evidence")],
    rows: RowFlags,
    selection: SelectionFlags,
    draws: flags.Draws = 2000,
    as_json: flags.FiguresAsJson = False,
    config: flags.Config = None,
) -> None:
    """Measure findings by kind, sentence and character against annotations, with intervals over questions."""
    with output():
        from eirene.agent.experiments.critic import arun_critic, found_by, read_predictions
        from eirene.eval.datasets.annotated import read_annotated
        from eirene.eval.metrics.bootstrap import Resamples
        from eirene.eval.metrics.findings import findings_report

        Resamples(draws=draws)  # says what is wrong before anything is spent
        annotated = read_annotated(data, reader=reader)
        cases = chosen_of(annotated.cases, selection.selection())
        if predictions is not None:
            if rows.out is not None:
                say("--out keeps what a critic finds; with --predictions there is nothing to keep")
            found = found_by(cases, read_predictions(predictions, cases))
        else:
            settings = loop.settings()
            found = found_by(cases, rows.make(arun_critic, cases, models.parts(), settings=settings))
        say(annotated.read_as)
        report = findings_report(found, annotated.taxonomy, draws=draws, seed=loop.seed)
        report |= {"left_out": dict(annotated.left_out), "by": predictions or f"{models.backend}, critic {loop.critic}"}
        show_or_json(report, lambda: _show_findings(report, annotated), as_json=as_json)
    if not report["scored"]:
        raise typer.Exit(1)


def chosen_of(cases: Sequence[T], selection: Selection) -> Sequence[T]:
    """The cases that a selection takes."""
    places = selection.places(len(cases))
    return cases if places is None else [cases[place] for place in places]


def show_or_json(figures: Json, show: Callable[[], None], *, as_json: bool) -> None:
    """All figures as one line of JSON, or what `show` prints of them."""
    if as_json:
        typer.echo(json.dumps(figures, ensure_ascii=False, allow_nan=False))
    else:
        show()


def print_table(
    columns: Sequence[str], rows: Iterable[Row], *, title: str | None = None, dim: Sequence[Row] = ()
) -> None:
    """A table of named rows; `dim` ones stand last."""
    from rich.table import Table

    shown = Table(title=title or None, title_justify="left", box=None)
    for name in ("", *columns):
        shown.add_column(name, justify="right" if name else "left")
    for name, cells in rows:
        shown.add_row(name, *cells)
    for name, cells in dim:
        shown.add_row(name, *cells, style="dim")
    console().print(shown)


def cell(value: Any) -> str:
    """A figure with its interval or its spread over seeds, a plain number, or a dash for what is not there."""
    from eirene.views.tables import figure

    if not isinstance(value, dict):
        return "" if value is None else f"{value:.3f}"
    if "spread" in value:
        return f"{value['value']:.3f} ± {value['spread']:.3f}"
    return figure(value) if "value" in value else "-"


def plain(value: Json) -> str:
    """A figure without its interval."""
    return f"{value['value']:.3f}" if "value" in value else "-"


def _show_findings(report: Json, annotated: AnnotatedSet) -> None:
    from eirene.views.facts import visible

    screen = console()
    screen.print(
        f"{report['set']}: {report['answers']} answers, {report['scored']} with findings or none, by {report['by']}; "
        f"{report.get('clusters', 0)} clusters, {report['draws']} draws, seed {report['seed']}"
    )
    for why, n in [*report["unscored"].items(), *report["left_out"].items()]:
        screen.print(f"  {n} times: {visible(why)}")
    for level in ("sentences", "characters"):
        if level not in report:
            continue
        rows: list[Row] = []
        for name in (*annotated.taxonomy.kinds, "any"):
            row = report[level][name]
            rows.append((
                "any (binary)" if name == "any" else name,
                [f"{row['marked']:,}", f"{row['predicted']:,}", plain(row["precision"]), plain(row["recall"]),
                 cell(row["f1"]), cell(row["kappa"])],
            ))  # fmt: skip
        mean = report[level]["mean_f1"]
        rows.append((f"mean of {mean['kinds']}", ["", "", "", "", cell(mean), ""]))
        pooled = report[level]["pooled"]
        rows.append(("pooled", ["", "", plain(pooled["precision"]), plain(pooled["recall"]), cell(pooled["f1"]), ""]))
        print_table(("marked", "found", "P", "R", "F1 [95 %]", "kappa [95 %]"), rows, title=f"By {level}")
    scores = report.get("answer_scores", {})
    if scores:
        from eirene.eval.metrics.findings import ASPECTS

        aspects = [(aspect, [cell(part[aspect]) for part in scores.values()]) for aspect in ASPECTS]
        print_table([*scores], aspects, title="The annotators' scores of the answers (EIR, section 3.3)")


FeedbackData = Annotated[
    str, typer.Argument(metavar="DATA|-", help="HaluQuestQA (published or row form) or QA-Feedback, in any format.")
]
Split = Annotated[str, typer.Option(help="A part of HaluQuestQA's published file: all, train or test.")]
Seeds = Annotated[
    str, typer.Option(help="Draw with each of these seeds, such as 0,1,2; figures are their mean and spread.")
]


@with_groups()
def feedback(
    data: FeedbackData,
    *,
    models: BackendFlags,
    loop: Annotated[LoopFlags, Only("samples", "stop", "min_consistency", "evidence", "critic_readout")],
    rows: RowFlags,
    split: Split = "all",
    seeds: Seeds = "0",
    format: data_flags.Format = "auto",
    selection: SelectionFlags,
    draws: flags.Draws = 10_000,
    as_json: flags.FiguresAsJson = False,
    config: flags.Config = None,
) -> None:
    """Measure a feedback model on labelled answers, with intervals, next to baselines that need no model."""
    with output():
        chosen = selection.selection()
        cases = chosen_of(_cases(data, format, split), chosen)
        from eirene.agent.experiments.critic import aevaluate_feedback
        from eirene.eval.metrics.bootstrap import Resamples

        settings = [loop.settings(seed=seed) for seed in dict.fromkeys(flags.listed_seeds(seeds))]
        if not settings:
            raise InputError("give at least one seed", field="seeds")
        Resamples(draws=draws)  # says what is wrong before anything is spent
        parts = models.parts()
        runs = [rows.make(aevaluate_feedback, cases, parts, settings=one) for one in settings]
        known = sum(run.n_from_journal for run in runs)
        if known:
            say(f"{known} of {len(cases) * len(runs)} rows were in {rows.out} already")
        report = _feedback_report([run.rows for run in runs], [one.seed for one in settings], draws)
        show_or_json(report, lambda: _show_feedback(report), as_json=as_json)
    if report["counts"]["failed"]:
        raise typer.Exit(1)


def _feedback_report(runs: Sequence[Sequence[FeedbackRow]], seeds: Sequence[int], draws: int) -> Json:
    """The figures of a run, or those of the runs of several seeds together, with each run's own under `by_seed`."""
    from eirene.eval.metrics.feedback import counts, feedback_report, over_seeds

    own = [feedback_report(rows, draws=draws, seed=seeds[0]) for rows in runs]
    line = runs[0][0].signature
    if len(own) == 1:
        return {"signature": line, **own[0]}
    line = line.replace(f"|seed:{seeds[0]}|", f"|seed:{','.join(map(str, seeds))}|")
    joined = {**over_seeds(own), "counts": counts([row for rows in runs for row in rows])}
    return {"signature": line, "seeds": list(seeds), **joined, "by_seed": own}


def _cases(data: str, format: str, split: str) -> list[FeedbackCase]:
    from eirene.data import open_source
    from eirene.data.haluquestqa import published_split, read_tagged_answers
    from eirene.eval.datasets.base import case_of, read_feedback_cases, with_own_ids

    if split not in ("all", "train", "test"):
        raise InputError(f"split must be one of all, train, test, got {split!r}", field="split")
    source = open_source(data, format=format)
    if split == "all":
        return read_feedback_cases(source)
    train, test = published_split(read_tagged_answers(source))
    return list(with_own_ids(map(case_of, train if split == "train" else test)))


def _show_feedback(report: Json) -> None:
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
    if "seeds" in report:
        screen.print("Each answer counts once a seed; figures are means ± standard deviations over seeds.")
    if "unscored" not in report["sentences"]:
        rows = list(_sentence_rows(report["sentences"]))
        print_table(("ROC AUC", "AP", "F1 at the vote"), rows, title="Sentences that lack something")
        names = ("exact", "adjacent", "different")
        papers = [(label, [cell(part[n]) for n in names]) for label, part in report["paper"].items()]
        print_table(names, papers, title="The first sentence named (EIR, table 3)")
    if "unscored" not in report["calibration"]:
        rows = list(_consistency_rows(report["calibration"]))
        print_table(("answers", "quality"), rows, title="Are consistent critiques better ones?")
    if "unscored" not in report["references"]:
        names = tuple(report["references"])
        shares = [("answers with one", [cell(report["references"][n]) for n in names])]
        print_table(names, shares, title="Web addresses in the reasons that were not given (EIR, section 4.1)")
    if "unscored" not in report["answers"]:
        rows = _answer_rows(report["answers"])
        print_table(("ROC AUC", "AP", "F1", "accuracy"), rows, title="Answers that lack something")
    for name in ("sentences", "answers"):
        if "unscored" in report[name]:
            screen.print(f"{name}: not measured: {report[name]['unscored']}")


def _sentence_rows(sentences: Json) -> Iterable[Row]:
    for name, figures in sentences.items():
        parts = {name: figures.get("overall", figures), f"{name}, within answers": figures.get("within")}
        yield from ((label, [cell(part.get(k)) for k in ("auc", "ap", "f1")]) for label, part in parts.items() if part)


def _consistency_rows(calibration: Json) -> Iterable[Row]:
    for kind, quality in (("tag_consistency", "tags right"), ("reason_consistency", "overlap of reasons")):
        part, name = calibration[kind], kind.replace("_", " ")
        for b in part["bins"]:
            yield f"{name} {b['from']:g} to {b['to']:g}", [str(b["quality"]["n"]), cell(b["quality"])]
        yield f"rank correlation with {quality}", ["", cell(part["spearman"])]
        if "spearman_given_length" in part:
            yield "the same, length taken out", ["", cell(part["spearman_given_length"])]


def _answer_rows(answers: Json) -> list[Row]:
    any_fault, mean, vote, base = (answers[k] for k in ("any_fault", "mean_share", "vote", "always lacking"))
    return [
        ("share of samples with any fault", [cell(any_fault["auc"]), cell(any_fault["ap"]), "", ""]),
        ("mean share over sentences", [cell(mean["auc"]), cell(mean["ap"]), "", ""]),
        ("at the vote", ["", "", cell(vote["f1"]), cell(vote["accuracy"])]),
        ("always lacking", [cell(base[k]) for k in ("auc", "ap", "f1", "accuracy")]),
    ]
