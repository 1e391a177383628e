"""One row in every form that it may be written in, from everywhere that rows come from: the same item, the same errors.

An item without an id is named by the hash of its content, so that items with one name are the same.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import eirene
from eirene.core.errors import InputError
from tests.agent.server.serving import embedded_engine, served
from tests.cli.run import Run, assert_error
from tests.rows import each

QUESTION = "Should zoos be closed?"
ANSWER = "Supporters of zoos say that zoos teach children about animals."
ROW = {"question": QUESTION, "answer": ANSWER}
TEACH, SUFFER, FREE = "Zoos teach children about animals.", "Cages make animals suffer.", "Entry is free."
SIDES = [{"name": "pro", "arguments": [SUFFER, FREE]}, {"name": "con", "arguments": [TEACH]}]
TITLED = ["Zoos: They teach children.", FREE]

FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "sides": ({"perspectives": SIDES}, {"perspectives": SIDES}),
    "a mapping of sides": ({"perspectives": {"pro": [SUFFER, FREE], "con": [TEACH]}}, {"perspectives": SIDES}),
    "one argument a side": ({"perspectives": {"pro": [SUFFER, FREE], "con": TEACH}}, {"perspectives": SIDES}),
    "one argument in a side": (
        {"perspectives": [SIDES[0], {"name": "con", "arguments": TEACH}]},
        {"perspectives": SIDES},
    ),
    "one side": ({"perspectives": SIDES[0]}, {"perspectives": SIDES[:1]}),
    "a side without any": ({"perspectives": {"pro": [SUFFER, FREE], "con": None}}, {"perspectives": SIDES[:1]}),
    "sides as JSON in a text": (
        {"perspectives": json.dumps({"pro": [SUFFER, FREE], "con": TEACH})},
        {"perspectives": SIDES},
    ),
    "one passage": ({"context": TEACH}, {"context": [TEACH]}),
    "passages": ({"context": [TEACH, FREE]}, {"context": [TEACH, FREE]}),
    "passages as JSON in a text": ({"context": json.dumps([TEACH, FREE])}, {"context": [TEACH, FREE]}),
    "a null among them": ({"context": [TEACH, None, FREE]}, {"context": [TEACH, FREE]}),
    "lists of passages": ({"context": [[TEACH], [[FREE]]]}, {"context": [TEACH, FREE]}),
    "a passage with a title": ({"context": {"title": "Zoos", "text": "They teach children."}}, {"context": TITLED[:1]}),
    "passages with titles": (
        {"context": [{"title": "Zoos", "text": "They teach children.", "score": 0.5}, {"title": "", "text": FREE}]},
        {"context": TITLED},
    ),
    "documents": (
        {"context": [{"page_content": "They teach children.", "metadata": {"title": "Zoos"}}, {"content": FREE}]},
        {"context": TITLED},
    ),
    "all in each other": (
        {"context": [[{"title": "Zoos", "text": "They teach children."}], FREE]},
        {"context": TITLED},
    ),
    "data": ({"context": {"place": "Zoo", "of": None}}, {"context": ['{"place": "Zoo", "of": null}']}),
    "a wiki link": ({"context": "[[Zoos]] teach [1]."}, {"context": ["[[Zoos]] teach [1]."]}),
    "a note as JSON in a text": (
        {"feedback": json.dumps([{"sentence": 1, "reason": "r"}])},
        {"feedback": [{"sentence": 1, "reason": "r"}]},
    ),
    "free data as JSON in a text": ({"meta": json.dumps({"n": 1})}, {"meta": {"n": 1}}),
    "a number for an id": ({"id": 7}, {"id": "7"}),
    "a number with a point": ({"id": 7.0}, {"id": "7"}),
}

SIDES_ARE = 'must be {"pro": ["..."], "con": "..."} or [{"name": "pro", "arguments": ["..."]}]'
PASSAGES_ARE = 'must be a text or a list of texts, or of passages such as {"title": "...", "text": "..."}'
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "sides that are a number": ({"perspectives": 5}, SIDES_ARE),
    "sides that are a text": ({"perspectives": "pro"}, SIDES_ARE),
    "broken JSON": ({"perspectives": '{"pro": ['}, SIDES_ARE),
    "a side that is a text": ({"perspectives": ["pro"]}, "a valid dictionary or instance of Perspective"),
    "arguments that are a number": (
        {"perspectives": {"pro": 5}},
        "must be a text or a list of texts, got the number 5",
    ),
    "an argument that is a number": (
        {"perspectives": {"pro": [5]}},
        "must be a valid string, got the number 5",
    ),
    "a blank argument": ({"perspectives": {"pro": [" "]}}, "must not be blank"),
    "a name twice": ({"perspectives": [SIDES[0], SIDES[0]]}, "has the name 'pro' twice"),
    "passages that are a number": ({"context": 5}, PASSAGES_ARE),
    "a passage that is a number": ({"context": [TEACH, 5]}, PASSAGES_ARE),
    "a passage without a text": ({"context": [{"text": ["x"]}]}, "got the object {'text': ['x']} among them"),
    "a broken list": ({"context": '["a'}, PASSAGES_ARE),
    "passages too deep": ({"context": [[[[[[[[[[[[TEACH]]]]]]]]]]]]}, "lists may lie 10 deep"),
    "a blank passage": ({"context": [TEACH, " "]}, "must not be blank"),
}


def item_of(fields: dict[str, Any]) -> eirene.Item:
    return eirene.Item(**{**ROW, **fields})


def as_csv(path: Path, fields: dict[str, Any]) -> Path:
    """A table of one row, whose cells hold what is no text as JSON; a passage alone is a list of one there."""
    if isinstance(fields.get("context"), dict):
        fields = {**fields, "context": [fields["context"]]}
    cells = {name: value if isinstance(value, str) else json.dumps(value) for name, value in {**ROW, **fields}.items()}
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([list(cells), list(cells.values())])
    return path


def as_lines(path: Path, fields: dict[str, Any]) -> Path:
    path.write_text(json.dumps({**ROW, **fields}) + "\n", encoding="utf-8")
    return path


@each("name", FORMS)
def test_python_takes_every_form(name: str) -> None:
    fields, canonical = FORMS[name]
    item = item_of(fields)
    dumped = item.model_dump(mode="json")
    assert {key: dumped[key] for key in canonical} == canonical
    assert eirene.Item.model_validate({**ROW, **fields}) == item == item_of(canonical)
    assert eirene.refine({**ROW, **fields}, samples=3).id == eirene.refine(**ROW, **fields, samples=3).id == item.id


@pytest.mark.parametrize("name", FORMS)
def test_files_take_every_form(name: str, run: Run, tmp_path: Path) -> None:
    fields, canonical = FORMS[name]
    wanted = item_of(canonical)
    files = [as_lines(tmp_path / "x.jsonl", fields), as_csv(tmp_path / "x.csv", fields)]
    # In a cell a number is a text as it was written: 007 is not 7, nor is 7.0.
    for path in files[:1] if isinstance(fields.get("id"), float) else files:
        result = run("refine", path, "--json", "--samples", "3")
        assert result.record["id"] == wanted.id, (path.suffix, result.err)


@each(
    "name",
    [
        "sides",
        "a mapping of sides",
        "a side without any",
        "passages",
        "a null among them",
        "a passage with a title",
        "documents of one kind",
        "lists of lists",
        "a number for an id",
    ],
)
def test_parquet_takes_what_its_columns_can_hold(name: str, run: Run, tmp_path: Path) -> None:
    """The entries of a column are of one type there."""
    more: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "documents of one kind": (
            {"context": [{"page_content": TEACH, "metadata": {"title": "For"}}]},
            {"context": ["For: " + TEACH]},
        ),
        "lists of lists": ({"context": [[TEACH], [FREE]]}, {"context": [TEACH, FREE]}),
    }
    fields, canonical = {**FORMS, **more}[name]
    pq.write_table(pa.Table.from_pylist([{**ROW, **fields}]), tmp_path / "x.parquet")
    assert run("refine", tmp_path / "x.parquet", "--json", "--samples", "3").record["id"] == item_of(canonical).id


@pytest.mark.usefixtures("loopback")
def test_the_server_takes_every_form() -> None:
    asked = [{"role": "user", "content": QUESTION}, {"role": "assistant", "content": ANSWER}]
    with served(embedded_engine(samples=3)) as server:
        for fields, canonical in FORMS.values():
            if not {*canonical} & {"perspectives", "context"}:
                continue  # what the server's bodies do not have
            chat = {"model": "refine/fine-grained/embedded", "messages": asked, **fields}
            replies = [
                httpx.post(f"{server.root}/v1/runs", json={**ROW, **fields}, timeout=60),
                httpx.post(f"{server.root}/v1/chat/completions", json=chat, timeout=60),
            ]
            for run_id in (replies[0].json()["id"], replies[1].headers["x-eirene-run-id"]):
                assert "ended" in httpx.get(f"{server.root}/v1/runs/{run_id}/events", timeout=60).text
                found = httpx.get(f"{server.root}/v1/runs/{run_id}", timeout=60).json()
                assert found["records"][0]["id"] == item_of(canonical).id, fields


def one_sentence(message: str, said: str) -> None:
    assert said in message
    assert not any(word in message for word in ("\n", "pydantic", "Value error", "Traceback", "Input should"))


@pytest.mark.parametrize("name", BAD)
def test_what_fits_no_form_is_told_in_one_sentence_everywhere(name: str, run: Run, tmp_path: Path) -> None:
    fields, said = BAD[name]
    for build in (
        lambda: item_of(fields),
        lambda: eirene.Item.model_validate({**ROW, **fields}),
        lambda: eirene.refine(**ROW, **fields),
        lambda: eirene.refine({**ROW, **fields}),
        lambda: eirene.initial_state({**ROW, **fields}, 0),
    ):
        with pytest.raises(InputError) as caught:
            build()
        one_sentence(str(caught.value), said)
    lines, table = as_lines(tmp_path / "x.jsonl", fields), as_csv(tmp_path / "x.csv", fields)
    places = {lines: f"{lines}, line 1: ", table: f"{table}, line 2: "}
    if fields == {"context": 5}:
        del places[table]  # there it is the text 5
    for path, place in places.items():
        result = run("refine", path)
        assert_error(result, place)
        one_sentence(result.err.removesuffix("\n"), said)


@pytest.mark.usefixtures("loopback")
def test_what_fits_no_form_is_a_400_of_one_sentence() -> None:
    bodies = {"runs": ROW, "chat/completions": {"model": "embedded", "messages": [{"role": "user", "content": "?"}]}}
    with served(embedded_engine(samples=3)) as server:
        for fields, said in BAD.values():
            for path, body in bodies.items():
                reply = httpx.post(f"{server.root}/v1/{path}", json={**body, **fields}, timeout=60)
                error = reply.json()["error"]
                assert (reply.status_code, error["param"].partition(".")[0]) == (400, next(iter(fields))), error
                one_sentence(error["message"], said)
