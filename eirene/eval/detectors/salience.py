"""The `salience` detector: scores from the gradients of a local language model.

The word-to-word maps behind the scores are made by a local language model; the latest are kept. Query and arguments
stand in curly braces before the answer, so that every offset is known. What is longer than the model takes is shared
out over several prompts; the answer stands whole in each. Reference: NPOV, section 3.2 and appendix C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from eirene.core.errors import InputError
from eirene.core.memo import Memo
from eirene.core.scores import ArgumentScore, Score, Scores, SentenceScore, Unscored, WordScore
from eirene.core.usage import Meter, Usage
from eirene.eval.base import Case, Need, layout_digest, where_given
from eirene.eval.detectors.chunks import Piece, share_out, whole
from eirene.eval.detectors.gradients import Measure, Span, attribute_tokens, normalised, tokens_of, word_map
from eirene.eval.registry import detector
from eirene.eval.resources import Resources
from eirene.prompts.curly import CurlyText, response_prompt
from eirene.text.sentences import split_sentences
from eirene.text.words import STOP_WORDS, word_spans

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedTokenizerBase

    from eirene.models.local.model import LocalModel

    Array = NDArray[np.float64]

Aggregate = Literal["max", "sum", "entropy"]
"""How a word's row or column becomes one number: its largest entry (the paper's choice), its sum, or how little it is
spread out (negative entropy)."""
Mean = Literal["geometric", "arithmetic"]
"""How words become one number: appendix C of the paper says geometric, section 3.2 only mean."""
AGGREGATES: tuple[Aggregate, ...] = get_args(Aggregate)
MEANS: tuple[Mean, ...] = get_args(Mean)
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
    Example: docs/concepts/salience.md.
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
        self.name = name
        self._keep_shares = keep_shares
        self.version = f"{maps.version},{aggregate},{mean}" + (",shares" if keep_shares else "")

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
        scores = Scores(
            hallucination=hallucination,
            coverage=coverage,
            sentences=tuple(self._sentences(found, beta, case.answer)),
            arguments=self._arguments(found, alpha, case),
            words=tuple(self._word(span, b) for span, b in zip(found.columns, beta, strict=True)),
            shares=largest_shares(found.values) if self._keep_shares else (),
            chunks=found.chunks,
        )
        return where_given(case, scores)

    def _arguments(self, found: SalienceMap, alpha: Array, case: Case) -> tuple[ArgumentScore, ...]:
        scores = []
        number = 0
        for group in case.given.groups:
            for n, _ in enumerate(group.arguments, start=1):
                at = [i for i, row in enumerate(found.rows) if row.argument == number]
                words = tuple(self._word((found.rows[i].start, found.rows[i].end), alpha[i]) for i in at)
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
                [(start + place[0] - piece.start, end + place[0] - piece.start) for start, end in words]
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


def content_spans(text: str) -> list[Span]:
    """Offsets of the words of `text` that are no stop words, as `rouge` has them."""
    return [(start, end) for start, end in word_spans(text) if text[start:end].lower() not in STOP_WORDS]


def strengths(words: Array, aggregate: Aggregate, *, axis: Literal[0, 1]) -> Array:
    """One number a word, higher is better: alpha (contribution of argument words) along axis 1, beta (attribution of
    answer words) along axis 0.

    `max` lies in [0, 1], `sum` is not bounded above; `entropy` is e to the negative entropy of the word's share in each
    other, in [0, 1], so that its geometric mean ranks as the mean of negative entropies does. A word without any share
    has 0.
    """
    if words.shape[axis] == 0:
        return np.zeros(words.shape[1 - axis])
    if aggregate == "max":
        return np.asarray(words.max(axis=axis))
    sums = words.sum(axis=axis, keepdims=True)
    if aggregate == "sum":
        return np.asarray(sums.reshape(-1))
    shares = np.divide(words, sums, out=np.zeros_like(words), where=sums > 0)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    spread = np.exp((shares * logs).sum(axis=axis))
    return np.where(sums.reshape(-1) > 0, spread, 0.0)


def error_score(strength: Array, aggregate: Aggregate, mean: Mean) -> float:
    """The error score in [0, 1] of some words, higher is worse: 1 - mean, for `sum` 1 / (1 + mean).

    A sum has no upper bound, and 1 minus it would leave [0, 1]; the order of examples is the same. Raises `ValueError`
    without words.
    """
    if strength.size == 0:
        raise ValueError("no words: there is nothing to take the mean of")
    value = _mean(strength, mean)
    return 1.0 / (1.0 + value) if aggregate == "sum" else min(1.0, max(0.0, 1.0 - value))


def word_error(strength: float, aggregate: Aggregate) -> float:
    """The error score of one word, in [0, 1]."""
    return error_score(np.array([strength]), aggregate, "arithmetic")


def _mean(strength: Array, mean: Mean) -> float:
    if mean == "arithmetic":
        return float(strength.mean())
    if (strength <= 0).any():
        return 0.0
    return float(np.exp(np.log(strength).mean()))


MOST_SHARES = 1500
LEAST_SHARE = 0.01


def largest_shares(values: Array) -> tuple[tuple[int, int, float], ...]:
    """The entries of a word map from `LEAST_SHARE` on as (row, column, share), the `MOST_SHARES` largest, in order of
    size: what of a map a record can hold."""
    rows, columns = np.nonzero(values >= LEAST_SHARE)
    order = np.argsort(-values[rows, columns], kind="stable")[:MOST_SHARES]
    return tuple(
        (int(i), int(j), min(1.0, round(float(values[i, j]), 3)))
        for i, j in zip(rows[order], columns[order], strict=True)
    )


_ASKED = "Write a response that gives every one of these arguments, and nothing else.\n\n"


@dataclass(frozen=True, slots=True)
class EncodedAnswer:
    """A prompt and an answer as tokens. `places` has, for each piece, where in the prompt's text it stands."""

    ids: list[int]
    prompt_offsets: list[Span]
    answer_offsets: list[Span]
    places: tuple[Span, ...]


