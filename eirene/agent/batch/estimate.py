"""Estimates the calls, tokens and cost of a batch's remaining rows, as a lower and an upper bound.

Nothing is sent. What a model is asked is known to the letter, and counted; how much it answers, and how often it is
asked again, is not: what is taken for it stands below (and in docs/guides/costs.md).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eirene.agent.critics import critics_of, critique_from_notes, readout_of
from eirene.agent.evidence import first_request
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.agent.thinking import answer_alone
from eirene.agent.tries import form_of
from eirene.core.critique import Critique, TaggedSentence
from eirene.core.grounding import grounding_for
from eirene.core.records import VOTED_MODES, Item
from eirene.eval.base import Pair, case_of
from eirene.eval.detectors.chainpoll import ChainPoll, chainpoll_messages
from eirene.eval.detectors.token_judge import TokenJudge
from eirene.eval.pairwise import VOTES, ChatPairwise, pairwise_messages
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import ChatFeedback
from eirene.feedback_model.readout import questions_for, verdict_messages
from eirene.feedback_model.request import render_reply
from eirene.feedback_model.sampling import FIRST
from eirene.models.chat import ChatModel, Sampling
from eirene.models.costs import Count, Price
from eirene.prompts import Message
from eirene.refiners.asking import AskedRewrite, requests_for
from eirene.refiners.base import RefineTask
from eirene.refiners.model import ChatRefiner
from eirene.text.sentences import Sentence, split_sentences

REASON = "It says nothing of what this costs, who would pay for it, and which of the two sides would have to give way "
"""What stands for a reason in the upper bound: some 22 tokens, twice."""
FEWEST = 3  # samples that a rule of early stopping waits for
REWRITE = (0.7, 2.0)  # tokens of a rewrite, in those of the answer; of changes alone there may be next to none
DRAWS = 2  # times that rewrites are drawn in a round: again where nothing new came
TAGGED = (1.0, 2.0)  # tokens of the copy that the hallucination critic gives, in those of the answer; then reasons
POLL = (50, 400)  # tokens of a poll's chain of thought
_JUDGES = (ChainPoll, TokenJudge)
LETTER = 4  # tokens of a reply that says A or B, at most
REQUEST = 8  # tokens that a chat format adds
_Z = 1.959963984540054

Numbers = NDArray[np.float64]
"""Calls, tokens in, tokens out: at least, and at most; shape (2, 3)."""


@dataclass(frozen=True, slots=True)
class BatchEstimate:
    """Bounds for all rows, for the backend's model and the judge's; `not_counted` are detectors that call one, too."""

    rows: int
    looked_at: int
    loop: Numbers
    judge: Numbers
    not_counted: tuple[str, ...]

    def cost_usd(self, price: Price | None, judge_price: Price | None) -> tuple[float, float] | None:
        """Dollars, at least and at most; None where a price that counts is not known."""
        total = np.zeros(2)
        for part, known in ((self.loop, price), (self.judge, judge_price)):
            if part[1].any():
                if known is None:
                    return None
                total += (part[:, 1] * known.input_usd + part[:, 2] * known.output_usd) / 1e6
        return float(total[0]), float(total[1])


def estimate(
    items: Iterable[Item], *, rows: int, parts: Parts, settings: Settings, polls: int, count: Count
) -> BatchEstimate:
    """The bounds for `rows` rows of which `items` are all, or drawn at random; then a sampling error widens them."""
    per_row = [(of_loop(item, parts, settings, count), of_judge(item, parts, settings, polls, count)) for item in items]
    judging = [d.name for d in parts.detectors if "judge" in d.needs and not isinstance(d, ChainPoll)]
    found = np.array(per_row) if per_row else np.zeros((1, 2, 2, 3))
    loop, judge = _total(found, rows)
    return BatchEstimate(rows, len(per_row), loop, judge, tuple(judging))


def _total(found: NDArray[np.float64], rows: int) -> NDArray[np.float64]:
    """Sums over all rows; of a random part of them, the ends of a 95 % interval."""
    mean, n = found.mean(axis=0), len(found)
    total: NDArray[np.float64] = mean * rows
    if 1 < n < rows:
        error = _Z * found.std(axis=0, ddof=1) / np.sqrt(n) * np.sqrt(1 - n / rows) * rows
        total = total + error * np.array([-1.0, 1.0])[:, None]
    return np.maximum(total, 0.0)


def of_loop(item: Item, parts: Parts, settings: Settings, count: Count) -> Numbers:
    """Critiques and rewrites of one row."""
    item = answer_alone(item)
    sentences, total = split_sentences(item.answer), np.zeros((2, 3))
    if settings.mode in VOTED_MODES:
        for kind, critic in critics_of(parts, settings):
            if isinstance(critic, ChatFeedback):
                # A text that was accepted is voted on anew; the hallucination critic judges every rewrite as well.
                again = rounds(settings) if settings.after_accept == "continue" or kind == "hallucination" else 0
                request = first_request(kind, item, parts, settings)
                if kind == "completeness" and readout_of(parts, settings) == "probabilities":
                    once = _readout(critic, request, count)
                    once[1] *= 1 + again * REWRITE[1]
                    total += once
                    continue
                total += _vote(critic, request, settings, count, again=again, is_tagged=kind == "hallucination")
    if isinstance(parts.refiner, ChatRefiner) and settings.mode != "edit":
        total += _rewrites(item, sentences, parts, settings, count)
    if is_compared(item, parts, settings):
        total += _comparisons(item, parts, settings, count)
    return total


def rounds(settings: Settings) -> int:
    """Rounds at most."""
    if settings.after_accept == "continue":
        return settings.max_rounds
    return min(settings.max_rounds, settings.patience + 1)


def _readout(critic: ChatFeedback, request: FeedbackRequest, count: Count) -> Numbers:
    """One token for each question about each sentence; at most also the reasons of all of them."""
    asked = [
        _prompt(messages, count)
        for question in questions_for(request)
        for messages in verdict_messages(request, question, critic.prompts)
    ]
    least, n = [len(asked), sum(asked), len(asked)], len(request.sentences)
    return np.array([least, np.add(least, [1, max(asked) + count(request.answer), n * count(REASON * 2)])], float)


def _vote(
    critic: ChatFeedback, request: FeedbackRequest, settings: Settings, count: Count, *, again: int, is_tagged: bool
) -> Numbers:
    asked, chat = critic.asks(request, start=0, count=settings.samples), critic.chat
    form = chat.form_of(asked.sampling)
    prompt, most = _prompt(asked.messages if form is None else form.messages, count), settings.samples
    if chat.cache is not None:
        keys = chat.keys(asked.messages, sampling=asked.sampling, seeds=asked.seeds)
        most -= len(chat.cache.recall_now([key for key in keys if key is not None]))
    stops = not is_tagged and settings.stop != "none"
    least = min(FIRST if chat.takes_n else FEWEST, most) if stops else most
    if is_tagged:
        answer = count(request.answer)
        reply = [answer * TAGGED[0], answer * TAGGED[1] + len(request.sentences) * count(REASON * 2)]
    else:
        n = len(request.sentences)
        none = render_reply(["Complete"] * n, [None] * n)
        reply = [count(none), count(render_reply(["Incomplete"] * n, [REASON * 2] * n))]
    calls = [min(1, least), min(1 + stops, most)] if chat.takes_n else [least, most]
    once = np.array(
        [[calls[0], calls[0] * prompt, least * reply[0]], [calls[1], calls[1] * prompt, most * reply[1]]], float
    )
    whole = settings.samples  # of a new text nothing is known
    requests = 1 + stops if chat.takes_n else whole
    per_vote = [requests, requests * prompt * REWRITE[1], whole * reply[1]]
    once[1] += again * np.array(per_vote)
    return once


def _rewrites(item: Item, sentences: Sequence[Sentence], parts: Parts, settings: Settings, count: Count) -> Numbers:
    assert isinstance(parts.refiner, ChatRefiner)
    answer, most, chat = count(item.answer), DRAWS * rounds(settings), parts.refiner.chat
    critique = None
    if settings.mode == "human":
        critique = critique_from_notes(item, sentences)
    elif settings.mode in VOTED_MODES:
        critique = _worst(sentences)
    form, drawn = form_of(parts, settings), settings.candidates or parts.candidates
    task = RefineTask(item, item.answer, settings.mode, critique, (), 0, form=form)
    asked = requests_for(task, prompts=parts.refiner.prompts)
    prompt = sum(_prompt(_shown(one, chat), count) for one in asked)
    least = 0 if settings.mode in VOTED_MODES else 1  # nothing may be found, and then nothing is rewritten
    told = sum(range(most)) * (REWRITE[1] * answer + count(REASON))  # rejected rewrites that later ones are shown
    read = 1 if chat.takes_n else drawn
    fewest = (REWRITE[0] if form == "whole" else 0.0) * answer * drawn
    calls = len(asked) * read
    return np.array(
        [
            [least * calls, least * prompt * read, least * fewest],
            [most * calls, most * prompt * read + told, most * REWRITE[1] * answer * drawn],
        ]
    )


def _shown(asked: AskedRewrite, chat: ChatModel) -> Sequence[Message]:
    form = chat.form_of(Sampling(form=asked.form))
    return asked.messages if form is None else form.messages


def is_compared(item: Item, parts: Parts, settings: Settings) -> bool:
    """Whether the pairwise judge, a chat model, is asked about the rewrites of a row."""
    is_asked = isinstance(parts.pairwise, ChatPairwise) and settings.judge_risk > 0 and not parts.judges
    # In mode edit, and with its critic, the hallucination critic's re-vote measures.
    return is_asked and settings.critic == "completeness" and not (item.perspectives or item.context)


def _comparisons(item: Item, parts: Parts, settings: Settings, count: Count) -> Numbers:
    """None where every rewrite shows harm by its scores, or is not one; else both orders of every rewrite."""
    assert isinstance(parts.pairwise, ChatPairwise)
    pair = Pair(item.question, item.answer, item.answer, tuple(item.history or ()))
    messages = pairwise_messages(pair, first="before", prompts=parts.pairwise.prompts)
    longer = (REWRITE[1] - 1) * count(item.answer)
    # One token in both orders; and where the model gives no probabilities, as many votes.
    rewrites = rounds(settings) * (settings.candidates or parts.candidates)
    calls = rewrites * (4 if parts.pairwise.chat.takes_n else 2 + 2 * VOTES)
    read = calls * (_prompt(messages, count) + longer * (REWRITE[1] + 1))  # the text before may be a rewrite, too
    return np.array([[0, 0, 0], [calls, read, rewrites * 2 * (VOTES + 1) * LETTER]], float)


def _worst(sentences: Sequence[Sentence]) -> Critique:
    """A critique that finds fault with every sentence."""
    tagged = tuple(
        TaggedSentence(n=s.n, text=s.text, start=s.start, end=s.end, tag="Incomplete", reason=(REASON * 2).strip())
        for s in sentences
    )
    return Critique(
        sentences=tagged, tag_consistency=1.0, reason_consistency=1.0, n_drawn=1, n_valid=1, n_requested=1,
        early_stop=False,
    )  # fmt: skip


def of_judge(item: Item, parts: Parts, settings: Settings, polls: int, count: Count) -> Numbers:
    """A token for every sentence, or polls, about the original and about every rewrite of one row."""
    judges = [d for d in parts.detectors if isinstance(d, _JUDGES)]
    if not judges:
        return np.zeros((2, 3))
    given = grounding_for(item)
    is_derived = given.source == "derived"
    case, judge = case_of(item, given=given), judges[0]
    by_token = isinstance(judge, TokenJudge)
    prompts = judge.polling.prompts if isinstance(judge, TokenJudge) else judge.prompts
    prompt = _prompt(chainpoll_messages(case, "correctness" if is_derived else "adherence", prompts), count)
    claims = REWRITE[1] * len(split_sentences(item.answer)) if by_token else 0
    # At least one request a text, for all polls; at most one a poll, and one a sentence before that.
    texts = np.array([0 if is_derived and settings.mode in VOTED_MODES else 1, 1 + rounds(settings)]) * len(judges)
    most = REWRITE[1] * count(item.answer)  # a longer text to judge
    least = [1, count(case.answer), 1] if by_token else [1, prompt, polls * POLL[0]]
    calls = polls + claims
    bounds: Numbers = np.array([least, [calls, calls * (prompt + most), polls * POLL[1] + claims]], float)
    bounds *= texts[:, None]
    return bounds


def _prompt(messages: Sequence[Message], count: Count) -> int:
    return REQUEST + sum(count(message.content) for message in messages)
