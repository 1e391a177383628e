"""Evidence retrieval: the sentences of given passages that bear on a question and on an answer to it.

Models are shown these in place of all passages: a small one reads a few sentences, not pages, and each is read for
every critique, rewrite and judgement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, zip_longest

from eirene.core.grounding import whole_evidence
from eirene.core.records import Item, found_ids
from eirene.core.verification import NumberedEvidence
from eirene.text.sentences import split_sentences
from eirene.verification.context import ContextReader
from eirene.verification.framed import ContextPiece


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
