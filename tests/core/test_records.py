"""Rows come in strictly, with errors that name the field; records go out as plain JSON, the original untouched."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.critique import Critique, TaggedSentence
from eirene.core.errors import InputError
from eirene.core.records import MODES, STATUSES, BeforeAfter, ErrorInfo, Item, Mode, Record, Round, Status, parse_item
from eirene.core.scores import Scores, Unscored
from eirene.core.signature import derive_seed, digest
from eirene.core.usage import Usage
from tests.rows import each

ROW: dict[str, Any] = {"question": "Q?", "answer": "A."}
PRO = {"name": "pro", "arguments": ["a", "b"]}
FULL: dict[str, Any] = {
    **ROW,
    "id": "x-1",
    "perspectives": [PRO, {"name": "con", "arguments": ["c"]}],
    "context": ["passage"],
    "feedback": [{"sentence": 1, "reason": "r"}],
    "gold": "G.",
    "meta": {"source": {"n": 1, "tags": ["a", None, 0.5]}},
}

BAD: list[tuple[dict[Any, Any], str | None, str]] = [
    ({"answer": "A."}, "question", "'question' is missing"),
    ({"question": "Q?"}, "answer", "'answer' is missing"),
    ({}, "question", "'question' is missing (and 1 more problem)"),
    ({**ROW, "question": ""}, "question", "'question' must not be blank"),
    ({**ROW, "answer": " \n\t"}, "answer", "'answer' must not be blank"),
    ({**ROW, "question": None}, "question", "must be a valid string, got null"),
    ({**ROW, "answer": 5}, "answer", "must be a valid string, got the number 5"),
    ({**ROW, "answer": ["x" * 500]}, "answer", "got the list ['" + "x" * 58 + "…"),
    ({**ROW, "answer": b"bytes"}, "answer", "must be a valid string, got bytes"),
    ({**ROW, "answer": "a\x00b"}, "answer", "contains a NUL character"),
    ({**ROW, "answer": "a\ud800"}, "answer", "contains half a surrogate pair"),
    (
        {**ROW, "qestion": "x"},
        "qestion",
        "unknown key 'qestion'; did you mean 'question'?; known keys: id, question, history,",
    ),
    ({**ROW, 5: "x"}, "[5]", "keys must be strings, got the number 5"),
    ({**ROW, "id": ""}, "id", "'id' must not be blank"),
    ({**ROW, "id": 7.5}, "id", "'id' must be a text or a whole number, got the number 7.5"),
    ({**ROW, "id": True}, "id", "'id' must be a text or a whole number, got true"),
    ({**ROW, "gold": " "}, "gold", "'gold' must not be blank"),
    ({**ROW, "perspectives": []}, "perspectives", "'perspectives' must have at least 1 item"),
    ({**ROW, "perspectives": {"pro": 5}}, "perspectives[0].arguments", "must be a text or a list of texts, got the nu"),
    ({**ROW, "perspectives": {}}, "perspectives", "'perspectives' must have at least 1 item"),
    (
        {**ROW, "perspectives": 5},
        "perspectives",
        """must be {"pro": ["..."], "con": "..."} or [{"name": "pro",""",
    ),
    ({**ROW, "perspectives": "pro"}, "perspectives", """must be {"pro": ["..."], "con": "..."} or [{"name": "pro","""),
    (
        {**ROW, "perspectives": ["a"]},
        "perspectives[0]",
        "must be a valid dictionary or instance of Perspective, got the text 'a'",
    ),
    ({**ROW, "perspectives": [{**PRO, "arguments": []}]}, "perspectives[0].arguments", "at least 1 item"),
    (
        {**ROW, "perspectives": [{**PRO, "arguments": {"a": 1}}]},
        "perspectives[0].arguments",
        "must be a text or a list",
    ),
    ({**ROW, "perspectives": [{**PRO, "arguments": ["a", ""]}]}, "perspectives[0].arguments[1]", "not be blank"),
    ({**ROW, "perspectives": [{"name": "pro"}]}, "perspectives[0].arguments", "is missing"),
    ({**ROW, "perspectives": [PRO, {**PRO, "x": 1}]}, "perspectives[1].x", "known keys: name, arguments"),
    ({**ROW, "perspectives": [PRO, {**PRO, "name": "pro "}]}, "perspectives", "has the name 'pro' twice"),
    ({**ROW, "context": 5}, "context", "'context' must be a text or a list of texts, or of passages such as {"),
    ({**ROW, "context": ["a", 5]}, "context", "got the number 5 among them"),
    ({**ROW, "context": [{"text": 1}]}, "context", "got the object {'text': 1} among them"),
    ({**ROW, "context": " "}, "context[0]", "must not be blank"),
    ({**ROW, "context": '["a'}, "context", "'context' begins as JSON and is not JSON"),
    (
        {**ROW, "feedback": "r"},
        "feedback",
        """must be [{"sentence": 1, "reason": "..."}], got the text 'r'""",
    ),
    ({**ROW, "feedback": ["r"]}, "feedback[0]", "instance of FeedbackNote, got the text 'r'"),
    ({**ROW, "context": []}, "context", "at least 1 item"),
    ({**ROW, "context": ["a", "\x00"]}, "context[1]", "contains a NUL character"),
    (
        {**ROW, "feedback": [{"sentence": 0, "reason": "r"}]},
        "feedback[0].sentence",
        "must be greater than or equal to 1, got 0",
    ),
    ({**ROW, "feedback": [{"sentence": "2", "reason": "r"}]}, "feedback[0].sentence", "must be a valid integer"),
    ({**ROW, "feedback": [{"sentence": True, "reason": "r"}]}, "feedback[0].sentence", "a valid integer, got true"),
    ({**ROW, "feedback": [{"sentence": 1}]}, "feedback[0].reason", "is missing"),
    ({**ROW, "meta": []}, "meta", "must be an object with keys and values"),
    ({**ROW, "meta": {"a": float("nan")}}, "meta", "holds NaN or Infinity"),
    ({**ROW, "meta": {"a": "\ud800"}}, "meta", "contains half a surrogate pair"),
    ({**ROW, "meta": {"a": {1, 2}}}, "meta.a", "must be a valid JSON value"),
]


def test_a_bad_row_is_an_input_error_that_names_row_and_field() -> None:
    where, wrong = "rows.jsonl, row 3", []
    for row, field, says in BAD:
        with pytest.raises(InputError) as caught:
            parse_item(row, where=where)
        message = str(caught.value)
        told = says in message and message.startswith(f"{where}: ")
        if not told or (caught.value.field, caught.value.where) != (field, where):
            wrong.append((says, field, message, caught.value.field))
    assert wrong == []


def test_what_is_no_object_is_an_input_error() -> None:
    for data in ([ROW], "text", 5, None, True):
        with pytest.raises(InputError, match="a row must be a JSON object with 'question' and 'answer', got "):
            parse_item(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(json_values | st.dictionaries(st.sampled_from([*Item.model_fields, "x"]), json_values))
def test_any_json_value_is_an_item_or_an_input_error(data: object) -> None:
    try:
        item = parse_item(data)
    except InputError as error:
        assert str(error)
    else:
        assert parse_item(json.loads(item.model_dump_json())) == item


def test_a_full_row_comes_back_as_it_was() -> None:
    assert parse_item(FULL).model_dump(mode="json") == FULL


@each(
    "answer",
    ["[Incomplete] x", "### Response:\n1. [Complete]", "<critique>x</critique>", "word " * 1000, "no end", "{{x}} {y}"],
)
def test_odd_answers_are_legal_and_kept_to_the_byte(answer: str) -> None:
    assert parse_item({**ROW, "answer": answer}).answer == answer


def test_duplicate_arguments_and_one_or_many_perspectives_are_legal() -> None:
    assert parse_item({**ROW, "perspectives": [{"name": "only", "arguments": ["a", "a"]}]}).perspectives
    many = [{"name": f"p{i}", "arguments": ["a"]} for i in range(5)]
    assert len(parse_item({**ROW, "perspectives": many}).perspectives or ()) == 5


def test_items_and_their_parts_are_frozen() -> None:
    item = parse_item(FULL)
    with pytest.raises(InputError, match="frozen"):
        item.answer = "other"
    assert item.perspectives is not None
    with pytest.raises(InputError, match="frozen"):
        item.perspectives[0].name = "other"


def test_an_item_is_taken_as_it_is() -> None:
    item = parse_item(ROW)
    assert parse_item(item) is item


def test_a_missing_id_is_derived_from_the_content_alone() -> None:
    first = parse_item({"answer": "A.", "question": "Q?"}).id
    assert first == parse_item(ROW).id == parse_item({**ROW, "perspectives": None}).id
    assert first.startswith("item-") and len(first) == len("item-") + 12
    assert first != parse_item({**ROW, "answer": "A. "}).id != parse_item({**ROW, "meta": {"a": 1}}).id


def test_a_derived_id_and_a_derived_seed_are_the_same_in_every_process() -> None:
    modules = "from eirene.core.records import parse_item; from eirene.core.signature import derive_seed"
    code = f"{modules}; print(parse_item({ROW!r}).id, derive_seed(7, 'item', 2))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == [parse_item(ROW).id, str(derive_seed(7, "item", "2"))]


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers()))
def test_digest_does_not_depend_on_the_order_of_keys(value: dict[str, int]) -> None:
    assert digest(value) == digest(dict(reversed(value.items()))) == digest(json.loads(json.dumps(value)))


CRITIQUE = Critique(
    sentences=(TaggedSentence(n=1, text="A.", start=0, end=2, tag="Incomplete", reason="Why? …"),),
    tag_consistency=1.0,
    reason_consistency=0.5,
    n_drawn=20,
    n_valid=18,
    n_requested=20,
)
SCORES = {"rouge": Scores(hallucination=Unscored(unscored="nothing given"), coverage=0.25)}


def record(*, status: Status = "kept", answer: str = "A.", error: ErrorInfo | None = None) -> Record:
    return Record(
        id="x",
        question="Q?",
        original="A.",
        answer=answer,
        status=status,
        why="no rewrite passed",
        mode="fine-grained",
        backend="embedded",
        seed=0,
        signature="n:20",
        rounds=(Round(critique=CRITIQUE, candidate="B.", scores=SCORES, decision="reject", why="no gain"),),
        scores=BeforeAfter(original=SCORES, final=SCORES),
        usage=Usage(calls=20, cost_usd=None),
        error=error,
    )


@each("status", [s for s in STATUSES if s != "accepted"])
def test_the_original_stands_in_every_status_but_accepted(status: Status) -> None:
    error = ErrorInfo(kind="BackendError", message="gone") if status == "failed" else None
    assert record(status=status, error=error).answer == "A."
    with pytest.raises(InputError, match="must show the original answer"):
        record(status=status, answer="A. ", error=error)


def test_an_accepted_record_shows_another_text() -> None:
    assert record(status="accepted", answer="B.").answer == "B."


def test_an_error_goes_with_failed_and_with_nothing_else() -> None:
    for status, error in (("failed", None), ("kept", ErrorInfo(kind="E", message="m"))):
        with pytest.raises(InputError, match="goes with status 'failed'"):
            record(status=status, error=error)  # type: ignore[arg-type]  # a plain str from the loop


def test_a_record_is_json_and_comes_back() -> None:
    text = record().to_json()
    data = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert data["usage"]["cost_usd"] is None and "…" in text
    assert data["rounds"][0]["scores"]["rouge"] == {
        **{"hallucination": {"unscored": "nothing given"}, "coverage": 0.25},
        **{"sentences": [], "arguments": [], "words": []},
    }
    assert Record.model_validate_json(text) == record()
    assert json.loads(record().to_json(indent=2)) == data


def test_a_records_top_level_keys_are_the_documented_ones_in_order() -> None:
    documented = ["id", "question", "original", "answer", "status", "why", "mode", "backend", "seed", "signature"]
    assert list(json.loads(record().to_json())) == [
        *documented,
        "rounds",
        "scores",
        "usage",
        "passages",
        "advisory",
        "error",
    ]


@each("value", [float("nan"), float("inf"), 1.5, -0.1])
def test_no_number_in_a_record_can_be_nan_or_out_of_range(value: float) -> None:
    for build in (
        lambda: Scores(hallucination=value, coverage=0.0),
        lambda: CRITIQUE.__class__(**{**dict(CRITIQUE), "tag_consistency": value}),
        lambda: CRITIQUE.__class__(**{**dict(CRITIQUE), "reason_consistency": value}),
    ):
        with pytest.raises(InputError):
            build()


def test_the_modes_are_those_of_the_type() -> None:
    assert set(MODES) == set(Mode.__args__)  # type: ignore[attr-defined]  # a Literal has them at run time
