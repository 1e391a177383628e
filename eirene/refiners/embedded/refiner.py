"""The embedded refiner: carries out a critique by rule, in the answer's own layout, and changes nothing else.

`Phrases` has every wording that it puts into an answer, and how an argument is joined to it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from eirene.alignment.comparison import SURE, Comparison, compare
from eirene.core.errors import UnsupportedLanguageError
from eirene.core.grounding import given_texts
from eirene.core.signature import rng_for
from eirene.core.usage import Meter
from eirene.refiners.base import RefineTask
from eirene.refiners.embedded.plan import Addition, Changes, changes_of, exact_repeats, least_covered, proposals
from eirene.refiners.embedded.rewrite import rewrite
from eirene.text.english import Decapitalizer, as_sentence, is_english, is_statement, side_of
from eirene.text.language import unsupported_language
from eirene.text.words import listed_sentences

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

_Compared = Callable[[], Comparison | None]

# Each must be an opening to `eirene.text.clauses`.
# Side -> (for statements, for fragments). A statement follows "that" in lower case, a fragment a colon as it is.
FURTHER, FIRST = (
    {side: tuple(listed_sentences(f"{place} {side or 'other'} {form}") for form in ("statements", "fragments"))
     for side in ("for", "against", "")}
    for place in ("further", "first")
)  # fmt: skip


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

    fixed = True

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
        item = task.item
        given = [a for p in item.perspectives or () for a in p.arguments] + list(item.context or ())
        letters = Decapitalizer([item.question, task.answer, *given])
        phrases = Phrases(rng_for(task.seed, "wording"), letters, english=is_english(task.answer))

        def phrase(addition: Addition, before: str, in_list: bool) -> str:
            return phrases.say(
                addition.text, group=addition.group, opens=addition.opens, before=before, in_list=in_list
            )

        def claims(sentence: int) -> bool:
            found = comparison()
            return found is None or bool(found.alignment.p_claimless_sentences[sentence] < SURE)

        return rewrite(task.answer, changes, phrase=phrase, claims=claims, letters=letters)


class Phrases:
    """Words arguments as sentences. Connectives vary, drawn with `rng`; none repeats the one just before."""

    def __init__(self, rng: np.random.Generator, letters: Decapitalizer, *, english: bool) -> None:
        self._rng = rng
        self._letters = letters
        self._english = english
        self._last = ""

    def say(self, argument: str, *, group: str | None, opens: bool, before: str, in_list: bool) -> str:
        """The sentence that adds `argument` for perspective `group` after the sentence `before`."""
        plain = as_sentence(argument)
        if in_list or group is None or not self._english:
            return plain
        lowered = self._letters.lowered(plain) if is_statement(plain) else None
        choices = (FIRST if opens else FURTHER)[side_of(group)][0 if lowered is not None else 1]
        lead = self._choose(choices, before)
        if opens and not side_of(group):
            name = " ".join(group.split()).replace('"', "'")
            return f'Another view ("{name}")' + (f": {plain}" if lowered is None else f" is that {lowered}")
        return f"{lead} {plain if lowered is None else lowered}"

    def _choose(self, choices: tuple[str, ...], before: str) -> str:
        just_said = before.casefold()
        free = [c for c in choices if c != self._last and not just_said.startswith(c.casefold())] or list(choices)
        self._last = free[int(self._rng.integers(len(free)))]
        return self._last
