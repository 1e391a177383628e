"""Cache of training vectors on disk: every claim and the window of its premise as tokens, encoded once.

A chunk of rows is a folder; a chunk that is there is not made again. About 80 kB a row.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eirene.core.logs import get_logger
from eirene.models.encoder import load_encoder
from eirene.models.encoder.runtime import Encoder, TokenLayers
from eirene.models.verifier.runtime import TokenText, pair_of, token_text
from eirene.text.sentences import split_sentences
from eirene.verification.context import Rarity, cut_sentence, pick
from recipes.verifier.columns import FLAGS, LINKS
from recipes.verifier.data import VerifierRow

logger = get_logger(__name__)

CHUNK = 500
VERSION = 2
"""Of what a chunk holds: raised where windows, flags or links change."""
_MOST_PIECES = 10
"""Pieces of a long premise that are encoded, those that share most words with the claim."""


@lru_cache(maxsize=1)
def _encoder() -> Encoder:
    """One for each process."""
    return load_encoder(threads=1, cached_texts=20_000)


@dataclass(frozen=True, slots=True, eq=False)
class CachedPair:
    """A row's vectors, float16 [., 768], flags [., 13] and links [c, p, 4], uint8."""

    claim: NDArray[np.float16]
    premise: NDArray[np.float16]
    claim_flags: NDArray[np.uint8]
    premise_flags: NDArray[np.uint8]
    links: NDArray[np.uint8]


class HasPairs(Protocol):
    """Pairs by the index of their row."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of claim and premise, [rows, 2]."""

    def __getitem__(self, row: int) -> CachedPair: ...


class JoinedPairs:
    """The pairs of some rows after those of others."""

    def __init__(self, parts: Sequence[HasPairs]) -> None:
        self._parts = parts
        self.lengths = np.concatenate([part.lengths for part in parts])
        self._ends = np.cumsum([len(part.lengths) for part in parts])

    def __getitem__(self, row: int) -> CachedPair:
        part = int(np.searchsorted(self._ends, row, side="right"))
        return self._parts[part][row - int(self._ends[part]) + len(self._parts[part].lengths)]


