"""Which texts the embedded parts will ask the encoder for: what can be encoded before an item's turn comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise

from eirene.alignment.given import passage_sentences
from eirene.clauses import Unit, core_text, units_of
from eirene.openings import opening_length
from eirene.records import Item
from eirene.sentences import Sentence, split_sentences


def texts_of(item: Item) -> Iterator[str]:
    """The question, what is given, the answer, its units, and its neighbouring parts taken together.

    A text too many costs its encoding, one too few is encoded when it is asked for: neither changes a record.
    """
    yield item.question
    yield item.answer
    if item.perspectives:
        yield from (" ".join(argument.split()) for side in item.perspectives for argument in side.arguments)
    elif item.context:
        yield from passage_sentences(item.context)
    else:
        return
    sentences = split_sentences(item.answer)
    units = units_of(item.answer, sentences)
    yield from (unit.text for unit in units)
    clauses: list[list[Unit]] = [[] for _ in sentences]
    for unit in units:
        if unit.is_clause or not clauses[unit.sentence]:
            clauses[unit.sentence] = [u for u in clauses[unit.sentence] if u.is_clause] + [unit]
    for a, b in pairwise(chain.from_iterable(clauses)):
        text = together(item.answer, sentences, a, b)
        if text:
            yield text


def together(answer: str, sentences: Sequence[Sentence], a: Unit, b: Unit) -> str:
    """Two parts as one text: clauses of a sentence, or a sentence and the next if that opens no new point; else ""."""
    if a.sentence != b.sentence and opening_length(sentences[b.sentence].text):
        return ""
    return core_text(answer[a.start : b.end])
