"""`eirene refine --critic hallucination --mode edit` against a server: the real client, scripted replies."""

from __future__ import annotations

import re

import pytest

from eirene.agent.backends import BackendOptions
from eirene.agent.run import refine
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedRequest, TextReply

ITEM = {"id": "b", "question": "When?", "answer": "It opened in 1899.", "context": ["It opened in 1890."]}
TAGGED = "It opened in <entity><delete>1899</delete><mark>1890</mark></entity>."
REASON = "The first reference gives another year [1]."


def reply(request: ScriptedRequest, _: int) -> TextReply:
    mark = re.findall(r"TEXT-[a-z]+", request.text)[-1]
    return TextReply(f"{TAGGED}\n{mark}\n1. {REASON}" if "It opened in 1899." in request.text else "It opened in 1890.")


@pytest.mark.usefixtures("loopback")
def test_the_critic_and_the_editor_run_over_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripted critic marks a year; its edit is made, voted on again, and passes, through the real client."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with LoopbackServer(reply) as server:
        record = refine(
            ITEM, backend="openai:test", critic="hallucination", mode="edit", samples=5,
            backend_options=BackendOptions(base_url=server.base_url, structured="text"),
        )  # fmt: skip
    assert (record.status, record.answer) == ("accepted", "It opened in 1890.")
    assert record.rounds[0].critique is not None and record.rounds[0].critique.hallucination is not None
    assert record.rounds[0].critique.sentences[0].reason == REASON
    sides = record.scores.original["findings"], record.scores.final["findings"]
    assert [scores.hallucination for scores in sides] == [1.0, 0.0]
    assert 'Changed "1899" to "1890", as passage 1 says' in record.why
