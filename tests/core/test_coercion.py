"""What Python may hand over as the fields of a row: retrievers' documents, NumPy, pandas, other mappings."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import pytest
from langchain_core.documents import Document
from langchain_core.messages import ToolMessage

from eirene.core.coercion import TEXT_KEYS
from eirene.core.errors import InputError
from eirene.core.records import Item, Perspective, parse_item
from eirene.data.topics import parse_topic
from eirene.retrieval.passages import Passage
from eirene.retrieval.retriever import Hit
from tests.rows import each

ROW = {"question": "Q?", "answer": "A."}
TITLED = Document("They teach.", metadata={"title": "Zoos"})
SIDES = [{"name": "pro", "arguments": ["a"]}, {"name": "con", "arguments": ["b", "c"]}]


@dataclass
class Node:
    """A retriever's result of another library: its text is an attribute."""

    content: str
    meta: dict[str, Any]


def item(**fields: Any) -> Item:
    return parse_item({**ROW, **fields})


@each(
    "context, texts",
    [
        (Document("a"), ["a"]),
        ([Document("a"), TITLED], ["a", "Zoos: They teach."]),
        ([[TITLED], ["a"]], ["Zoos: They teach.", "a"]),
        ([Document("Zoos teach.", metadata={"title": "Zoos"})], ["Zoos teach."]),
        ([TITLED.model_dump()], ["Zoos: They teach."]),
        ([Node("a", {"title": "T"})], ["T: a"]),
        ([Passage("1", "They teach.", "Zoos")], ["Zoos: They teach."]),
        ([Hit(Passage("1", "They teach.", "Zoos"), 1.0, 0.0)], ["Zoos: They teach."]),
        ([ToolMessage("a", tool_call_id="1")], ["a"]),
        (("a", "b"), ["a", "b"]),
        (np.array(["a", "b"]), ["a", "b"]),
        (pd.Series(["a", None, "b"]), ["a", "b"]),
        ([np.str_("a")], ["a"]),
        (MappingProxyType({"text": "a"}), ["a"]),
        ([{key: "a"} for key in TEXT_KEYS], ["a"] * len(TEXT_KEYS)),
    ],
)
def test_passages_come_as_whatever_a_retriever_gives(context: object, texts: list[str]) -> None:
    assert item(context=context).context == texts
    assert Item.model_validate({**ROW, "context": context}).id == item(context=texts).id


@each(
    "context, texts",
    [
        ('["a", null]', ["a"]),
        ('[null, "a"]', ["a"]),
        ([{"title": "Zoos", "text": None}, "a"], ["a"]),
        *((text, [text]) for text in ("(1990)", "('Tis old)", "['a'] and b", "[print('x')]")),
    ],
)
def test_a_text_is_a_list_of_passages_only_where_it_is_one(context: object, texts: list[str]) -> None:
    assert item(context=context).context == texts


def test_passages_that_are_all_null_are_none() -> None:
    assert item(context=[None]).context is None
    assert item(context=[{"text": None}]).context is None


@each(
    "field, text",
    [
        *(("context", str(held)) for held in (["a", "it's"], [None, "a"], [{"title": "Zoos", "text": "a"}], [TITLED])),
        ("context", repr(np.array(["a", "it's"], dtype=object))),
        ("context", "[np.str_('a'), nan]"),
        ("context", "['a', 'b"),
        ("context", "['" + "a', '" * 300_000 + "']"),
        ("perspectives", "{'pro': ['a']}"),
        ("history", "[{'role': 'user', 'content': 'Hi'}]"),
        ("meta", "{'n': 1}"),
    ],
)
def test_what_python_printed_is_refused_with_the_way_to_write_it(field: str, text: str) -> None:
    with pytest.raises(InputError, match=f"'{field}' .*write it as JSON, by `json.dumps`, not as Python prints it"):
        item(**{field: text})


@each(
    "perspectives",
    [
        {"pro": "a", "con": ["b", "c"]},
        MappingProxyType({"pro": "a", "con": ("b", "c")}),
        {"pro": np.array(["a"]), "con": pd.Series(["b", "c"])},
        [Perspective(name="pro", arguments="a"), Perspective(name="con", arguments=["b", "c"])],
        (SIDES[0], SIDES[1]),
        np.array(SIDES),
    ],
)
def test_sides_come_as_a_mapping_or_as_a_list(perspectives: object) -> None:
    assert item(perspectives=perspectives).model_dump()["perspectives"] == SIDES


def test_one_perspective_is_a_list_of_one() -> None:
    one = Perspective(name="pro", arguments="a")
    assert item(perspectives=one).perspectives == [one]


@each(
    "value, text",
    [
        (7, "7"),
        (np.int64(7), "7"),
        (7.0, "7"),
        ("007", "007"),
        (2**70, str(2**70)),
        (uuid.UUID(int=7), str(uuid.UUID(int=7))),
    ],
)
def test_an_id_may_be_a_number(value: object, text: str) -> None:
    assert item(id=value).id == text


@each("value", [True, 7.5, float("nan"), float("inf"), 10**5000, [7], b"7"])
def test_what_is_no_id_is_named_with_what_is(value: object) -> None:
    with pytest.raises(InputError, match=r"\A'id' must be a text or a whole number, got [^\n]*\Z"):
        item(id=value)


def test_what_has_been_taken_is_taken_again_as_it_is() -> None:
    """A passage that looks like a list stays one, once it is a passage."""
    taken = item(context=['["a"]', "[[b]]"], perspectives={"pro": ['["a"]']})
    assert parse_item(taken.model_dump(mode="json")) == taken
    assert taken.context == ['["a"]', "[[b]]"]


def test_a_row_may_be_any_mapping() -> None:
    assert parse_item(MappingProxyType(ROW)) == parse_item(ROW)


def test_a_list_in_itself_is_an_error_and_no_endless_search() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InputError, match="lists may lie 10 deep"):
        item(context=endless)


def test_topics_take_the_forms_of_rows() -> None:
    row = {"id": "7", "question": "Q?", "perspectives": SIDES, "aliases": ["x"]}
    written = {"id": 7, "question": "Q?", "perspectives": {"pro": "a", "con": [{"text": "b"}, "c"]}, "aliases": "x"}
    assert parse_topic(written) == parse_topic(row)
