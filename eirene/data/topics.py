"""Topics with arguments (a knowledge base) from JSON rows and from tables."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from eirene.core.coercion import as_id, as_sides, as_texts
from eirene.core.errors import InputError
from eirene.core.json import jsonable
from eirene.core.signature import digest
from eirene.core.validation import CheckedModel, validated
from eirene.data.columns import arguments_value, field_value
from eirene.data.json_rows import Row
from eirene.data.open import opened
from eirene.data.source import RowSource
from eirene.text.unicode import Text

_Id = Annotated[Text, BeforeValidator(as_id)]
_Texts = Annotated[list[Text], BeforeValidator(as_texts)]


class _TopicForm(CheckedModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        return {key: value for key, value in data.items() if value is not None} if isinstance(data, dict) else data


def _as_arguments(value: object) -> object:
    found = as_texts(value) if isinstance(value, str) else [value] if isinstance(value, dict) else value
    return [{"text": one} if isinstance(one, str) else one for one in found] if isinstance(found, list) else found


def _as_wording(value: object) -> object:
    return value["text"] if isinstance(value, dict) and "text" in value and {*value} <= {"text", "source"} else value


class Argument(_TopicForm):
    """One argument. `id` is unique within its topic; `paraphrases` say the same in other words."""

    text: Text
    id: _Id = ""
    paraphrases: list[Annotated[Text, BeforeValidator(_as_wording)]] = Field(default_factory=list)
    source: str | None = None

    @property
    def wordings(self) -> tuple[str, ...]:
        """The text, then its paraphrases."""
        return (self.text, *self.paraphrases)


class Side(_TopicForm):
    """One side. `speakers` is who takes it, as a plural that a sentence may begin with ("farmers"); None: not said."""

    name: Text
    arguments: Annotated[list[Argument], BeforeValidator(_as_arguments)]
    speakers: Text | None = None


class Topic(_TopicForm):
    """A disputed question. Sides without an argument are left out, so that there may be one or none."""

    question: Text
    perspectives: Annotated[list[Side], BeforeValidator(as_sides)]
    id: _Id = ""
    aliases: _Texts = Field(default_factory=list)
    sources: _Texts = Field(default_factory=list)
    meta: dict[str, JsonValue] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _set_ids(self) -> Self:
        """Ids for what has none: of the topic by its content, of arguments by their number."""
        key = self.id or "topic-" + digest(self.model_dump(mode="json", exclude={"id"}))[:12]
        numbers, sides = count(1), []
        for side in self.perspectives:
            named = [
                a.model_copy(update={"id": a.id or f"{key}-{n}"}) for a, n in zip(side.arguments, numbers, strict=False)
            ]
            sides.append(side.model_copy(update={"arguments": named}))
        for name, n in Counter(side.name.strip() for side in sides).items():
            if n > 1:
                raise ValueError(f"two perspectives are called {name!r}; give each its own name")
        for name, n in Counter(argument.id for side in sides for argument in side.arguments).items():
            if n > 1:
                raise ValueError(f"two arguments have the id {name!r}; give each its own")
        object.__setattr__(self, "id", key)
        object.__setattr__(self, "perspectives", [side for side in sides if side.arguments])
        return self

    @property
    def sides(self) -> tuple[Side, ...]:
        """The perspectives."""
        return tuple(self.perspectives)

    @property
    def arguments(self) -> Iterator[tuple[Side, Argument]]:
        """Every argument with its side, in order."""
        return ((side, argument) for side in self.perspectives for argument in side.arguments)

    @property
    def names(self) -> tuple[str, ...]:
        """What the topic goes by: its question and its aliases."""
        return (self.question, *self.aliases)


def read_topics(data: str | RowSource) -> list[Topic]:
    """All topics of a file, a dataset or standard input (see `open_source`), in whatever format.

    A table has a topic a row (`question`, `perspectives` as JSON text or the columns `pro` and `con`, each a list as
    JSON text or one text, and optionally `id`, `aliases`, `sources`), or an argument a row (`question`, `side`,
    `argument`, optionally `id` of the topic). Raises `InputError` that names place and field at the first fault, and at
    an id that two topics share.
    """
    source = opened(data)
    return list(checked_ids((row.where, parse_topic(row.data, where=row.where)) for row in topic_rows(source)))


def checked_ids(topics: Iterator[tuple[str, Topic]]) -> Iterator[Topic]:
    """The topics, each with the words that say where it stood, as long as no id comes twice; else `InputError`."""
    seen: dict[str, str] = {}
    for where, topic in topics:
        if topic.id in seen:
            said = f"the id {topic.id!r} is taken by {seen[topic.id]}; give every topic its own id"
            raise InputError(said, field="id", where=where)
        seen[topic.id] = where
        yield topic


def parse_topic(data: object, *, where: str | None = None) -> Topic:
    """Checks one row and returns it as a `Topic`; raises `InputError`."""
    if not isinstance(data, dict):
        raise InputError("a topic must be a JSON object with 'question' and 'perspectives'", where=where)
    return validated(Topic, data, where=where)


def key_of(text: str) -> str:
    """A text's words in lower case with one space between: texts with the same key differ in nothing that is read."""
    words = " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
    return words or " ".join(text.split())


