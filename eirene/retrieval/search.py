"""Vector search: a scan over the vectors' signs, exact cosines of the nearest thousand; names.

A vector of 384 numbers becomes 48 bytes of signs, whose Hamming distance to the query's follows the angle between the
two. A million of them are scanned in milliseconds with nothing to build beforehand, the result does not depend on the
order or the number of builds, and exact cosines put right what the signs got wrong
(docs/guides/corpus.md has the recall).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eirene.text.words import STOP_WORDS

Words = NDArray[np.uint64]
Rows = NDArray[np.int64]
Distances = NDArray[np.uint16]
CANDIDATES = 1000
"""Vectors whose cosines are computed."""
_BLOCK = 32_768  # vectors at once: their distances stay in the cache
_WORDS_OF_A_BYTE = 3  # of 64 signs each: their distances add up to a byte
_SAMPLE = 50_000
MOST = 0.5
"""Passages with more than this share of the names' weight share the names."""
_COMMON = 0.02
"""A name in more than this share of the passages tells nothing."""
_WORD = re.compile(r"[^\W_]+(?:[.,]\d+)*", re.UNICODE)
_LONGEST = 64


def signs(vectors: NDArray[Any]) -> Words:
    """The signs of vectors [n, width], packed: [ceil(width / 64), n], a column for each vector."""
    bits = np.packbits(np.asarray(vectors) > 0, axis=1)
    padded = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return np.ascontiguousarray(padded.view(np.uint64).T)


def distances_of(codes: Words, query: NDArray[np.float32]) -> Distances:
    """The Hamming distance of each column of `codes` [words, n] from the query's signs: [n]."""
    wanted = signs(query[None])[:, 0]
    size = codes.shape[1]
    distance = np.zeros(size, np.uint16)
    for start in range(0, size, _BLOCK):
        block = codes[:, start : start + _BLOCK]
        for word in range(0, len(block), _WORDS_OF_A_BYTE):
            some = slice(word, word + _WORDS_OF_A_BYTE)
            held = [np.bitwise_count(row ^ own) for row, own in zip(block[some], wanted[some], strict=True)]
            for more in held[1:]:
                held[0] += more
            distance[start : start + _BLOCK] += held[0]
    return distance


def near_by_signs(distances: Distances, count: int) -> Rows:
    """The places of the smallest distances: at least `count` (all of the last distance), in rising order."""
    count = min(count, len(distances))
    step = len(distances) // _SAMPLE
    if step > 1:  # counting all of them takes longer than the rest: most lie beyond what a sample shows to be enough
        seen = np.bincount(distances[::step]).cumsum()
        found = np.flatnonzero(distances <= np.searchsorted(seen, 2 * count / step + 10))
    if step <= 1 or len(found) < count:
        found = np.arange(len(distances))
    own = distances[found]
    return found[own <= np.searchsorted(np.bincount(own).cumsum(), count)]


def cosines_of(
    vectors: NDArray[np.float16], rows: Rows, passages: Rows, query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """The cosines of some passages with the query, in single precision."""
    return np.asarray(vectors[np.asarray(rows[passages])], np.float32) @ query


def products_of(vectors: NDArray[np.float16], rows: Rows, query: NDArray[np.float32]) -> NDArray[np.float32]:
    """The inner products of all passages with the query: [n]. Vectors of any length; signs tell nothing of that."""
    starts = range(0, len(rows), _BLOCK)
    places = (np.arange(start, min(start + _BLOCK, len(rows))) for start in starts)
    return np.concatenate([cosines_of(vectors, rows, block, query) for block in places])


def shares_of_names(keys: Words, owners: NDArray[np.int32], size: int, text: str) -> NDArray[np.float64] | None:
    """The share of the text's names that each passage has, weighed, in [0, 1]: [size]; None without names that count.

    `keys` are hashed names in rising order, `owners` the passages that have them. A name weighs log(size / number of
    passages that have it); one that more than 2 % of the passages have counts nothing, and neither does one that no
    passage has.
    """
    having: list[NDArray[np.int32]] = []
    weights: list[float] = []
    for name in sorted(names_of(text)):
        key = np.uint64(hashed(name))
        low, high = int(np.searchsorted(keys, key, "left")), int(np.searchsorted(keys, key, "right"))
        if low == high or high - low > max(_COMMON * size, 10):
            continue
        having.append(owners[low:high])
        weights.append(float(np.log(1 + size / (high - low))))
    if not having:
        return None
    each = np.repeat(weights, [len(some) for some in having])
    found = np.bincount(np.concatenate(having), each, minlength=size)
    return np.minimum(np.asarray(found, np.float64) / sum(weights), 1.0)


def sharing_names(shares: NDArray[np.float64], distances: Distances, count: int) -> Rows:
    """The passages with more than half of the names' weight, in rising order.

    Where they are more than `count`, those with the smallest distances: many passages may share the one name asked for.
    """
    found = np.flatnonzero(shares > MOST)
    if len(found) > count:
        found = np.sort(found[np.argsort(distances[found], kind="stable")[:count]])
    return found


def names_of(text: str) -> frozenset[str]:
    """The words that begin with a capital letter, lower-cased, and the numbers; stop words are no names.

    A sentence's first word counts as well: it cannot be told from a name by its letter, and a common word weighs little
    (see `eirene.retrieval.search`). Text without any capital letter (a typed query) has its numbers alone.
    """
    found = set()
    for match in _WORD.finditer(text):
        word = match.group()[:_LONGEST]
        if word[0].isdigit() or (word[0].isupper() and word.lower() not in STOP_WORDS):
            found.add(word.lower())
    return frozenset(found)


def titled(titles: Sequence[str], query: str) -> int | None:
    """The place of the title that names what the query is about: the longest that stands in its first line (the
    question), or else anywhere in it, word for word and with a name in it. Of equals the first; None without one.
    """

    def words(text: str) -> str:
        return f" {' '.join(_WORD.findall(text.lower()))} "

    named = [(n, words(title)) for n, title in enumerate(titles) if names_of(title)]
    for text in (query.partition("\n")[0], query):
        found = [(len(title), -n) for n, title in named if title in words(text)]
        if found:
            return -max(found)[1]
    return None


def hashed(name: str) -> int:
    """64 bits that stand for a name."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