def encode(model: LocalModel, case: Case, pieces: Sequence[Piece]) -> EncodedAnswer:
    """The tokens of the prompt with these pieces, and of the answer; token offsets are those of prompt text and answer.

    Tokens that stand outside the prompt's own text, such as a chat template's, have the offsets (0, 0).
    """
    laid_out = _laid_out(case, pieces)
    before, after = model.encode_frame(_ASKED if model.layout == "chat" else "")
    ids, offsets = _tokens(model.tokenizer, laid_out.text)
    # With the space that stands before it, as a tokenizer would have it in running text.
    answer_ids, offsets_with_space = _tokens(model.tokenizer, " " + case.answer)
    answer_offsets = [(max(0, start - 1), max(0, end - 1)) for start, end in offsets_with_space]
    outside: list[Span] = [(0, 0)]
    return EncodedAnswer(
        [*before, *ids, *after, *answer_ids],
        outside * len(before) + offsets + outside * len(after),
        answer_offsets,
        laid_out.places,
    )


def prompt_text(case: Case) -> str:
    """All words that stand before the answer where everything fits in one prompt."""
    return _ASKED + _laid_out(case, whole(case.given.arguments)).text


def _laid_out(case: Case, pieces: Sequence[Piece]) -> CurlyText:
    arguments, groups = case.given.arguments, groups_of(case)
    return response_prompt(case.query, [(groups[piece.text], piece.of(arguments)) for piece in pieces])


def groups_of(case: Case) -> list[str]:
    """The name of each argument's group, in order."""
    return [group.name for group in case.given.groups for _ in group.arguments]


def _tokens(tokenizer: PreTrainedTokenizerBase, text: str) -> tuple[list[int], list[Span]]:
    """The tokens of a text from outside: special tokens that it spells out are taken letter by letter."""
    found: Any = cast(Any, tokenizer)(
        text, add_special_tokens=False, return_offsets_mapping=True, split_special_tokens=True
    )
    return list(found["input_ids"]), [(int(start), int(end)) for start, end in found["offset_mapping"]]
