"""The `salience` detector: scores from the gradients of a local language model.

The word-to-word maps behind the salience scores, made by a local language model; the latest are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eirene.core.errors import InputError
from eirene.core.memo import Memo
from eirene.core.scores import ArgumentScore, Score, Scores, SentenceScore, Unscored, WordScore
from eirene.core.usage import Meter, Usage
from eirene.eval.base import Case, Need, layout_digest
from eirene.eval.detectors.chunks import Piece, share_out, whole
from eirene.eval.detectors.salience.maps import (
    AGGREGATES,
    MEANS,
    Aggregate,
    EncodedAnswer,
    Mean,
    Span,
    content_spans,
    encode,
    error_score,
    groups_of,
    largest_shares,
    normalised,
    prompt_text,
    strengths,
    tokens_of,
    word_error,
    word_map,
)
from eirene.eval.registry import detector
from eirene.eval.resources import Resources
from eirene.text.sentences import split_sentences

if TYPE_CHECKING:
    from eirene.eval.detectors.salience.attribution import Measure
    from eirene.eval.detectors.salience.maps import Array
    from eirene.models.local.model import LocalModel

NEEDS_JUDGE = "needs a judge: nothing was given to check the answer against"
_NO_WORDS = "no content words"
_KEPT = 64  # maps


class SalienceDetector:
    """Gradients of a local causal language model, from the words of the answer to those of the arguments.

    Score: with alpha of an argument's word its strongest contribution to any word of the answer, and beta of an
        answer's word its strongest attribution to any argument's: coverage = 1 - the least mean of alpha of a group,
        hallucination = 1 - the mean of beta; of an argument, a sentence or a word likewise. `aggregate` puts the sum or
        the negative entropy in the place of the maximum, `mean` the arithmetic mean in the place of the geometric one,
        the maps' `measure` the gradient's L2 norm in the place of gradient times input. With `keep_shares` the scores
        hold the map's largest entries.
    Needs: given text and a local model. With source `derived` hallucination is unscored.
    Reference: NPOV, section 3.2 and appendix C.
    Example: docs/concepts/detectors.md.
    """

    needs: frozenset[Need] = frozenset({"given", "local_model"})

    def __init__(
        self,
        maps: WordMaps,
        *,
        aggregate: Aggregate = "max",
        mean: Mean = "geometric",
        name: str = "salience",
        keep_shares: bool = False,
    ) -> None:
        for field, value, known in (("aggregate", aggregate, AGGREGATES), ("mean", mean, MEANS)):
            if value not in known:
                raise InputError(f"{field} must be one of {', '.join(known)}, got {value!r}", field=field)
        self._maps = maps
        self._aggregate: Aggregate = aggregate
        self._mean: Mean = mean
        self._name = name
        self._keep_shares = keep_shares
        self.version = f"{maps.version},{aggregate},{mean}" + (",shares" if keep_shares else "")

    @property
    def name(self) -> str:
        """The key of its scores."""
        return self._name

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `BackendError` when memory runs out."""
        found = await self._maps.get(case, meter=meter)
        return Scores.none(found.unscored) if isinstance(found, Unscored) else self.scores_of(found, case)

    def scores_of(self, found: SalienceMap, case: Case) -> Scores:
        """The scores that a map gives."""
        alpha = strengths(found.values, self._aggregate, axis=1)
        beta = strengths(found.values, self._aggregate, axis=0)
        groups = list(dict.fromkeys(row.group for row in found.rows))
        of_group = [np.array([row.group == name for row in found.rows]) for name in groups]
        coverage: Score = max(self._error(alpha[mask]) for mask in of_group)
        hallucination: Score = (
            self._error(beta) if found.columns else Unscored(unscored="the answer has no content words")
        )
        if case.given.source == "derived":
            return Scores(
                hallucination=Unscored(unscored=NEEDS_JUDGE),
                coverage=coverage,
                arguments=self._arguments(found, alpha, case),
                chunks=found.chunks,
            )
        return Scores(
            hallucination=hallucination,
            coverage=coverage,
            sentences=tuple(self._sentences(found, beta, case.answer)),
            arguments=self._arguments(found, alpha, case),
            words=tuple(self._word(span, b) for span, b in zip(found.columns, beta, strict=True)),
            shares=largest_shares(found.values) if self._keep_shares else (),
            chunks=found.chunks,
        )

    def _arguments(self, found: SalienceMap, alpha: Array, case: Case) -> tuple[ArgumentScore, ...]:
        scores = []
        number = 0
        for group in case.given.groups:
            for n, _ in enumerate(group.arguments, start=1):
                at = [i for i, row in enumerate(found.rows) if row.argument == number]
                words = tuple(
                    WordScore(
                        start=found.rows[i].start,
                        end=found.rows[i].end,
                        score=word_error(float(alpha[i]), self._aggregate),
                    )
                    for i in at
                )
                scores.append(ArgumentScore(group=group.name, n=n, coverage=self._score(alpha[at]), words=words))
                number += 1
        return tuple(scores)

    def _sentences(self, found: SalienceMap, beta: Array, answer: str) -> list[SentenceScore]:
        scores = []
        for sentence in split_sentences(answer):
            at = [i for i, (start, _) in enumerate(found.columns) if sentence.start <= start < sentence.end]
            scores.append(SentenceScore(n=sentence.n, hallucination=self._score(beta[at])))
        return scores

    def _word(self, span: Span, strength: float) -> WordScore:
        return WordScore(start=span[0], end=span[1], score=word_error(float(strength), self._aggregate))

    def _score(self, strength: Array) -> Score:
        return self._error(strength) if strength.size else Unscored(unscored=_NO_WORDS)

    def _error(self, strength: Array) -> float:
        return error_score(strength, self._aggregate, self._mean)


@detector("salience", needs=SalienceDetector.needs, about="a local model's gradients, largest share (NPOV 3.2)")
def _build(resources: Resources, *, aggregate: Aggregate = "max", name: str = "salience") -> SalienceDetector:
    maps = resources.once("salience", lambda: WordMaps(resources.local_model))  # all salience detectors share them
    return SalienceDetector(maps, aggregate=aggregate, name=name, keep_shares=resources.word_maps)


@detector("salience-sum", needs=SalienceDetector.needs, about="the same, shares summed (NPOV, appendix C)")
def _build_sum(resources: Resources) -> SalienceDetector:
    return _build(resources, aggregate="sum", name="salience-sum")


@detector("salience-entropy", needs=SalienceDetector.needs, about="the same, negative entropy of the shares")
def _build_entropy(resources: Resources) -> SalienceDetector:
    return _build(resources, aggregate="entropy", name="salience-entropy")


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
        self.version = f"{model.version},prompt={layout_digest(prompt_text)},{measure},{self._max_tokens}"
        self._known: Memo[Case, SalienceMap | Unscored] = Memo(_KEPT)

    async def get(self, case: Case, *, meter: Meter) -> SalienceMap | Unscored:
        """The word-to-word map of a case, or why there is none. Raises `BackendError` when memory runs out."""
        # In the model's one thread, so that a map asked for twice at a time is made once.
        return await self._model.compute(lambda: self._known.get_or_make(case, lambda: self._map(case, meter)))

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

    def _attributions(self, encoded: EncodedAnswer, meter: Meter) -> Array:
        """The normalised token map of a prompt and the answer."""
        from eirene.eval.detectors.salience.attribution import attribute_tokens

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
