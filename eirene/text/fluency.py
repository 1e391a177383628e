"""Fluency of an English sentence: words in an order that is no sentence, a torn end, a beginning cut off.

Rests on the boundaries between neighbouring words: how unlikely it is, place by place, that two of them stand side by
side. A small convolutional network over words and their shapes tells, in numpy: about 1 ms for 100 words. `fluency.npz`
beside this file holds its words and weights; `benchmarks/fit_fluency.py` makes it and names the data it learned from.

Fluent and odd is no judgement on style: human sentences in haste, with faults of spelling or grammar, lists of names
and long sentences are fluent. A boundary between two words is a joint below.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from eirene.text.matching import Span

FILE = "fluency.npz"
MOST_TOKENS = 1000
"""Tokens of a sentence that are read; what comes after is taken for its end."""

DILATIONS = (1, 2, 4, 8)
"""How far apart the three words lie that a layer looks at."""

# Marks of emphasis, headings, tables and footnotes are no part of a sentence.
_TOKEN = re.compile(r"https?://\S+|[^\W_]+(?:['’][^\W_]+)*|\.{3}|\[\^?\d{1,3}\]|[^\w\s*`#~>|\\]")
_QUOTES = str.maketrans("“”„«»‘’–", '""""""' + "'-")
_SHAPES = ("end", "mark", "number", "lower", "title", "upper", "mixed")
SHAPES = len(_SHAPES)
_LONGEST = 40
STRANGE = -1.4
"""Strangeness from which the order of a sentence's words is objectionable."""
BROKEN = 1.3
"""Log-odds from which two words do not belong together, where one joint is new; 0.6 more for e times as many."""


@dataclass(frozen=True, slots=True)
class Torn:
    """Log-odds from which an end or a beginning is torn, by how it looks: a small first letter, no mark at the end."""

    end: float = 2.0
    bare_end: float = 1.8
    beginning: float = 2.0
    small_beginning: float = 2.2


TIDY = Torn(bare_end=1.2, small_beginning=1.8)
"""For a text whose other sentences begin with a capital letter and end with a mark."""
ANY = Torn()

_USUAL, _WEIGHT = -3.0, 4.0
"""A sentence counts as if it had so many more joints of the usual kind: few joints prove little."""
_MOST = 4.0
_KNOWN_SHARE = 0.4
_LONG = 4000
"""Characters from which a text is not remembered."""
_WORD = re.compile(r"[^\W\d_]")
_PIECE = re.compile(r"(?<=[.!?;:…])\s+|[\n\r]+")
# No sentence ends with one of these, whatever is before it.
_ENDLESS = "the a an and or nor because although whereas unless my our your their every than whose"
_NEVER_LAST = frozenset(_ENDLESS.split())
_CERTAIN = 2.5
_MARKS = frozenset(".!?…:;") | {"..."}

Pairs = Set[tuple[str, str]]
"""Neighbouring words (lower case) of a text; ("", "first second") opens a sentence, ("last two", "") ends one."""


@dataclass(frozen=True)
class Boundaries:
    """A sentence's tokens, in lower case and by offsets, and the log-odds that each joint is broken.

    `odds[i]` is the joint before token i; `odds[0]` the beginning, `odds[-1]` the end. `known_words`: share of the
    words that the model knows.
    """

    tokens: tuple[str, ...]
    spans: tuple[Span, ...]
    odds: NDArray[np.float32]
    known_words: float

    @property
    def words(self) -> int:
        """How many tokens are words or numbers."""
        return sum(token[0].isalnum() for token in self.tokens)

    def pairs(self) -> list[tuple[str, str]]:
        """What stands on either side of each joint, as in `Pairs`."""
        t = self.tokens
        return [("", " ".join(t[:2])), *pairwise(t), (" ".join(t[-2:]), "")]

    def novel(self, known: Pairs) -> NDArray[np.bool_]:
        """Which joints are none of `known`."""
        return np.array([pair not in known for pair in self.pairs()])


def boundaries_of(sentence: str) -> Boundaries | None:
    """The joints of a sentence; None where it has no words."""
    return _remembered(sentence) if len(sentence) < _LONG else _read(sentence)


