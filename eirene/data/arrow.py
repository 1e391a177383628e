"""Parquet files, and Hugging Face datasets, from the hub or from folders, as row sources; read in batches."""

from __future__ import annotations

import logging
import re
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eirene.core.errors import InputError, message_line
from eirene.core.extras import importing
from eirene.data.json_rows import Row
from eirene.data.source import Bytes, read_errors

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS = 256
_BUFFER_BYTES = 2**20


class ParquetSource:
    """The rows of a Parquet file."""

    is_table = True

    def __init__(self, contents: Bytes) -> None:
        check_pyarrow()
        self.name = contents.name
        self._contents = contents

    def columns(self) -> tuple[str, ...]:
        """The names in the schema."""
        with self._open() as found:
            return unique_names(found.schema_arrow.names, self.name)

    def rows(self, *, take: Sequence[int] | None = None, only: frozenset[str] | None = None) -> Iterator[Row]:
        """The rows; of the columns `only` those named are read. `where` counts rows from 1."""
        with self._open() as found:
            names = unique_names(found.schema_arrow.names, self.name)
            wanted = None if only is None else [name for name in names if name in only]
            batches = found.iter_batches(batch_size=BATCH_ROWS, columns=wanted, use_threads=False)
            yield from arrow_rows(batches, self.name, take=take)

    def count(self) -> int:
        """How many rows there are: the file says so itself."""
        with self._open() as found:
            return int(found.metadata.num_rows)

    @contextmanager
    def _open(self) -> Iterator[Any]:
        import pyarrow.parquet as pq

        with read_errors(self.name), arrow_errors(self.name), self._contents.open() as file:
            # Buffered: without it a row group, however large, is read as a whole.
            yield pq.ParquetFile(file, buffer_size=_BUFFER_BYTES, pre_buffer=False)


def arrow_rows(
    batches: Iterable[pa.RecordBatch | pa.Table], name: str, *, take: Sequence[int] | None = None
) -> Iterator[Row]:
    """The rows of batches as Python values; `take` as in `RowSource.rows`."""
    begin = 0
    for batch in batches:
        end = begin + batch.num_rows
        # Bisected, not turned into an array: it may be a range with an end far beyond the rows.
        low, high = (0, 0) if take is None else (bisect_left(take, begin), bisect_left(take, end))
        places = range(begin, end) if take is None else take[low:high]
        chosen = batch if take is None else batch.take([place - begin for place in places]) if places else None
        if chosen is not None:
            for place, values in zip(places, _python(chosen, name, begin), strict=True):
                yield Row(f"{name}, row {place + 1}", values)
        begin = end
        if take is not None and high == len(take):
            return


def _python(batch: pa.RecordBatch | pa.Table, name: str, begin: int) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = batch.to_pylist(maps_as_pydicts="strict")
    except (ValueError, KeyError, OverflowError) as error:  # a key twice in a map, a date beyond the year 9999
        where = f"{name}, rows {begin + 1} to {begin + batch.num_rows}"
        raise InputError(f"holds a value that Python has no word for: {message_line(error)}", where=where) from None
    return found


def unique_names(names: Iterable[str], where: str) -> tuple[str, ...]:
    """The names of columns; raises `InputError` where two columns share one."""
    found = tuple(names)
    twice = [name for name, n in Counter(found).items() if n > 1]
    if twice:
        raise InputError(f"has two columns named {twice[0]!r}; rename one of them", where=where)
    return found


def check_pyarrow() -> None:
    """Raises `MissingExtraError` where pyarrow is not installed."""
    with importing("pyarrow"):
        import pyarrow.parquet  # noqa: F401  # the first use would be as slow


