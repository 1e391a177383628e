"""The `chainpoll` detectors: a chat model reasons and then votes yes or no, several times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.core.memo import Memo
from eirene.core.scores import Poll, Polls, Score, Scores, Unscored, wilson
from eirene.core.signature import derive_seed
from eirene.core.usage import Meter
from eirene.eval.base import GIVEN, NO_COVERAGE, Case, Need, unmet
from eirene.eval.detectors.judge import (
    QUORUM,
    VERDICT_JSON_PROMPT,
    asked_often,
    is_given,
    judge_request,
    quorum_of,
    raise_where_all_failed,
    read_verdict,
    verdict_form,
)
from eirene.eval.registry import detector
from eirene.eval.resources import POLLS, Resources
from eirene.models.chat import ChatModel, Sampling
from eirene.prompts import SHIPPED, Message, PromptSet
from eirene.prompts.history import HISTORY_PROMPT

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


logger = get_logger(__name__)

Question = Literal["adherence", "correctness"]
Asks = Literal["adherence", "correctness", "either"]

_KEPT = 256  # cases whose scores are kept


class ChainPoll:
    """Polls a chat model: is there a hallucination in the answer? Each poll is a chain of thought and a yes or no.

    Score: hallucination = yes / answered, with a 95 % Wilson interval; coverage is unscored. Under a quorum of readable
        replies (3, and half of `polls`) it is unscored, the replies kept. The replies are the explanation.
    Needs: a judge. `adherence` holds the answer against the given text and needs that, too; `correctness` against the
        world, and shows the judge question and answer alone; `either` asks for adherence where text was given and for
        correctness where none was.
    Reference: Friel and Sanyal 2023, section 4.2; prompts of our own.
    Examples:
        >>> import asyncio
        >>> from eirene.core.grounding import ArgumentGroup, Grounding
        >>> from eirene.models.scripted import ScriptedChatModel
        >>> judge = ScriptedChatModel(["... Verdict: yes"] * 4 + ["... Verdict: no"])
        >>> passages = ArgumentGroup("context", ("Turbines kill birds.",))
        >>> case = Case("Wind power?", "It is clean.", Grounding("context", (passages,)))
        >>> asyncio.run(ChainPoll(judge).score(case, meter=Meter())).hallucination
        0.8

    `model` is a LangChain chat model, or a `ChatModel` shared with other roles. `is_detailed` False is the paper's
    ablation "without detailed CoT" (section 4.1): the same polls of a prompt that only says to think step by step.
    The model's temperature is 1, its own distribution (the paper names none). Every case is drawn with the same seeds,
    and one that comes again soon (the original, in each round of a run) has the scores that it had.
    """

    def __init__(
        self,
        model: BaseChatModel | ChatModel,
        *,
        asks: Asks = "either",
        polls: int = POLLS,
        is_detailed: bool = True,
        seed: int = 0,
        prompts: PromptSet = SHIPPED,
    ) -> None:
        if polls < QUORUM:
            raise InputError(f"polls must be at least {QUORUM}, the quorum, got {polls}", field="polls")
        self.chat = model if isinstance(model, ChatModel) else ChatModel(model)
        self.prompts = prompts
        self._asks: Asks = asks
        self._is_detailed = is_detailed
        self.polls = polls
        self._seeds = [derive_seed(seed, "poll", n) for n in range(polls)]
        self._scores: Memo[tuple[Message, ...], Scores] = Memo(_KEPT)
        self.name = f"chainpoll{'' if asks == 'either' else f'-{asks}'}{'' if is_detailed else '-plain'}"
        self.needs: frozenset[Need] = frozenset({"judge", "given"} if asks == "adherence" else {"judge"})
        asked: tuple[Question, ...] = ("adherence", "correctness") if asks == "either" else (asks,)
        names = [*(_prompt(name, is_detailed) for name in asked), HISTORY_PROMPT]
        names += [] if self.chat.structured == "text" else [VERDICT_JSON_PROMPT]
        how = f"structured={self.chat.structured},n={polls},t=1"
        self.version = f"{self.chat.version},prompt={prompts.digests(names)},{how}"

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `BackendError` where no poll came back at all."""
        question = self._question(case)
        if question is None:
            return Scores.none(unmet("given"))
        if not case.answer.strip():
            return Scores.none("the answer is empty")
        messages = chainpoll_messages(case, question, self.prompts, is_detailed=self._is_detailed)
        return await self._scores.get_or_await(
            messages,
            lambda: self._poll(messages, question, meter),
            worth=lambda found: not isinstance(found.hallucination, Unscored),
        )

    async def _poll(self, messages: tuple[Message, ...], question: Question, meter: Meter) -> Scores:
        sampling = Sampling(temperature=1.0, form=verdict_form(messages, self.prompts))
        replies = await asked_often(self.chat, messages, sampling, self._seeds, meter)
        raise_where_all_failed(replies)
        taken = [read_verdict(reply) for reply in replies]
        self._warn_of_copies(taken)
        return scores_of(taken, asked=question, requested=self.polls)

    def _question(self, case: Case) -> Question | None:
        if self._asks == "adherence":
            return "adherence" if is_given(case) else None
        return "adherence" if self._asks == "either" and is_given(case) else "correctness"

    def _warn_of_copies(self, taken: list[Poll]) -> None:
        texts = [poll.text for poll in taken if poll.error is not None]
        if len(texts) >= QUORUM and len(set(texts)) == 1 and len(texts[0].split()) > 5:
            logger.warning(
                "%s gave %d polls and all are the same word for word: a cache, or a server that copies? "
                "Their agreement says nothing about the model's certainty",
                self.chat.name,
                len(texts),
            )


