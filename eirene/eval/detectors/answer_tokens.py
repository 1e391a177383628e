"""The tokens of an answer as a model reads them after a prompt, in one pass for each chunk of what was given."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from eirene.core.scores import SentenceScore, Unscored
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.eval.detectors.chunks import Piece, part_of, share_out, whole
from eirene.models.token_scores import Count, ScoredToken, TokenScorer
from eirene.prompts import Message
from eirene.text.sentences import Sentence, split_sentences

NO_TOKENS = "the answer has no tokens"

Prompt = Callable[[Case], Sequence[Message]]
"""The messages after which the answer is read."""


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """The answer's tokens, at least one, and in how many chunks the given text was read."""

    tokens: Sequence[ScoredToken]
    chunks: int


async def read_answer(
    scorer: TokenScorer, prompt: Prompt, case: Case, *, top: int, meter: Meter
) -> ReadAnswer | Unscored:
    """The tokens of the whole answer after the prompt, or why there are none.

    Where too much was given for one pass, the answer is read once with each chunk, and each sentence has the tokens of
    the pass in which its mean log-probability is highest: with what it is likeliest to have been taken from. Ties go to
    the first chunk.
    """
    answer = case.answer.strip()
    if not answer:
        return Unscored(unscored=NO_TOKENS)
    given = case.given.arguments

    def lay_out(count: Count, limit: int | None) -> list[list[Piece]] | Unscored:
        def tokens(some: Sequence[Piece]) -> int:
            return count(prompt(replace(case, given=part_of(case.given, some))), answer)

        return share_out(whole(given), given, tokens, limit=limit)

    chunks = await scorer.laid_out(lay_out)
    if isinstance(chunks, Unscored):
        return chunks
    parts = [case] if len(chunks) == 1 else [replace(case, given=part_of(case.given, chunk)) for chunk in chunks]
    readings = [await scorer.score(prompt(part), answer, top=top, meter=meter) for part in parts]
    found = readings[0] if len(readings) == 1 else _likeliest(case.answer, readings)
    return ReadAnswer(found, len(readings)) if found else Unscored(unscored=NO_TOKENS)


def _likeliest(answer: str, readings: Sequence[Sequence[ScoredToken]]) -> list[ScoredToken]:
    """Each sentence's tokens from the reading that makes it likeliest."""
    found: list[ScoredToken] = []
    for sentence in split_sentences(answer):
        own: list[Sequence[ScoredToken]] = [_within(sentence, answer, reading) for reading in readings]
        if all(own):
            best = max(own, key=mean_logprob)
            found += best
    return found


def _within(sentence: Sentence, answer: str, tokens: Sequence[ScoredToken]) -> list[ScoredToken]:
    offset = len(answer) - len(answer.lstrip())
    return [t for t in tokens if sentence.start <= _begin(answer, t.start + offset, t.end + offset) < sentence.end]


def _begin(answer: str, start: int, end: int) -> int:
    """Where a token's text begins: many a tokenizer has the space before a word in it, which ends another sentence."""
    at = start
    while at < end and answer[at].isspace():
        at += 1
    return at if at < end else start


def mean_logprob(tokens: Sequence[ScoredToken]) -> float:
    """The mean log-probability of the tokens, at least one."""
    return math.fsum(t.logprob for t in tokens) / len(tokens)


def by_sentence(
    answer: str, tokens: Sequence[ScoredToken], error: Callable[[list[ScoredToken]], float]
) -> tuple[SentenceScore, ...]:
    """Each sentence's error over the tokens that begin in it; the answer was read without white space around it."""
    found = []
    for sentence in split_sentences(answer):
        own = _within(sentence, answer, tokens)
        score = error(own) if own else Unscored(unscored="no tokens")
        found.append(SentenceScore(n=sentence.n, hallucination=score))
    return tuple(found)