@contextmanager
def arrow_errors(name: str) -> Iterator[None]:
    """What pyarrow says of a file becomes an `InputError` that names it."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowException as error:
        raise InputError(f"cannot be read: {message_line(error)}", where=name) from None


PREFIX = "hf-dataset:"
_NAME = re.compile(r"(?P<path>[^:@#]+)(?::(?P<config>[^:@#]+))?(?:@(?P<split>[^:@#]+))?(?:#(?P<revision>[^:@#]+))?")
_FORM = "hf-dataset:OWNER/NAME[:CONFIG][@SPLIT][#REVISION]"


class HubSource:
    """The rows of a `datasets.Dataset`, which lie on disk and are read in batches."""

    is_table = True

    def __init__(self, name: str, dataset: Any) -> None:
        self.name = name
        self._dataset = dataset
        unique_names(dataset.column_names, name)

    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._dataset.column_names)

    def rows(self, *, take: Sequence[int] | None = None, only: frozenset[str] | None = None) -> Iterator[Row]:
        """The rows; of the columns `only` those named are read. `where` counts rows from 1."""
        found = self._dataset
        if only is not None:
            found = found.select_columns([name for name in found.column_names if name in only])
        with read_errors(self.name), arrow_errors(self.name):
            yield from arrow_rows(found.with_format("arrow").iter(batch_size=BATCH_ROWS), self.name, take=take)

    def count(self) -> int:
        """How many rows there are."""
        return len(self._dataset)


def open_hub(name: str) -> HubSource:
    """The dataset that `hf-dataset:...` names, from the hub or from what was fetched before.

    Whatever `datasets.load_dataset` takes may stand for OWNER/NAME, folders too. Without a split there must be but one.
    Raises `InputError` for a name that is not in this form, and for what cannot be found, reached or read.
    """
    parts = _NAME.fullmatch(name.removeprefix(PREFIX))
    if parts is None:
        raise InputError(f"is not in the form {_FORM}", where=name)
    datasets = _datasets()
    with _failures(name), _quiet(datasets):
        found = datasets.load_dataset(
            parts["path"], name=parts["config"], split=parts["split"], revision=parts["revision"]
        )
    return HubSource(name, found if parts["split"] else _only_split(found, name))


def open_folder(folder: Path, *, split: str | None, name: str) -> HubSource:
    """The dataset in a folder: one that `save_to_disk` wrote, or files whose names tell their splits, as `datasets`
    reads them. Raises `InputError` for one that cannot be read, and where a split must be named."""
    datasets = _datasets()
    is_saved = (folder / "dataset_dict.json").is_file() or (folder / "state.json").is_file()
    with _failures(name), _quiet(datasets):
        found = (datasets.load_from_disk if is_saved else datasets.load_dataset)(str(folder))
    if not isinstance(found, dict):
        if split is not None:
            raise InputError(f"has no splits, so that there is none named {split!r}; leave it out", where=name)
        return HubSource(name, found)
    if split is None:
        return HubSource(name, _only_split(found, name))
    if split not in found:
        raise InputError(f"has no split {split!r}; splits: {', '.join(found)}", where=name)
    return HubSource(name, found[split])


def _only_split(found: Any, name: str) -> Any:
    if len(found) != 1:
        first = next(iter(found), "train")
        raise InputError(f"has the splits {', '.join(found)}; name one, such as {name}@{first}", where=name)
    return next(iter(found.values()))


def _datasets() -> Any:
    with importing("datasets"):
        import datasets
    return datasets


@contextmanager
def _failures(name: str) -> Iterator[None]:
    """What the library raises, as one line."""
    import httpx
    from datasets.exceptions import DatasetsError

    try:
        yield
    except ConnectionError as error:
        said = f"the hub cannot be reached ({message_line(error)})"
        said += "; a folder that save_to_disk wrote, or files, can be named instead"
        raise InputError(said, where=name) from None
    except (DatasetsError, OSError, ValueError, RuntimeError, httpx.HTTPError) as error:
        raise InputError(f"cannot be loaded: {message_line(error.__cause__ or error)}", where=name) from None


@contextmanager
def _quiet(datasets: Any) -> Iterator[None]:
    """No progress bars where nobody watches, and no warning for each of the hub's retries."""
    log = logging.getLogger("huggingface_hub")
    level, bars = log.level, datasets.utils.are_progress_bars_disabled()
    log.setLevel(logging.ERROR)
    if not sys.stderr.isatty():
        datasets.disable_progress_bars()
    try:
        yield
    finally:
        log.setLevel(level)
        if not bars:
            datasets.enable_progress_bars()
