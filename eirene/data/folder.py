"""A folder of files of one format as one source of rows: shards, in the order of their names."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from eirene.core.errors import InputError
from eirene.data.json_rows import Row, cannot_read
from eirene.data.source import RowSource

_SHARD = re.compile(r"(?:^|-)(?P<split>[A-Za-z0-9_.]+)-\d{5}-of-\d{5}(?:-[0-9a-f]+)?$")
_PLAIN_SPLITS = ("train", "validation", "valid", "dev", "test")


class FolderSource:
    """The rows of several sources, one after the other."""

    def __init__(self, name: str, parts: Sequence[RowSource]) -> None:
        self.name = name
        self.is_table = parts[0].is_table
        self._parts = tuple(parts)
        self._counts: dict[int, int] = {}

    def columns(self) -> tuple[str, ...] | None:
        """The columns of the first part; what another part has beside them is seen where its rows are read."""
        return self._parts[0].columns()

    def rows(self, *, take: Sequence[int] | None = None, only: frozenset[str] | None = None) -> Iterator[Row]:
        """The rows of all parts, each with its own part's place."""
        if take is None:
            for part in self._parts:
                yield from part.rows(only=only)
            return
        begin = done = 0
        for at, part in enumerate(self._parts):
            if done == len(take):
                return
            end = begin + self._count_of(at)
            upto = bisect_left(take, end)
            if done < upto:
                yield from part.rows(take=[place - begin for place in take[done:upto]], only=only)
            begin, done = end, upto

    def count(self) -> int:
        """How many rows all parts have."""
        return sum(self._count_of(at) for at in range(len(self._parts)))

    def _count_of(self, at: int) -> int:
        if at not in self._counts:
            self._counts[at] = self._parts[at].count()
        return self._counts[at]


def open_folder(
    folder: Path,
    *,
    split: str | None,
    name: str,
    format_of: Callable[[str], str | None],
    open_file: Callable[[str], RowSource],
) -> RowSource:
    """The files of `folder` (or, where it has none, of its folder `data`) that `format_of` knows, as one source.

    Files named `train-00000-of-00002.parquet`, or `train.jsonl`, belong to the split `train`. Raises `InputError`
    where there is no file, where formats are mixed, and where splits are and none, or none of them, is named.
    """
    try:
        files = _files(folder, format_of) or _files(folder / "data", format_of)
    except OSError as error:
        raise cannot_read(name, error) from None
    if not files:
        raise InputError(
            "is a directory without rows: no .jsonl, .csv, .tsv, .parquet or .arrow file, and not from save_to_disk",
            where=name,
        )
    chosen = _of_split(files, split, name)
    formats = sorted({str(format_of(file.name)) for file in chosen})
    if len(formats) > 1:
        raise InputError(f"has files of several formats: {', '.join(formats)}; name one file", where=name)
    return FolderSource(name, [open_file(str(file)) for file in chosen])


def _files(folder: Path, format_of: Callable[[str], str | None]) -> list[Path]:
    if not folder.is_dir():
        return []
    found = (file for file in folder.iterdir() if not file.name.startswith(".") and file.is_file())
    return sorted(file for file in found if format_of(file.name) not in (None, "json"))


def _of_split(files: list[Path], split: str | None, name: str) -> list[Path]:
    by_split: dict[str, list[Path]] = {}
    for file in files:
        by_split.setdefault(_split_of(file), []).append(file)
    names = ", ".join(key for key in by_split if key)
    if split is not None and split not in by_split:
        there = f"splits: {names}" if names else "its files name none"
        raise InputError(f"has no split {split!r}; {there}", where=name)
    if split is None and len(by_split) > 1:
        rest = " (and files of no split)" if "" in by_split else ""
        first = next(key for key in by_split if key)
        raise InputError(f"has the splits {names}{rest}; name one, such as {name}@{first}", where=name)
    return by_split[split] if split is not None else files


def _split_of(file: Path) -> str:
    """The split that a file's name tells, empty for none."""
    stem = Path(file.name.removesuffix(".gz")).stem
    shard = _SHARD.search(stem)
    if shard is not None:
        return shard["split"]
    return stem if stem in _PLAIN_SPLITS else ""
