"""The embedded refiner: carries out a critique by rule, in the answer's own layout, and changes nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from eirene.alignment.comparison import SURE, Comparison, compare
from eirene.core.errors import UnsupportedLanguageError
from eirene.core.grounding import given_texts
from eirene.core.records import Item
from eirene.core.signature import rng_for
from eirene.core.usage import Meter
from eirene.refiners.base import RefineTask
from eirene.refiners.embedded.plan import Addition, Changes, changes_of, exact_repeats, least_covered, proposals
from eirene.refiners.embedded.rewrite import rewrite
from eirene.refiners.embedded.wording import Phrases
from eirene.text.english import Decapitalizer, is_english
from eirene.text.language import unsupported_language

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

_Compared = Callable[[], Comparison | None]


class EmbeddedRefiner:
    """Adds what is missing on the right side, drops what was not given, moves what is misplaced; the rest stays.

    - `fine-grained`, `human`: what the critique asks for. After a rejection of the same text the next, more careful
      proposal is made (all; additions alone; removals alone), never one that was rejected.
    - `generic` (told only that the answer is not complete): adds the one argument that is most likely missing, where
      its own comparison finds one that is more likely missing than not.
    - `improve` (told nothing): drops sentences that stand in the answer twice, word for word.

    Reads English. In another language it carries out a critique's findings and does nothing of its own: where it would
    have to, it raises `UnsupportedLanguageError`.

    Calls no model service and costs nothing. Where there is nothing to do, or no proposal is left, the text comes back
    unchanged.
    """

    def __init__(self, encoder: Encodes) -> None:
        self._encoder = encoder

    @property
    def name(self) -> str:
        """`embedded:` and the encoder's digest."""
        return f"embedded:{self._encoder.digest}"

    async def refine(self, task: RefineTask, *, meter: Meter) -> str:
        """The rewritten answer; nothing goes on `meter`, since nothing is called."""
        return await asyncio.to_thread(self._refine, task)

    def _refine(self, task: RefineTask) -> str:
        why = unsupported_language(task.answer, given_texts(task.item))
        if why is not None and not (task.critique and any(s.findings for s in task.critique.sentences)):
            raise UnsupportedLanguageError(f"{why}; give a model as the backend")
        comparison = cache(lambda: compare(task.item, task.answer, self._encoder) if why is None else None)
        rejected = {r.candidate.strip() for r in task.rejections} | {task.answer.strip()}
        for changes in proposals(self._changes(task, comparison))[len(task.rejections) :]:
            candidate = self._rewritten(task, changes, comparison)
            if candidate.strip() not in rejected:
                return candidate
        return task.answer

    def _changes(self, task: RefineTask, comparison: _Compared) -> Changes:
        if task.mode == "improve":
            return exact_repeats(task.answer)
        if task.mode == "generic":
            return least_covered(comparison())
        if task.critique is None:
            return Changes()
        return changes_of(task.critique, task.answer, comparison=comparison, encoder=self._encoder)

    def _rewritten(self, task: RefineTask, changes: Changes, comparison: _Compared) -> str:
        letters = Decapitalizer(_texts(task.item, task.answer))
        phrases = Phrases(rng_for(task.seed, "wording"), letters, english=is_english(task.answer))

        def phrase(addition: Addition, before: str, in_list: bool) -> str:
            return phrases.say(
                addition.text, group=addition.group, opens=addition.opens, before=before, in_list=in_list
            )

        def claims(sentence: int) -> bool:
            found = comparison()
            return found is None or bool(found.alignment.p_claimless_sentences[sentence] < SURE)

        return rewrite(task.answer, changes, phrase=phrase, claims=claims, letters=letters)


def _texts(item: Item, answer: str) -> list[str]:
    given = [a for p in item.perspectives or () for a in p.arguments] + list(item.context or ())
    return [item.question, answer, *given]
