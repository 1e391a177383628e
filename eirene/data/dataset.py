"""Data sets as items: source, column mapping and row selection (the first rows, or a seeded sample); streamed."""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count

import numpy as np

from eirene.core.coercion import null_passages
from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.core.records import Item, parse_item
from eirene.core.signature import check_seed, rng_for
from eirene.data.columns import FIELDS, NEEDED, ROW_NUMBER, ColumnMap, Fields, columns_of, find, no_column
from eirene.data.json_rows import Row, taken
from eirene.data.published import EVALUATED, Reader, has_keys
from eirene.data.source import RowSource

logger = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Selection:
    """The first `limit` rows (0: all), and `sample` of these (0: all), drawn by `seed` and left in their order."""

    limit: int = 0
    sample: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value in (("limit", self.limit), ("sample", self.sample)):
            if value < 0:
                raise InputError(f"{name} must be at least 0, got {value}", field=name)
        check_seed(self.seed)

    def places(self, total: int) -> Sequence[int] | None:
        """The places taken of `total` rows, from 0 and rising; None for all."""
        among = min(total, self.limit) if self.limit else total
        if 0 < self.sample < among:
            return sampled(among, self.sample, seed=self.seed)
        return range(among) if among < total else None


def sampled(total: int, size: int, *, seed: int) -> list[int]:
    """`size` of the places from 0 to `total` - 1, rising: every set of so many is equally likely.

    The same seed takes the same rows of any format, and a larger sample holds the smaller one.
    """
    found: list[int] = np.sort(rng_for(seed, "sample").permutation(total)[:size]).tolist()
    return found


