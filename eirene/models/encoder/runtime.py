"""Runs the shipped encoder on onnxruntime: texts to vectors, long texts in pieces that fit."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from eirene.core.concurrency import usable_cores
from eirene.core.errors import EncoderError, message_line
from eirene.core.memo import Memo, once
from eirene.text.cancellation import check_cancelled

if TYPE_CHECKING:
    import onnxruntime
    import tokenizers

LAYERS = ("/LayerNorm_4/LayerNormalization_output_0", "/LayerNorm_12/LayerNormalization_output_0")
"""What layers 2 and 6 give, by their names in the graph; each [tokens of the run, width], real tokens only."""

_GRAPH = 7  # ModelProto.graph
_OUTPUT = 12  # GraphProto.output
_NAME = 1  # ValueInfoProto.name


@dataclass(frozen=True, slots=True, eq=False)
class TokenLayers:
    """The t tokens of a text, without the marks at its ends.

    `ids`: int32 [t]. `spans`: character offsets into the text, int32 [t, 2]. `vectors`: float16 [t, 2 * width], the
    layers of `LAYERS` side by side.
    """

    ids: NDArray[np.int32]
    spans: NDArray[np.int32]
    vectors: NDArray[np.float16]


class ReadsTokens(Protocol):
    """An encoder that gives the vectors of tokens too."""

    @property
    def digest(self) -> str: ...

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]: ...

    def tokens(self, texts: Sequence[str]) -> list[TokenLayers]: ...


def with_outputs(model: bytes) -> bytes:
    """The serialised ONNX model with inner values as further outputs; a name that it lacks fails when it is opened."""
    outputs = b"".join(_field(_OUTPUT, _field(_NAME, name.encode())) for name in LAYERS)
    return model + _field(_GRAPH, outputs)


def _field(number: int, body: bytes) -> bytes:
    """A length-delimited field of a protocol buffer."""
    return _varint(number << 3 | 2) + _varint(len(body)) + body


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


WEIGHTS = Path(__file__).parent / "weights"
"""The folder of the shipped model."""
SHIPPED_DIGEST = "63c596c62932"
"""Of its files, as `Encoder.digest`: a flipped bit would give vectors that look like any, and other scores."""

MODEL_FILE = "model.int8.onnx"
TOKENIZER_FILE = "tokenizer.json"
_PROBE = "Every text has a vector."

BATCH_TEXTS = 32
BATCH_TOKENS = 1024
"""Most windows in one run, and most tokens of it with their padding: above this nothing gets faster, and onnxruntime
keeps the memory of the largest run for good (4,096 tokens: 180 MB)."""

_TOKENIZED = 1024
"""Texts that are cut into tokens in one call, which nothing can break off."""

_STEP = 16
"""Runs are padded to a multiple of this many tokens, and hold two windows or more: onnxruntime sums in another order
where the tail is shorter, or where there is one window, and a vector would then differ in its last bit."""

CACHED_TEXTS = 2048
CACHED_CHARACTERS = 2000
"""Longer texts are encoded each time: the cache's size stays bounded in bytes, not in entries alone."""

CACHED_TOKEN_TEXTS = 256
CACHED_TEXT_TOKENS = 96
"""Token vectors are kept for the last texts of at most so many tokens: at most 38 MB, mostly a fifth of it."""

Vectors = NDArray[np.float32]
TokenRows = NDArray[np.float16]
MAX_TOKENS = 256
"""The longest input the base model was trained on, the two marks at its ends included."""


class Encodes(Protocol):
    """Anything that turns texts into rows of length 1: what users of an encoder should ask for."""

    @property
    def digest(self) -> str: ...

    def encode(self, texts: Sequence[str]) -> Vectors: ...