class PairCache:
    """The pairs of some rows, by their index; vectors stay on disk until they are read."""

    def __init__(self, folder: Path, count: int) -> None:
        self._chunks = [_Chunk(folder / _name(n)) for n in range(-(-count // CHUNK))]
        self.lengths = np.concatenate([chunk.lengths for chunk in self._chunks])

    def __getitem__(self, row: int) -> CachedPair:
        return self._chunks[row // CHUNK].pair(row % CHUNK)


class _Chunk:
    def __init__(self, folder: Path) -> None:
        self._vectors = np.load(folder / "vectors.npy", mmap_mode="r")
        with (folder / "pairs.npz").open("rb") as opened, np.load(opened) as file:
            self._rows = file["rows"]  # of each token of each pair, claim first: its row in `vectors`
            self._flags, self._links = file["flags"], file["links"]
            self.lengths = file["lengths"]
        self._starts = np.concatenate([[0], np.cumsum(self.lengths.sum(1))])
        self._link_starts = np.concatenate([[0], np.cumsum(self.lengths.prod(1))])

    def pair(self, n: int) -> CachedPair:
        c, p = self.lengths[n]
        start, end = self._starts[n], self._starts[n + 1]
        vectors = self._vectors[self._rows[start:end]]
        flags = self._flags[start:end]
        links = self._links[self._link_starts[n] : self._link_starts[n + 1]].reshape(c, p, len(LINKS))
        return CachedPair(vectors[:c], vectors[c:], flags[:c], flags[c:], links)


def cached_pairs(
    rows: Sequence[VerifierRow],
    folder: Path,
    *,
    workers: int = 2,
    progress: Callable[[int, int], None] | None = None,
) -> PairCache:
    """The pairs of the rows from a folder under `folder`, which is named for rows and encoder; made where missing.

    `progress` is called with (chunks that are there, chunks).
    """
    encoder = load_encoder(threads=1)
    digest = hashlib.sha256(json.dumps([VERSION, encoder.digest, [(r.premise, r.claim) for r in rows]]).encode())
    home = folder / digest.hexdigest()[:12]
    home.mkdir(parents=True, exist_ok=True)
    chunks = [(home / _name(n), rows[at : at + CHUNK]) for n, at in enumerate(range(0, len(rows), CHUNK))]
    missing = [(path, part) for path, part in chunks if not _is_whole(path)]
    in_processes = workers > 1 and len(missing) > 1
    made = _make_in_processes(missing, workers) if in_processes else _make_here(missing)
    for done, _ in enumerate(made, start=len(chunks) - len(missing) + 1):
        if progress is not None:
            progress(done, len(chunks))
    return PairCache(home, len(rows))


def _is_whole(path: Path) -> bool:
    """Whether a chunk is there; one that cannot be read is removed."""
    if not path.exists():
        return False
    try:
        _Chunk(path)
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        logger.warning("%s is damaged, and is made again", path)
        shutil.rmtree(path)
        return False
    return True


def _make_here(missing: Sequence[tuple[Path, Sequence[VerifierRow]]]) -> Iterator[None]:
    for path, part in missing:
        _make(path, part)
        yield


def _make_in_processes(missing: Sequence[tuple[Path, Sequence[VerifierRow]]], workers: int) -> Iterator[None]:
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(_make, path, part) for path, part in missing]
        try:
            for future in as_completed(futures):
                future.result()
                yield
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _name(n: int) -> str:
    return f"chunk-{n:05d}"


def _make(path: Path, rows: Sequence[VerifierRow]) -> None:
    encoder = _encoder()
    read: dict[str, TokenText] = {}
    windows = list(_windows(rows, encoder, read))
    texts = list(read)
    starts = dict(zip(texts, np.cumsum([0, *(len(t.tokens.ids) for t in read.values())]), strict=False))
    lengths, places, flags, links = [], [], [], []
    for row, window in zip(rows, windows, strict=True):
        pair = pair_of([read[text] for text in window], read[row.claim])
        c, p, _ = pair.links.shape
        lengths.append((c, p))
        places.append(np.arange(starts[row.claim], starts[row.claim] + c))
        premise = [np.arange(starts[t], starts[t] + len(read[t].tokens.ids)) for t in window]
        places.append(np.concatenate(premise)[:p])
        flags += [pair.claim_flags, pair.premise_flags]
        links.append(pair.links.reshape(-1, len(LINKS)))
    trial = path.with_name(f"{path.name}.{os.getpid()}")
    trial.mkdir(exist_ok=True)
    np.save(trial / "vectors.npy", np.concatenate([t.tokens.vectors for t in read.values()]))
    np.savez(
        trial / "pairs.npz",
        rows=np.concatenate(places).astype(np.int32),
        flags=np.concatenate(flags).reshape(-1, len(FLAGS)),
        links=np.concatenate(links),
        lengths=np.array(lengths, np.int64),
    )
    try:
        os.replace(trial, path)
    except OSError:  # another process made it meanwhile
        shutil.rmtree(trial)


def _windows(rows: Sequence[VerifierRow], encoder: Encoder, read: dict[str, TokenText]) -> list[tuple[str, ...]]:
    """The window of each row's premise; at least one piece, "" where it has none. `read` takes the texts in use."""
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    for row in rows:
        if row.premise not in known:
            known[row.premise] = _pieces_of(row.premise) or ("",)
    wanted = {}
    for n, row in enumerate(rows):
        pieces = known[row.premise]
        if len(pieces) > _MOST_PIECES:
            shares = Rarity(pieces).shares(row.claim)
            best = np.sort(np.argsort(-shares, kind="stable")[:_MOST_PIECES])
            pieces = tuple(pieces[k] for k in best)
        wanted[n] = pieces
    texts = list(dict.fromkeys([row.claim for row in rows] + [piece for own in wanted.values() for piece in own]))
    tokens: dict[str, TokenLayers] = {}
    for start in range(0, len(texts), 512):
        part = texts[start : start + 512]
        tokens |= zip(part, encoder.tokens(part), strict=True)
    windows = []
    for n, row in enumerate(rows):
        pieces = wanted[n]
        cosines = encoder.encode(pieces) @ encoder.encode([row.claim])[0]
        chosen = pick(cosines, Rarity(pieces).shares(row.claim), [len(piece.split()) for piece in pieces])
        windows.append(tuple(pieces[k] for k in chosen))
        for text in (row.claim, *windows[-1]):
            if text not in read:
                read[text] = token_text(text, tokens[text])
    return windows


def _pieces_of(texts: Sequence[str]) -> tuple[str, ...]:
    """The sentences of the texts in order, long ones in overlapping pieces; blank ones and copies left out."""
    sentences = (s.text for text in texts for s in split_sentences(text) if s.text)
    return tuple(dict.fromkeys(text[a:b] for text in sentences for a, b in cut_sentence(text)))
