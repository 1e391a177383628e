"""FAVA's pipeline (section 5.1): passages to rows with errors of known kind, by a model.

It is asked to write a passage anew in a genre, and to put one error at a time into a text; each reply is checked.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from eirene.core.concurrency import run_bounded
from eirene.core.critique import Finding, HallucinationKind
from eirene.core.errors import PERMANENT_ERRORS, EireneError
from eirene.core.findings.kinds import KINDS, REPLACED
from eirene.core.findings.tags import escape_tags, parse_tagged
from eirene.core.records import Item
from eirene.core.signature import derive_seed, digest, rng_for
from eirene.core.usage import Meter, Usage
from eirene.models.chat import ChatModel, Sampling
from eirene.models.replies import Reply
from eirene.models.reply_text import unwrapped
from eirene.prompts import Message, load_prompt
from eirene.prompts.fence import break_control_tokens, fence_word
from eirene.synth.fava.recipe import (
    FavaRecipe,
    Neighbours,
    PassagePlan,
    TextChange,
    changed,
    fault,
    row,
)
from eirene.text.matching import token_spans, tokens
from eirene.text.unicode import mend_surrogates

GENRE_PROMPT, REPLACED_PROMPT, ADDED_PROMPT = "synth_genre", "synth_error_replaced", "synth_error_added"
_TEMPERATURE = 1.0
MOST_WORDS = 6
"""An edit of more words than this is no minimum one: the paper's entities and relations have one to three."""
_MOST_ADDED = 60
_LEAST_SHARED = 0.4
_WORD = re.compile(r"[^\W_]+")
_NO_SPACE_BEFORE = tuple(",.;:!?)")


class RefusedError(Exception):
    """A reply that cannot be used; the message is the cause under which it is counted."""


def read_genre(reply: Reply, passage: str, *, mark: str) -> str:
    """The text in its genre. Raises `RefusedError` for one that was cut off, is no text, or is on something else.

    Of its words of four letters and more, four tenths must begin as one of the passage does: a refusal, or an answer
    to instructions inside the passage, has few of them.
    """
    text = " ".join(_body(reply, passage, mark).split())
    words = text.split()
    read = parse_tagged(text)
    if read.findings or read.stray:
        raise RefusedError("the text in its genre holds tags")
    if len(words) < 5:
        raise RefusedError("the text in its genre is shorter than 5 words")
    if len(words) > 60 + 2 * len(passage.split()):
        raise RefusedError("the text in its genre is far longer than the passage")
    own, given = _stems(text), _stems(passage)
    if own and sum(stem in given for stem in own) < _LEAST_SHARED * len(own):
        raise RefusedError("the text in its genre is on something else")
    return text


def read_error(
    reply: Reply, text: str, kind: HallucinationKind, findings: Sequence[Finding], *, mark: str
) -> TextChange:
    """The change of `text` that the reply marks. Raises `RefusedError` with the first rule that it breaks.

    Exactly one error, of the kind that was asked for; outside of its tags every word as it was; for entity and
    relation at most six words, with what both sides share taken off; nothing that the text says already; nothing on
    top of one of the `findings` that are there. Right and wrong exchanged are put right: `<mark>` around the wrong
    words is the commonest slip.
    """
    read = parse_tagged(_body(reply, text, mark), tidy=True)
    if not read.findings:
        raise RefusedError("no error is marked")
    if any(f.kind != kind for f in read.findings):
        raise RefusedError("an error of another kind is marked")
    if len(read.findings) > 1:
        raise RefusedError("more than one error is marked")
    found = read.findings[0]
    wrong, right = read.text[found.start : found.end], found.edit or ""
    if not wrong.strip() or (kind in REPLACED) != bool(right.strip()):
        raise RefusedError("the tags are not those of the kind")
    before, after = tokens(read.text[: found.start]), tokens(read.text[found.end :])
    if before + tokens(right) + after != tokens(text):
        if kind not in REPLACED or before + tokens(wrong) + after != tokens(text):
            raise RefusedError("words are changed outside of the tags")
        wrong, right = right, wrong
    if kind in REPLACED:
        change = _replaced(text, wrong, kind, n_before=len(before), n_after=len(after))
    else:
        change = _added(text, wrong, kind, n_before=len(before))
    if any(_meets(change, f) for f in findings):
        raise RefusedError("the error is on top of another")
    return change


