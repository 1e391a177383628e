"""Topics are read strictly, in both forms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.data.topics import key_of, parse_topic, read_topics, without_copies

OURS: dict[str, Any] = {
    "id": "zoos",
    "question": "Should zoos be closed?",
    "aliases": ["closing zoos"],
    "perspectives": [
        {
            "name": "pro",
            "arguments": ["Cages are cruel.", {"text": "Few are set free.", "paraphrases": ["Freed: few."]}],
        },
        {"name": "con", "speakers": "keepers", "arguments": [{"id": "k", "text": "Zoos teach.", "source": "a book"}]},
    ],
    "sources": ["a page"],
    "meta": {"free": [1]},
}


def test_our_form_keeps_everything_and_names_what_has_no_id() -> None:
    topic = parse_topic(OURS)
    assert (topic.id, topic.names, topic.sources) == ("zoos", ("Should zoos be closed?", "closing zoos"), ["a page"])
    assert [(side.name, side.speakers, argument.id) for side, argument in topic.arguments] == [
        ("pro", None, "zoos-1"),
        ("pro", None, "zoos-2"),
        ("con", "keepers", "k"),
    ]
    assert topic.sides[0].arguments[1].wordings == ("Few are set free.", "Freed: few.")
    assert topic.sides[1].arguments[0].source == "a book"


def test_a_topic_without_an_id_gets_one_from_its_content() -> None:
    bare = {key: value for key, value in OURS.items() if key != "id"}
    assert parse_topic(bare).id == parse_topic(json.loads(json.dumps(bare))).id
    assert parse_topic(bare).id != parse_topic({**bare, "question": "Another?"}).id


def changed(**fields: object) -> dict[str, Any]:
    return {**OURS, **fields}


def test_what_is_wrong_is_named(subtests: pytest.Subtests) -> None:
    cases: list[tuple[object, str]] = [
        ([], "must be a JSON object"),
        ({}, "'question' is missing"),
        (changed(qestion="x"), r"unknown key 'qestion'; did you mean 'question'\?; known keys: question, perspectives"),
        (changed(question=" "), "'question' must not be blank"),
        (changed(question="a\x00"), "NUL"),
        (changed(perspectives="pro"), "'perspectives'"),
        (changed(perspectives=[{"name": "pro", "arguments": [{"txt": "x"}]}]), r"'perspectives\[0\].arguments\[0\]"),
        (changed(perspectives=[{"name": "pro", "arguments": [1]}]), r"'perspectives\[0\].arguments\[0\]"),
        (changed(perspectives=[{"name": "pro", "arguments": []}] * 2), "two perspectives are called 'pro'"),
        (
            changed(perspectives=[{"name": "p", "arguments": [{"id": "a", "text": "x"}] * 2}]),
            "two arguments have the id",
        ),
        (
            changed(perspectives=[{"name": "p", "arguments": [{"text": "x", "stance": 1}]}]),
            r"unknown key 'perspectives\[0\].arguments\[0\].stance'; known keys: text, id",
        ),
    ]
    for row, said in cases:
        with subtests.test(case=row):
            with pytest.raises(InputError, match=said) as error:
                parse_topic(row, where="t.jsonl, line 3")
            assert str(error.value).startswith("t.jsonl, line 3: ")
            assert bool(error.value.field) == ("two " not in said and "object" not in said)


def test_two_topics_of_one_id_are_an_error_that_names_both(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text((json.dumps(OURS) + "\n") * 2, encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: the id 'zoos' is taken by .*line 1"):
        read_topics(str(path))


def test_copies_go_on_their_side_or_everywhere() -> None:
    sides = [
        {"name": "pro", "arguments": ["It helps.", "it  HELPS"]},
        {"name": "con", "arguments": ["It helps!", "No."]},
    ]
    topic = parse_topic(changed(perspectives=sides))
    kept, dropped = without_copies(topic, across_sides=False)
    assert ([len(s.arguments) for s in kept.sides], dropped) == ([1, 2], 1)
    kept, dropped = without_copies(topic, across_sides=True)
    assert ([len(s.arguments) for s in kept.sides], dropped) == ([1, 1], 2)


@given(st.text())
def test_a_key_ignores_case_space_and_marks_and_is_empty_for_nothing_but_blanks(text: str) -> None:
    assert key_of(f"  {text}  ") == key_of(text)
    assert (key_of(text) == "") == (not text.strip())
    assert key_of(" ?\n !") == "? !"
