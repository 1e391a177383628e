"""Evidence retrieval in a run: the sentences of passages that models are shown, fewer where the context is too small.

A small model reads a few sentences, not pages; each is read for every critique, rewrite and judgement.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest
from typing import TypeVar

from eirene.agent.settings import Settings
from eirene.agent.state import Json, Parts, State, best_text, item_of
from eirene.core.critique import CriticKind
from eirene.core.errors import TooLongError
from eirene.core.grounding import whole_evidence
from eirene.core.records import UNASKED, Item, found_ids
from eirene.core.signature import derive_seed
from eirene.core.verification import NumberedEvidence, Verification
from eirene.feedback_model.base import FeedbackRequest
from eirene.text.sentences import Sentence, split_sentences
from eirene.verification.context import ContextReader
from eirene.verification.framed import ContextPiece
from eirene.verification.judging import judge_of
from eirene.verification.verify import verify_item

T = TypeVar("T")


def evidence_for(item: Item, text: str, parts: Parts, count: int) -> NumberedEvidence | None:
    """What models are shown of the passages beside `text`: `count` sentences at most, all where nothing can retrieve.

    None where nothing was given, or no part is a language model.
    """
    if not item.context or not parts.shows_evidence:
        return None
    if parts.verifier is None:
        return whole_evidence(item)
    judge = judge_of(tuple(item.context), parts.verifier, question=item.query)  # the critic's: passages are read once
    found = bearing_evidence(item, text, judge.reader, count)
    verified = None if item.question == UNASKED else verified_by(item, text, parts)
    return found if verified is None else found.model_copy(update={"unsaid": verified.unsaid})


def verified_by(item: Item, text: str, parts: Parts) -> Verification | None:
    """What `verify` says of `text` against the item's passages; None without any, and where no verifier reads."""
    if parts.verifier is None or not item.context or item.perspectives or not text.strip():
        return None
    return verify_item(item, text, verifier=parts.verifier)


def dumped_evidence(evidence: NumberedEvidence | None) -> Json | None:
    """The evidence as the state holds it."""
    return None if evidence is None else evidence.model_dump(mode="json")


async def with_room(
    state: State, parts: Parts, settings: Settings, ask: Callable[[NumberedEvidence | None], Awaitable[T]]
) -> tuple[T, NumberedEvidence | None]:
    """What `ask` gives with the evidence for the best text, and that evidence.

    Where the model's context is too small it is asked again with half as many sentences, down to none. What was found
    for this text before is used again, so that the prompts of critic and refiner begin alike. Raises `TooLongError`
    where even the rest of the prompt is too long.
    """
    item, text, known = item_of(state), best_text(state), state.get("evidence")
    if known is None:
        evidence = await asyncio.to_thread(evidence_for, item, text, parts, settings.evidence)
    else:
        evidence = NumberedEvidence.model_validate(known)
    while True:
        try:
            return await ask(evidence), evidence
        except TooLongError:
            if evidence is None or not evidence.sentences:
                raise
            evidence = await asyncio.to_thread(_halved, evidence, item, text, parts)


def _halved(evidence: NumberedEvidence, item: Item, text: str, parts: Parts) -> NumberedEvidence:
    had, left = len(evidence.sentences), len(evidence.sentences) // 2
    fewer = evidence_for(item, text, parts, left) if left and parts.verifier is not None else None
    sentences = evidence.sentences[:left] if fewer is None else fewer.sentences
    said = f"the model's context is too small for {had} sentences of the passages: it was shown {left}"
    return NumberedEvidence(sentences=sentences, n_given=evidence.n_given, cut=said)


def first_request(
    kind: CriticKind, item: Item, parts: Parts, settings: Settings, *, sentences: Sequence[Sentence] | None = None
) -> FeedbackRequest:
    """What a run asks a critic of this kind first about an item; `sentences` in place of our cut of the answer."""
    cut = split_sentences(item.answer) if sentences is None else tuple(sentences)
    seed = feedback_seed(kind, item, settings.seed, 1)
    return FeedbackRequest(item, item.answer, cut, seed, evidence_for(item, item.answer, parts, settings.evidence))


def feedback_seed(kind: CriticKind, item: Item, seed: int, round_: int) -> int:
    """The seed of a critic's draws in a round, from 1."""
    return derive_seed(seed, item.id, "feedback" if kind == "completeness" else kind, round_)


def bearing_evidence(item: Item, answer: str, reader: ContextReader, count: int) -> NumberedEvidence:
    """At most `count` sentences of the passages that `reader` has, in their order; 0 for all of them.

    They are taken in turns from those nearest to the question, which tell what the answer may lack, and from those
    nearest to the answer's sentences, which tell whether they hold: by meaning and by words, as the verifier picks what
    it reads (`ContextReader.nearest`). The same texts give the same sentences.
    """
    whole = whole_evidence(item)
    if not count or len(whole.sentences) <= count:
        return whole
    claims = [s.text for s in split_sentences(answer) if s.text]
    ranked = [reader.nearest(claim, count) for claim in (item.query, *claims)]
    turns = zip_longest(ranked[0], _in_turn(ranked[1:]))
    distinct = dict.fromkeys(piece for piece in chain.from_iterable(turns) if piece is not None)
    chosen = sorted(islice(distinct, count), key=lambda piece: (piece.source, piece.start))
    ids = found_ids(item)
    return NumberedEvidence(sentences=tuple(piece.evidence(ids) for piece in chosen), n_given=len(whole.sentences))


def _in_turn(ranked: Sequence[Sequence[ContextPiece]]) -> Iterator[ContextPiece]:
    """The first of each list, then the second of each, and so on; each once."""
    rows: Iterable[ContextPiece | None] = chain.from_iterable(zip_longest(*ranked))
    yield from dict.fromkeys(piece for piece in rows if piece is not None)
