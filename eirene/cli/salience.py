"""`eirene salience`: a heatmap of the words of an answer against the words of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eirene.cli import flags
from eirene.cli.data_flags import IN_HELP, RowId, with_id
from eirene.cli.terminal import output, say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.core.scores import Scores, WordScore
    from eirene.eval.base import Case
    from eirene.eval.detectors.salience import SalienceMap
    from eirene.views.salience import Heatmap

_PAGE = ".html"

In = Annotated[str, typer.Argument(metavar="IN", help=IN_HELP)]
Out = Annotated[str, typer.Option(metavar="FILE", help="The picture, .png or .svg, or a page, .html.")]
Local = Annotated[str, typer.Option(help="The causal LM whose gradients are taken: hf:path-or-id[+adapter].")]
Measure = Annotated[str, typer.Option(help="dot (gradient times input) or l2 (the gradient's norm).")]
Aggregate = Annotated[str, typer.Option(help="max, sum or entropy: how a word's row or column becomes its score.")]
Mean = Annotated[str, typer.Option(help="geometric or arithmetic: how words become an answer's score.")]


def salience(
    file: In,
    *,
    out: Out,
    local_model: Local,
    row: RowId = None,
    measure: Measure = "dot",
    aggregate: Aggregate = "max",
    mean: Mean = "geometric",
    force: flags.Force = False,
) -> None:
    """Draw an answer's salience map, and say what it scores."""
    import asyncio

    from eirene.data import check_outside, read_items
    from eirene.data.output import STDOUT, check_output, write_text
    from eirene.eval.base import case_of
    from eirene.models.local.model import load_local
    from eirene.views.facts import shown_score
    from eirene.views.figures import check_matplotlib
    from eirene.views.salience import ENDINGS, write_heatmap

    is_page = out.lower().endswith(_PAGE)

    with output():
        if out == STDOUT or not out.lower().endswith((*ENDINGS, _PAGE)):
            raise InputError(f"the name ends in {', '.join(ENDINGS)} or {_PAGE}, got {out!r}", field="out")
        check_output(out, force=force)
        check_outside(out, file)
        if not is_page:
            check_matplotlib()
        items = with_id(read_items(file), row, where=file)
        if len(items) > 1:
            raise InputError(f"one row is shown at a time, and {len(items)} are there; pick one with --id", where=file)
        if not local_model.startswith("hf:"):
            raise InputError(
                f"a local model is named hf:path-or-id[+adapter], got {local_model!r}", field="local-model"
            )
        case = case_of(items[0])
        if case.given.source == "derived":
            raise InputError(
                "the row gives no 'perspectives' and no 'context'; a map needs words to come from", where=file
            )
        found, scores = asyncio.run(_scored(case, load_local(local_model), measure, aggregate, mean))
        errors = {name: shown_score(getattr(scores, name)) for name in ("hallucination", "coverage")}
        if is_page:
            write_text(out, _page(case, found, scores, errors=errors, model=local_model), force=force)
        else:
            write_heatmap(_picture(case, found, scores), Path(out))
        say(f"{', '.join(' '.join(entry) for entry in errors.items())} ({out})")


async def _scored(case: Case, model: object, measure: str, aggregate: str, mean: str) -> tuple[SalienceMap, Scores]:
    from eirene.core.scores import Unscored
    from eirene.core.usage import Meter
    from eirene.eval.detectors.salience import SalienceDetector, WordMaps

    maps = WordMaps(model, measure=measure)  # type: ignore[arg-type]  # both are checked where they are used
    detector = SalienceDetector(maps, aggregate=aggregate, mean=mean)  # type: ignore[arg-type]  # likewise
    found = await maps.get(case, meter=Meter())
    if isinstance(found, Unscored):
        raise InputError(f"there is no map: {found.unscored}")
    return found, detector.scores_of(found, case)


def _picture(case: Case, found: SalienceMap, scores: Scores) -> Heatmap:
    from eirene.views.salience import Heatmap

    arguments = case.given.arguments
    return Heatmap(
        title=case.question,
        groups=[word.group for word in found.rows],
        rows=[arguments[word.argument][word.start : word.end] for word in found.rows],
        columns=[case.answer[start:end] for start, end in found.columns],
        values=found.values.tolist(),
        contributions=[word.score for argument in scores.arguments for word in argument.words],
        attributions=[word.score for word in scores.words],
    )


def _page(case: Case, found: SalienceMap, scores: Scores, *, errors: dict[str, str], model: str) -> str:
    from itertools import groupby

    from eirene.views.salience import ShadedText, render_salience_page

    def shade(text: str, words: Sequence[WordScore]) -> ShadedText:
        return ShadedText(text, [(word.start, word.end, word.score) for word in words])

    texts = zip(scores.arguments, case.given.arguments, strict=True)
    groups = [
        (name, [shade(text, argument.words) for argument, text in members])
        for name, members in groupby(texts, key=lambda pair: pair[0].group)
    ]
    return render_salience_page(
        _picture(case, found, scores),
        answer=shade(case.answer, scores.words),
        arguments=groups,
        scores=errors,
        model=model,
    )