@dataclass(frozen=True, slots=True)
class Shape:
    """How a row becomes the data of an item: by a reader, by a map of columns, or as it is.

    Columns that no field takes go to `meta` with a reader or a map, and are an error without; where the map takes
    `meta` from no column, they are left out.
    """

    columns: ColumnMap = field(default_factory=ColumnMap)
    reader: Reader | None = None

    @property
    def only(self) -> frozenset[str] | None:
        """The columns that are needed, where they can be told beforehand."""
        return self.columns.wanted() if self.columns.drops_rest and self.reader is None else None

    def spread(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows that the reader makes of rows."""
        if self.reader is None or self.reader.spread is None:
            yield from rows
            return
        for row in rows:
            yield from self.reader.spread(row)

    def data(self, row: Row, *, number: int, is_table: bool, seen: set[str]) -> object:
        """The data of an item; adds the targets of the map that the row has to `seen`."""
        if not isinstance(row.data, dict):
            return row.data  # checking it will say what it must be
        if self.reader is None and not self.columns and not is_table:
            _refuse_missing(row, row.data.keys())
            return row.data
        found = self.columns.fields(row, row.data, number=number, own_names=self.reader is None)
        seen |= found.seen
        if self.reader is not None:
            found = _completed(found, self.reader.read(row.data, row.where), self.columns.columns)
        else:
            _refuse_missing(row, found.seen)
        if self.reader is None and not self.columns:
            _refuse_rest(row.data, found, row.where)
        elif not self.columns.drops_rest:
            found.keep_rest(row.data, row.where)
        return found.values

    def null_passages(self, row: Row) -> int:
        """How many passages of the row are null, which the item lacks."""
        source = self.columns.source_of("context")
        return null_passages(find(row.data, source)) if source and isinstance(row.data, dict) else 0


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Rows that are at hand and checked, as a source."""

    held: Sequence[Item]
    name: str = "data"
    is_table: bool = False

    def columns(self) -> None:
        """None: items have no columns."""
        return None

    def rows(self, *, take: Sequence[int] | None = None, only: frozenset[str] | None = None) -> Iterator[Row]:
        """The rows that `take` names; `only` saves nothing here."""
        return taken((Row(f"{self.name}, row {n}", row) for n, row in enumerate(self.held, start=1)), take)

    def count(self) -> int:
        """How many there are."""
        return len(self.held)


def _completed(mapped: Fields, read: Fields, columns: Mapping[str, str]) -> Fields:
    """What the reader found, with what is mapped in its place. Without another answer the person's is it."""
    values = {name: value for name, value in read.values.items() if name not in columns}
    if any(target.startswith("perspectives.") for target in columns):
        values.pop("perspectives", None)
    meta = {**(values.pop("meta", None) or {}), **mapped.values.pop("meta", {})}
    values |= mapped.values
    if "answer" not in values and "answer" not in columns and "gold" in values:
        values["answer"] = values.pop("gold")
    return Fields({**values, "meta": meta} if meta else values, mapped.seen, mapped.used | read.used)


def _refuse_missing(row: Row, there: Collection[str]) -> None:
    missing = next((name for name in NEEDED if name not in there), None)
    if missing is not None:
        assert isinstance(row.data, dict)
        sets = [name for name, keys in EVALUATED.items() if has_keys(row.data, keys)]
        told = "".join(f"rows of {name} are for `eirene evaluate detectors`; " for name in sets)
        said = f"{no_column(missing, row.data)}; {told}say which is which: --map {missing}=COLUMN, or in Python "
        call = f'eirene.data.open_dataset(FILE, columns=["{missing}=COLUMN"])'
        inside = next((key for key, value in row.data.items() if isinstance(value, list)), None)
        if inside is not None and row.where.endswith(".json"):
            call += f"; for the rows in {inside!r} name {row.where}@{inside}"
        raise InputError(said + call, field=missing, where=row.where)


def _refuse_rest(data: Mapping[str, object], found: Fields, where: str) -> None:
    rest = [name for name in data if name not in found.used]
    if rest:
        said = f"the column {rest[0]!r} is none of {', '.join(FIELDS)}; --map meta.{rest[0]}={rest[0]} keeps it, "
        raise InputError(f"{said}--map meta= leaves out all such columns", field=rest[0], where=where)


class Dataset:
    """Items of a source. Nothing is read before it is asked for, and no more than a row is held but by `read`.

    `each` is made of every item that is given out (with passages found for it, say); it keeps the id. With `skip_bad`,
    rows that make no item are left out, and `skipped` has why; what cannot be read as rows at all is an error still.
    """

    def __init__(
        self,
        source: RowSource,
        shape: Shape | None = None,
        selection: Selection | None = None,
        *,
        take: Sequence[int] | None = None,
        each: Callable[[Item], Item] | None = None,
        skip_bad: bool | None = None,
    ) -> None:
        self.source = source
        self.name = source.name
        self.shape = Shape() if shape is None else shape
        self.selection = Selection() if selection is None else selection
        self._taken = take
        self.each = each
        self.skipped: list[str] = []
        """Of each row that was left out: where it stood, and why. Complete once a row has been given out."""
        self._skip_bad = skip_bad

    def check(self) -> int:
        """Reads every row that is taken and says how many there are.

        Raises `InputError` at the first that cannot be used, and at two that share an id: 8 bytes are held for each.
        """
        return sum(1 for _ in self._checked(None))

    def items(self) -> Iterator[Item]:
        """The items, one at a time; raises `InputError` at a row that cannot be used. `check` finds shared ids."""
        for _, item in self.placed():
            yield item

    def placed(self) -> Iterator[tuple[str, Item]]:
        """The items as `items` gives them, each with the words that say where it stood."""
        for row, _, item in self._placed(set(), self.each):
            yield row.where, item

    def read(self) -> list[Item]:
        """All items, checked as `check` does."""
        return list(self.checked())

    def part(self, which: Sequence[int]) -> Dataset:
        """Some of the items: those at these numbers, rising from 0, in the order of `items`."""
        take = which if self._take is None else array("q", (self._take[n] for n in which))
        return Dataset(self.source, self.shape, self.selection, take=take, each=self.each)

    def checked(self) -> Iterator[Item]:
        """The items, one at a time, and at the end the errors of `check`."""
        return self._checked(self.each)

    def _checked(self, each: Callable[[Item], Item] | None) -> Iterator[Item]:
        ids, seen = array("Q"), set[str]()
        last: Row | None = None
        nulls: list[str] = []
        for last, _, item in self._placed(seen, each):
            ids.append(id_number(item.id))
            nulls += [last.where] * self.shape.null_passages(last)
            yield item
        if nulls:
            logger.warning("null passages are left out: %d, the first in %s", len(nulls), nulls[0])
        if last is None and self.skipped:
            raise InputError(f"has no row that can be used ({len(self.skipped)}); the first: {self.skipped[0]}")
        if last is None:
            raise InputError("has no rows", where=self.name)
        self._refuse_unseen(seen, last)
        self._refuse_duplicates(ids)

    def _placed(self, seen: set[str], each: Callable[[Item], Item] | None = None) -> Iterator[tuple[Row, object, Item]]:
        """Each row that is taken, the data made of it, and its item, with what `each` makes of it."""
        take = self._take
        for place, row in self._at(take):
            data, item = self._made(row, place, seen)
            yield row, data, item if each is None else each(item)

    @cached_property
    def _take(self) -> Sequence[int] | None:
        if self._taken is not None:
            return self._taken
        if self.selection.sample:
            rows = self.shape.spread(self.source.rows()) if self._spreads else None
            found = self.selection.places(self.source.count() if rows is None else sum(1 for _ in rows))
        else:
            found = range(min(self.selection.limit, sys.maxsize)) if self.selection.limit else None
        return self._usable(found) if self._skip_bad else found

    def _usable(self, take: Sequence[int] | None) -> Sequence[int]:
        """The places among these whose rows make an item; the others are listed."""
        good = array("q")
        for place, row in self._at(take):
            try:
                self._made(row, place, set())
                good.append(place)
            except InputError as error:
                self.skipped.append(str(error))
        return good

    def _at(self, take: Sequence[int] | None) -> Iterator[tuple[int, Row]]:
        return zip(count() if take is None else take, self._rows(take), strict=False)

    @property
    def _spreads(self) -> bool:
        return self.shape.reader is not None and self.shape.reader.spread is not None

    def _rows(self, take: Sequence[int] | None) -> Iterator[Row]:
        self._refuse_unknown()
        if self._spreads:
            return taken(self.shape.spread(self.source.rows()), take)
        return self.source.rows(take=take, only=self.shape.only)

    def _made(self, row: Row, place: int, seen: set[str]) -> tuple[object, Item]:
        data: object = None
        try:
            data = self.shape.data(row, number=place + 1, is_table=self.source.is_table, seen=seen)
            return data, parse_item(data, where=row.where)
        except InputError as error:
            column = None if data is None else self.shape.columns.columns.get((error.field or "").split("[")[0])
            more = f" (from the column {column!r})" if column else self._hint(data)
            more += "; --skip-bad leaves such rows out and lists them" if self._skip_bad is False else ""
            said = str(error).removeprefix(f"{row.where}: ")
            raise InputError(said + more, field=error.field, where=row.where) from None

    def _hint(self, data: object) -> str:
        """What to add where a row has keys of its own and nobody has said which is which; a reader may be the wrong."""
        has_own = self.shape.reader is not None or (isinstance(data, dict) and not set(data) <= set(FIELDS))
        if self.shape.columns or not has_own:
            return ""
        return "; --map FIELD=COLUMN says which is which"

    def _refuse_unknown(self) -> None:
        """A table says beforehand which columns it has."""
        there = self.source.columns() if self.shape.columns else None
        if there is None:
            return
        known = set(there)
        for path in self.shape.columns.columns.values():
            if path and path != ROW_NUMBER and not known & columns_of(path):
                raise InputError(no_column(path, there), field="map", where=self.name)

    def _refuse_unseen(self, seen: set[str], last: Row) -> None:
        """A column that no row has is a slip, though every row may lack it."""
        for target, path in self.shape.columns.columns.items():
            if path and target not in seen and isinstance(last.data, dict):
                raise InputError(
                    f"in none of the rows read: {no_column(path, last.data)}", field="map", where=self.name
                )

    def _refuse_duplicates(self, ids: array[int]) -> None:
        """Two rows with one id are found by the ids' hashes; a second reading says which they are."""
        numbers = np.sort(np.frombuffer(ids, np.uint64))
        doubtful = set(numbers[1:][numbers[1:] == numbers[:-1]].tolist())
        if not doubtful:
            return
        places: dict[str, str] = {}
        for row, data, item in self._placed(set()):
            if id_number(item.id) not in doubtful:
                continue
            if item.id in places:
                named = "id" in data if isinstance(data, dict) else not item.id.startswith("item-")
                what = f"the id {item.id!r} is taken by" if named else "has no 'id' and the same content as"
                raise InputError(f"{what} {places[item.id]}; give each an id (--map id=#)", field="id", where=row.where)
            places[item.id] = row.where


def id_number(name: str) -> int:
    """64 bits that stand for an id where there are too many to hold them as texts."""
    return int.from_bytes(hashlib.blake2b(name.encode("utf-8"), digest_size=8).digest(), "little")
