"""A reader of passages that goes by words alone, for tests of what is made of its readings."""

from __future__ import annotations

from eirene.core.records import Item
from eirene.feedback_model.base import FeedbackRequest
from eirene.text.sentences import split_sentences
from eirene.verification.context import ContextReader
from tests.word_overlap import WordOverlapEncoder
from tests.word_verifier import WordVerifier


def verifier() -> WordVerifier:
    return WordVerifier(WordOverlapEncoder())


def reader(*passages: str) -> ContextReader:
    return ContextReader(verifier(), passages)


def asked(answer: str, *passages: str, question: str = "What is it?") -> FeedbackRequest:
    item = Item(question=question, answer=answer, context=list(passages))
    return FeedbackRequest(item, answer, split_sentences(answer), 0)