class Encoder:
    """Sentence vectors, float32 [n, width], each of length 1 (a blank text: the zero vector).

    A text's vector does not depend on the texts beside it, on the cache or on the number of threads, to the last bit:
    only real tokens are computed, each is quantised by itself, and sums always run in the same order. Texts over 256
    tokens are cut into windows whose vectors are averaged by length; nothing is dropped. Safe to share between threads.
    """

    def __init__(
        self,
        session: onnxruntime.InferenceSession,
        tokenizer: tokenizers.Tokenizer,
        digest: str,
        *,
        cached_texts: int = CACHED_TEXTS,
    ) -> None:
        tokenizer.no_padding()
        tokenizer.no_truncation()
        # "[SEP]" in an answer is five characters, not the mark.
        tokenizer.encode_special_tokens = True
        self._session = session
        self._tokenizer = tokenizer
        self.digest = digest
        """The first 12 hexadecimal digits of the SHA-256 over model and tokenizer, for signatures."""
        self._cache: Memo[str, Vectors] = Memo(cached_texts)
        self._token_cache: Memo[str, TokenRows] | None = None
        self.width = int(session.get_outputs()[0].shape[-1])

    def encode(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts, in their order, float32 [n, width]; cosine is the dot product."""
        if isinstance(texts, str):
            raise TypeError("encode takes a sequence of texts, got one str: pass [text]")
        known = {text: vector for text in texts if (vector := self._cache.get(text)) is not None}
        wanted = [text for text in dict.fromkeys(texts) if text not in known]
        if wanted:
            fresh = dict(zip(wanted, self._compute(wanted), strict=True))
            for text, vector in fresh.items():
                if len(text) <= CACHED_CHARACTERS:
                    self._cache.put(text, vector)
            known |= fresh
        if not texts:
            return np.zeros((0, self.width), np.float32)
        return np.stack([known[text] for text in texts])

    def tokens(self, texts: Sequence[str]) -> list[TokenLayers]:
        """The token vectors of the texts, in their order. Texts that `encode` has just been given are not run again.

        They are float16 and the same whether they come from the cache or not. Raises `EncoderError` where the model in
        use has no such layers.
        """
        if isinstance(texts, str):
            raise TypeError("tokens takes a sequence of texts, got one str: pass [text]")
        if self._token_cache is None:
            if [o.name for o in self._session.get_outputs()[1:]] != list(LAYERS):
                raise EncoderError("this encoder gives no vectors of tokens: the verifier needs the shipped one")
            self._token_cache = Memo(CACHED_TOKEN_TEXTS)  # from now on `encode` fills it
        found = {text: rows for text in texts if (rows := self._token_cache.get(text)) is not None}
        wanted = [text for text in dict.fromkeys(texts) if text not in found]
        if wanted:
            for text, vector in zip(wanted, self._compute(wanted, found), strict=True):
                if len(text) <= CACHED_CHARACTERS:
                    self._cache.put(text, vector)
        out = []
        for text in texts:
            encoding = self._tokenizer.encode(text.encode("utf-8", "replace").decode("utf-8"))
            ids, spans = np.array(encoding.ids[1:-1], np.int32), np.array(encoding.offsets[1:-1], np.int32)
            out.append(TokenLayers(ids, spans.reshape(-1, 2), found[text]))
        return out

    def _compute(self, texts: list[str], found: dict[str, TokenRows] | None = None) -> Vectors:
        """Encodes distinct texts: windows, runs of similar length, then the mean over each text's windows.

        `found` takes the rows of their tokens.
        """
        # A lone surrogate is legal in a str and not in a tokenizer.
        clean = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        windows: list[list[int]] = []
        owners: list[int] = []
        for start in range(0, len(clean), _TOKENIZED):
            check_cancelled()
            encodings = self._tokenizer.encode_batch_fast(clean[start : start + _TOKENIZED])
            for index, encoding in enumerate(encodings, start=start):
                for window in cut_windows(encoding.ids, max_tokens=MAX_TOKENS):
                    windows.append(window)
                    owners.append(index)
        total = np.zeros((len(texts), self.width), np.float32)
        rows: list[TokenRows] | None = [] if found is not None or self._token_cache is not None else None
        if windows:
            lengths = np.array([len(window) - 2 for window in windows], np.float32)
            np.add.at(total, np.array(owners), self._run_sorted(windows, rows) * lengths[:, None])
        if rows is not None:
            self._keep_tokens(texts, owners, rows, found)
        if not np.isfinite(total).all():  # below, it would become a vector of zeros: a text that says nothing
            raise EncoderError("the encoder's weights are damaged: a vector is no number; reinstall, or train it again")
        norms = np.linalg.norm(total, axis=1, keepdims=True)
        vectors: Vectors = np.divide(total, norms, out=np.zeros_like(total), where=norms > 0)
        return vectors

    def _keep_tokens(
        self, texts: list[str], owners: list[int], rows: list[TokenRows], found: dict[str, TokenRows] | None
    ) -> None:
        by_text: dict[int, list[TokenRows]] = {n: [] for n in range(len(texts))}
        for owner, part in zip(owners, rows, strict=True):
            by_text[owner].append(part)
        for n, parts in by_text.items():
            joined = np.concatenate(parts) if parts else np.zeros((0, 2 * self.width), np.float16)
            if found is not None:
                found[texts[n]] = joined
            if self._token_cache is not None and len(joined) <= CACHED_TEXT_TOKENS:
                self._token_cache.put(texts[n], joined)

    def _run_sorted(self, windows: list[list[int]], rows: list[TokenRows] | None) -> Vectors:
        """The vectors of windows; `rows`, where given, takes the vectors of each one's tokens without its marks."""
        order = sorted(range(len(windows)), key=lambda index: len(windows[index]))
        out = np.empty((len(windows), self.width), np.float32)
        by_window: dict[int, TokenRows] = {}
        for chosen in _batches(order, [len(windows[index]) for index in order]):
            check_cancelled()
            out[chosen], read = self._run([windows[index] for index in chosen], with_tokens=rows is not None)
            by_window.update(zip(chosen, read, strict=False))
        if rows is not None:
            rows.extend(by_window[index] for index in range(len(windows)))
        return out

    def _run(self, windows: list[list[int]], *, with_tokens: bool) -> tuple[Vectors, list[TokenRows]]:
        ids = np.zeros((max(len(windows), 2), _padded(max(map(len, windows)))), np.int64)
        mask = np.zeros_like(ids)
        for row, window in enumerate(windows):
            ids[row, : len(window)] = window
            mask[row, : len(window)] = 1
        feed = {"input_ids": ids, "attention_mask": mask}
        if not with_tokens:
            (vectors,) = self._session.run([self._session.get_outputs()[0].name], feed)
            return np.asarray(vectors, np.float32)[: len(windows)], []
        vectors, *layers = self._session.run(None, feed)
        joined = np.concatenate(layers, axis=1).astype(np.float16)
        ends = np.cumsum([len(window) for window in windows])
        rows = [joined[end - len(window) + 1 : end - 1].copy() for window, end in zip(windows, ends, strict=True)]
        return np.asarray(vectors, np.float32)[: len(windows)], rows


def _batches(order: Sequence[int], lengths: Sequence[int]) -> Iterator[Sequence[int]]:
    """The windows, shortest first, as runs within `BATCH_TEXTS` and `BATCH_TOKENS`; one window at the least."""
    start = 0
    for end, length in enumerate(lengths):
        texts = end - start
        if texts and (texts == BATCH_TEXTS or (texts + 1) * _padded(length) > BATCH_TOKENS):
            yield order[start:end]
            start = end
    if start < len(order):
        yield order[start:]


def _padded(length: int) -> int:
    return -(-length // _STEP) * _STEP


def load_encoder(path: Path | None = None, threads: int | None = None, *, cached_texts: int = CACHED_TEXTS) -> Encoder:
    """Opens the encoder in a folder (default: the shipped one); it holds `model.int8.onnx` and `tokenizer.json`.

    `threads` is the number of threads of one run; by default `EIRENE_THREADS`, else the usable cores, at most 4.
    `cached_texts` is how many vectors are kept for texts that come again; 0 for none.
    Raises `EncoderError` where a file is missing or cannot be read, where the two give no vector for a text, and where
    the shipped files are not those that were shipped.
    """
    folder = WEIGHTS if path is None else path
    model, vocabulary = _read(folder / MODEL_FILE), _read(folder / TOKENIZER_FILE)
    digest = hashlib.sha256(model + vocabulary).hexdigest()[:12]
    if path is None and digest != SHIPPED_DIGEST:
        raise EncoderError(f"the encoder in {folder} is not the one that ships (digest {digest}); reinstall eirene")
    import tokenizers

    try:
        session = _session(model, _options(threads))
        # onnxruntime's Python wrapper keeps the file's 23 MB, to open the model anew on other hardware.
        session._model_bytes = None
        tokenizer = tokenizers.Tokenizer.from_str(vocabulary.decode("utf-8"))
        encoder = Encoder(session, tokenizer, digest, cached_texts=cached_texts)
        (vector,) = encoder._compute([_PROBE])
    except Exception as error:  # neither library has an exception class of its own to name
        raise EncoderError(f"the encoder in {folder} cannot be read: {message_line(error)}") from error
    if not vector.any():
        raise EncoderError(f"the encoder in {folder} is damaged: a text's vector is zero; train it again")
    return encoder


def _session(model: bytes, options: onnxruntime.SessionOptions) -> onnxruntime.InferenceSession:
    """The model with its token layers as outputs; as it is where its graph is another one."""
    import onnxruntime

    providers = ["CPUExecutionProvider"]
    try:
        return onnxruntime.InferenceSession(with_outputs(model), options, providers=providers)
    except Exception:  # no exception class of its own; a file that is no model fails again, and says why
        return onnxruntime.InferenceSession(model, options, providers=providers)


def _options(threads: int | None) -> onnxruntime.SessionOptions:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = default_threads() if threads is None else threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Waiting threads would otherwise burn the cores of whatever runs beside.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def default_threads() -> int:
    """`EIRENE_THREADS` where it is a positive number, else the usable cores, at most 4."""
    asked = os.environ.get("EIRENE_THREADS", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    return min(4, usable_cores())


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise EncoderError(f"no encoder file {file}: give the folder of a trained encoder, or reinstall") from error


def cut_windows(ids: Sequence[int], *, max_tokens: int = MAX_TOKENS) -> list[list[int]]:
    """The token ids, marks at both ends, as windows of at most `max_tokens` with the same marks; none if blank.

    The windows differ by at most one token in length, so that no tail of a few words counts as a text of its own.
    """
    first, body, last = ids[0], ids[1:-1], ids[-1]
    if not body:
        return []
    room = max_tokens - 2
    count = -(-len(body) // room)
    bounds = [len(body) * part // count for part in range(count + 1)]
    return [[first, *body[start:end], last] for start, end in pairwise(bounds)]


@once
def shipped_encoder() -> Encoder:
    """The shipped encoder. Threads that ask while it is being loaded wait for it."""
    return load_encoder()
