"""FAVA's pipeline (section 5.1): passages to rows with errors of known kind, by a model."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field

from eirene.core.concurrency import run_bounded
from eirene.core.critique import Finding, HallucinationKind
from eirene.core.errors import PERMANENT_ERRORS, EireneError
from eirene.core.records import Item
from eirene.core.signature import derive_seed, digest, rng_for
from eirene.core.usage import Meter, Usage
from eirene.models.chat import ChatModel
from eirene.synth.fava.recipe import (
    FavaRecipe,
    Neighbours,
    PassagePlan,
    changed,
    fault,
    row,
)
from eirene.synth.fava.replies import (
    RefusedError,
    ask_writer,
    error_question,
    genre_question,
    prompts_digest,
    read_error,
    read_genre,
    writer_version,
)


@dataclass(frozen=True, slots=True)
class PassageOutcome:
    """What came of a plan: a row, or why there is none. `refused` counts the replies that could not be used, by cause.

    `failed`: a call failed for good; a later run may try again. What it cost counts in either case.
    """

    key: str
    id: str
    item: Item | None
    why: str | None
    refused: Counter[str] = field(default_factory=Counter)
    failed: bool = False
    usage: Usage = field(default_factory=Usage)


def signature_of(recipe: FavaRecipe, writes: ChatModel) -> str:
    """What a row hangs on beside its passage: kinds, numbers, genres, seed, model and prompts; 16 hex digits."""
    settings = [
        list(recipe.kinds), recipe.most, recipe.references, recipe.clean, recipe.seed, list(recipe.genres),
        recipe.tries, writes.name, writer_version(writes), prompts_digest(),
    ]  # fmt: skip
    return digest(settings)[:16]


async def asynthesise(
    planned: Iterable[PassagePlan | None],
    recipe: FavaRecipe,
    writes: ChatModel,
    *,
    neighbours: Neighbours,
    concurrency: int = 8,
) -> AsyncGenerator[PassageOutcome, None]:
    """What comes of each plan, as it comes, with so many under way at once; plans are taken as they are needed.

    The same plans, seed and replies make the same rows. None among the plans: no more until an outcome was yielded
    (`eirene.core.concurrency`). Raises what every passage would meet, no access or no credit, when those under way have
    ended.
    """
    sign = signature_of(recipe, writes)

    async def one(plan: PassagePlan) -> PassageOutcome:
        return await _made(plan, recipe, writes, neighbours, sign)

    async with aclosing(run_bounded(planned, one, room=lambda: concurrency)) as outcomes:
        async for outcome in outcomes:
            yield outcome


async def _made(
    plan: PassagePlan, recipe: FavaRecipe, writes: ChatModel, neighbours: Neighbours, sign: str
) -> PassageOutcome:
    meter, refused = Meter(), Counter[str]()
    work = _PassageWork(plan, recipe, writes, meter, refused)
    name = f"{plan.passage.id}-errors"
    try:
        right = await work.in_genre()
        text, findings = await work.with_errors(right)
    except PERMANENT_ERRORS:
        raise
    except EireneError as error:
        why = f"failed: {error.kind}"
        return PassageOutcome(plan.key, name, None, why, refused, failed=True, usage=meter.total)
    except RefusedError as error:
        return PassageOutcome(plan.key, name, None, str(error), refused, usage=meter.total)
    if plan.kinds and not findings:
        return PassageOutcome(plan.key, name, None, "no error could be put in", refused, usage=meter.total)
    others = await asyncio.to_thread(neighbours, plan.passage)
    item = row(
        plan.passage, right, text, findings, others, count=recipe.references,
        rng=rng_for(recipe.seed, "synth-fava-references", plan.key),
        genre=plan.genre, key=plan.key, signature=sign, refused=dict(refused), usage=meter.total.model_dump(),
    )  # fmt: skip
    return PassageOutcome(plan.key, name, item, None, refused, usage=meter.total)


@dataclass(frozen=True, slots=True)
class _PassageWork:
    """One passage on its way."""

    plan: PassagePlan
    recipe: FavaRecipe
    writes: ChatModel
    meter: Meter
    refused: Counter[str]

    async def in_genre(self) -> str:
        """The passage in its genre. Raises `RefusedError` where no try gives one."""
        passage, genre = self.plan.passage.shown, self.plan.genre
        if genre is None:
            return self.plan.passage.text
        question = genre_question(passage, genre)
        for attempt in range(self.recipe.tries):
            reply = await ask_writer(self.writes, question, seed=self._seed("genre", attempt), meter=self.meter)
            try:
                return read_genre(reply, passage, mark=question.mark)
            except RefusedError as error:
                self.refused[str(error)] += 1
        raise RefusedError("no text in the genre could be had")

    async def with_errors(self, right: str) -> tuple[str, list[Finding]]:
        """The text with the plan's errors, each put in after the one before; those that no try gives are left out."""
        text, findings = right, list[Finding]()
        for number, kind in enumerate(self.plan.kinds):
            text, findings = await self._one_more(right, text, findings, kind, number)
        return text, findings

    async def _one_more(
        self, right: str, text: str, findings: list[Finding], kind: HallucinationKind, number: int
    ) -> tuple[str, list[Finding]]:
        question = error_question(text, kind)
        for attempt in range(self.recipe.tries):
            reply = await ask_writer(self.writes, question, seed=self._seed(number, attempt), meter=self.meter)
            try:
                change = read_error(reply, text, kind, findings, mark=question.mark)
                wrong, found = changed(text, findings, change)
                why = fault(right, wrong, found)
                if why is None:
                    return wrong, found
                raise RefusedError(why)
            except RefusedError as error:
                self.refused[f"{kind}: {error}"] += 1
        return text, findings

    def _seed(self, *step: object) -> int:
        return derive_seed(self.recipe.seed, "synth-fava", self.plan.key, *step)
