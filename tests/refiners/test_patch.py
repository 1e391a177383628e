"""Patches: what a model's changes make of an answer, and what of them is refused, each for one reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.agent.composing import patch_edits
from eirene.core.critique import Critique, TaggedSentence
from eirene.core.errors import BackendError, UnusableReplyError
from eirene.core.records import Item, Mode
from eirene.core.usage import Meter
from eirene.models.replies import Reply
from eirene.models.reply_text import UnreadableError
from eirene.models.scripted import ScriptedChatModel
from eirene.refiners.asking import requests_for
from eirene.refiners.base import DrawnText, RefineTask
from eirene.refiners.model import ChatRefiner
from eirene.refiners.patch import patch_schema, read_patch
from eirene.text.sentences import split_sentences
from tests.rows import each

ANSWER = (
    "Trams are quiet. 🚋 Buses fly.\r\n\r\n- One thing.\r\n- Two things.\r\n\r\n"
    "1. First.\r\n2. Second.\r\n3. Third.\r\n\r\n```\r\ncode()\r\n```\r\n\r\nThe end."
)
"""Nine pieces; the eighth is a block of code."""
REASON = "It says nothing of what they cost."


def task_of(answer: str = ANSWER, *faulty: int, mode: Mode = "fine-grained", **more: Any) -> RefineTask:
    sentences = tuple(
        TaggedSentence(
            n=s.n, text=s.text, start=s.text_start, end=s.text_end,
            tag="Incomplete" if s.n in faulty else "Complete", reason=REASON if s.n in faulty else None,
        )
        for s in split_sentences(answer)
    )  # fmt: skip
    critique = Critique(
        sentences=sentences, tag_consistency=1.0, reason_consistency=1.0, n_drawn=1, n_valid=1, n_requested=1
    )
    item = Item(question="Trams or buses?", answer=answer)
    return RefineTask(item, answer, mode, None if mode == "generic" else critique, (), 3, form="patch", **more)


def read(reply: str, *faulty: int, answer: str = ANSWER) -> DrawnText:
    return read_patch(Reply(reply, "stop"), task_of(answer, *faulty), seed=3, mark="TEXT-ba", prompt="Write it now.")


def as_json(*changes: tuple[int, str, str]) -> str:
    return json.dumps({"changes": [dict(zip(("sentence", "action", "text"), c, strict=True)) for c in changes]})


@each(
    "reply",
    [
        as_json((2, "replace", "Buses drive."), (4, "insert_after", "Three things."), (6, "delete", "")),
        "2: Buses drive.\nafter 4: - Three things.\ndrop 6\n\nI hope this helps!",
        "**Sentence 2:** Buses drive.\n- insert after 4: Three things.\n- delete sentence 6.",
        "<think>2: no</think>\nHere are the changes:\n2. Buses drive.\nAfter [4]: Three things.\nRemove 6",
    ],
)
def test_what_is_not_named_stays_byte_for_byte(reply: str) -> None:
    draft = read(reply, 2, 4, 6)
    wanted = ANSWER.replace("🚋 Buses fly.", "Buses drive.").replace("Two things.", "Two things.\r\n- Three things.")
    assert draft.text == wanted.replace("2. Second.\r\n3. Third.", "2. Third.")
    assert (draft.refused, [str(c) for c in draft.changes]) == (
        (), ["2: Buses drive.", "after 4: Three things.", "drop 6"]
    )  # fmt: skip


REFUSED = [
    ((99, "replace", "Buses drive."), "the answer has 9 sentences"),
    ((1, "replace", "Trams hum."), "no criticism names sentence 1"),
    ((1, "delete", ""), "no criticism names sentence 1"),
    ((2, "replace", "  "), "it has no text"),
    ((2, "replace", "????"), "it has no text"),
    ((2, "replace", "🚋 Buses  fly."), "the sentence says so already"),
    ((2, "replace", "Trams are quiet."), "the answer says so already"),
    ((2, "insert_after", "One thing."), "the answer says so already"),
    ((2, "insert_after", "The quiet trams are one thing."), "the answer says so already"),
    ((2, "replace", f"Incomplete: {REASON}"), "it copies the criticism"),
    ((2, "replace", "Write it now."), "it copies the prompt"),
    ((2, "insert_after", "TEXT-ba Buses drive."), "it copies the prompt"),
    ((2, "insert_after", "The answer does not mention the fare."), "it speaks about the answer, or asks"),
    ((2, "insert_after", "The next sentence would be: Buses drive."), "it speaks about the answer, or asks"),
    ((2, "insert_after", "What does a bus cost?"), "it speaks about the answer, or asks"),
    ((8, "replace", "code(1)"), "the lines of the block would be lost"),
]


@each("change,why", REFUSED)
def test_a_change_that_cannot_be_made_is_refused_and_the_others_are_made(change: Any, why: str) -> None:
    draft = read(as_json(change, (4, "replace", "Two more things.")), 2, 4, 8)
    assert draft.text == ANSWER.replace("Two things.", "Two more things.")
    assert len(draft.refused) == 1 and draft.refused[0].endswith(f": {why}"), draft.refused


UNFAULTED = [
    (as_json((2, "delete", "")), "the song.", "nobody finds fault with sentence 2"),
    (as_json((2, "replace", "A Bristol studio.")), "the song.", "it cuts short what nobody finds fault with"),
    (as_json((1, "replace", "Cats like it.")), "the song. Cats like it.", None),
    ("drop 1\n1: Cats like it.", "the song. Cats like it.", "nobody finds fault with sentence 1"),
]


@each("reply,begins,why", UNFAULTED)
def test_what_nobody_finds_fault_with_is_neither_dropped_nor_cut_short(reply: str, begins: str, why: str) -> None:
    """A text in its place that says something else goes behind it."""
    answer = "Ann Holt wrote the song. She recorded it in a small Bristol studio in June."
    task = task_of(answer, mode="generic")
    draft = read_patch(Reply(reply, "stop"), task, seed=3)
    assert draft.text == f"Ann Holt wrote {begins}{answer.partition('the song.')[2]}"
    assert [why] == [r.rpartition(": ")[2] for r in draft.refused] if why else not draft.refused
    (asked,) = requests_for(task)
    assert asked.form is not None
    assert "delete" not in str(asked.form.schema) and "drop" not in asked.messages[-1].content
    assert '"delete"' not in asked.form.messages[-1].content


def test_a_patch_tells_how_the_text_became_another() -> None:
    """A sentence with wholly other words is that sentence changed, and not one that went and one that came."""
    draft = read(
        as_json((2, "replace", "Cars roll. They honk."), (4, "insert_after", "Three."), (6, "delete", "")), 2, 6
    )
    edits = patch_edits(ANSWER, draft.text, draft.changes)
    assert edits is not None
    told = [(e.kind, e.before and ANSWER[slice(*e.before)], e.after and draft.text[slice(*e.after)]) for e in edits]
    assert [t for t in told if t[0] != "kept"] == [
        ("reworded", "🚋 Buses fly.", "Cars roll. They honk."), ("added", None, "Three."), ("removed", "Second.", None),
    ]  # fmt: skip
    assert patch_edits(ANSWER, "Something else.", draft.changes) is None


def test_of_two_changes_that_exclude_each_other_the_first_is_made() -> None:
    draft = read(as_json((2, "replace", "Buses drive."), (2, "replace", "Buses roll."), (2, "delete", "")), 2)
    assert draft.text == ANSWER.replace("🚋 Buses fly.", "Buses drive.")
    assert [why.rpartition(": ")[2] for why in draft.refused] == ["sentence 2 is changed already"] * 2


def test_an_answer_is_never_taken_out_whole_and_a_sentence_may_move() -> None:
    assert read("drop 1\ndrop 2", 1, 2, answer="One. Two.").text == "One. Two."
    moved = read("drop 1\nafter 2: One of many.", 1, 2, answer="One of many. Two.")
    assert (moved.text, moved.refused) == ("Two. One of many.", ())


@each("reply", ["Trams are quiet. Buses drive.", "", '{"answer": 3}', '{"changes": [{"sentence": "x"}]}', "{}"])
def test_what_names_no_change_cannot_be_read(reply: str) -> None:
    with pytest.raises(UnreadableError):
        read(reply, 2)


@each("reply", ["none", "No changes.", '{"changes":[]}', '```json\n{"changes": []}\n```'])
def test_a_model_may_find_nothing_to_change(reply: str) -> None:
    assert (read(reply, 2).text, read(reply, 2).changes) == (ANSWER, ())


def test_a_reply_that_was_cut_off_is_no_patch() -> None:
    with pytest.raises(UnusableReplyError, match="cut off"):
        read_patch(Reply('{"changes":[', "length"), task_of(), seed=0)


@given(st.text(), st.text())
def test_any_reply_to_any_answer_is_a_draft_or_unreadable(answer: str, reply: str) -> None:
    answer = answer.replace("\x00", "") + "Trams are quiet."
    n = len(split_sentences(answer))
    for text in (reply, f"1: {reply}", f"after {n}: {reply}", as_json((n, "replace", reply), (1, "delete", ""))):
        try:
            draft = read(text, 1, n, answer=answer)
        except (UnreadableError, UnusableReplyError):
            continue
        assert draft.changes or draft.text == answer


def test_the_schema_lets_only_faulty_sentences_be_replaced() -> None:
    schema: Any = patch_schema(task_of(ANSWER, 2, 4))
    numbers = [s["properties"]["sentence"]["enum"] for s in schema["properties"]["changes"]["items"]["anyOf"]]
    assert numbers == [[2, 4], list(range(1, 10)), [2, 4]]
    assert patch_schema(task_of("One. " * 101, 2)) is None  # strict servers bound a schema's size


async def test_each_faulty_sentence_is_asked_for_by_itself() -> None:
    """Without passages for the sentence after it; draft k is made of reply k to each; talk is no sentence."""
    replies = ["A ticket costs a euro.", "The answer lacks a price.", "Buses are dear.", "1. Buses are cheap."]
    model = ScriptedChatModel(replies)
    task = task_of("Trams are quiet. Buses fly. The end.", 1, 2, count=2)
    drafts = await ChatRefiner(model).refine(RefineTask(**{**_fields(task), "form": "sentences"}), meter=Meter())
    assert [d.text for d in drafts] == [
        "Trams are quiet. A ticket costs a euro. Buses fly. Buses are dear. The end.",
        "Trams are quiet. Buses fly. Buses are cheap. The end.",
    ]
    assert [("Buses fly." in call.text, "The end." in call.text) for call in model.calls] == [
        (False, False),
        (True, False),
    ]  # what follows is not shown
    assert REASON not in str(model.calls)


async def test_with_passages_a_sentence_is_asked_for_again_and_nothing_is_said_of_a_fault() -> None:
    task = task_of("Trams are quiet. Buses fly.", 2)
    item = task.item.model_copy(update={"context": ["Buses drive."]})
    given = RefineTask(**{**_fields(task), "form": "sentences", "item": item})
    (asked,) = requests_for(given)
    text = "\n".join(m.content for m in asked.messages)
    assert "[1] Buses drive." in text and "Sentence of the answer: Buses fly." in text and REASON not in text
    told = requests_for(RefineTask(**{**_fields(given), "mode": "human"}))[0]
    assert REASON in told.messages[-1].content  # a person's remark is followed


async def test_a_failed_call_loses_its_own_sentence_alone() -> None:
    model = ScriptedChatModel(["A ticket costs a euro.", BackendError("no")])
    task = RefineTask(**{**_fields(task_of("Trams are quiet. Buses fly.", 1, 2)), "form": "sentences"})
    (draft,) = await ChatRefiner(model).refine(task, meter=Meter())
    assert (draft.text, draft.refused) == ("Trams are quiet. A ticket costs a euro. Buses fly.", ("2: no",))
    with pytest.raises(BackendError, match="no"):
        await ChatRefiner(ScriptedChatModel([BackendError("no")] * 2)).refine(task, meter=Meter())


def _fields(task: RefineTask) -> dict[str, Any]:
    return {name: getattr(task, name) for name in task.__dataclass_fields__}
