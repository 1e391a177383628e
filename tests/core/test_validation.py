"""A value that a constructor does not take is told of in one sentence of ours, and still a `ValueError`."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

import eirene
from eirene.core.errors import FormError, InputError
from eirene.core.validation import CheckedModel
from tests.rows import each

QA = {"question": "Q?", "answer": "A."}
SCORES: dict[str, Any] = {"hallucination": 0.5, "coverage": 0.5}
MODEL = eirene.ScriptedChatModel(["a"])
ROUND: dict[str, Any] = {"critique": None, "candidate": None, "scores": {}, "why": "x"}

BAD: list[tuple[Callable[[], object], str]] = [
    (eirene.Item, "'question' is missing (and 1 more problem)"),  # type: ignore[call-arg]
    (lambda: eirene.Item(question="q", anser="x"), "unknown key 'anser'; did you mean 'answer'?"),  # type: ignore[call-arg]
    (lambda: eirene.Item("Q?"), "Item takes its fields by name (question=..., answer=...), got the text 'Q?'"),  # type: ignore[call-arg,misc]
    (
        lambda: eirene.Item(**QA, anwser="x"),
        "unknown key 'anwser'; did you mean 'answer'?; known keys: id, question, history,",
    ),  # type: ignore[arg-type]
    (lambda: eirene.Item(question=5, answer="A."), "'question' must be a valid string, got the number 5"),  # type: ignore[arg-type]
    (lambda: eirene.Item(**QA, meta={"a": {"b": [{1}]}}), "'meta.a.b[0]' must be a valid JSON value, got set {1}"),  # type: ignore[arg-type]
    (lambda: eirene.Item(**QA, meta={"Source": {"list": [{1}]}}), "'meta.Source.list[0]' must be a valid JSON"),  # type: ignore[arg-type]
    (lambda: eirene.Perspective(name="pro", arguments=[]), "'arguments' must have at least 1 item, got"),
    (lambda: eirene.FeedbackNote(sentence=0, reason="r"), "'sentence' must be greater than or equal to 1, got 0"),
    (lambda: eirene.Review(action="x"), "'action' must be 'go on', 'all complete', 'stop' or 'save'"),  # type: ignore[arg-type]
    (lambda: eirene.Settings(samples=1), "'samples' must be greater than or equal to 3, got 1"),
    (lambda: eirene.Settings(samples="many"), "'samples' must be a valid integer, got the text 'many'"),  # type: ignore[arg-type]
    (lambda: eirene.Settings(mode="edit"), "mode edit carries out the edits of hallucinations; take critic"),
    (lambda: eirene.Settings(colour=1), "unknown setting 'colour'; known settings: mode,"),  # type: ignore[call-arg]
    (lambda: eirene.Usage(calls=-1), "'calls' must be greater than or equal to 0, got -1"),
    (
        lambda: eirene.Scores(**{**SCORES, "coverage": "high"}),
        "'coverage' must be a valid number or be a",
    ),
    (lambda: eirene.Scores(**{**SCORES, "coverage": 2.0}), "'coverage' must be less than or equal to 1"),
    (
        lambda: eirene.Scores(**{**SCORES, "raw": {"Float": float("inf")}}),
        "'raw.Float' must be a finite number, got the",
    ),
    (eirene.Unscored, "'unscored' is missing"),  # type: ignore[call-arg]
    (lambda: eirene.Sample(tags=("x",)), "'tags[0]' must be 'Complete' or 'Incomplete', got 'x'"),  # type: ignore[arg-type]
    (lambda: eirene.Sample(tags=("Complete",)), "1 tags and 0 reasons; there must be one a sentence"),
    (
        lambda: eirene.Finding(kind="entity", start=-1, end=0, reason=""),
        "'start' must be greater than or",
    ),
    (lambda: eirene.Critique(sentences=[{"n": 1}]), "'sentences[0].text' is missing"),  # type: ignore[call-arg,arg-type,list-item]
    (lambda: eirene.Round(**{**ROUND, "decision": "wait"}), "'decision' must be 'accept' or 'reject', got 'wait'"),
    (lambda: eirene.Record(id=1), "'id' must be a valid string, got the number 1 (and"),  # type: ignore[call-arg,arg-type]
    (eirene.RefiningChatModel, "inner must be a LangChain chat model, got null"),
    (lambda: eirene.RefiningChatModel("openai:x"), "inner must be a LangChain chat model, got the text 'openai:x'"),  # type: ignore[arg-type]
    (lambda: eirene.RefiningChatModel(MODEL, given=5), "'given' must be callable, got the number 5"),
    (lambda: eirene.RefiningChatModel(MODEL, settings={"samples": 1}), "'samples' must be greater than or equal to 3"),
    (lambda: eirene.RefiningChatModel(MODEL, tags="x"), "'tags' must be a valid list, got the text 'x'"),
    (lambda: eirene.RefineMiddleware(settings={"samples": 1}), "'samples' must be greater than or equal to 3"),
    (lambda: eirene.refine_node(settings=5), "settings must be Settings or a mapping such as {'samples': 10}, got"),  # type: ignore[arg-type]
    (lambda: eirene.build_graph(settings={"sample": 5}), "unknown setting 'sample'; did you mean 'samples'?; known"),
    (lambda: eirene.build_graph(backend_options={"x": 5}), "backend_options must be BackendOptions or a mapping of"),
    (lambda: eirene.ScriptedChatModel("a"), "script must be a list of replies or a function, got the text 'a'"),
    (lambda: eirene.ScriptedChatModel(["a"], n="x"), "'n' must be a valid integer, got the text 'x'"),
    (eirene.refine, "there is nothing to refine; give an item, or question= and answer="),
    (lambda: eirene.refine(QA, answer="A."), "the item was given twice: whole, and by answer; give it one way"),
    (lambda: eirene.refine(**QA, contxt="x"), "unknown setting 'contxt'; did you mean 'context'?; known: mode,"),
    (lambda: eirene.refine(**QA, checkpointer=5), "checkpointer must be one of LangGraph's, such as"),
    (lambda: eirene.initial_state({"question": "Q?"}, 0), "'answer' is missing"),
]


def test_a_constructor_says_what_is_wrong_in_one_sentence() -> None:
    wrong = []
    for build, said in BAD:
        with pytest.raises(InputError) as caught:
            build()
        message = str(caught.value)
        plain = not any(word in message for word in ("\n", "pydantic", "Value error", "Input should", "type="))
        above = None if caught.value.__suppress_context__ else caught.value.__context__
        # No traceback of pydantic's stands above it.
        if said not in message or not plain or (caught.value.__cause__, above) != (None, None):
            wrong.append((said, message))
    assert wrong == []


def test_every_model_that_is_handed_out_has_errors_of_ours() -> None:
    models = [value for name in eirene.__all__ if isinstance(value := getattr(eirene, name), type)]
    chat = (eirene.RefiningChatModel, eirene.ScriptedChatModel)
    named = {m.__name__ for m in models if issubclass(m, BaseModel) and not issubclass(m, (CheckedModel, *chat))}
    assert named == set()


@each("read", [eirene.Item.model_validate, lambda data: eirene.Item.model_validate_json("{}")])
def test_pydantics_own_doors_have_errors_of_ours(read: Callable[[Any], object]) -> None:
    with pytest.raises(FormError, match=r"\A'question' is missing \(and 1 more problem\)\Z"):
        read({})


def test_the_error_is_a_value_error_that_names_its_field_and_can_be_sent() -> None:
    with pytest.raises(ValueError, match="must not be blank") as caught:
        eirene.Item(question=" ", answer="A.")
    sent = pickle.loads(pickle.dumps(caught.value))
    assert (type(sent), str(sent), sent.field) == (FormError, str(caught.value), "question")


def test_a_frozen_value_says_how_to_change_a_copy() -> None:
    item = eirene.Item(question="Q?", answer="A.")
    for change in (lambda: setattr(item, "answer", "B."), lambda: delattr(item, "answer")):
        with pytest.raises(InputError, match=r"\AItem is frozen, so 'answer' cannot be set; model_copy\("):
            change()
    assert item.model_copy(update={"answer": "B."}).answer == "B."


def test_inside_a_model_of_the_users_own_pydantic_names_the_whole_place() -> None:
    """Our models are pydantic's still: others may hold them, and are told where in them a fault is."""

    class Theirs(BaseModel):
        item: eirene.Item

    assert Theirs(item={"question": "Q?", "answer": "A.", "context": "x"}).item.context == ["x"]  # type: ignore[arg-type]
    with pytest.raises(ValidationError) as caught:
        Theirs(item={"question": "Q?", "answer": "A.", "perspectives": {"pro": [" "]}})  # type: ignore[arg-type]
    assert caught.value.errors()[0]["loc"] == ("item", "perspectives", 0, "arguments", 0)


def test_the_signature_still_names_the_fields() -> None:
    assert {"samples", "mode", "seed"} <= set(inspect.signature(eirene.Settings).parameters)
