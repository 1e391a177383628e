"""Thinking in an answer, through every way in: nobody judges it, no prompt shows it, and it comes back as it was."""

from __future__ import annotations

import pytest

import eirene
from eirene.agent.wrappers.chat_model import RefiningChatModel
from eirene.core.records import Record
from eirene.models.scripted import ScriptedChatModel
from eirene.testing.loopback import LoopbackServer
from tests.agent.server.serving import ASK, DRAFT, GIVEN, MODEL, chat_engine, embedded_engine, served
from tests.rows import each

PASSAGE = "The oak is 31 metres tall. It was planted in 1790."
INVENTED = "Two astronauts opened a bakery on Jupiter last year."
BLOCK = "<think>\nOaks are fish, in 1200.\n\n1. They swim.\n</think>\n\n"
ANSWERS = {
    "before": (f"{BLOCK}The oak is 31 metres tall. {INVENTED}", f"{BLOCK}The oak is 31 metres tall."),
    "no opening tag": (
        f"Oaks are fish.\n</think>\n\n{INVENTED} The oak is 31 metres tall.",
        "Oaks are fish.\n</think>\n\nThe oak is 31 metres tall.",
    ),
    "between": (
        f"<think>a</think>\n{INVENTED} The oak is 31 metres tall.\n<think>And when?</think>\nIt was planted in 1790.",
        "<think>a</think>\nThe oak is 31 metres tall.\n<think>And when?</think>\nIt was planted in 1790.",
    ),
    "after": (
        f"The oak is 31 metres tall. {INVENTED}\n\n<think>Is it",
        "The oak is 31 metres tall.\n\n<think>Is it",
    ),
}


def offsets_are_exact(record: Record) -> None:
    text = record.original
    for round_ in record.rounds:
        for sentence in round_.critique.sentences if round_.critique else ():
            assert text[sentence.start : sentence.end] == sentence.text != ""
            assert all(text[f.start : f.end] in (INVENTED, "") for f in sentence.findings)
        for edit in round_.edits:
            assert edit.before is None or text[slice(*edit.before)] == edit.old
            assert edit.after is None or (round_.written or round_.candidate or "")[slice(*edit.after)] == edit.new
        text = round_.candidate or text if round_.decision == "accept" else text


def test_the_answer_is_mended_and_the_thinking_stands() -> None:
    for answer, wanted in ANSWERS.values():
        record = eirene.refine(question="What of the oak?", answer=answer, context=[PASSAGE])
        assert (record.original, record.answer, record.status) == (answer, wanted, "accepted")
        offsets_are_exact(record)
        claims = eirene.verify(answer, PASSAGE).claims
        assert [answer[c.start : c.end] for c in claims] == [c.text for c in claims]
        assert {c.text for c in claims if c.verdict == "unsupported"} == {INVENTED}


def test_a_sound_answer_after_thinking_has_no_fault_and_thinking_alone_is_not_judged() -> None:
    sound = eirene.refine(question="How tall?", answer=f"{BLOCK}The oak is 31 metres tall.", context=[PASSAGE])
    assert sound.status == "no_fault_found"
    alone = eirene.refine(question="How tall?", answer=BLOCK, context=[PASSAGE])
    assert (alone.status, alone.answer, alone.why) == (
        "not_checked",
        BLOCK,
        "not checked: the answer is thinking alone",
    )
    assert eirene.verify(BLOCK, PASSAGE).claims == ()


def test_no_prompt_shows_it_and_the_rewrite_carries_it() -> None:
    better = "Supporters say that zoos teach children about animals, but cages make animals suffer."
    model = ScriptedChatModel([*["1. [Incomplete] Reasons: suffering is missing"] * 3, f"1: {better}"])
    answer = f"{BLOCK}{DRAFT}"
    record = eirene.refine(
        question="Should zoos be closed?", answer=answer, backend=model, samples=3, stop="none", **GIVEN
    )
    assert (record.status, record.answer) == ("accepted", BLOCK + better)
    assert "fish" not in str(model.calls)
    offsets_are_exact(record)


def test_a_chat_model_with_the_loop_around_it_keeps_it() -> None:
    draft = f"{BLOCK}{DRAFT}"
    reply = RefiningChatModel(inner=ScriptedChatModel([draft]), backend="embedded").invoke("Zoos?", **GIVEN)
    assert reply.response_metadata["eirene"]["status"] == "accepted"
    assert reply.text.startswith(draft[:-1]) and len(reply.text) > len(draft)


@pytest.mark.usefixtures("loopback")
@each("stream", [False, True])
def test_a_server_keeps_it_whole_and_streamed(stream: bool) -> None:
    draft = f"{BLOCK}{DRAFT}"
    with LoopbackServer(draft) as upstream, served(embedded_engine(upstream)) as server:
        asked = {"model": MODEL, "messages": ASK, "extra_body": GIVEN, "stream": stream}
        answer = server.client().chat.completions.create(**asked)
        if stream:
            text = "".join(c.choices[0].delta.content or "" for c in answer if c.choices)
        else:
            text = answer.choices[0].message.content
    assert text.startswith(draft[:-1]) and "suffer" in text[len(draft) - 1 :]


@pytest.mark.usefixtures("loopback")
def test_no_request_of_a_servers_loop_shows_it() -> None:
    with LoopbackServer(f"{BLOCK}{DRAFT}") as upstream, served(chat_engine(upstream, samples=3)) as server:
        server.client().chat.completions.create(model=MODEL, messages=ASK, extra_body=GIVEN)
        later = [request.text for request in upstream.requests[1:]]
    assert later and not any("fish" in request for request in later)
