"""Opens a data source by its name: a file, a folder of shards, a hub dataset, standard input."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, get_args

from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.data.arrow import PREFIX, ParquetSource, open_folder, open_hub
from eirene.data.columns import ColumnMap
from eirene.data.dataset import Dataset, Selection, Shape
from eirene.data.json_rows import STDIN
from eirene.data.published import READERS, Reader, reader_named, spread_asqa
from eirene.data.source import RowSource, Unzipped, bytes_of, read_errors
from eirene.data.text_files import CsvSource, JsonSource

Format = Literal["auto", "json", "jsonl", "csv", "tsv", "parquet"]
FORMATS: tuple[str, ...] = get_args(Format)

_ENDINGS: dict[str, str] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".tsv": "tsv", ".tab": "tsv",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_PARQUET = b"PAR1"
_GZIP = b"\x1f\x8b"


def open_source(name: str, *, format: str = "auto") -> RowSource:
    """The rows that `name` stands for; nothing but what is needed to know them is read yet.

    `name` is a file (`.jsonl`, `.json`, `.csv`, `.tsv`, each also with `.gz`, `.parquet`; any other is JSON
    or told by its first bytes), `-` for standard input, a folder that `datasets` reads (of files, or one that
    `save_to_disk` wrote), or `hf-dataset:OWNER/NAME[:CONFIG][@SPLIT][#REVISION]`. `FOLDER@SPLIT` takes one split of a
    folder, `FILE.json@KEY` the rows that stand under a key of the one object in the file. `format` overrules the name.
    Raises `InputError` that says what cannot be found or opened.
    """
    if format not in FORMATS:
        raise InputError(f"format must be one of {', '.join(FORMATS)}, got {format!r}", field="format")
    if name.startswith(PREFIX):
        _no_format(name, format)
        return open_hub(name)
    place, part = _parts(name)
    if place != STDIN and _exists(place, as_folder=True):
        _no_format(name, format)
        return open_folder(Path(place), split=part, name=name)
    return _open_file(place, format=format, key=part)


def check_outside(out: str, name: str, *, flag: str = "--out") -> None:
    """Raises `InputError` where what is written to `out` would be written over, or among, what is read from `name`.

    `flag` is what named `out`.
    """
    if not out.strip():
        raise InputError(f"{flag} is empty; name a file or folder", field="out")
    place = Path(_parts(name)[0])
    if STDIN in (out, name) or not _exists(str(place)):
        return
    target = Path(out).resolve()
    if target == place.resolve() or (target.exists() and target.samefile(place)):  # under whatever name
        raise InputError(f"is the input itself; name another place for {flag}", where=out)
    if target.parent == place.resolve() and not target.is_dir() and _format_of(target.name) is not None:
        said = f"would be one of the files of the input; name a place outside its folder for {flag}"
        raise InputError(said, where=out)


def _parts(name: str) -> tuple[str, str | None]:
    """A name that exists is taken as it is; else what follows the last `@` is a split or a key."""
    place, at, part = name.rpartition("@")
    if not at or not place or not part or "/" in part or _exists(name) or not _exists(place):
        return name, None
    return place, part


def _exists(name: str, *, as_folder: bool = False) -> bool:
    try:
        place = Path(name)  # an empty name would be the folder that one is in
        return bool(name.strip()) and (place.is_dir() if as_folder else place.exists())
    except (OSError, ValueError):  # too long, a NUL character
        return False


def _format_of(name: str) -> str | None:
    """The format that a file's ending tells, None for an unknown one."""
    return _ENDINGS.get(Path(name.lower().removesuffix(".gz")).suffix)


def _open_file(name: str, *, format: str, key: str | None = None) -> RowSource:
    contents = bytes_of(name)
    kind = format if format != "auto" else _format_of(name)
    if kind in (None, "json", "csv", "tsv", "jsonl"):
        with read_errors(contents.name), contents.open() as file:
            start = file.read(4)
        if start[:2] == _GZIP:
            contents = Unzipped(contents)
        elif kind is None:
            kind = "parquet" if start == _PARQUET else None
    if key is not None and kind not in (None, "json"):
        raise InputError(f"is {kind}, which has no key {key!r}; FILE.json@KEY is for one JSON object", where=name)
    if kind == "parquet":
        return ParquetSource(contents)
    if kind in ("csv", "tsv"):
        return CsvSource(contents, separator="\t" if kind == "tsv" else None)
    return JsonSource(contents, key=key, by_line=kind == "jsonl")


def _no_format(name: str, format: str) -> None:
    if format != "auto":
        raise InputError(f"is a dataset, which has a form of its own; leave --format {format} out", where=name)


def open_dataset(
    name: str,
    *,
    format: str = "auto",
    columns: Iterable[str] = (),
    reader: str | None = None,
    selection: Selection | None = None,
    each: Callable[[Item], Item] | None = None,
    skip_bad: bool | None = None,
) -> Dataset:
    """The items that `name` stands for (see `open_source`); `columns` are texts such as `question=prompt`.

    `skip_bad` leaves out rows that make no item, and lists them in `skipped`. Where neither `reader` nor a column for
    question or answer is given, the first row's keys tell the reader of a published form. Raises `InputError` for what
    cannot be found, and for a map or a reader that is not in a form known.
    """
    known, mapped = None if reader is None else reader_named(reader), ColumnMap.of(columns)
    source = open_source(name, format=format)
    if known is None and {"question", "answer"}.isdisjoint(mapped.columns):
        known = _recognised(source)
    return Dataset(source, Shape(mapped, known), selection, each=each, skip_bad=skip_bad)


def _recognised(source: RowSource) -> Reader | None:
    """The reader that knows the first row; what cannot be read is said where the rows are."""
    try:
        first = next(iter(source.rows(take=[0])), None)
    except InputError:
        return None
    known = [] if first is None else [first.data, next(spread_asqa(first)).data]
    return next((reader for reader in READERS.values() if any(map(reader.knows, known))), None)


def opened(data: str | RowSource) -> RowSource:
    """The source that a name stands for (see `open_source`), or the source itself."""
    return open_source(data) if isinstance(data, str) else data


def read_items(name: str) -> list[Item]:
    """All items of a file, folder, hub dataset or standard input; raises `InputError` at the first fault."""
    return open_dataset(name).read()


def sha256(data: RowSource) -> str:
    """64 hex digits that stand for a file's content; for what is no file (a pipe, a dataset), for that of its rows."""
    if Path(data.name).is_file():
        with Path(data.name).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    found = hashlib.sha256()
    for row in data.rows():
        found.update(json.dumps(row.data, sort_keys=True, default=str).encode() + b"\n")
    return found.hexdigest()
