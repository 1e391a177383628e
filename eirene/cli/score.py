"""`eirene score`: detectors alone over a file of answers, a line of scores each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eirene.cli import flags
from eirene.cli.data_flags import IN_HELP, CorpusFlags, DataFlags, SkipBad, TextFlags, tell_skipped
from eirene.cli.flags import with_groups
from eirene.cli.model_flags import ScoreFlags, WordMaps
from eirene.cli.progress import Watch, watch
from eirene.cli.terminal import output, say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.data import Dataset
    from eirene.eval.scoring import DetectorOutcome, Scorer


In = Annotated[str | None, typer.Argument(metavar="IN|-", help=IN_HELP)]
Out = Annotated[str | None, typer.Option(metavar="FILE", help="Where to write a line per row; - is standard output.")]
Names = Annotated[
    str | None,
    typer.Option(
        help="Which detectors, comma-separated.",
        show_default="rouge; verifier for passages, alignment for perspectives; with --judge cascade for passages",
    ),
]


@with_groups(
    "out", "detectors", "judge", "base-url", "question", "answer", "context", "side", "map", "limit"
)  # fmt: skip
def score(
    file: In = None,
    *,
    texts: TextFlags,
    out: Out = None,
    detectors: Names = None,
    models: ScoreFlags,
    word_maps: WordMaps = False,
    data: DataFlags,
    skip_bad: SkipBad = False,
    corpus: CorpusFlags,
    force: flags.Force = False,
    config: flags.Config = None,
) -> None:
    """Score answers for hallucination and coverage without rewriting them."""
    import asyncio  # a tenth of a second that `--help` does not need

    from eirene.data import check_outside
    from eirene.data.output import STDOUT, check_output
    from eirene.eval.registry import build_detectors, parse_names
    from eirene.eval.scoring import USUAL, Scorer

    with output():
        if out is None and file is not None:
            raise InputError("give --out FILE, where the scores go", field="out")
        usual = USUAL if models.judge is None else [*USUAL[:-1], "cascade"]
        names = parse_names(detectors or ",".join(usual))
        resources = models.resources(names, word_maps=word_maps)
        check_output(out or STDOUT, force=force)
        if file is not None and out is not None:
            check_outside(out, file)
        rows = texts.rows(file, data, corpus, skip_bad=skip_bad)
        with watch(0):
            total = rows.check()  # every row is checked before the first is scored
        built = build_detectors(names, resources)
        with watch(total) as progress:
            scorer = Scorer(built, usual=detectors is None)
            done = asyncio.run(_score_all(rows, scorer, out, progress, force=force, concurrency=resources.concurrency))
        _tell(done, total, names, out)
        tell_skipped(rows, None if out in (None, STDOUT) else Path(f"{out}.skipped"))
    if done.failed or (total and not any(done.scored.values())):
        raise typer.Exit(1)


@dataclass
class _Done:
    """What became of the rows: how many a detector failed on, how many each scored, why not the first other one."""

    failed: int = 0
    scored: Counter[str] = field(default_factory=Counter)
    why_not: dict[str, str] = field(default_factory=dict)
    calls: int = 0

    def add(self, found: Mapping[str, DetectorOutcome]) -> None:
        self.failed += any(outcome.failed for outcome in found.values())
        for name, outcome in found.items():
            values = (outcome.scores.hallucination, outcome.scores.coverage)
            if any(isinstance(value, float) for value in values):
                self.scored[name] += 1
            else:
                self.why_not.setdefault(name, next(v.unscored for v in values if not isinstance(v, float)))


def _tell(done: _Done, total: int, names: Sequence[str], out: str | None) -> None:
    """What was done; a detector that scored no row is named, and where none scored any that is an error."""
    nothing = [f"{name}: {done.why_not[name]}" for name in names if name in done.why_not and not done.scored[name]]
    if nothing and not any(done.scored.values()):
        say(f"error: no row of {total} was scored: {'; '.join(nothing)}")
        return
    from eirene.data.output import STDOUT

    where = "" if out in (None, STDOUT) else f" to {out}"
    say(
        f"scored {total} row{'' if total == 1 else 's'}{where}"
        + (f"; a detector failed on {done.failed}" if done.failed else "")
        + (f"; {done.calls} model calls" if done.calls else "")
    )
    for line in nothing:
        say(f"warning: no row was scored by {line}")


async def _score_all(
    rows: Dataset, scorer: Scorer, out: str | None, progress: Watch, *, force: bool, concurrency: int
) -> _Done:
    """Writes a line per row, in order, as soon as it is scored; where no `out` is named, its scores in words."""
    import json

    from eirene.agent.many import AnswerScores
    from eirene.core.usage import Meter
    from eirene.data.output import STDOUT, line_writer
    from eirene.eval.scoring import in_order, workers_for

    done, meter, n = _Done(), Meter(), 0
    workers = workers_for(scorer.detectors, concurrency)
    with line_writer(out or STDOUT, force=force) as write:
        async for item, found in in_order(rows.items(), scorer.score_item, workers=workers):
            done.add(found)
            for outcome in found.values():
                meter.add(outcome.usage)
            row = {"id": item.id, "scores": {name: o.scores.model_dump(mode="json") for name, o in found.items()}}
            in_words = AnswerScores([{name: o.scores for name, o in found.items()}])
            write(json.dumps(row, ensure_ascii=False, allow_nan=False) if out else str(in_words))
            n += 1
            progress.advance(n, "scoring")
    done.calls = meter.total.calls
    return done
