"""Runs the shipped verifier on the encoder's token vectors: does a premise support a claim, or contradict it?"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from eirene.core.errors import EncoderError
from eirene.core.memo import Memo, once
from eirene.models.encoder.runtime import shipped_encoder
from eirene.models.encoder.tokens import ReadsTokens
from eirene.models.verifier.pairs import TokenText, pair_of, token_text
from eirene.text.cancellation import check_cancelled

if TYPE_CHECKING:
    import onnxruntime

    from eirene.models.encoder.runtime import Encodes

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
        ...

    @property
    def digest(self) -> str:
        """Stands for it in signatures."""
        ...

    def read(self, pairs: Sequence[PremiseClaim]) -> Probabilities:
        """Supported, unsupported, contradicted for each pair, float32 [n, 3], each row summing to 1."""
        ...


class Verifier:
    """Probabilities that a premise supports a claim, does not tell, or contradicts it. Safe to share between threads.

    Every pair is run by itself, so that its result hangs on nothing beside it. `encoder` must be the one whose token
    vectors the head was trained on.
    """

    def __init__(self, session: onnxruntime.InferenceSession, encoder: ReadsTokens, digest: str) -> None:
        self._session = session
        self.encoder = encoder
        self._digest = digest
        self._read: Memo[PremiseClaim, Probabilities] = Memo(KEPT_PAIRS)
        self._texts: Memo[str, TokenText] = Memo(_KEPT_TEXTS)

    @property
    def digest(self) -> str:
        """The first 12 hexadecimal digits of the SHA-256 of the head's file, for signatures."""
        return self._digest

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
        raise EncoderError(f"the verifier in {file} cannot be read: {_line(error)}") from error
    return verifier


def _line(error: Any) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


@once
def shipped_verifier() -> Verifier:
    """The shipped verifier. Threads that ask while it is being loaded wait for it."""
    return load_verifier(shipped_encoder())
