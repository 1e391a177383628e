"""The pairwise judge: a model compares two answers, A and B, in both orders, without knowing which is the rewrite.

It is what can tell whether a question is better answered where nothing was given to measure that by. What cannot be
read is counted and never guessed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

from eirene.core.errors import BackendError, EireneError
from eirene.core.logs import get_logger
from eirene.core.loop_settings import Structured
from eirene.core.scores import ORDERS, PairVote, PairVotes, Side
from eirene.core.signature import derive_seed
from eirene.core.usage import Meter
from eirene.eval.base import Pair
from eirene.eval.detectors.judge import (
    PAIRWISE_JSON_PROMPT,
    Section,
    asked_often,
    cleaned,
    fenced,
    pairwise_form,
    question_sections,
)
from eirene.models.chat import ChatModel, Sampling
from eirene.models.replies import Reply
from eirene.models.structured import json_object
from eirene.prompts import SHIPPED, Message, PromptSet
from eirene.prompts.history import HISTORY_PROMPT

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from eirene.models.local.model import LocalModel

logger = get_logger(__name__)

PAIRWISE_PROMPT = "pairwise"
PAIRWISE_PROMPTS = (PAIRWISE_PROMPT, PAIRWISE_JSON_PROMPT)
TEMPERATURE = 1.0
"""The model's own distribution: at 0 the votes of an order would be copies of one."""
Draw = Callable[[Sequence[Message], Sequence[int]], Awaitable[Sequence[Reply | BackendError]]]
"""A reply to the messages for each seed."""


class ChatPairwise:
    """The pairwise judge on a chat model: the votes of an order are one request where the provider takes `n`.

    `model` is a LangChain chat model, or a `ChatModel` shared with other roles. `prompts`: own wording.

    Examples:
        >>> from eirene.models.scripted import ScriptedChatModel
        >>> def longer(messages):
        ...     a, b = messages[-1].text.split("answer A")[1].split("answer B")[:2]
        ...     return f"Faulty: neither\\nBetter: {'A' if len(a) > len(b.split('TEXT-')[0]) else 'B'}"
        >>> pair = Pair("Trams?", "Trams are quiet.", "Trams are quiet, and pollute less than cars do.")
        >>> judge = ChatPairwise(ScriptedChatModel(longer))
        >>> asyncio.run(judge.compare(pair, votes=2, seed=0, meter=Meter())).outcome
        'better'
    """

    def __init__(self, model: BaseChatModel | ChatModel, *, prompts: PromptSet = SHIPPED) -> None:
        self.prompts = prompts
        self.chat = model if isinstance(model, ChatModel) else ChatModel(model)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.chat.name

    @property
    def version(self) -> str:
        """The model, the prompts' digests, how replies are asked for."""
        return _version(self.name, self.chat.structured, self.prompts)

    async def compare(self, pair: Pair, *, votes: int, seed: int, meter: Meter) -> PairVotes:
        """Two requests for `votes` replies, at once; 2 * `votes` where the provider does not take `n`."""

        async def draw(messages: Sequence[Message], seeds: Sequence[int]) -> Sequence[Reply | BackendError]:
            sampling = Sampling(temperature=TEMPERATURE, form=pairwise_form(messages, self.prompts))
            return await asked_often(self.chat, messages, sampling, seeds, meter)

        return await _compared(pair, draw, judge=self.name, votes=votes, seed=seed, prompts=self.prompts)


class LocalPairwise:
    """The pairwise judge on a local model; `hf:` backends use it."""

    def __init__(self, model: LocalModel, *, structured: Structured = "auto", prompts: PromptSet = SHIPPED) -> None:
        self._prompts = prompts
        self._model = model
        self._structured = structured

    @property
    def name(self) -> str:
        """The model's name, `hf:...`."""
        return self._model.name

    @property
    def version(self) -> str:
        """The model, the prompts' digests, how replies are asked for."""
        return _version(self.name, self._structured, self._prompts)

    async def compare(self, pair: Pair, *, votes: int, seed: int, meter: Meter) -> PairVotes:
        """One call an order, which reads the prompt once for all its votes."""
        from eirene.models.local.sampling import LocalSampling

        async def draw(messages: Sequence[Message], seeds: Sequence[int]) -> Sequence[Reply]:
            sampling = LocalSampling(temperature=TEMPERATURE, top_p=1.0)
            if self._structured != "text":
                form = pairwise_form(messages, self._prompts)
                messages, sampling = form.messages, replace(sampling, grammar=form.grammar)
            return await self._model.sample(
                self._model.encode_messages(messages), seeds, sampling=sampling, meter=meter
            )

        return await _compared(pair, draw, judge=self.name, votes=votes, seed=seed, prompts=self._prompts)


async def _compared(pair: Pair, draw: Draw, *, judge: str, votes: int, seed: int, prompts: PromptSet) -> PairVotes:
    """The votes of both orders, which are asked at once."""

    async def one(first: Side) -> Sequence[Reply | BackendError] | EireneError:
        seeds = [derive_seed(seed, first, n) for n in range(votes)]
        try:
            return await draw(pairwise_messages(pair, first=first, prompts=prompts), seeds)
        except EireneError as error:  # no access, no credit: the other order meets it, too
            return error

    found = await asyncio.gather(*(one(first) for first in ORDERS))
    return _votes(judge, votes, dict(zip(ORDERS, found, strict=True)))


