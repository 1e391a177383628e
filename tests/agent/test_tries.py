"""How a round's rewrites are drawn: in which form, how many, again where nothing new came, and which of them counts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import eirene
from eirene.agent.backends import BackendOptions
from eirene.core.records import Record
from eirene.models.scripted import ScriptedChatModel
from eirene.refiners.model import ChatRefiner
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedRequest
from tests.agent.loop import BAD, FAULTY, GOOD, ITEM, OPEN_ITEM, ORIGINAL, WORSE
from tests.rows import each
from tests.scripted_parts import ScriptedDetector, scripted_parts

PATCHED = "Trams are quiet and clean. Buses are cheap."
PATCH = "1: Trams are quiet and clean."
OTHER = "1: Trams are quiet and dear."
OTHERWISE = "Trams are quiet and dear. Buses are cheap."


def drawn(*replies: str, item: dict[str, Any] = ITEM, scores: Any = None, **settings: Any) -> tuple[Record, Any]:
    """The record of a run whose refiner draws these replies, and the model that gave them."""
    model = ScriptedChatModel(list(replies))
    known = {ORIGINAL: BAD, PATCHED: GOOD, OTHERWISE: WORSE} if scores is None else scores
    parts = replace(scripted_parts(samples=[FAULTY] * 20), refiner=ChatRefiner(model))
    parts = replace(parts, detectors=(ScriptedDetector(known),))
    return eirene.refine(item, backend=parts, **settings), model


def temperatures(model: Any) -> list[float]:
    return [call.settings["temperature"] for call in model.calls]


def test_a_patch_is_the_first_thing_that_is_asked_for_and_the_record_has_it() -> None:
    record, model = drawn(PATCH)
    assert (record.status, record.answer, len(model.calls)) == ("accepted", PATCHED, 1)
    how = record.rounds[0].drawn
    assert how is not None and (how.form, how.n, how.of, how.temperature) == ("patch", 1, 1, 0.0)
    assert [str(change) for change in how.changes] == [PATCH]
    assert "|rewrite:patch/1/0/1|" in record.signature
    assert Record.model_validate_json(record.to_json()) == record


@each("first", ["none", "I am sure that it is fine.", "99: Trams fly.", "1: Pollution is missing.", "1:", "2: Buses."])
def test_what_brings_no_change_is_drawn_again_in_the_other_form(first: str) -> None:
    """In the same round: nothing that could be tried was drawn."""
    record, model = drawn(first, PATCHED)
    assert (record.status, record.answer, len(record.rounds)) == ("accepted", PATCHED, 1)
    how = record.rounds[0].drawn
    assert how is not None and (how.form, how.temperature) == ("whole", 1.0)
    assert how.passed_over[0].startswith("patch 1 of 1: ")
    assert temperatures(model) == [0.0, 1.0]
    assert len({call.settings["seed"] for call in model.calls}) == 2


@each(
    "first, then, status",
    [
        ("none", ORIGINAL, "flagged"),
        ("No change here at all.", ORIGINAL, "kept"),
        ("after 3: More.", ORIGINAL + " ", "flagged"),
    ],
)
def test_where_nothing_comes_at_all_the_original_stands(first: str, then: str, status: str) -> None:
    record, _ = drawn(first, then, max_rounds=1)
    assert (record.status, record.answer) == (status, ORIGINAL)
    assert record.rounds[0].scores == {}


def test_without_a_critique_an_unchanged_text_is_taken_at_its_word() -> None:
    record, model = drawn("none", mode="generic")
    assert (record.status, len(model.calls), len(record.rounds)) == ("not_checked", 1, 1)


def test_a_second_round_is_told_draws_at_another_temperature_and_never_repeats_the_first() -> None:
    record, model = drawn(OTHER, OTHER, PATCH)
    assert (record.status, record.answer) == ("accepted", PATCHED)
    assert [r.candidate for r in record.rounds] == [OTHERWISE, PATCHED]
    assert temperatures(model) == [0.0, 1.0, 1.0]
    assert f"Attempt 1:\n{OTHER}\nTurned down because: worse than before" in model.calls[1].text
    how = record.rounds[1].drawn
    assert how is not None and how.passed_over == ("patch 1 of 1: the rewrite repeats one that was already rejected",)


def test_of_several_the_first_that_the_gate_accepts_counts() -> None:
    """In one round and one request, where the model takes n; a text that came twice is tried once."""
    record, model = drawn(OTHER, OTHER, PATCH, candidates=3, max_rounds=1)
    assert (record.status, record.answer) == ("accepted", PATCHED)
    assert [(r.decision, r.drawn and (r.drawn.n, r.drawn.of)) for r in record.rounds] == [
        ("reject", (1, 3)), ("accept", (3, 3)),
    ]  # fmt: skip
    assert "patch 2 of 3: the same as number 1" in str(record.rounds[0].drawn)
    assert [(call.n, call.settings["temperature"]) for call in model.calls] == [(3, 0.7)]
    assert [len(r.samples) for r in record.rounds] == [20, 0]


def test_candidates_that_are_all_turned_down_are_followed_by_a_round_that_knows_them() -> None:
    third = "Trams are quiet and red. Buses are cheap."
    scores = {ORIGINAL: BAD, OTHERWISE: WORSE, third: WORSE, PATCHED: GOOD}
    record, model = drawn(OTHER, "1: Trams are quiet and red.", OTHER, PATCH, candidates=2, scores=scores)
    assert [r.candidate for r in record.rounds] == [OTHERWISE, third, PATCHED]
    assert (record.status, model.calls[1].text.count("Turned down because")) == ("accepted", 2)


def test_mode_improve_writes_the_whole_answer() -> None:
    record, _ = drawn(PATCHED, mode="improve")
    assert record.rounds[0].drawn is not None and record.rounds[0].drawn.form == "whole"


SONG = {
    "question": "Who wrote the song, and when was it recorded?",
    "answer": "Ann Holt wrote the song in a day. It was recorded in June 1974. Cats like it best of all songs.",
    "context": ["Dana Holt wrote the song. The song was recorded in March 1975 in Bristol."],
}


def test_by_passages_a_whole_answer_that_leaves_out_most_is_judged_change_by_change() -> None:
    model = ScriptedChatModel(["Dana Holt wrote the song in a day."])
    parts = replace(eirene.resolve_backend("embedded"), refiner=ChatRefiner(model))
    record = eirene.refine(SONG, backend=parts, mode="improve", max_rounds=1)
    how = record.rounds[0].drawn
    assert how is not None and (how.form, how.refused[0]) == ("whole", "drop 2: nobody finds fault with sentence 2")
    assert (record.status, record.answer) == ("accepted", SONG["answer"].replace("Ann", "Dana"))


def test_by_passages_the_best_of_all_changes_counts_and_a_sentence_is_dropped_by_the_gate_alone() -> None:
    """One draft has the better first sentence, the other the better second; nothing that is said of the third helps."""
    first, second, third = (
        "Dana Holt wrote the song.",
        "The song was recorded in March 1975 in Bristol.",
        "Dogs sing it.",
    )
    replies = [first, "Zed wrote it in 1901.", "It was recorded in 1822.", second, third, "Dogs like it."]
    parts = replace(eirene.resolve_backend("embedded"), refiner=ChatRefiner(ScriptedChatModel(replies)))
    faulty = eirene.Sample(tags=("Incomplete",) * 3, reasons=("Not in the passage.",) * 3)
    parts = replace(parts, feedback_model=scripted_parts(samples=[faulty] * 20).feedback_model)
    record = eirene.refine(SONG, backend=parts, rewrite="sentences", candidates=2, max_rounds=1)
    assert (record.status, record.answer) == ("accepted", f"{first} {second}"), record.why
    how = record.rounds[0].drawn
    assert how is not None and [str(c) for c in how.changes] == [f"1: {first}", f"2: {second}", "drop 3"]
    swapped = {**SONG, "answer": "Cats like it best of all songs. Dana Holt wrote the song."}
    faulty = eirene.Sample(tags=("Incomplete", "Complete"), reasons=("Not in the passage.", None))
    parts = replace(parts, feedback_model=scripted_parts(samples=[faulty] * 20).feedback_model)
    parts = replace(
        parts, refiner=ChatRefiner(ScriptedChatModel(["It was recorded in 1822 by Zed.", "Zed wrote it in 1901."]))
    )
    record = eirene.refine(swapped, backend=parts, rewrite="sentences", candidates=2, max_rounds=1)
    assert record.answer == swapped["answer"]  # the first sentence is mended or left


@pytest.mark.usefixtures("loopback")
@each("structured", ["auto", "text"])
def test_over_a_server_patches_are_asked_for_by_schema_and_as_text(structured: Any) -> None:
    """By the real client, several in one request; each bad change has one outcome, and the rest is made."""

    def script(request: ScriptedRequest, index: int) -> str:
        if "You mend the answer" not in request.text:
            by_schema = '{"1":"Incomplete: pollution is missing","2":"Complete"}'
            as_text = "1. [Incomplete] Reasons: Pollution is missing.\n2. [Complete]"
            return by_schema if "response_format" in request.body else as_text
        if "response_format" not in request.body:
            return f"1: Trams are quiet and pollute less.\n99: Trams fly.\nafter 2: Buses are cheap.\n1: No {index}."
        return (
            '{"changes":[{"sentence":1,"action":"replace","text":"Trams are quiet and pollute less."},'
            '{"sentence":99,"action":"delete"},{"sentence":2,"action":"insert_after","text":"Buses are cheap."}]}'
        )

    with LoopbackServer(script) as server:
        options = BackendOptions(base_url=server.base_url, structured=structured)
        record = eirene.refine(
            {**ITEM, "id": "t"}, backend="openai:test", backend_options=options, samples=3, candidates=2, stop="none"
        )
        asked = [request.body for request in server.requests if "You mend the answer" in request.text]
    assert (record.status, record.answer) == ("accepted", "Trams are quiet and pollute less. Buses are cheap.")
    assert [body["n"] for body in asked] == [2]
    how = record.rounds[0].drawn
    assert how is not None and len(how.refused) == (2 if structured == "auto" else 3)
    assert "99" in str(how.refused) and "the answer says so already" in str(how.refused)


def test_what_waits_for_its_turn_survives_a_checkpoint() -> None:
    """A run that is taken up between two candidates goes on with the second, and asks for nothing anew."""
    from langgraph.checkpoint.memory import InMemorySaver

    model = ScriptedChatModel([OTHER, PATCH])
    scores = {ORIGINAL: BAD, PATCHED: GOOD, OTHERWISE: WORSE}
    parts = replace(scripted_parts(samples=[FAULTY] * 20), refiner=ChatRefiner(model))
    parts = replace(parts, detectors=(ScriptedDetector(scores),))
    graph = eirene.build_graph(parts, candidates=2, checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    start = eirene.initial_state(eirene.Item.model_validate(ITEM), 0)
    for _ in graph.stream(start, config, interrupt_after=["gate"]):
        pass
    assert [r["candidate"] for r in graph.get_state(config).values["rounds"]] == [OTHERWISE]
    assert graph.invoke(None, config)["best"] == PATCHED
    assert len(model.calls) == 1


def test_open_questions_get_the_next_sentence_from_a_model_that_is_asked_by_sentences() -> None:
    answer = f"{ORIGINAL.partition('. ')[0]}. They cost two euros. Buses are cheap."
    record, _ = drawn(
        "They cost two euros.", item=OPEN_ITEM, rewrite="sentences", scores={ORIGINAL: BAD, answer: GOOD},
        when_gain_unmeasured="accept",
    )  # fmt: skip
    assert (record.status, record.answer) == ("accepted", answer), record.why
