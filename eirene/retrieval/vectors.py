"""The vector store of an index: float16 rows on disk, appended to, with SHA-256 checksums."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from eirene.core.errors import InputError
from eirene.core.extras import importing

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

_DIGEST = 16
_RECORD = "store.json"
Half = NDArray[np.float16]
SHIPPED = "embedded"
_FIELD = "corpus-encoder"
_PROBE = "What tells two encoders apart?"
_PARTS = ("modules.json", "router_config.json")
_BLOCK = 1 << 22
_CHECK = "check"


@dataclass(frozen=True, slots=True)
class Rows:
    """How many rows of a store count, whose vectors they are, and the checksums of these rows in its two files."""

    count: int
    encoder: str
    width: int
    vectors: str
    digests: str


class Store:
    """Vectors of `width` numbers in half precision in `vectors.f16`, and the digests of their texts in `digests.bin`.

    `store.json` says how many rows count, and their checksums; it is written last, so that what a crash cut off does
    not count. What counts and is not what was written is damaged: the store then raises `InputError`.
    """

    def __init__(self, folder: Path, *, width: int, encoder: str) -> None:
        self.folder = folder
        self.width = width
        self.encoder = encoder
        self._vectors, self._digests = folder / "vectors.f16", folder / "digests.bin"
        self._sums = (Running(), Running())

    def open(self) -> dict[bytes, int]:
        """The row of each digest, after what is torn has been cut off: for whoever writes."""
        kept = self._read_record()
        count = 0 if kept is None else kept.count
        for file in (self._vectors, self._digests):
            file.touch()
        if kept is not None:
            self._sums = self.check(kept)
        os.truncate(self._vectors, count * 2 * self.width)
        os.truncate(self._digests, count * _DIGEST)
        data = self._digests.read_bytes()
        return {data[i * _DIGEST : (i + 1) * _DIGEST]: i for i in range(count)}

    def check(self, rows: Rows) -> tuple[Running, Running]:
        """The checksums of the first rows of both files. Raises `InputError` where they are not those of `rows`."""
        if (rows.encoder, rows.width) != (self.encoder, self.width):
            why = (
                f"vectors of {rows.width} numbers by the encoder {rows.encoder}, wanted {self.width} by {self.encoder}"
            )
            raise damaged(self._vectors, why, home=self.folder)
        vectors = self._checked(self._vectors, rows.count * 2 * self.width, rows.vectors)
        return vectors, self._checked(self._digests, rows.count * _DIGEST, rows.digests)

    def append(self, digests: Sequence[bytes], vectors: NDArray[np.float32]) -> None:
        """Adds rows; when this returns they are on disk."""
        for file, running, data in (
            (self._vectors, self._sums[0], np.ascontiguousarray(vectors, np.float16).tobytes()),
            (self._digests, self._sums[1], b"".join(digests)),
        ):
            with file.open("ab") as out:
                out.write(data)
                out.flush()
                os.fsync(out.fileno())
            running.add(data)
        self._write_record()

    def rows(self) -> Rows:
        """What is in the store, for whoever opened it."""
        vectors, digests = self._sums
        return Rows(digests.size // _DIGEST, self.encoder, self.width, vectors.hexdigest(), digests.hexdigest())

    def mapped(self) -> Half:
        """All vectors, [rows, width], mapped and not read."""
        size = self._vectors.stat().st_size // (2 * self.width)
        if not size:
            return np.zeros((0, self.width), np.float16)
        return np.memmap(self._vectors, np.float16, "r", shape=(size, self.width))

    def _checked(self, file: Path, size: int, wanted: str) -> Running:
        try:
            found = read_prefix(file, size)
        except FileNotFoundError:
            raise damaged(file, "it is not there", home=self.folder) from None
        if found.size < size:
            raise damaged(file, f"{found.size} bytes of {size} are left", home=self.folder)
        if found.hexdigest() != wanted:
            raise damaged(file, "its checksum does not fit", home=self.folder)
        return found

    def _read_record(self) -> Rows | None:
        file = self.folder / _RECORD
        try:
            return Rows(**unsealed(file.read_bytes()))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, RecursionError) as error:
            raise damaged(file, str(error), home=self.folder) from None

    def _write_record(self) -> None:
        trial = self.folder / f"{_RECORD}.new"
        with trial.open("wb") as out:
            out.write(sealed(asdict(self.rows())))
            out.flush()
            os.fsync(out.fileno())
        os.replace(trial, self.folder / _RECORD)


def encoder_named(name: str = SHIPPED) -> Encodes:
    """The encoder behind a name: `embedded`, or what `sentence_transformers.SentenceTransformer` takes.

    Raises `MissingExtraError` without that package, and `InputError` for a model that it cannot load, that would run
    code of its own, whose weights hold NaN, or lack tensors: then its vectors are others at every load.
    """
    if name == SHIPPED:
        from eirene.models.encoder.runtime import shipped_encoder

        return shipped_encoder()
    _refuse_code(name)
    first, second = (_loaded(name, seed=seed) for seed in (0, 1))
    if first.digest != second.digest:
        raise InputError(f"the encoder {name!r} lacks tensors, which would be random; fetch it again", field=_FIELD)
    return first


def _loaded(name: str, *, seed: int) -> _SentenceEncoder:
    """The model as the library loads it. What its weights do not bring is drawn: by another seed it is another."""
    with importing("sentence_transformers"):
        import torch
        from sentence_transformers import SentenceTransformer
    from eirene.models.local.checkpoint import quiet_transformers, refuse_not_finite

    with torch.random.fork_rng(devices=[]), quiet_transformers():
        torch.manual_seed(seed)
        try:
            model = SentenceTransformer(
                name, device="cpu", trust_remote_code=False, model_kwargs={"use_safetensors": True}
            )
            encoder = _SentenceEncoder(name, model)
        except Exception as error:  # the library raises whatever its loaders and the hub raise
            raise InputError(f"the encoder {name!r} cannot be loaded: {_line(error)}", field=_FIELD) from error
    refuse_not_finite(model.state_dict().items(), f"the encoder {name!r}", field=_FIELD)
    return encoder


def _refuse_code(name: str) -> None:
    """Older releases of the library run code that lies in a folder, whatever they are told to trust."""
    for file in (f for kind in _PARTS for f in (Path(name).rglob(kind) if Path(name).is_dir() else ())):
        try:
            types = list(_types(json.loads(file.read_text(encoding="utf-8"))))
        except (OSError, ValueError, RecursionError) as error:
            raise InputError(f"the encoder {name!r} cannot be loaded: {file.name}: {error}", field=_FIELD) from None
        foreign = [t for t in types if not t.startswith("sentence_transformers.")]
        if foreign:
            raise InputError(
                f"the encoder {name!r} wants to run code of its own ({foreign[0]!r} in {file.name}), which is never "
                "done; name a model that sentence-transformers loads without any",
                field=_FIELD,
            )


def _types(value: Any) -> Iterator[str]:
    """The classes that a list of a model's parts names, under `type`, or under `types` by the part's name."""
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, dict):
            named = part.get("types")
            yield from map(str, named.values() if isinstance(named, dict) else ())
            if "type" in part:
                yield str(part["type"])


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


class _SentenceEncoder:
    def __init__(self, name: str, model: Any) -> None:
        self._model = model
        # Two models of one name differ in their weights: the vector of a fixed text tells them apart.
        probe = np.round(self.encode([_PROBE]), 3).tobytes()
        self._digest = hashlib.sha256(name.encode() + probe).hexdigest()[:12]

    @property
    def digest(self) -> str:
        return self._digest

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        found = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(found, np.float32)


def damaged(file: Path, why: str, *, home: Path) -> InputError:
    """The error for a file of the index in the folder `home`; it names both, and what to do."""
    return InputError(
        f"is damaged ({why}); delete the folder {home}, and the next run makes the index again", where=str(file)
    )


class Running:
    """The checksum of a file that grows: of its first `size` bytes so far."""

    def __init__(self) -> None:
        self.size = 0
        self._found = hashlib.sha256()

    def add(self, data: bytes) -> None:
        """What was appended."""
        self._found.update(data)
        self.size += len(data)

    def hexdigest(self) -> str:
        """64 hexadecimal digits."""
        return self._found.hexdigest()


def read_prefix(file: Path, size: int) -> Running:
    """The checksum of a file's first `size` bytes; shorter where the file is."""
    found = Running()
    with file.open("rb") as data:
        while found.size < size and (block := data.read(min(_BLOCK, size - found.size))):
            found.add(block)
    return found


def sha256_of(file: Path) -> str:
    """64 hexadecimal digits of a whole file."""
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def sealed(value: Mapping[str, Any]) -> bytes:
    """An object as JSON, with a checksum of its own in it: no byte can change unseen."""
    return json.dumps({**value, _CHECK: _check(value)}).encode("ascii")


def unsealed(data: bytes) -> dict[str, Any]:
    """The object that `sealed` wrote. Raises `ValueError` for anything else."""
    value = json.loads(data)
    if not isinstance(value, dict):
        raise ValueError("no JSON object")
    if value.pop(_CHECK, None) != _check(value):
        raise ValueError("its checksum does not fit")
    return value


def _check(value: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode("ascii")).hexdigest()