def chainpoll_messages(
    case: Case, question: Question, prompts: PromptSet = SHIPPED, *, is_detailed: bool = True
) -> tuple[Message, ...]:
    """What the judge is asked; what was given is shown for adherence alone."""
    return judge_request(_prompt(question, is_detailed), case, with_given=question == "adherence", prompts=prompts)


def _prompt(question: Question, is_detailed: bool) -> str:
    return f"chainpoll_{question}{'' if is_detailed else '_plain'}"


def scores_of(polls: list[Poll], *, asked: Question, requested: int) -> Scores:
    """The share of yes among the replies that could be read; unscored where these are no quorum of those requested."""
    found = Polls(asked=asked, requested=requested, replies=tuple(polls))
    hallucination: Score
    if found.answered < quorum_of(requested):
        causes = "; ".join(dict.fromkeys(poll.unread for poll in polls if poll.unread))
        why = f"{found.answered} of {requested} polls could be read, {quorum_of(requested)} are needed"
        hallucination = Unscored(unscored=f"{why} ({causes})" if causes else why)
    else:
        low, high = wilson(found.yes / found.answered, found.answered)
        found = found.model_copy(update={"low": low, "high": high})
        hallucination = found.yes / found.answered
    return Scores(hallucination=hallucination, coverage=NO_COVERAGE, polls=found)


_JUDGE: frozenset[Need] = frozenset({"judge"})


@detector("chainpoll", needs=_JUDGE, about="adherence where text was given, else correctness")
def _build(resources: Resources, *, asks: Asks = "either", is_detailed: bool = True) -> ChainPoll:
    return ChainPoll(
        resources.judge, asks=asks, polls=resources.polls, is_detailed=is_detailed, seed=resources.seed,
        prompts=resources.prompts,
    )  # fmt: skip


@detector("chainpoll-adherence", needs=_JUDGE | GIVEN, about="share of polls that find something not given")
def _build_adherence(resources: Resources) -> ChainPoll:
    return _build(resources, asks="adherence")


@detector("chainpoll-correctness", needs=_JUDGE, about="share of polls that find something false")
def _build_correctness(resources: Resources) -> ChainPoll:
    return _build(resources, asks="correctness")


@detector("chainpoll-plain", needs=_JUDGE, about="chainpoll without a detailed chain of thought")
def _build_plain(resources: Resources) -> ChainPoll:
    return _build(resources, is_detailed=False)