def _version(name: str, structured: Structured, prompts: PromptSet) -> str:
    names = [PAIRWISE_PROMPT, HISTORY_PROMPT] + ([] if structured == "text" else [PAIRWISE_JSON_PROMPT])
    return f"{name},prompt={prompts.digests(names)},structured={structured},t={TEMPERATURE:g}"


def _votes(judge: str, requested: int, found: Mapping[Side, Sequence[Reply | BackendError] | EireneError]) -> PairVotes:
    """The votes of both orders; a call that failed is a vote that cannot be read, for that reason."""
    votes: list[PairVote] = []
    failures: list[EireneError] = []
    for first, replies in found.items():
        for reply in [replies] * requested if isinstance(replies, EireneError) else replies:
            if isinstance(reply, EireneError):
                failures.append(reply)
                votes.append(PairVote(first=first, unread=f"the call failed: {reply.kind}: {reply}"))
            else:
                votes.append(read_pair_vote(reply, first=first))
    if failures and len(failures) == len(votes):
        logger.warning("the pairwise judge %s failed: %s", judge, failures[-1])
        return PairVotes.failed(f"{failures[-1].kind}: {failures[-1]}", judge=judge, requested=requested)
    return PairVotes.of(votes, judge=judge, requested=requested)


def pairwise_messages(pair: Pair, *, first: Side, prompts: PromptSet = SHIPPED) -> tuple[Message, ...]:
    """The request, with the text before or the rewrite as answer A; question and answers stand in a fence."""
    texts = (pair.before, pair.after) if first == "before" else (pair.after, pair.before)
    named = (Section(f"answer {letter}", text) for letter, text in zip("AB", texts, strict=True))
    material, mark = fenced([*question_sections(pair.question, pair.history, prompts), *named])
    return prompts.load(PAIRWISE_PROMPT).fill({"material": material, "mark": mark})


_LINE = re.compile(
    r"^[ \t]*+(?:(?:[-•]|\d[.)])[ \t]+)?+(?P<label>better|faulty)(?:[ \t]+(?:answer|verdict))?+[ \t]*+[:=][ \t]*+"
    r"[\"'(\[]?(?:answer[ \t]+)?(?P<value>[a-z]++)\b[\"')\]]?(?P<rest>[^\n]*+)",
    re.IGNORECASE | re.MULTILINE,
)
_RETRACTS = re.compile(
    r"\b(?:actually|wait|correction|on reflection|rather|sorry|scratch that|but|however|although)\b", re.IGNORECASE
)
_NAMED = re.compile(r"\b(?:A|B|tie|both|neither)\b")
_MEANS = {
    "better": {"a": "a", "b": "b", **dict.fromkeys(("tie", "both", "neither", "none", "equal", "same", "draw"), "tie")},
    "faulty": {"a": "a", "b": "b", "both": "both", "neither": "neither", "none": "neither"},
}


def read_pair_vote(reply: Reply, *, first: Side) -> PairVote:
    """The reply as a vote; unread where it was cut off, is blank, or has no two clear verdicts.

    Of a reply in JSON its two fields count; in text the last line of each label, unless an earlier one says something
    else.
    """
    held = {} if reply.is_cut_off else json_object(reply.text) or {}
    is_json = held.keys() == {"thinking", "faulty", "better"} and all(isinstance(held[k], str) for k in _MEANS)
    text = f"Faulty: {held['faulty']}\nBetter: {held['better']}" if is_json else cleaned(reply.text)
    lines = list(_LINE.finditer(text))
    better, faulty = (_said(label, lines) for label in ("better", "faulty"))
    why = None
    if reply.is_cut_off:
        why = "the reply was cut off"
    elif reply.is_filtered:
        why = "the provider's filter ended the reply"
    elif not text.strip():
        why = "nothing but thinking" if reply.text.strip() else "empty"
    elif lines and _RETRACTS.search(text, lines[-1].end()):
        why = "the verdict is taken back"
    elif better is None or faulty is None:
        why = f"no clear verdict on which is {'better' if better is None else 'faulty'}"
    if why is not None:
        return PairVote(first=first, text=reply.text, unread=why)
    sides = {"a": first, "b": "after" if first == "before" else "before"}
    return PairVote(
        first=first,
        better=cast(Literal["before", "after", "tie"], sides.get(better or "", better)),
        faulty=cast(Literal["before", "after", "both", "neither"], sides.get(faulty or "", faulty)),
        text=reply.text,
    )


def _said(label: str, lines: Sequence[re.Match[str]]) -> str | None:
    """The verdict under a label; None where there is none, the last cannot be read, or there are two."""
    found = [_value(line) for line in lines if line["label"].lower() == label]
    return found[-1] if found and len({value for value in found if value is not None}) == 1 else None


def _value(line: re.Match[str]) -> str | None:
    rest = line["rest"].strip()
    # "A matter of taste" is no verdict, and "A, but B is safer" is two.
    if rest and (rest[0] not in ".,;:(-–—*" or _NAMED.search(rest) or _RETRACTS.search(rest)):
        return None
    return _MEANS[line["label"].lower()].get(line["value"].lower())
