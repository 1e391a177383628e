"""A cache on disk of what a small model has made, critiques and whole records, so that no command has it made twice."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from journal import Journal

from eirene.agent.loop import Loop
from eirene.core.critique import Sample
from eirene.core.records import Item, Record
from eirene.core.signature import digest
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import LocalFeedback
from eirene.feedback_model.request import lines_grammar
from eirene.models.local.model import LocalModel


class CachedFeedback:
    """A local feedback model, held to the grammar of its replies as in the loop, whose samples are kept in a file.

    Samples of one draw are drawn together. They are found again by model, prompt, grammar, seed and number.
    """

    def __init__(self, model: LocalModel, file: Path) -> None:
        self._feedback = LocalFeedback(model)
        self._model = model
        self._journal = Journal(file)
        self._known = {key: Sample.model_validate(row["sample"]) for key, row in self._journal.rows.items()}

    @property
    def name(self) -> str:
        """The model's name."""
        return self._feedback.name

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        """The samples of the file, or, where one of them is not there, drawn ones."""
        prompt, how = self._feedback.prompt_ids(request), repr(self._feedback.sampling)
        asked = [self._model.version, how, list(prompt), lines_grammar(len(request.sentences)), request.seed]
        keys = [digest([*asked, n])[:24] for n in range(start, start + count)]
        if not all(key in self._known for key in keys):
            drawn = [s async for s in self._feedback.draw(request, start=start, count=count, meter=meter)]
            for key, sample in zip(keys, drawn, strict=True):
                self._known[key] = sample
                self._journal.add(key, sample=sample.model_dump(mode="json"))
        for key in keys:
            yield self._known[key]


async def records_of(loop: Loop, items: Sequence[Item], file: Path) -> list[Record]:
    """The loop's record of each item, in order: that of the file, or one that is made and put there."""
    journal = Journal(file)
    known = {key: Record.model_validate(row["record"]) for key, row in journal.rows.items()}
    for n, item in enumerate(items, start=1):
        key = loop.row_hash(item)
        if key not in known:
            known[key] = await loop.arun(item)
            journal.add(key, record=known[key].model_dump(mode="json"))
            print(f"{file.stem} {n} of {len(items)}: {known[key].status}", flush=True)
    return [known[loop.row_hash(item)] for item in items]
