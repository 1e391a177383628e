"""Pairs as the verifier's head reads them: tokens of premise and claim, what their words are, which are the same."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eirene.models.encoder.tokens import TokenLayers
from eirene.text.function_words import ENGLISH_WORDS
from eirene.text.specifics.number_words import ORDINALS, SCALES, SMALL
from eirene.text.words import stem

FLAGS = (
    "same token",
    "same word",
    "same stem",
    "same word after the same word",
    "number",
    "number not there",
    "negation",
    "name",
    "name not there",
    "function word",
    "content word not there",
    "goes on",
    "first of its sentence",
)
"""What is known of a token of one text beside the other text, 0 or 1 each."""
LINKS = ("same token", "same word or stem", "after the same word", "before the same word")
"""What is known of a token of the claim and one of the premise, 0 or 1 each."""
MOST_TOKENS = 192
"""Of a premise, and of a claim; what stands after them is not read."""

_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|[^\w\s]")
_NEGATIONS = frozenset(
    """
    no not never none nobody nothing neither nor without cannot hardly barely scarcely false falsely deny denies denied
    fail fails failed lack lacks lacked unable unlikely
    """.split()  # noqa: SIM905
)
Bits = NDArray[np.uint8]


@dataclass(frozen=True, slots=True, eq=False)
class TokenText:
    """A text's tokens with what its words are: the part of the flags that needs no other text.

    `words`: the word that each token belongs to, by index; -1 for none. `columns` [5, tokens]: the wordpiece's id, then
    as numbers that other words are not likely to have the token's word (in lower case, numbers as their value), its
    stem, and the stems before and after it; -1 for none. `kinds` [tokens, 7]: number, negation, name, function word,
    content word, goes on (no first wordpiece of its word), first word of its text.
    """

    tokens: TokenLayers
    words: NDArray[np.int32]
    columns: NDArray[np.int64]
    kinds: Bits


def token_text(text: str, tokens: TokenLayers) -> TokenText:
    """The words of a text beside its tokens."""
    found = list(_WORD.finditer(text))
    keys = [_key(m.group()) for m in found]
    stemmed = [stem(key) if key[:1].isalpha() else key for key in keys]
    kinds = np.zeros((len(found) + 1, 7), np.uint8)  # -1, for tokens of no word, is the last row of each array
    starts = np.array([m.start() for m in found], np.int32)
    for n, match in enumerate(found):
        word = match.group()
        is_number = keys[n][:1].isdigit()
        is_word = word[0].isalpha()
        is_function = keys[n] in ENGLISH_WORDS
        is_name = is_word and word[0].isupper() and (n > 0 or any(c.isupper() for c in word[1:])) and not is_function
        negates = keys[n] in _NEGATIONS or keys[n].endswith(("n't", "n’t"))
        kinds[n, :5] = is_number, negates, is_name, is_function and not negates, is_word and not is_function
    words = np.searchsorted(starts, tokens.spans[:, 0], side="right").astype(np.int32) - 1
    values, stems = (np.array([*map(_number, own), -1], np.int64) for own in (keys, stemmed))
    before = np.concatenate([[-1], stems[:-2], [-1]])[: len(values)]
    after = np.concatenate([stems[1:], [-1]])
    of_tokens = kinds[words]
    of_tokens[1:, 5] = words[1:] == words[:-1]
    of_tokens[:, 6] = words == 0
    columns = np.stack([tokens.ids.astype(np.int64), values[words], stems[words], before[words], after[words]])
    return TokenText(tokens, words, columns, of_tokens)


def _key(word: str) -> str:
    lower = word.lower()
    if lower[0].isdigit():
        figure = lower.replace(",", "")
        return figure.rstrip("0").rstrip(".") if "." in figure else figure
    if lower in SMALL and lower != "one":
        return str(SMALL[lower])
    if lower in ORDINALS and lower not in ("first", "second"):
        return str(ORDINALS[lower])
    return str(SCALES[lower]) if lower in SCALES and lower != "dozen" else lower.replace("’", "'")


@dataclass(frozen=True, slots=True, eq=False)
class PairTokens:
    """A premise of p tokens and a claim of c: their flags [., 13] and the links between them [c, p, 4]; 0 or 1."""

    claim_flags: Bits
    premise_flags: Bits
    links: Bits


def pair_of(premise: Sequence[TokenText], claim: TokenText) -> PairTokens:
    """The flags and links of a claim beside a premise of one or more sentences, at most `MOST_TOKENS` tokens each."""
    given, said = _Joined(premise), _Joined([claim])
    same_word = said.word[:, None] == given.word[None, :]
    same_stem = same_word | (said.stem[:, None] == given.stem[None, :])
    has_word = (said.word >= 0)[:, None] & (given.word >= 0)[None, :]
    same_stem &= has_word
    same_token = said.ids[:, None] == given.ids[None, :]
    after = same_stem & ((said.before[:, None] == given.before[None, :]) & (said.before >= 0)[:, None])
    ahead = same_stem & ((said.after[:, None] == given.after[None, :]) & (said.after >= 0)[:, None])
    links = np.stack([same_token, same_stem, after, ahead], axis=-1).astype(np.uint8)
    exact = same_word & has_word
    return PairTokens(_flags(said, links, exact), _flags(given, links.swapaxes(0, 1), exact.T), links)


class _Joined:
    """The tokens of some sentences as one row."""

    def __init__(self, texts: Sequence[TokenText]) -> None:
        columns = np.concatenate([text.columns for text in texts], axis=1)[:, :MOST_TOKENS]
        self.ids, self.word, self.stem, self.before, self.after = columns
        self.kinds = np.concatenate([text.kinds for text in texts])[:MOST_TOKENS]


def _number(key: str) -> int:
    """A word as a number of at least 0, the same in every process, that no other word of a text is likely to have."""
    return int.from_bytes(hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=7).digest(), "big")


def _flags(own: _Joined, links: Bits, exact: NDArray[np.bool_]) -> Bits:
    there, word_there = np.asarray(links.any(axis=1)), np.asarray(exact.any(axis=1))
    number, negation, name, function, content, goes_on, first = own.kinds.T.astype(np.bool_)
    stem_there = there[:, 1]
    columns = (
        there[:, 0], word_there, stem_there, there[:, 2], number, number & ~word_there, negation, name,
        name & ~stem_there, function, content & ~stem_there, goes_on, first,
    )  # fmt: skip
    return np.stack(columns, axis=-1).astype(np.uint8)
