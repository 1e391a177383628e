"""Topics of a knowledge base: a disputed question, its sides, and what each of them argues.

Two forms are read. Ours:

    {"id": "zoos", "question": "Should zoos be closed?", "aliases": ["closing zoos"],
     "perspectives": [{"name": "pro", "speakers": "animal advocates",
                       "arguments": [{"id": "zoos-1", "text": "...", "paraphrases": ["..."], "source": "..."}, "..."]}],
     "sources": ["..."], "meta": {}}

where only `question` and `perspectives` must be there, an argument may be a text alone, and `perspectives` an object of
each side's name and its arguments, as in a row; and that of Perspectrum's claims (`claim`, `query`, `pro`, `con`). Both
strictly: an unknown key is an error that names it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, ConfigDict, Field, JsonValue

from eirene.core.coercion import as_id, as_sides, as_texts
from eirene.core.errors import InputError
from eirene.core.signature import digest
from eirene.core.validation import CheckedModel, validated
from eirene.data.json_rows import read_source
from eirene.text.unicode import Text


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument. `id` is unique within its topic; `paraphrases` say the same in other words."""

    id: str
    text: str
    paraphrases: tuple[str, ...] = ()
    source: str | None = None

    @property
    def wordings(self) -> tuple[str, ...]:
        """The text, then its paraphrases."""
        return (self.text, *self.paraphrases)


@dataclass(frozen=True, slots=True)
class Side:
    """One side. `speakers` is who takes it, as a plural that a sentence may begin with ("farmers"); None: not said."""

    name: str
    arguments: tuple[Argument, ...]
    speakers: str | None = None


@dataclass(frozen=True, slots=True)
class Topic:
    """A disputed question. Sides without an argument are left out, so that there may be one or none."""

    id: str
    question: str
    sides: tuple[Side, ...]
    aliases: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def arguments(self) -> Iterator[tuple[Side, Argument]]:
        """Every argument with its side, in order."""
        return ((side, argument) for side in self.sides for argument in side.arguments)

    @property
    def names(self) -> tuple[str, ...]:
        """What the topic goes by: its question and its aliases."""
        return (self.question, *self.aliases)


def read_topics(path: str) -> list[Topic]:
    """All topics of a JSON or JSON Lines file, or of standard input where `path` is `-`.

    Raises `InputError` that names file, row and field at the first fault, and at an id that two topics share.
    """
    return list(checked_ids((row.where, parse_topic(row.data, where=row.where)) for row in read_source(path).rows()))


def checked_ids(topics: Iterator[tuple[str, Topic]]) -> Iterator[Topic]:
    """The topics, each with the words that say where it stood, as long as no id comes twice; else `InputError`."""
    seen: dict[str, str] = {}
    for where, topic in topics:
        if topic.id in seen:
            raise InputError(
                f"the id {topic.id!r} is taken by {seen[topic.id]}; give every topic its own id",
                field="id",
                where=where,
            )
        seen[topic.id] = where
        yield topic


def parse_topic(data: object, *, where: str | None = None) -> Topic:
    """Checks one row of either form and returns it as a `Topic`; raises `InputError`."""
    if not isinstance(data, dict):
        raise InputError("a topic must be a JSON object with 'question' and 'perspectives'", where=where)
    paired = "perspectives" not in data and ("pro" in data or "con" in data)
    row: type[_ClaimRow] | type[_TopicRow] = _ClaimRow if paired else _TopicRow
    return validated(row, data, where=where).topic(where)


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
        sides.append(replace(side, arguments=tuple(kept)))
    return replace(topic, sides=tuple(side for side in sides if side.arguments)), dropped


_WORD = re.compile(r"[^\W_]+")


class _Row(CheckedModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _as_object(value: object) -> object:
    return {"text": value} if isinstance(value, str) else value


class _ParaphraseRow(_Row):
    text: Text
    pid: int | str | None = None
    source: str | None = None


class _ArgumentRow(_Row):
    example: ClassVar[str] = '{"text": "..."}, or the text alone'

    text: Text
    id: _Id | None = None
    paraphrases: list[Annotated[_ParaphraseRow, BeforeValidator(_as_object)]] = Field(default_factory=list)
    source: str | None = None
    # Perspectrum's own; nothing is made of them.
    text_source: str | None = None
    pid: int | str | None = None
    stance_5: str | None = None
    votes: list[int] | None = None

    def argument(self, default_id: str) -> Argument:
        return Argument(
            self.id or default_id, self.text, tuple(p.text for p in self.paraphrases), self.source or self.text_source
        )


def _as_arguments(value: object) -> object:
    return as_texts(value) if isinstance(value, str) else [value] if isinstance(value, dict) else value


_Arguments = Annotated[list[Annotated[_ArgumentRow, BeforeValidator(_as_object)]], BeforeValidator(_as_arguments)]
_Texts = Annotated[list[Text], BeforeValidator(as_texts)]
_Id = Annotated[Text, BeforeValidator(as_id)]


class _SideRow(_Row):
    example: ClassVar[str] = '{"name": "pro", "arguments": ["..."]}'

    name: Text
    arguments: _Arguments
    speakers: Text | None = None


class _TopicRow(_Row):
    question: Text
    perspectives: Annotated[list[_SideRow], BeforeValidator(as_sides)]
    id: _Id | None = None
    aliases: _Texts = Field(default_factory=list)
    sources: _Texts = Field(default_factory=list)
    meta: dict[str, JsonValue] = Field(default_factory=dict)

    def topic(self, where: str | None) -> Topic:
        key = self.id or "topic-" + digest(self.model_dump(mode="json", exclude={"id"}))[:12]
        sides = [(side.name, side.arguments, side.speakers) for side in self.perspectives]
        return Topic(key, self.question, _sides(key, sides, where), tuple(self.aliases), tuple(self.sources))


class _ClaimRow(_Row):
    claim_id: int | Text
    claim: Text
    query: Text | None = None
    pro: _Arguments = Field(default_factory=list)
    con: _Arguments = Field(default_factory=list)
    source: str | None = None
    split: str | None = None
    topics: list[str] | None = None

    def topic(self, where: str | None) -> Topic:
        key = str(self.claim_id)
        sides = _sides(key, [("pro", self.pro, None), ("con", self.con, None)], where)
        aliases = (self.claim,) if self.query is not None else ()
        return Topic(key, self.query or self.claim, sides, aliases, (self.source,) if self.source else ())


def _sides(topic: str, rows: list[tuple[str, list[_ArgumentRow], str | None]], where: str | None) -> tuple[Side, ...]:
    sides, names, ids, n = [], set(), set(), 0
    for name, arguments, speakers in rows:
        if name.strip() in names:
            raise InputError(f"two perspectives are called {name!r}; give each its own name", where=where)
        names.add(name.strip())
        found = []
        for row in arguments:
            n += 1
            found.append(row.argument(f"{topic}-{n}"))
            if found[-1].id in ids:
                raise InputError(f"two arguments have the id {found[-1].id!r}; give each its own", where=where)
            ids.add(found[-1].id)
        if found:
            sides.append(Side(name, tuple(found), speakers))
    return tuple(sides)
