"""`verify`: each sentence of an answer with its verdict, and the sentence of the passages that decides it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import ConfigDict, Field

from eirene.core.errors import InputError
from eirene.core.grounding import argument_names
from eirene.core.records import PASSAGES, SIDES, UNASKED, Item, Perspective, found_ids
from eirene.core.validation import CheckedModel, described
from eirene.core.verification import ClaimVerdict, FaultyWords, Unit, Verification
from eirene.models.verifier.runtime import shipped_verifier
from eirene.text.cancellation import cancel_scope
from eirene.text.sentences import Sentence, split_sentences
from eirene.text.thinking import masked_thinking
from eirene.text.unicode import Text
from eirene.verification.judging import JudgedSentence, answer_risk, judge_of, version_of
from eirene.verification.quotations import check_quotations
from eirene.verification.unsaid import unsaid_sentences

if TYPE_CHECKING:
    from eirene.models.verifier.runtime import ReadsPairs
    from eirene.verification.context import ContextReader
    from eirene.verification.mends import Mend


class _AnswerWithGiven(CheckedModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    answer: Text
    context: Annotated[list[Text], Field(min_length=1), PASSAGES] | None = None
    perspectives: Annotated[list[Perspective], Field(min_length=1), SIDES] | None = None
    question: str = ""


def verify(
    answer: str,
    context: str | Sequence[Any] | None = None,
    *,
    perspectives: Mapping[str, Any] | Sequence[Any] | None = None,
    question: str = "",
    passage_ids: Sequence[str] | None = None,
    verifier: ReadsPairs | None = None,
) -> Verification:
    """Reads every sentence of an answer against passages, in English, and looks its quotations up in them.

    `context` takes what an item's `context` takes: a text, texts, a retriever's documents. `passage_ids` has an id for
    each of them, to be named with the evidence. `perspectives`, in its place, takes what an item's does: sides with
    their arguments, of which one may deny what another says. With a `question` it is told what the passages say to it
    and the answer seems to leave out (`unsaid`); it may give values that the answer computes with, too.
    Not checked, with the reason: questions, headings, lead-ins, talk ("Hope that helps!", "The price is not named.",
    "Opinions differ."), and what is in another language or would have to be read in one. Thinking
    (`<think>...</think>`) is no part of the answer. Raises `InputError` for a blank answer, a context without passages,
    both or nothing given, and ids that do not fit.

    Examples:
        >>> passage = "The bridge was opened in 1932. It carries trains and cars."
        >>> found = verify("The bridge opened in 1932. Is it old?", [passage])
        >>> [claim.verdict for claim in found.claims]
        ['supported', 'not checked']
        >>> found.claims[0].evidence.text
        'The bridge was opened in 1932.'
    """
    if (context is None) == (perspectives is None):
        raise InputError("give context, or perspectives, and not both", field="context")
    asked = _AnswerWithGiven(
        answer=answer, context=cast("Any", context), perspectives=cast("Any", perspectives), question=question
    )
    if asked.perspectives is not None:
        return _verified_by_sides(asked.answer, asked.perspectives, verifier)
    given = asked.context or ()
    return _verified(asked.answer, given, _checked_ids(passage_ids, len(given)), verifier, question=question)


async def averify(answer: str, context: str | Sequence[Any] | None = None, **options: Any) -> Verification:
    """`verify` for async callers: the same, in a thread, so that the event loop goes on.

    Examples:
        >>> import asyncio
        >>> asyncio.run(averify("The bridge is red.", "The bridge was painted red.")).claims[0].verdict
        'supported'
    """
    with cancel_scope():  # a thread that nobody waits for any more ends at its next sentence
        return await asyncio.to_thread(verify, answer, context, **options)


def _checked_ids(ids: Sequence[str] | None, passages: int) -> Sequence[str | None]:
    if ids is None:
        return [None] * passages
    if isinstance(ids, str) or not all(isinstance(name, str) for name in ids) or len(ids) != passages:
        raise InputError(
            f"passage_ids must be a list of texts, one for each of the {passages} passages, got {described(ids)}",
            field="passage_ids",
        )
    return ids


def _verified_by_sides(answer: str, sides: Sequence[Perspective], verifier: ReadsPairs | None) -> Verification:
    given = [text for side in sides for text in side.arguments]
    return _verified(answer, given, argument_names(sides), verifier, unit="argument")


def _verified(
    answer: str,
    given: Sequence[str],
    ids: Sequence[str | None],
    verifier: ReadsPairs | None,
    *,
    question: str = "",
    unit: Unit = "passage",
    mends: Mapping[int, Mend] = MappingProxyType({}),
) -> Verification:
    reader = shipped_verifier() if verifier is None else verifier
    said = masked_thinking(answer)
    sentences = [s for s in split_sentences(answer) if s.text]
    judge = judge_of(tuple(given), reader, question=question, are_sides=unit == "argument")
    judged = judge.judge(said, [s.text for s in sentences])
    judged = [own.mended(mends[s.n]) if s.n in mends else own for s, own in zip(sentences, judged, strict=True)]
    used = [own.evidence for own in judged if own.verdict == "supported"]
    risks = [own.risk for own in judged if own.risk is not None]
    return Verification(
        answer=answer,
        passages=len(given),
        unit=unit,
        claims=tuple(_claim(sentence, own, ids, judge.reader) for sentence, own in zip(sentences, judged, strict=True)),
        quotations=check_quotations(said, sentences, given, ids),
        unsaid=unsaid_sentences(question, said, judge.reader, ids, used=used) if unit == "passage" else (),
        risk=answer_risk(risks) if risks else None,
        verifier=version_of(reader),
    )


def _claim(
    sentence: Sentence, judged: JudgedSentence, ids: Sequence[str | None], reader: ContextReader
) -> ClaimVerdict:
    reading, piece = judged.reading, judged.evidence
    place: dict[str, Any] = {
        "n": sentence.n,
        "start": sentence.text_start,
        "end": sentence.text_end,
        "text": sentence.text,
    }
    if reading is None:
        return ClaimVerdict(**place, verdict=judged.verdict, why=judged.why, unread=judged.unread)
    return ClaimVerdict(
        **place,
        verdict=judged.verdict,
        supported=reading.supported,
        contradicted=reading.contradicted,
        risk=judged.risk,
        evidence=None if piece is None else piece.evidence(ids),
        words=tuple(_words(sentence, judged.mend, reader)) if judged.is_faulty else (),
    )


def _words(sentence: Sentence, mend: Mend | None, reader: ContextReader) -> Iterator[FaultyWords]:
    """The words that decide: those of a mend, else those that no passage has."""
    at = sentence.text_start
    for start, end in reader.absent(sentence.text) if mend is None else [(mend.start, mend.end)]:
        instead = None if mend is None else mend.new
        yield FaultyWords(start=at + start, end=at + end, text=sentence.text[start:end], instead=instead)


def verify_item(
    item: Item, answer: str, *, verifier: ReadsPairs | None = None, mends: Mapping[int, Mend] = MappingProxyType({})
) -> Verification | None:
    """`verify` of a text against what a run of the item scores it against; None where the item gives nothing.

    `mends`: those that a judge has confirmed, by the number of their sentence. Raises `InputError` for a blank answer.
    """
    if item.perspectives:
        return _verified_by_sides(answer, item.perspectives, verifier)
    if not item.context:
        return None
    question = "" if item.question == UNASKED else item.query
    asked = _AnswerWithGiven(answer=answer, context=item.context, question=question)
    ids = _checked_ids(found_ids(item) or None, len(item.context))
    return _verified(asked.answer, item.context, ids, verifier, question=question, mends=mends)
