"""Passages for a question: reading a corpus, the index on disk, search, order, reranking, LangChain."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from numpy.typing import NDArray

from eirene.encoder import load_encoder
from eirene.errors import EncoderError, InputError
from eirene.records import FOUND_PASSAGES, Item
from eirene.retrieval import Hit, Passage, Retriever, open_index, read_corpus, with_context
from eirene.retrieval import index as indexes
from eirene.retrieval.encoders import encoder_named
from eirene.retrieval.langchain import CorpusRetriever, of_langchain
from eirene.retrieval.names import names_of
from eirene.retrieval.passages import cut
from eirene.retrieval.search import near_by_signs, nearest, sharing_names, signs

ROWS: list[dict[str, Any]] = [
    {"id": "paris", "title": "Paris", "text": "Paris is the capital of France. It lies on the Seine."},
    {"id": "oslo", "title": "Oslo", "text": "Oslo is the capital of Norway. It was founded in 1040."},
    {"id": "bread", "text": "Bread is baked from flour, water and salt."},
    {"id": "cats", "text": "Cats sleep for most of the day and hunt at night."},
    {"id": "rain", "text": "Rain falls when clouds hold too much water."},
    {"id": "norway", "text": "The long coast of Norway is cut by fjords."},
]


class Counting:
    """The shipped encoder, and how many texts it was asked for."""

    def __init__(self) -> None:
        self._encoder = load_encoder(threads=1)
        self.digest = self._encoder.digest
        self.texts: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += [t for t in texts if t]
        return self._encoder.encode(texts)


def write(path: Path, rows: Sequence[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.passage.id for hit in hits]


@given(st.text(alphabet="ab .\n!", max_size=300), st.integers(1, 20))
@settings(max_examples=60)
def test_cutting_keeps_every_word_in_order(text: str, words: int) -> None:
    """Passages of a text have all of its words, in order, and no more than are allowed."""
    pieces = list(cut(text, words=words))
    assert " ".join(pieces).split() == text.split()
    assert all(0 < len(piece.split()) <= words for piece in pieces)


def test_a_folder_is_read_in_order_with_ids_that_lead_back(tmp_path: Path) -> None:
    """Files of a folder come in the order of their names; text files are cut at blank lines, long rows into #2, #3."""
    (tmp_path / "b.txt").write_text("One.\n\nTwo.", encoding="utf-8")
    (tmp_path / "d.txt.gz").write_bytes(gzip.compress(b"Three."))
    write(tmp_path / "a.jsonl", [{"_id": 7, "contents": "x. " * 150, "title": "T"}, {"passage": "y"}])
    (tmp_path / ".hidden.txt").write_text("no", encoding="utf-8")
    (tmp_path / "c.bin").write_bytes(b"\0")
    found = list(read_corpus(str(tmp_path)))
    assert [p.id for p in found] == ["7", "7#2", "a.jsonl:2", "b.txt:1", "b.txt:2", "d.txt.gz:1"]
    assert found[0].shown.startswith("T: x.")


