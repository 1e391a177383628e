"""The pairwise judge: how likely a rewrite is the better answer, by a model's one letter, A or B, in both orders.

It is what can tell whether a question is better answered where nothing was given to measure that by. The model does
not know which of the two is the rewrite. What cannot be read is unscored and never guessed.
"""

from __future__ import annotations

import asyncio
import math
import re
from typing import TYPE_CHECKING

from eirene.core.errors import BackendError, EireneError
from eirene.core.logs import get_logger
from eirene.core.scores import ORDERS, PairJudgement, Side, Unscored
from eirene.core.signature import derive_seed
from eirene.core.usage import Meter
from eirene.eval.base import Pair
from eirene.eval.detectors.judge import Section, asked_often, cleaned, fenced, question_sections
from eirene.models.chat import ChatModel, Sampling
from eirene.models.replies import Reply
from eirene.models.token_choice import TokenChoice
from eirene.prompts import SHIPPED, Message, PromptSet
from eirene.prompts.history import HISTORY_PROMPT

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

logger = get_logger(__name__)

PAIRWISE_PROMPT = "pairwise"
LETTERS = ("A", "B")
VOTES = 3
"""Replies that are drawn in each order where the model gives no token probabilities, at temperature 1."""
_LETTER = re.compile(r"\W*(?:(?:the )?better(?: answer)?(?: is|:)? ?)?(?:answer:? )?(?-i:([AB]))\W*", re.IGNORECASE)


class ChatPairwise:
    """The pairwise judge on a chat model: two requests for one token each, or two for `VOTES` replies.

    `model` is a LangChain chat model, or a `ChatModel` shared with other roles. `prompts`: own wording.

    Examples:
        >>> from eirene.models.scripted import ScriptedChatModel
        >>> def longer(messages):
        ...     a, b = messages[-1].text.split("answer A")[1].split("answer B")[:2]
        ...     return "A" if len(a) > len(b.split("TEXT-")[0]) else "B"
        >>> pair = Pair("Trams?", "Trams are quiet.", "Trams are quiet, and pollute less than cars do.")
        >>> judge = ChatPairwise(ScriptedChatModel(longer))
        >>> round(asyncio.run(judge.compare(pair, seed=0, meter=Meter())).better, 3)  # 3 of 3 votes in both orders
        0.875
    """

    def __init__(self, model: BaseChatModel | ChatModel, *, prompts: PromptSet = SHIPPED) -> None:
        self.prompts = prompts
        self.chat = model if isinstance(model, ChatModel) else ChatModel(model)
        self.name = self.chat.name
        self._choice = TokenChoice(self.chat, LETTERS)
        self.version = f"{self.chat.version},prompt={prompts.digests([PAIRWISE_PROMPT, HISTORY_PROMPT])}"

    async def compare(self, pair: Pair, *, seed: int, meter: Meter) -> PairJudgement:
        """How likely `pair.after` is the better answer; what the model cannot tell or be asked is unscored."""
        odds = [await self._odds(pair, first, meter) for first in ORDERS]
        if not any(isinstance(found, Unscored) for found in odds):
            return PairJudgement.of(*odds, judge=self.name)
        counted = await asyncio.gather(*(self._votes(pair, first, seed, meter) for first in ORDERS))
        return PairJudgement.of(*counted, judge=self.name, votes=len(ORDERS) * VOTES)

    async def _odds(self, pair: Pair, first: Side, meter: Meter) -> float | Unscored:
        """The log-odds that the rewrite is better by one token, with this text shown first."""
        try:
            odds = await self._choice.ask(pairwise_messages(pair, first=first, prompts=self.prompts), meter=meter)
        except EireneError as error:
            return _failed(self.name, error)
        return _of_rewrite(odds, first)

    async def _votes(self, pair: Pair, first: Side, seed: int, meter: Meter) -> float | Unscored:
        """The log-odds by the replies that say a letter, each word counted half a vote more (Jeffreys' prior)."""
        messages = pairwise_messages(pair, first=first, prompts=self.prompts)
        seeds = [derive_seed(seed, first, n) for n in range(VOTES)]
        try:
            replies = await asked_often(self.chat, messages, Sampling(temperature=1.0), seeds, meter)
        except EireneError as error:  # no access, no credit: the other order meets it, too
            return _failed(self.name, error)
        failed = [reply for reply in replies if isinstance(reply, BackendError)]
        letters = [read_letter(reply) for reply in replies if not isinstance(reply, BackendError)]
        a, b = (letters.count(letter) for letter in LETTERS)
        if a + b == 0:
            if failed:
                return _failed(self.name, failed[-1])
            return Unscored(unscored=f"none of {len(replies)} replies says A or B")
        return _of_rewrite(math.log((a + 0.5) / (b + 0.5)), first)


def _of_rewrite(odds: float | Unscored, first: Side) -> float | Unscored:
    """The log-odds of the rewrite by those of the text that is shown first."""
    return odds if isinstance(odds, Unscored) or first == "after" else -odds


def _failed(judge: str, error: EireneError) -> Unscored:
    logger.warning("the pairwise judge %s failed: %s", judge, error)
    return Unscored(unscored=f"the judge failed: {error.kind}: {error}")


def read_letter(reply: Reply) -> str | None:
    """The letter of a reply that says little else: "B", "Answer B.", "**The better answer is A**"; else None."""
    found = None if reply.is_cut_off or reply.is_filtered else _LETTER.fullmatch(cleaned(reply.text).strip())
    return None if found is None else found[1]


def pairwise_messages(pair: Pair, *, first: Side, prompts: PromptSet = SHIPPED) -> tuple[Message, ...]:
    """The request, with the text before or the rewrite as answer A; question and answers stand in a fence."""
    texts = (pair.before, pair.after) if first == "before" else (pair.after, pair.before)
    named = (Section(f"answer {letter}", text) for letter, text in zip(LETTERS, texts, strict=True))
    material, _ = fenced([*question_sections(pair.question, pair.history, prompts), *named])
    return prompts.load(PAIRWISE_PROMPT).fill({"material": material})
