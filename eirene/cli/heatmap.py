"""`eirene score --heatmap`: the words of one answer against the words of its arguments, as a picture or a page."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eirene.cli.terminal import say
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from eirene.core.records import Item
    from eirene.core.scores import Scores, WordScore
    from eirene.eval.base import Case
    from eirene.eval.detectors.salience import SalienceMap
    from eirene.views.salience import Heatmap

_PAGE = ".html"
_AGGREGATES = {"salience": "max", "salience-sum": "sum", "salience-entropy": "entropy"}
"""By detector: how a word's row or column becomes its score."""


def check_heatmap(out: str, detector: str) -> None:
    """Raises `InputError` for a file or a detector that cannot be drawn, `MissingExtraError` without matplotlib."""
    from eirene.views.figures import check_matplotlib
    from eirene.views.salience import ENDINGS

    if not out.lower().endswith((*ENDINGS, _PAGE)):
        raise InputError(f"the name ends in {', '.join(ENDINGS)} or {_PAGE}, got {out!r}", field="heatmap")
    if detector not in _AGGREGATES:
        raise InputError(f"--heatmap draws one of {', '.join(_AGGREGATES)}, got {detector!r}", field="detectors")
    if not out.lower().endswith(_PAGE):
        check_matplotlib()


def draw_heatmap(item: Item, out: str, *, model: str, detector: str, measure: str, mean: str, force: bool) -> None:
    """Draws the item's map, and says what it scores."""
    from eirene.data.output import write_text
    from eirene.eval.base import case_of
    from eirene.models.local.model import load_local
    from eirene.views.facts import shown_score
    from eirene.views.salience import write_heatmap

    case = case_of(item)
    if case.given.source == "derived":
        raise InputError("the row gives no 'perspectives' and no 'context'; a map needs words to come from")
    found, scores = asyncio.run(_scored(case, load_local(model), measure, _AGGREGATES[detector], mean))
    errors = {name: shown_score(getattr(scores, name)) for name in ("hallucination", "coverage")}
    if out.lower().endswith(_PAGE):
        write_text(out, _page(case, found, scores, errors=errors, model=model), force=force)
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