def without_copies(topic: Topic, *, across_sides: bool) -> tuple[Topic, int]:
    """The topic with each argument once on its side, and how many copies went; `across_sides`: once in all.

    An argument is a copy if its text has the same words as that of an earlier one.
    """
    seen: set[tuple[str, str]] = set()
    sides, dropped = [], 0
    for side in topic.sides:
        kept = []
        for argument in side.arguments:
            key = ("" if across_sides else side.name, key_of(argument.text))
            if key in seen:
                dropped += 1
                continue
            seen.add(key)
            kept.append(argument)
        sides.append(side.model_copy(update={"arguments": kept}))
    return topic.model_copy(update={"perspectives": [side for side in sides if side.arguments]}), dropped


_WORD = re.compile(r"[^\W_]+")


_SIDES = ("pro", "con")
_LONG = ("question", "side", "argument")
_LISTS = ("aliases", "sources")


def topic_rows(source: RowSource) -> Iterator[Row]:
    """The rows of a source as `parse_topic` reads them; JSON is left as it is."""
    if not source.is_table:
        yield from source.rows()
    elif set(source.columns() or ()) >= set(_LONG):
        yield from _gathered(source)
    else:
        yield from (Row(row.where, _wide(row.data, row.where)) for row in source.rows())


def _wide(data: Any, where: str) -> dict[str, Any]:
    """A topic in one row. Other columns than a topic's are left to `parse_topic`, which refuses them by name."""
    found = {name: value for name, value in data.items() if jsonable(value) not in (None, "")}
    sides = [(name, found.pop(name)) for name in _SIDES if name in found]
    if "perspectives" in found:
        found["perspectives"] = field_value("perspectives", found["perspectives"], column="perspectives", where=where)
    elif sides:
        named = [(name, arguments_value(value, column=name, where=where)) for name, value in sides]
        found["perspectives"] = [{"name": name, "arguments": texts or []} for name, texts in named]
    for name in _LISTS:
        if name in found:
            found[name] = arguments_value(found[name], column=name, where=where)
    if "id" in found:
        found["id"] = field_value("id", found["id"], column="id", where=where)
    return found


def _gathered(source: RowSource) -> Iterator[Row]:
    """The topics whose arguments stand a row each, in the order of their first; a topic is known by its question."""
    topics: dict[str, tuple[str, dict[str, Any], dict[str, list[str]]]] = {}
    for row in source.rows():
        cells = _texts(row)
        where, topic, sides = topics.setdefault(cells["question"], (row.where, {"question": cells["question"]}, {}))
        if cells["id"] and topic.setdefault("id", cells["id"]) != cells["id"]:
            raise InputError(f"the question has the id {topic['id']!r} in {where}", field="id", where=row.where)
        sides.setdefault(cells["side"], []).append(cells["argument"])
    for where, topic, sides in topics.values():
        yield Row(where, {**topic, "perspectives": [{"name": n, "arguments": texts} for n, texts in sides.items()]})


def _texts(row: Row) -> dict[str, str]:
    data: Mapping[str, Any] = row.data if isinstance(row.data, dict) else {}
    rest = [name for name in data if name not in (*_LONG, "id")]
    if rest:
        raise InputError(f"the column {rest[0]!r} is none of {', '.join(_LONG)}, id", field=rest[0], where=row.where)
    cells: dict[str, str] = {}
    for name in _LONG:
        value = field_value("question", data.get(name), column=name, where=row.where)
        if not value or not value.strip():
            raise InputError(f"the column {name!r} is empty", field=name, where=row.where)
        cells[name] = value
    cells["id"] = field_value("id", data.get("id"), column="id", where=row.where) or ""
    return cells