def _read(sentence: str) -> Boundaries | None:
    if sentence.isupper():
        sentence = sentence.capitalize() if len(sentence.capitalize()) == len(sentence) else sentence
    spans = tuple(token_matches(sentence))
    tokens = [sentence[a:b] for a, b in spans]
    if not any(token[0].isalnum() for token in tokens):
        return None
    model = load_boundary_model()
    words = [token.lower().replace("’", "'") for token in tokens if _WORD.match(token)]
    share = sum(word in model.words for word in words) / max(len(words), 1)
    lower = tuple(token.lower().replace("’", "'") for token in tokens)
    odds = np.clip(model.log_odds(tokens), -_MOST, _MOST)
    if len(tokens) == MOST_TOKENS:
        odds[-1] = -_MOST  # cut here, not there
    elif lower[-1] in _NEVER_LAST or (len(lower) > 1 and lower[-1] in "…..." and lower[-2] in _NEVER_LAST):
        odds[-1] = max(odds[-1], _CERTAIN)
    return Boundaries(lower, spans, odds, share)


_remembered = lru_cache(maxsize=4096)(_read)


def strangeness(sentence: str, near: Span | None = None) -> float:
    """How little the words of an English sentence read as one, in [-4, 4]: mean log-odds that its joints are broken.

    Lower is more fluent: of human sentences half have less than -3.5 and 99 of 100 less than -1.7; of those in random
    order 96 of 100 have more. With `near` (offsets) only the joints at and inside that span count, as for a word that
    was replaced. -4 where there are no words. It knows no other language than English.
    """
    joints = boundaries_of(sentence)
    if joints is None:
        return -_MOST
    if near is None:
        return strangeness_of(joints.odds)
    starts = [a for a, _ in joints.spans] + [len(sentence) + 1]
    ends = [-1] + [b for _, b in joints.spans]
    at = [o for o, a, b in zip(joints.odds, starts, ends, strict=True) if b <= near[1] and a >= near[0]]
    return float(np.mean(at)) if at else -_MOST


def strangeness_of(odds: NDArray[np.float32]) -> float:
    """The mean of joints' log-odds, drawn towards the usual where they are few; of no joints the usual."""
    return float((odds.sum() + _WEIGHT * _USUAL) / (len(odds) + _WEIGHT))


def is_readable(joints: Boundaries, least: int = 4) -> bool:
    """Whether it is English prose to the model: enough words, and known ones."""
    return joints.words >= least and joints.known_words >= _KNOWN_SHARE and 2 * joints.words >= len(joints.tokens)


def is_torn(sentence: str, known: Pairs = frozenset(), bounds: Torn = ANY) -> str | None:
    """Why an English sentence reads as torn: it breaks off, or begins in the middle; None where it does not.

    Beginnings and ends in `known` (`pairs_of` what is given) are none of its faults.
    """
    joints = boundaries_of(sentence)
    if joints is None or not is_readable(joints, least=3):
        return None
    novel = joints.novel(known)
    last = max(i for i, token in enumerate(joints.tokens) if token[0].isalnum())
    end = bounds.end if joints.tokens[-1] in _MARKS else bounds.bare_end
    if joints.words < 4:
        end = _MOST if joints.tokens[-1] in _MARKS else bounds.end  # "Yes and no."
    tail = joints.odds[last + 1 :][novel[last + 1 :]]
    if len(tail) and tail.max() > end:
        return f'breaks off after "{_quoted(sentence, joints, max(0, last - 2), last)}"'
    is_small = sentence[joints.spans[0][0]].islower()
    if joints.words > 3 and novel[0] and joints.odds[0] > (bounds.small_beginning if is_small else bounds.beginning):
        return f'begins in the middle: "{_quoted(sentence, joints, 0, min(last, 3))}"'
    return None


def broken_at(sentence: str, known: Pairs = frozenset()) -> int | None:
    """Index of the token before which two words stand side by side that do not belong together; None where none do."""
    joints = boundaries_of(sentence)
    if joints is None or not is_readable(joints) or len(joints.odds) < 5:
        return None
    novel = joints.novel(known)[1:-1]
    inner = np.where(novel, joints.odds[1:-1], -np.inf)
    return int(inner.argmax()) + 1 if novel.any() and inner.max() > BROKEN + 0.6 * np.log(novel.sum()) else None


def pairs_of(text: str) -> Pairs:
    """The neighbouring words of a text, with the beginnings and ends of its sentences, as `Pairs`."""
    return _remembered_pairs(text) if len(text) < _LONG else _pairs(text)


