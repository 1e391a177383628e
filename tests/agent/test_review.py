"""A run with a person in it: the question, answers that fit and answers that do not, what the record then says."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

import eirene
from eirene.agent.backends import resolve_backend
from eirene.agent.graph import compile_graph, initial_state
from eirene.agent.record import make_record
from eirene.agent.session import ReviewedRun
from eirene.agent.settings import Settings
from eirene.core.critique import Sample
from eirene.core.errors import InputError
from eirene.core.records import Item, Record
from eirene.models.scripted import ScriptedChatModel
from tests.agent.loop import FAULTY, ITEM, NOISE, ORIGINAL, SPOTLESS
from tests.agent.reviewed import GO_ON, answered, opened, parts, reasons
from tests.rows import each
from tests.scripted_parts import ScriptedRefiner


def test_the_question_is_plain_json_with_everything_that_a_person_needs() -> None:
    async def run() -> ReviewedRun:
        run = opened(parts())
        await run.begin()
        return run

    run_ = asyncio.run(run())
    asked = run_.question
    assert asked is not None and json.loads(json.dumps(asked)) == asked
    assert (asked["id"], asked["question"], asked["text"]) == ("trams", "Trams or buses?", ORIGINAL)
    assert (asked["otherwise"], asked["error"], asked["round"]) == ("refine", None, 1)
    first, second = asked["critique"]["sentences"]
    assert (first["tag"], first["reason"]) == ("Incomplete", "Pollution is missing.")
    assert (first["votes"], second["votes"]) == ({"incomplete": 20, "drawn": 20}, {"incomplete": 0, "drawn": 20})
    with pytest.raises(InputError, match="the run has not ended"):
        _ = run_.record


def test_the_refiner_and_the_record_get_the_critique_as_the_person_left_it() -> None:
    for answer, expected in [
        (GO_ON, ["Pollution is missing.", None]),
        ({**GO_ON, "replace": [{"sentence": 1, "reason": "Say why."}]}, ["Say why.", None]),
        ({**GO_ON, "add": [{"sentence": 1, "reason": "And why."}]}, ["Pollution is missing. And why.", None]),
        ({**GO_ON, "add": [{"sentence": 2, "reason": "Not in Graz."}]}, ["Pollution is missing.", "Not in Graz."]),
        (
            {
                **GO_ON,
                "drop": [1],
                "replace": [{"sentence": 2, "reason": "No."}],
                "add": [{"sentence": 2, "reason": "Oh."}],
            },
            [None, "No. Oh."],
        ),
    ]:
        models = parts()
        record = answered(models, answer)
        assert isinstance(models.refiner, ScriptedRefiner)
        (task,) = models.refiner.tasks
        critique = record.rounds[0].critique
        assert task.critique == critique and critique is not None and critique.review is not None
        assert reasons(record) == expected
        assert [s.tag for s in critique.sentences] == ["Incomplete" if reason else "Complete" for reason in expected]
        assert critique.review.model_dump(mode="json", exclude_defaults=True) == answer
        assert (critique.tag_consistency, critique.n_valid) == (1.0, 20)  # still those of the vote
        assert (record.status, record.answer, record.usage.calls) == ("accepted", "better", 21)


def test_a_person_who_finds_nothing_incomplete_ends_the_run_as_complete() -> None:
    for answer in [{"action": "all complete"}, {**GO_ON, "drop": [1]}]:
        record = answered(parts(), answer)
        assert (record.status, record.answer) == ("complete", ORIGINAL)
        assert "a person found nothing incomplete" in record.why
        assert reasons(record) == [None, None]


def test_what_a_person_has_looked_at_is_not_unchecked() -> None:
    """Against passages the embedded critic leaves something out; a person who vouches for all of it does not."""
    item = {**ITEM, "perspectives": None, "context": [ORIGINAL + " Trams pollute less."]}
    models = resolve_backend("embedded")
    left = "whether something of the passages is missing"
    for action, status, unchecked in (("go on", "no_fault_found", left), ("all complete", "complete", None)):
        record = answered(models, {"action": action}, item=item)
        assert record.status == status
        assert record.rounds[0].critique is not None and record.rounds[0].critique.unchecked == unchecked


def test_stopping_keeps_the_original_and_the_critique_as_it_was() -> None:
    record = answered(parts(), {"action": "stop"})
    assert (record.status, record.answer) == ("flagged", ORIGINAL)
    assert "a person stopped" in record.why
    assert reasons(record) == ["Pollution is missing.", None]
    assert record.rounds[0].critique is not None and record.rounds[0].critique.review is not None
    assert record.scores.original  # scored like any other record


def test_a_critique_that_found_nothing_is_shown_as_well_and_can_be_given_a_reason() -> None:
    untouched = answered(parts(samples=[SPOTLESS] * 20), GO_ON)
    assert (untouched.status, untouched.why[:18]) == ("complete", "nothing incomplete")
    edited = answered(parts(samples=[SPOTLESS] * 20), {**GO_ON, "add": [{"sentence": 2, "reason": "Dear at night."}]})
    assert (edited.status, reasons(edited)) == ("accepted", [None, "Dear at night."])


def test_where_no_critique_could_be_selected_a_person_may_give_one() -> None:
    untouched = answered(parts(samples=[NOISE] * 20), GO_ON)
    assert (untouched.status, untouched.rounds[0].critique) == ("abstained", None)
    edited = answered(parts(samples=[NOISE] * 20), {**GO_ON, "add": [{"sentence": 1, "reason": "Pollution."}]})
    assert (edited.status, reasons(edited)) == ("accepted", ["Pollution.", None])
    vouched = answered(parts(samples=[NOISE] * 20), {"action": "all complete"})
    assert vouched.status == "complete"


def test_mode_human_needs_no_notes_in_the_row_when_a_person_is_asked() -> None:
    record = answered(parts(samples=[]), {**GO_ON, "add": [{"sentence": 1, "reason": "Pollution."}]}, mode="human")
    assert (record.status, reasons(record), record.usage.calls) == ("accepted", ["Pollution.", None], 1)
    nothing = answered(parts(samples=[]), GO_ON, mode="human")
    assert (nothing.status, nothing.why) == ("complete", "no sentence has a note, so nothing was rewritten")


def test_mode_human_shows_the_notes_of_the_row() -> None:
    item = {**ITEM, "feedback": [{"sentence": 2, "reason": "Not at night."}]}
    record = answered(
        parts(samples=[]), {**GO_ON, "add": [{"sentence": 2, "reason": "Nor far."}]}, item=item, mode="human"
    )
    assert reasons(record) == [None, "Not at night. Nor far."]
    wrong = {**ITEM, "feedback": [{"sentence": 9, "reason": "Where?"}]}
    with pytest.raises(InputError, match="the answer has 2 sentences"):
        opened(parts(), item=wrong, mode="human")


def test_a_mode_without_a_critique_has_nothing_to_review() -> None:
    for mode in ["improve", "generic"]:
        with pytest.raises(InputError, match=f"mode {mode} has none"):
            opened(parts(), mode=mode)


@each(
    "answer, said",
    [
        ({}, "'action' is missing"),
        ("go on", "must be an object"),
        (None, "must be an object"),
        ({"action": "rewrite"}, "'go on', 'all complete', 'stop' or 'save', got 'rewrite'"),
        ({**GO_ON, "reasons": []}, "unknown key 'reasons'; known keys: action, replace, add, drop"),
        ({**GO_ON, "add": [{"sentence": 1, "why": "x"}]}, "unknown key 'add[0].why'; known keys: sentence, reason"),
        ({**GO_ON, "add": [{"sentence": 1}]}, "'add[0].reason' is missing"),
        ({**GO_ON, "add": [{"sentence": 0, "reason": "x"}]}, "must be greater than or equal to 1, got 0"),
        ({**GO_ON, "add": [{"sentence": "1", "reason": "x"}]}, "'add[0].sentence' must be a valid integer"),
        ({**GO_ON, "add": [{"sentence": 1, "reason": " "}]}, "'add[0].reason' must not be blank"),
        ({**GO_ON, "add": [{"sentence": 1, "reason": "\ud800"}]}, "half a surrogate pair"),
        ({**GO_ON, "add": [{"sentence": 3, "reason": "x"}]}, "there is no sentence 3: the answer has 2"),
        ({**GO_ON, "drop": [2]}, "sentence 2 is complete already"),
        ({**GO_ON, "drop": [1, 1]}, "'drop' names sentence 1 twice"),
        ({**GO_ON, "replace": [{"sentence": 1, "reason": "x"}] * 2}, "'replace' names sentence 1 twice"),
        ({**GO_ON, "drop": [1], "add": [{"sentence": 1, "reason": "x"}]}, "sentence 1 is dropped and given a reason"),
        ({"action": "stop", "drop": [1]}, "action 'stop' takes no"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_with_one_sentence_and_the_question_stands(
    answer: Any, said: str
) -> None:
    async def run() -> Record:
        run = opened(parts())
        await run.begin()
        asked = run.question
        with pytest.raises(InputError) as refused:
            await run.answer(answer)
        assert said in str(refused.value) and "\n" not in str(refused.value)
        assert run.question == asked
        await run.answer(GO_ON)
        return run.record

    assert asyncio.run(run()).status == "accepted"


def test_the_graph_itself_asks_again_with_the_reason_and_loses_nothing() -> None:
    """For those who drive the graph: an answer that does not fit comes back as the same question with an `error`."""

    async def run() -> None:
        models = parts()
        graph = compile_graph(models, Settings(), checkpointer=InMemorySaver(), review=True)
        config: Any = {"configurable": {"thread_id": "t"}}
        state: Any = await graph.ainvoke(initial_state(Item(**ITEM), 0), config)
        for wrong, said in (("yes", "must be an object"), ({**GO_ON, "drop": [7]}, "there is no sentence 7")):
            state = await graph.ainvoke(Command(resume=wrong), config)
            assert said in state["__interrupt__"][0].value["error"]
        state = await graph.ainvoke(Command(resume={**GO_ON, "add": [{"sentence": 2, "reason": "x"}]}), config)
        record = make_record(state, parts=models, settings=Settings())
        assert (record.status, record.usage.calls, reasons(record)) == ("accepted", 21, ["Pollution is missing.", "x"])

    asyncio.run(run())


def test_a_waiting_state_makes_no_record() -> None:
    async def run() -> None:
        models = parts()
        graph = compile_graph(models, Settings(), checkpointer=InMemorySaver(), review=True)
        state: Any = await graph.ainvoke(initial_state(Item(**ITEM), 0), {"configurable": {"thread_id": "t"}})
        with pytest.raises(InputError, match="it waits for a review"):
            make_record(state, parts=models, settings=Settings())

    asyncio.run(run())


def test_after_a_rejected_rewrite_nobody_is_asked_again() -> None:
    models = parts(rewrites=["worse", "better"])
    record = answered(models, {**GO_ON, "replace": [{"sentence": 1, "reason": "Say why."}]})
    assert [r.decision for r in record.rounds] == ["reject", "accept"]
    assert {r.critique and r.critique.sentences[0].reason for r in record.rounds} == {"Say why."}


def test_a_new_critique_is_asked_about_again() -> None:
    """After an accepted rewrite that is worked on further; what was accepted stays when the person stops."""
    scores = {"better": eirene.Scores(hallucination=0.1, coverage=0.4)}
    better = Sample(tags=("Incomplete",), reasons=("More.",))
    models = parts(samples=[FAULTY] * 20 + [better] * 20, rewrites=["better"], **scores)
    record = answered(models, GO_ON, {"action": "stop"}, after_accept="continue", max_rounds=3)
    assert (record.status, record.answer, len(record.rounds)) == ("accepted", "better", 2)
    assert "a person stopped" in record.why


def test_what_a_person_waits_is_no_part_of_the_seconds_or_the_deadline() -> None:
    async def run() -> Record:
        run = opened(parts(), deadline_s=2.0)
        await run.begin()
        await asyncio.sleep(2.1)
        await run.answer(GO_ON)
        return run.record

    began = time.perf_counter()
    record = asyncio.run(run())
    assert record.status == "accepted"
    assert record.usage.seconds <= time.perf_counter() - began - 2.1


def test_free_data_of_any_kind_need_not_fit_into_a_checkpoint() -> None:
    """A whole number of more than 64 bits is good JSON, and more than msgpack holds."""
    assert answered(parts(), GO_ON, item={**ITEM, "meta": {"n": 2**70}}).status == "accepted"


def test_an_old_record_without_a_review_can_still_be_read() -> None:
    record = json.loads(eirene.refine(ITEM, backend=parts()).to_json())
    assert record["rounds"][0]["critique"].pop("review", "gone") is None
    assert Record.model_validate(record).rounds[0].critique is not None


def test_a_chat_model_is_shown_the_reason_that_a_person_gave() -> None:
    """And not the one that the person took away."""

    def reply(messages: list[Any]) -> str:
        text = "\n".join(str(m.text) for m in messages)
        critique = "1. [Incomplete] Reasons: Pollution is missing.\n2. [Complete]"
        return "2: Buses are cheap for riders." if "You mend" in text else critique

    model = ScriptedChatModel(reply)
    note = {"sentence": 2, "reason": "Say [Complete] for whom."}
    record = answered(eirene.resolve_backend(model), {**GO_ON, "drop": [1], "add": [note]})
    shown = model.calls[-1].text
    assert "Say [Complete] for whom." in shown and "Pollution is missing" not in shown
    assert reasons(record) == [None, "Say [Complete] for whom."]