def _body(reply: Reply, before: str, mark: str) -> str:
    if reply.is_cut_off:
        raise RefusedError("the reply was cut off")
    if reply.is_filtered:
        raise RefusedError("the provider withheld the reply")
    body = mend_surrogates(unwrapped(reply.text, before=before, marks=(mark,))).replace("\0", "")
    if not body.strip():
        raise RefusedError("the reply is empty")
    return body


def _replaced(text: str, wrong: str, kind: HallucinationKind, *, n_before: int, n_after: int) -> TextChange:
    """The change of whole words, without those that both sides begin or end with; one stays on either side."""
    there, said = token_spans(text), token_spans(wrong)
    low, high = n_before, len(there) - n_after
    start, end = 0, len(said)
    if low == high or start == end:
        raise RefusedError("the tags are not those of the kind")
    while high - low > 1 and end - start > 1 and _at(wrong, said, start) == _at(text, there, low):
        low, start = low + 1, start + 1
    while high - low > 1 and end - start > 1 and _at(wrong, said, end - 1) == _at(text, there, high - 1):
        high, end = high - 1, end - 1
    first, last = there[low][0], there[high - 1][1]
    put = wrong[said[start][0] : said[end - 1][1]]
    if put.casefold() == text[first:last].casefold():
        raise RefusedError("the error changes nothing")
    if max(high - low, end - start) > MOST_WORDS:
        raise RefusedError(f"the edit takes more than {MOST_WORDS} words")
    return TextChange(kind, first, last, put)


def _added(text: str, added: str, kind: HallucinationKind, *, n_before: int) -> TextChange:
    """The change that puts a statement between two words, with the white space that it needs."""
    said = " ".join(added.split())
    if len(said.split()) > _MOST_ADDED:
        raise RefusedError(f"the statement has more than {_MOST_ADDED} words")
    if said.casefold() in " ".join(text.split()).casefold():
        raise RefusedError("the text says it already")
    place = token_spans(text)[n_before - 1][1] if n_before else 0
    lead = "" if not n_before or said.startswith(_NO_SPACE_BEFORE) else " "
    follows = text[place : place + 1]
    return TextChange(kind, place, place, lead + said + (" " if follows.isalnum() or not n_before else ""))


def _meets(change: TextChange, finding: Finding) -> bool:
    if change.start == change.end:
        return finding.start < change.start < finding.end
    return change.start < finding.end and change.end > finding.start


def _at(text: str, spans: Sequence[tuple[int, int]], n: int) -> str:
    return text[spans[n][0] : spans[n][1]]


def _stems(text: str) -> list[str]:
    return [word.casefold()[:5] for word in _WORD.findall(text) if len(word) > 3]


@dataclass(frozen=True, slots=True)
class WriterQuestion:
    """What a model is sent, and the word on the lines around the untrusted text in it."""

    messages: tuple[Message, ...]
    mark: str


def writer_version(model: ChatModel) -> str:
    """What a model's texts hang on beside prompt and seed: the weights of one that runs here, and the temperature."""
    return f"t={_TEMPERATURE:g}" if model.digest is None else f"{model.digest},t={_TEMPERATURE:g}"


async def ask_writer(model: ChatModel, question: WriterQuestion, *, seed: int, meter: Meter) -> Reply:
    """One reply, at temperature 1: texts are to differ. Raises `BackendError` where there is none."""
    return await model.ask(question.messages, sampling=Sampling(temperature=_TEMPERATURE, seed=seed), meter=meter)


def genre_question(passage: str, genre: str) -> WriterQuestion:
    """Asks for the passage as a text of a genre, such as `a news report`."""
    shown = break_control_tokens(passage)
    mark = fence_word(shown)
    return WriterQuestion(load_prompt(GENRE_PROMPT).fill({"mark": mark, "passage": shown, "genre": genre}), mark)


def error_question(text: str, kind: HallucinationKind) -> WriterQuestion:
    """Asks for the text with one more error of a kind, tagged; tags that the text spells out are escaped."""
    shown = break_control_tokens(escape_tags(text))
    mark = fence_word(shown)
    prompt = load_prompt(REPLACED_PROMPT if kind in REPLACED else ADDED_PROMPT)
    values = {"mark": mark, "text": shown, "kind": kind, "definition": KINDS[kind].definition}
    return WriterQuestion(prompt.fill(values), mark)


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
    prompts = "/".join(load_prompt(name).digest for name in (GENRE_PROMPT, REPLACED_PROMPT, ADDED_PROMPT))
    settings = [
        list(recipe.kinds), recipe.most, recipe.references, recipe.clean, recipe.seed, list(recipe.genres),
        recipe.tries, writes.name, writer_version(writes), prompts,
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
