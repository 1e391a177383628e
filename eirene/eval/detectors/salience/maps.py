"""Salience maps: the prompt whose gradients are taken, and from token attributions to word maps and error scores.

Reference: NPOV, section 3.2 and appendix C. Query and arguments stand in curly braces before the answer, every offset
is known. What is longer than the model takes is shared out over several prompts; the answer stands whole in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import numpy as np

from eirene.eval.base import Case
from eirene.eval.detectors.chunks import Piece, whole
from eirene.prompts.curly import CurlyText, response_prompt
from eirene.text.words import STOP_WORDS, word_spans

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from eirene.models.local.model import LocalModel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

Aggregate = Literal["max", "sum", "entropy"]
"""How a word's row or column becomes one number: its largest entry (the paper's choice), its sum, or how little it is
spread out (negative entropy)."""
Mean = Literal["geometric", "arithmetic"]
"""How words become one number: appendix C of the paper says geometric, section 3.2 only mean."""
AGGREGATES: tuple[Aggregate, ...] = get_args(Aggregate)
MEANS: tuple[Mean, ...] = get_args(Mean)
Span = tuple[int, int]


def normalised(attributions: Array) -> Array:
    """Squares the token map and makes each column sum to 1; a column of zeros stays one."""
    # Scaled first: squares of very small numbers would all be 0.
    largest = np.abs(attributions).max(axis=0, keepdims=True, initial=0.0)
    squares = np.square(np.divide(attributions, largest, out=np.zeros_like(attributions), where=largest > 0))
    sums = squares.sum(axis=0, keepdims=True)
    return np.asarray(np.divide(squares, sums, out=np.zeros_like(squares), where=sums > 0))


def content_spans(text: str) -> list[Span]:
    """Offsets of the words of `text` that are no stop words, as `rouge` has them."""
    return [(start, end) for start, end in word_spans(text) if text[start:end].lower() not in STOP_WORDS]


def tokens_of(words: Sequence[Span], tokens: Sequence[Span]) -> list[list[int]]:
    """The tokens that each word shares a character with; both lists are in the order of the text.

    A token that reaches over two words belongs to both.
    """
    found: list[list[int]] = []
    first = 0
    for start, end in words:
        while first < len(tokens) and tokens[first][1] <= start:
            first += 1
        n = first
        own = []
        while n < len(tokens) and tokens[n][0] < end:
            if tokens[n][1] > start:
                own.append(n)
            n += 1
        found.append(own)
    return found


def word_map(tokens: Array, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> Array:
    """The word-to-word map: the largest entry between any token of the row's word and any of the column's."""
    by_row = np.array([tokens[list(r)].max(axis=0) if r else np.zeros(tokens.shape[1]) for r in rows])
    by_row = by_row.reshape(len(rows), tokens.shape[1])
    both = [by_row[:, list(c)].max(axis=1) if c else np.zeros(len(rows)) for c in columns]
    return np.array(both).reshape(len(columns), len(rows)).T


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
