"""A stream's events, for answers of all kinds: they add up to the accepted text, and hold nothing of the draft."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage

from eirene.agent.server.answers import DONE, Envelope, chunks
from eirene.agent.server.engine import Answer, Choice
from eirene.core.records import BeforeAfter, Item, Record
from eirene.core.usage import Usage

ENVELOPE = Envelope("run-1", 0, "test")
TEXT = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=80)
MARK = "xylograph"  # every draft holds it, and no accepted text does


def choice(draft: str, text: str) -> Choice:
    record = Record(
        id="1", question="?", original=draft, answer=text, status="accepted", why="better", mode="improve",
        backend="b", seed=0, signature="s", rounds=(), scores=BeforeAfter(original={}, final={}), usage=Usage(),
    )  # fmt: skip
    return Choice(AIMessage(content=text), "stop", Item(question="?", answer=draft), record, "better")


@given(
    pairs=st.lists(st.tuples(TEXT, TEXT.filter(lambda text: MARK not in text)), min_size=1, max_size=3),
    include_usage=st.booleans(),
)
def test_no_token_of_a_draft_is_in_a_stream(pairs: list[tuple[str, str]], include_usage: bool) -> None:
    """Whatever draft and accepted text are: the deltas give the text back exactly, the draft's word is nowhere."""
    answer = Answer(tuple(choice(f"{draft} {MARK}", text) for draft, text in pairs), Usage())
    events = list(chunks(ENVELOPE, answer, trace="short", include_usage=include_usage))
    assert events[-1] == DONE
    texts = [""] * len(pairs)
    for event in events[:-1]:
        assert event.startswith("data: ")
        assert event.count("\n") == 2  # a line break inside would end the event before its time
        for found in json.loads(event[6:])["choices"]:
            texts[found["index"]] += found["delta"].get("content") or ""
    assert texts == [text for _, text in pairs]
    assert MARK not in "".join(events)
