"""Chats that bring nothing to be compared with, where the server has a corpus."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from eirene.core.records import Item
from eirene.models.encoder import load_encoder
from eirene.retrieval import Retriever, open_index, with_context
from eirene.testing.loopback import LoopbackServer
from tests.agent.server.serving import ASK, DRAFT, embedded_engine, served

pytestmark = pytest.mark.usefixtures("loopback")


def test_a_chat_without_given_text_is_held_against_a_corpus(tmp_path: Path) -> None:
    """Passages found for the draft reach the loop and their ids the trace; a chat that brings text has none of them."""
    corpus = tmp_path / "c.jsonl"
    rows = [{"id": "oslo", "text": "The capital of Norway is Oslo."}, {"id": "bread", "text": "Bread is baked."}]
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    encoder = load_encoder(threads=1)
    retriever = Retriever(open_index(str(corpus), encoder, folder=tmp_path / "i"), encoder, top=1)
    fill = functools.partial(with_context, retriever=retriever)
    with (
        LoopbackServer("The capital of Norway is Bergen.") as up,
        served(embedded_engine(up, critic="hallucination", mode="edit", fill=fill)) as server,
    ):
        asked: list[Any] = [{"role": "user", "content": "What is the capital of Norway?"}]
        chat: Any = server.client().chat.completions.create(model="test", messages=asked)
        assert chat.eirene["records"][0]["passages"] == ["oslo"]
        assert chat.choices[0].message.content == "The capital of Norway is Oslo."
        given: Any = server.client().chat.completions.create(
            model="test", messages=asked, extra_body={"context": ["Bergen is the capital of Norway."]}
        )
        assert "passages" not in given.eirene["records"][0]
        assert given.eirene["status"] == "no_fault_found"


def test_a_chat_is_passed_on_where_passages_cannot_be_looked_up() -> None:
    """An index that is gone costs the refinement, not the reply."""

    def fill(item: Item) -> Item:
        raise OSError("gone")

    with LoopbackServer(DRAFT) as up, served(embedded_engine(up, fill=fill)) as server:
        chat: Any = server.client().chat.completions.create(model="test", messages=ASK)
        assert chat.choices[0].message.content == DRAFT
        assert chat.eirene["status"] == "untouched"
        assert "passages" in chat.eirene["why"]


@pytest.mark.parametrize(
    "content", [b"", b"no JSON at all, whatever was here before, and more of it than that was" * 9]
)
def test_a_chat_is_passed_on_where_the_index_was_damaged_meanwhile(tmp_path: Path, content: bytes) -> None:
    """What overwrites the files of a server's index costs the refinement, and neither the reply nor the server."""
    corpus = tmp_path / "c.jsonl"
    corpus.write_text(json.dumps({"id": "oslo", "text": "Oslo is the capital of Norway."}) + "\n", "utf-8")
    encoder = load_encoder(threads=1)
    retriever = Retriever(open_index(str(corpus), encoder, folder=tmp_path / "i"), encoder, top=1)
    (passages,) = (tmp_path / "i").rglob("passages.jsonl")
    passages.write_bytes(content)
    fill = functools.partial(with_context, retriever=retriever)
    with LoopbackServer(DRAFT) as up, served(embedded_engine(up, fill=fill)) as server:
        for _ in range(2):
            chat: Any = server.client().chat.completions.create(model="test", messages=ASK)
            assert chat.choices[0].message.content == DRAFT
            assert "passages could not be looked up" in chat.eirene["why"]