def _pairs(text: str) -> Pairs:
    found: set[tuple[str, str]] = set()
    for piece in _PIECE.split(text):
        tokens = [piece[a:b].lower().replace("’", "'") for a, b in token_matches(piece)]
        if not tokens:
            continue
        found.update(pairwise(tokens))
        found.add(("", " ".join(tokens[:2])))
        found.add((" ".join(tokens[-2:]), ""))
        if not tokens[-1][0].isalnum():
            found.add((" ".join(tokens[-3:-1]), ""))
    return found


_remembered_pairs = lru_cache(maxsize=256)(_pairs)


def _quoted(sentence: str, joints: Boundaries, first: int, last: int) -> str:
    return sentence[joints.spans[first][0] : joints.spans[last][1]][:80]


def token_matches(sentence: str) -> list[Span]:
    """Offsets of the words (contractions whole) and marks of a sentence, at most `MOST_TOKENS`."""
    found = []
    for token in _TOKEN.finditer(sentence):
        if len(token.group()) > 1 and token.group()[0] == "[":
            continue
        found.append(token.span())
        if len(found) == MOST_TOKENS:
            break
    return found


@lru_cache(maxsize=16384)
def keys_of(token: str) -> tuple[str, tuple[str, ...], int]:
    """A token as the vocabulary knows it: its own key, those of its ending from long to short, and its shape."""
    word = token.lower().translate(_QUOTES)
    if not word[0].isalnum():
        return word, ("-mark",), 1
    if word.startswith("http") and ":" in word:
        return "http", ("-unit", "-number"), 2
    if word[0].isdecimal():
        kind = "-year" if len(word) == 4 and word.isdecimal() else "-number" if word.isdecimal() else "-unit"
        return word, (kind, "-number"), 2
    shape = 3 if token.islower() else 4 if token[0].isupper() and (len(token) == 1 or token[1:].islower()) else 0
    shape = shape or (5 if token.isupper() else 6)
    return word, (f"-{word[-4:]}", f"-{word[-3:]}", f"-{word[-2:]}", "-word"), shape


@dataclass(frozen=True)
class BoundaryModel:
    """The network: words, endings and shapes summed, then layers of three words each, then a judge of each joint."""

    words: Mapping[str, int]
    endings: Mapping[str, int]
    weights: Mapping[str, NDArray[np.float32]]

    def ids(self, tokens: Sequence[str]) -> NDArray[np.int64]:
        """Word, ending and shape of each token, and of a mark of the sentence's end on either side, [tokens + 2, 3]."""
        rows = [(1, 0, 0)]
        for token in tokens:
            word, endings, shape = keys_of(token[:_LONGEST])
            ending = next((self.endings[e] for e in endings if e in self.endings), 0)
            rows.append((self.words.get(word, 0), ending, shape))
        rows.append((2, 0, 0))
        return np.array(rows, np.int64)

    def log_odds(self, tokens: Sequence[str]) -> NDArray[np.float32]:
        """Of each joint, from before the first token to after the last, that it is broken; [tokens + 1]."""
        w = self.weights
        ids = self.ids(tokens)
        x = w["word"][ids[:, 0]] + w["ending"][ids[:, 1]] + w["shape"][ids[:, 2]]
        for n, step in enumerate(DILATIONS):
            padded = np.pad(x, ((step, step), (0, 0)))
            near = np.concatenate([padded[: len(x)], x, padded[2 * step :]], axis=1)
            y = np.maximum(near @ w[f"layer{n}"] + w[f"bias{n}"], 0.0)
            x = y if n == 0 else x + y
        both = np.concatenate([x[:-1], x[1:]], axis=1)
        hidden = np.maximum(both @ w["joint"] + w["joint_bias"], 0.0)
        return np.asarray(hidden @ w["out"] + w["out_bias"], np.float32)[:, 0]


@lru_cache(maxsize=1)
def load_boundary_model() -> BoundaryModel:
    """The model that ships; read at first use, in a few ms."""
    with (files("eirene.text") / FILE).open("rb") as packed, np.load(packed, allow_pickle=False) as data:
        weights = {
            name: data[name].astype(np.float32) * (data[f"scale_{name}"] if f"scale_{name}" in data else np.float32(1))
            for name in data.files
            if not name.startswith("scale_") and data[name].dtype != np.uint8
        }
        words, endings = (bytes(data[name]).decode("utf-8").split("\n") for name in ("words", "endings"))
    return BoundaryModel({w: n for n, w in enumerate(words)}, {e: n for n, e in enumerate(endings)}, weights)