def test_parquet_is_read_as_well(tmp_path: Path) -> None:
    """Tables with the same columns give the same passages as JSON Lines."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{"id": str(r["id"]), "text": r["text"], "title": r.get("title", "")} for r in ROWS]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "c.parquet")
    assert list(read_corpus(str(tmp_path / "c.parquet"))) == list(read_corpus(write(tmp_path / "c.jsonl", ROWS)))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"id": "a"}], "needs a text"),
        ([{"id": "a", "text": "x"}] * 2, "occurs twice"),
        ([3], "must be an object"),
        ([{"text": "a\0b"}], "NUL"),
    ],
)
def test_a_bad_corpus_is_named(tmp_path: Path, rows: list[Any], words: str) -> None:
    """A row that is no passage is an error that names the line."""
    with pytest.raises(InputError, match=rf"line \d.*{words}"):
        list(read_corpus(write(tmp_path / "c.jsonl", rows)))


def test_no_file_and_no_passage_are_errors(tmp_path: Path) -> None:
    """A place that is not there, a folder without files and a corpus of blanks are each said."""
    (tmp_path / "empty").mkdir()
    for place, words in ((tmp_path / "none", "no such"), (tmp_path / "empty", "without a file")):
        with pytest.raises(InputError, match=words):
            list(read_corpus(str(place)))
    (tmp_path / "blank.txt").write_text(" \n\n ", encoding="utf-8")
    with pytest.raises(InputError, match="no passage"):
        open_index(str(tmp_path / "blank.txt"), Counting(), folder=tmp_path / "i")


def test_the_index_is_built_once_and_only_what_is_new_is_encoded(tmp_path: Path) -> None:
    """A second opening encodes nothing; a grown corpus encodes what it grew by; a smaller one finds no more of it."""
    encoder, corpus = Counting(), tmp_path / "c.jsonl"
    first = open_index(write(corpus, ROWS[:4]), encoder, folder=tmp_path / "i")
    assert (len(first), len(encoder.texts)) == (4, 4)
    again = open_index(str(corpus), encoder, folder=tmp_path / "i")
    assert (again.digest, len(encoder.texts)) == (first.digest, 4)
    grown = open_index(write(corpus, ROWS), encoder, folder=tmp_path / "i")
    assert (len(grown), len(encoder.texts)) == (6, 6)
    less = open_index(write(corpus, ROWS[2:]), encoder, folder=tmp_path / "i")
    assert (len(less), len(encoder.texts)) == (4, 6)
    assert "paris" not in ids(Retriever(less, encoder).find("The capital of France"))
    assert len(list((tmp_path / "i").iterdir())) == 1


def test_an_interrupted_build_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was encoded before a crash, a torn end aside, is not encoded again."""
    monkeypatch.setattr(indexes, "_BATCH", 2)
    encoder, corpus = Counting(), write(tmp_path / "c.jsonl", ROWS)

    def stop(done: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_index(corpus, encoder, folder=tmp_path / "i", progress=stop)
    (home,) = (tmp_path / "i").iterdir()
    assert not list(home.glob("making-*"))
    with (home / "vectors.f16").open("ab") as torn:
        torn.write(b"half a vector")
    index = open_index(corpus, encoder, folder=tmp_path / "i")
    assert (len(index), len(encoder.texts)) == (6, 6)
    assert index.passages([5]) == [Passage("norway", ROWS[5]["text"])]


@pytest.mark.parametrize("file", ["about.json", "codes.npy", "passages.jsonl", "rows.npy", "keys.npy", "spans.npy"])
def test_a_torn_or_foreign_view_is_made_again(tmp_path: Path, file: str) -> None:
    """A view with a cut or strange file is rebuilt from the vectors that are there, and finds the same."""
    encoder, corpus = Counting(), write(tmp_path / "c.jsonl", ROWS)
    before = Retriever(open_index(corpus, encoder, folder=tmp_path / "i"), encoder).find("capital of Norway")
    (home,) = (tmp_path / "i").iterdir()
    whole = (home / "view" / file).read_bytes()
    for data in (b"", b"something else", whole[: len(whole) // 2]):
        (home / "view" / file).write_bytes(data)
        encoder.texts.clear()
        index = open_index(corpus, encoder, folder=tmp_path / "i")
        assert encoder.texts == []
        assert Retriever(index, encoder).find("capital of Norway") == before


def test_lost_vectors_are_encoded_again(tmp_path: Path) -> None:
    """Without its vectors an index is made from nothing, not searched with what is left."""
    encoder, corpus = Counting(), write(tmp_path / "c.jsonl", ROWS)
    open_index(corpus, encoder, folder=tmp_path / "i")
    (home,) = (tmp_path / "i").iterdir()
    os.truncate(home / "vectors.f16", 100)
    index = open_index(corpus, encoder, folder=tmp_path / "i")
    assert (len(index), len(encoder.texts)) == (6, 12)


def test_an_index_that_another_process_makes_is_left_alone(tmp_path: Path) -> None:
    """Two builders of one index do not mix: the second is told."""
    encoder, corpus = Counting(), write(tmp_path / "c.jsonl", ROWS)
    open_index(corpus, encoder, folder=tmp_path / "i")
    (home,) = (tmp_path / "i").iterdir()
    os.utime(corpus, ns=(time.time_ns(), 1))
    with indexes._alone(home), pytest.raises(InputError, match="another process"):
        open_index(corpus, encoder, folder=tmp_path / "i")


def test_what_is_relevant_stands_last_and_names_come_before_all(tmp_path: Path) -> None:
    """The most relevant passage is the last; those that share the names rank above those that are merely like it."""
    encoder = Counting()
    index = open_index(write(tmp_path / "c.jsonl", ROWS), encoder, folder=tmp_path / "i")
    found = Retriever(index, encoder, top=3).find("What is the capital of Norway?")
    assert ids(found)[-1] == "oslo"
    assert set(ids(found)[-2:]) == {"oslo", "norway"}
    assert ids(found)[0] == "paris"  # alike, and of another name
    assert [hit.names > 0 for hit in found] == [False, True, True]
    without = Retriever(index, encoder, top=3, by_names=False).find("What is the capital of Norway?")
    assert set(ids(without)) == {"oslo", "norway", "paris"}
    assert [hit.score for hit in without] == sorted(hit.score for hit in without)


def test_top_is_kept_and_twins_occur_once(tmp_path: Path) -> None:
    """At most `top` passages come, and the same text under two ids is one of them."""
    encoder = Counting()
    rows = [*ROWS, {"id": "oslo again", "title": "Oslo", "text": ROWS[1]["text"]}]
    index = open_index(write(tmp_path / "c.jsonl", rows), encoder, folder=tmp_path / "i")
    assert len(index) == 7
    for top in (1, 2, 100):
        found = Retriever(index, encoder, top=top).find("capital of Norway")
        assert len(found) == min(top, 6)
        assert "oslo again" not in ids(found)
    with pytest.raises(InputError, match="top must be at least 1"):
        Retriever(index, encoder, top=0)


def test_a_reranker_has_the_last_word_on_scores(tmp_path: Path) -> None:
    """With a reranker its scores rank; names still come first, unless they are left out."""

    class Backwards:
        digest = "backwards"

        def scores(self, query: str, texts: Sequence[str]) -> list[float]:
            return [float(text.startswith("Bread")) for text in texts]

    encoder = Counting()
    index = open_index(write(tmp_path / "c.jsonl", ROWS), encoder, folder=tmp_path / "i")
    retriever = Retriever(index, encoder, reranker=Backwards(), by_names=False)
    assert ids(retriever.find("capital of Norway"))[-1] == "bread"
    assert "backwards" in retriever.version


def test_an_index_of_another_encoder_is_refused(tmp_path: Path) -> None:
    """Vectors of two encoders are never compared."""
    encoder = Counting()
    index = open_index(write(tmp_path / "c.jsonl", ROWS), encoder, folder=tmp_path / "i")
    encoder.digest = "other"
    with pytest.raises(InputError, match="not of other"):
        Retriever(index, encoder)


@given(st.integers(1, 300), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_the_scan_over_signs_is_the_hamming_distance(size: int, seed: int) -> None:
    """The columns taken are the nearest by Hamming distance, counted the slow way, with all that tie."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(size, 70)).astype(np.float32)
    query = rng.normal(size=70).astype(np.float32)
    slow = ((vectors > 0) != (query > 0)).sum(axis=1)
    found = near_by_signs(signs(vectors), query, 5)
    assert sorted(found.tolist()) == np.flatnonzero(slow <= np.sort(slow)[min(5, size) - 1]).tolist()


def test_few_passages_are_searched_exactly() -> None:
    """Where all passages are candidates the nearest are those by cosine."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(500, 384)).astype(np.float16)
    vectors = (vectors / np.linalg.norm(vectors.astype(np.float32), axis=1, keepdims=True)).astype(np.float16)
    query = vectors[7].astype(np.float32) + vectors[8].astype(np.float32)
    found, cosines = nearest(signs(vectors), vectors, np.arange(500), query, 5)
    assert found.tolist() == np.argsort(-(vectors.astype(np.float32) @ query), kind="stable")[:5].tolist()
    assert (np.diff(cosines) <= 0).all()


def test_names_weigh_by_how_rare_they_are(tmp_path: Path) -> None:
    """Passages with most of the names' weight are found; a name that many have, or none has, does not count."""
    assert names_of("When did Ann Lee move to the USA in 1,990?") == {"ann", "lee", "usa", "1,990"}
    rows = [{"text": f"Bob saw it on day {n}."} for n in range(1, 60)] + [{"text": "Ann saw it on day 61."}]
    index = open_index(write(tmp_path / "c.jsonl", rows), Counting(), folder=tmp_path / "i")
    shared = sharing_names(index.keys, index.owners, len(index), "Did Ann, Bob or Zed see it?", 10)
    assert shared == {59: 1.0}
    assert sharing_names(index.keys, index.owners, len(index), "did ann see it?", 10) == {}


def test_an_item_gets_passages_and_their_ids(tmp_path: Path) -> None:
    """Without given text an item's context is what was found, with ids in its meta; what was given is not touched."""
    encoder = Counting()
    retriever = Retriever(open_index(write(tmp_path / "c.jsonl", ROWS), encoder, folder=tmp_path / "i"), encoder, top=2)
    item = with_context(
        Item(question="What is the capital of Norway?", answer="Bergen.", meta={"passages": "own"}), retriever
    )
    assert item.context is not None
    assert item.context[-1] == ROWS[1]["text"]
    assert item.meta == {"passages": "own", FOUND_PASSAGES: ["norway", "oslo"]}
    given_one = Item(question="q", answer="a", context=["mine"])
    assert with_context(given_one, retriever) is given_one


def test_both_ways_with_langchain(tmp_path: Path) -> None:
    """Ours is a LangChain retriever, best first; any LangChain retriever is one of ours, best last."""
    encoder = Counting()
    retriever = Retriever(open_index(write(tmp_path / "c.jsonl", ROWS), encoder, folder=tmp_path / "i"), encoder, top=2)
    documents = CorpusRetriever(finder=retriever).invoke("What is the capital of Norway?")
    assert [d.id for d in documents] == ["oslo", "norway"]
    assert documents[0].metadata["title"] == "Oslo"

    class Fixed(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document("best", metadata={"source": "s"}), Document("second"), Document("third")]

    ours = of_langchain(Fixed(), top=2).find("q")
    assert [(hit.passage.id, hit.passage.text) for hit in ours] == [("document-2", "second"), ("s", "best")]
    assert with_context(Item(question="q", answer="a"), of_langchain(Fixed())).context == ["third", "second", "best"]


def test_a_cross_encoder_scores_pairs(tmp_path: Path) -> None:
    """A tiny sequence classifier made here gives each pair one score, the same each time; a bad name is an error."""
    from eirene.retrieval.rerank import CrossEncoder
    from tests.retrieval.tiny_pairs import make_cross_encoder

    reranker = CrossEncoder(make_cross_encoder(tmp_path / "tiny", [str(r["text"]) for r in ROWS]))
    texts = [str(r["text"]) for r in ROWS] + ["water " * 2000]
    scores = reranker.scores("Where does rain fall?", texts)
    assert len(scores) == 7
    assert len(set(scores)) > 1
    assert reranker.scores("Where does rain fall?", texts) == scores
    with pytest.raises(EncoderError, match="cannot be loaded"):
        CrossEncoder(str(tmp_path / "none"))


def test_an_encoder_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    """The shipped encoder has a name of its own; a folder that is no model is an error of one kind."""
    assert encoder_named("embedded").digest == load_encoder().digest
    pytest.importorskip("sentence_transformers")
    with pytest.raises(EncoderError, match="cannot be loaded"):
        encoder_named(str(tmp_path / "none"))
