"""The word-to-word maps behind the salience scores, made by a local language model; the latest are kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eirene.errors import InputError
from eirene.eval.base import Case
from eirene.eval.chunks import Piece, share_out, whole
from eirene.eval.salience.maps import Span, content_spans, normalised, tokens_of, word_map
from eirene.eval.salience.prompt import Encoded, encode, groups_of
from eirene.scores import Unscored
from eirene.usage import Meter, Usage

if TYPE_CHECKING:
    from eirene.eval.salience.attribution import Measure
    from eirene.eval.salience.maps import Array
    from eirene.models.local import LocalModel

_KEPT = 64


@dataclass(frozen=True, slots=True)
class ArgumentWord:
    """A content word of an argument: the argument's group, its number in all (from 0) and the word's offsets in it."""

    group: str
    argument: int
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class SalienceMap:
    """The word-to-word map (rows, columns), entries in [0, 1]: from argument words to answer words; and in how many
    passes the arguments were read."""

    rows: tuple[ArgumentWord, ...]
    columns: tuple[Span, ...]
    values: Array
    chunks: int = 1


class WordMaps:
    """Makes the maps of one model; share it between detectors that differ only in what they make of a map.

    `max_tokens`: what one pass may hold, within the model's context; what is longer is shared out over several passes,
    each with a part of the arguments and the whole answer, and with columns that sum to 1 by themselves. `chunk`:
    answer tokens whose gradients go back at once. Raises `InputError` for a tokenizer without character offsets.
    """

    def __init__(self, model: LocalModel, *, measure: Measure = "dot", max_tokens: int = 2048, chunk: int = 16) -> None:
        if measure not in ("dot", "l2"):
            raise InputError(f"measure must be one of dot, l2, got {measure!r}", field="measure")
        if not getattr(model.tokenizer, "is_fast", False):
            raise InputError(f"{model.name}: the tokenizer gives no character offsets; use a fast one", field="model")
        self._model = model
        self._measure: Measure = measure
        self._chunk = chunk
        virtual = 0 if model.soft_prompt is None else model.soft_prompt.shape[1]
        self._max_tokens = min(max_tokens, (model.context_tokens or max_tokens) - virtual)
        self.version = f"{model.version},{measure},{self._max_tokens}"
        self._known: OrderedDict[Case, SalienceMap | Unscored] = OrderedDict()

    async def get(self, case: Case, *, meter: Meter) -> SalienceMap | Unscored:
        """The word-to-word map of a case, or why there is none. Raises `BackendError` when memory runs out."""
        return await self._model.compute(lambda: self._get(case, meter))

    def _get(self, case: Case, meter: Meter) -> SalienceMap | Unscored:
        """Runs in the model's one thread, so that a map asked for twice at a time is made once."""
        if case not in self._known:
            self._known[case] = self._map(case, meter)
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        self._known.move_to_end(case)
        return self._known[case]

    def _map(self, case: Case, meter: Meter) -> SalienceMap | Unscored:
        columns = content_spans(case.answer)
        if not any(content_spans(text) for text in case.given.arguments):
            return Unscored(unscored="no content words among what was given")
        if not case.answer.strip():
            return Unscored(unscored="the answer is empty")

        def count(some: Sequence[Piece]) -> int:
            return len(encode(self._model, case, some).ids)

        texts, groups = case.given.arguments, groups_of(case)
        blocks = share_out(whole(texts), texts, count, limit=self._max_tokens)
        if isinstance(blocks, Unscored):
            return blocks
        rows: list[ArgumentWord] = []
        values = []
        for block in blocks:
            encoded = encode(self._model, case, block)
            tokens = self._attributions(encoded, meter)
            of_block = [_words(piece, case) for piece in block]
            in_prompt = [
                _shifted(words, place[0] - piece.start)
                for words, place, piece in zip(of_block, encoded.places, block, strict=True)
            ]
            row_tokens = tokens_of([span for spans in in_prompt for span in spans], encoded.prompt_offsets)
            values.append(word_map(tokens, row_tokens, tokens_of(columns, encoded.answer_offsets)))
            rows += [
                ArgumentWord(groups[piece.text], piece.text, start, end)
                for piece, words in zip(block, of_block, strict=True)
                for start, end in words
            ]
        return SalienceMap(tuple(rows), tuple(columns), np.concatenate(values), len(blocks))

    def _attributions(self, encoded: Encoded, meter: Meter) -> Array:
        """The normalised token map of a prompt and the answer."""
        from eirene.eval.salience.attribution import attribute_tokens

        meter.add(Usage(calls=1, input_tokens=len(encoded.ids)))
        found = attribute_tokens(
            self._model.model,
            encoded.ids,
            len(encoded.answer_offsets),
            soft_prompt=self._model.soft_prompt,
            measure=self._measure,
            chunk=self._chunk,
        )
        return normalised(found)


def _words(piece: Piece, case: Case) -> list[Span]:
    """The content words of a piece, with their offsets in the argument."""
    words = content_spans(case.given.arguments[piece.text])
    return [(start, end) for start, end in words if piece.start <= start < piece.end]


def _shifted(spans: Sequence[Span], by: int) -> list[Span]:
    return [(start + by, end + by) for start, end in spans]
