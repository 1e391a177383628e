"""Runs the shipped verifier on the encoder's token vectors: does a premise support a claim, or contradict it?"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from eirene.core.errors import EncoderError, message_line
from eirene.core.memo import Memo, once
from eirene.models.encoder.runtime import ReadsTokens, TokenLayers, shipped_encoder
from eirene.text.cancellation import check_cancelled
from eirene.text.language import ENGLISH_WORDS
from eirene.text.values.number_words import ORDINALS, SCALES, SMALL
from eirene.text.words import stem, word_set

if TYPE_CHECKING:
    import onnxruntime

    from eirene.models.encoder.runtime import Encodes

MOST_TOKENS = 192
"""Of a premise, and of a claim; what stands after them is not read."""

_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|[^\w\s]")
_NEGATIONS = word_set("verifier negations")
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


WEIGHTS = Path(__file__).parent / "weights"
"""The folder of the shipped head."""
MODEL_FILE = "verifier.onnx"
SHIPPED_DIGEST = "9ce9f5295e59"
"""Of the shipped head, as `Verifier.digest` begins."""
ENCODER_DIGEST = "63c596c62932"
"""Of the encoder whose token vectors the shipped head was trained on."""
INPUTS = ("claim", "claim_flags", "premise", "premise_flags", "links")
KEPT_PAIRS = 4096
_KEPT_TEXTS = 512

Probabilities = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class PremiseClaim:
    """What is read: the sentences of a premise in order, at least one, and a claim."""

    premise: tuple[str, ...]
    claim: str


class ReadsPairs(Protocol):
    """Anything that reads pairs as `Verifier` does, and has an encoder to pick with what is read."""

    @property
    def encoder(self) -> Encodes:
        """Compares whole sentences."""

    @property
    def digest(self) -> str:
        """Stands for it in signatures."""

    def read(self, pairs: Sequence[PremiseClaim]) -> Probabilities:
        """Supported, unsupported, contradicted for each pair, float32 [n, 3], each row summing to 1."""


class Verifier:
    """Probabilities that a premise supports a claim, does not tell, or contradicts it. Safe to share between threads.

    Every pair is run by itself, so that its result hangs on nothing beside it. `encoder` must be the one whose token
    vectors the head was trained on.
    """

    def __init__(self, session: onnxruntime.InferenceSession, encoder: ReadsTokens, digest: str) -> None:
        self._session = session
        self.encoder = encoder
        self.digest = digest
        """The first 12 hexadecimal digits of the SHA-256 of the head's file, for signatures."""
        self._read: Memo[PremiseClaim, Probabilities] = Memo(KEPT_PAIRS)
        self._texts: Memo[str, TokenText] = Memo(_KEPT_TEXTS)

    def read(self, pairs: Sequence[PremiseClaim]) -> Probabilities:
        """Supported, unsupported, contradicted for each pair, float32 [n, 3], each row summing to 1.

        A premise or a claim without a word gives "unsupported" surely.
        """
        out = np.zeros((len(pairs), 3), np.float32)
        wanted = []
        for n, pair in enumerate(pairs):
            known = self._read.get(pair)
            if known is None:
                wanted.append(n)
            else:
                out[n] = known
        if wanted:
            texts = self._token_texts([text for n in wanted for text in (pairs[n].claim, *pairs[n].premise)])
            for n in wanted:
                check_cancelled()
                out[n] = self._one([texts[text] for text in pairs[n].premise], texts[pairs[n].claim])
                self._read.put(pairs[n], out[n].copy())
        return out

    def _token_texts(self, texts: Sequence[str]) -> dict[str, TokenText]:
        distinct = list(dict.fromkeys(texts))
        found = {text: known for text in distinct if (known := self._texts.get(text)) is not None}
        missing = [text for text in distinct if text not in found]
        for text, tokens in zip(missing, self.encoder.tokens(missing) if missing else (), strict=True):
            found[text] = token_text(text, tokens)
            if len(tokens.ids) <= 64:
                self._texts.put(text, found[text])
        return found

    def _one(self, premise: Sequence[TokenText], claim: TokenText) -> Probabilities:
        vectors = [text.tokens.vectors for text in premise if len(text.tokens.ids)]
        if not vectors or not len(claim.tokens.ids):
            return np.array([0.0, 1.0, 0.0], np.float32)
        pair = pair_of(premise, claim)
        c, p, _ = pair.links.shape
        feed: dict[str, NDArray[Any]] = {
            "claim": claim.tokens.vectors[None, :c],
            "claim_flags": pair.claim_flags[None],
            "premise": np.concatenate(vectors)[None, :p],
            "premise_flags": pair.premise_flags[None],
            "links": pair.links[None],
        }
        found = run_head(self._session, {name: array.astype(np.float32) for name, array in feed.items()})
        if not np.isfinite(found).all():
            raise EncoderError("the verifier's weights are damaged: a probability is no number; reinstall eirene")
        return found


def run_head(session: onnxruntime.InferenceSession, feed: Mapping[str, NDArray[np.float32]]) -> Probabilities:
    """The three probabilities of one pair."""
    (found,) = session.run(None, dict(feed))
    probabilities: Probabilities = np.asarray(found, np.float32)[0]
    return probabilities


def load_verifier(encoder: ReadsTokens, path: Path | None = None) -> Verifier:
    """Opens the verifier in a folder (default: the shipped one) on an encoder.

    Raises `EncoderError` where the file is missing or cannot be read, where it is not the one that was shipped, and
    where the shipped head is to run on another encoder than it was trained on.
    """
    file = (WEIGHTS if path is None else path) / MODEL_FILE
    try:
        model = file.read_bytes()
    except OSError as error:
        raise EncoderError(f"no verifier file {file}: give the folder of a trained verifier, or reinstall") from error
    digest = hashlib.sha256(model).hexdigest()[:12]
    if path is None and digest != SHIPPED_DIGEST:
        raise EncoderError(f"the verifier {file} is not the one that ships (digest {digest}); reinstall eirene")
    if path is None and encoder.digest != ENCODER_DIGEST:
        raise EncoderError(
            f"the shipped verifier reads the token vectors of the shipped encoder, got encoder {encoder.digest}: "
            "train one for it (recipes/verifier in a clone)"
        )
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    try:
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        if tuple(i.name for i in session.get_inputs()) != INPUTS:
            raise ValueError(f"its inputs are {[i.name for i in session.get_inputs()]}")
        verifier = Verifier(session, encoder, digest)
        verifier.read([PremiseClaim(("Every text has a vector.",), "A text has one.")])
    except Exception as error:  # onnxruntime has no exception class of its own to name
        raise EncoderError(f"the verifier in {file} cannot be read: {message_line(error)}") from error
    return verifier


@once
def shipped_verifier() -> Verifier:
    """The shipped verifier. Threads that ask while it is being loaded wait for it."""
    return load_verifier(shipped_encoder())
