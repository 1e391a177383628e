"""Hugging Face datasets as row sources: from the hub by name, and from saved folders."""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from eirene.core.errors import InputError
from eirene.core.extras import importing
from eirene.data.arrow import BATCH_ROWS, arrow_errors, arrow_rows, unique_names
from eirene.data.json_rows import Row
from eirene.data.source import read_errors

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


def is_saved(folder: Path) -> bool:
    """Whether `save_to_disk` wrote the folder."""
    return (folder / "dataset_dict.json").is_file() or (folder / "state.json").is_file()


def open_saved(folder: Path, *, split: str | None, name: str) -> HubSource:
    """The dataset in a folder that `save_to_disk` wrote; raises `InputError` for one that cannot be read."""
    datasets = _datasets()
    with _failures(name), _quiet(datasets):
        found = datasets.load_from_disk(str(folder))
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
        raise InputError(
            f"the hub cannot be reached ({_line(error)}); a folder that save_to_disk wrote, or files, can be named "
            "instead",
            where=name,
        ) from None
    except (DatasetsError, OSError, ValueError, RuntimeError, httpx.HTTPError) as error:
        raise InputError(f"cannot be loaded: {_line(error)}", where=name) from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__


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
