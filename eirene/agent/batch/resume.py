"""Which rows of the data are finished in the journal, which are missing, and which were made otherwise."""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eirene.agent.batch.entries import Entries
from eirene.agent.critics import critique_from_notes
from eirene.agent.record import RowHash
from eirene.agent.settings import Settings
from eirene.core.errors import InputError
from eirene.data import Dataset
from eirene.data.dataset import id_number
from eirene.text.sentences import split_sentences

Numbers = NDArray[np.uint64]
OnLook = Callable[[int], None]
"""Told how many rows have been looked at."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The rows of the data in their order, 16 bytes each: what stands for the id, and the hash."""

    ids: Numbers
    hashes: Numbers


@dataclass(frozen=True, slots=True)
class Standing:
    """What a journal has of the rows that are wanted.

    `missing`: places in the data; `changed`: which entries of the journal have the id of a row and another hash;
    `n_others`: entries that no row of the data asks for.
    """

    missing: NDArray[np.int64]
    changed: NDArray[np.bool_]
    n_done: int
    n_others: int


def look(dataset: Dataset, hashes: RowHash, settings: Settings, on_look: OnLook | None = None) -> Wanted:
    """Reads all rows before anything is spent on one.

    Raises `InputError` for one that cannot be used, for two with one id, and in mode human for one without its notes.
    """
    ids, found = array("Q"), array("Q")
    for n, item in enumerate(dataset.checked(), start=1):
        if settings.mode == "human":
            try:
                critique_from_notes(item, split_sentences(item.answer))
            except InputError as error:
                raise InputError(str(error), field=error.field, where=f"row {item.id!r}") from None
        ids.append(id_number(item.id))
        found.append(int(hashes.of(item), 16))
        if on_look is not None:
            on_look(n)
    return Wanted(np.frombuffer(ids, np.uint64), np.frombuffer(found, np.uint64))


def standing(wanted: Wanted, entries: Entries) -> Standing:
    """Holds the rows against the journal."""
    changed = np.zeros(len(entries), np.bool_)
    if not len(entries):
        return Standing(np.arange(len(wanted.ids)), changed, 0, 0)
    order = np.argsort(entries["id"], kind="stable")
    at = order[np.minimum(np.searchsorted(entries["id"][order], wanted.ids), len(entries) - 1)]
    is_there = entries["id"][at] == wanted.ids
    is_same = is_there & (entries["hash"][at] == wanted.hashes)
    changed[at[is_there & ~is_same]] = True
    return Standing(
        missing=np.flatnonzero(~is_same),
        changed=changed,
        n_done=int(is_same.sum()),
        n_others=len(entries) - int(is_there.sum()),
    )
