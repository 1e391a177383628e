"""Passages for a question: reading a corpus, and the index on disk."""

from __future__ import annotations

import gzip
import os
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.retrieval import Passage, Retriever, open_index, read_corpus
from eirene.retrieval import index as indexes
from eirene.retrieval.passages import cut
from tests.retrieval.corpora import ROWS, Counting, ids, write


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


@given(st.lists(st.sampled_from(["a", "a#2", "a##2", "a#2#2", "a#3", "b"]), unique=True, min_size=1), st.integers(1, 3))
def test_ids_of_passages_never_collide(names: list[str], pieces: int) -> None:
    """A passage's number beside a document of that very name: every passage has an id of its own, in any order."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [{"id": name, "text": "One word. " * (50 * pieces)} for name in names]
        found = [p.id for p in read_corpus(write(Path(folder) / "c.jsonl", rows))]
    assert len(set(found)) == len(found) == len(names) * pieces
    if pieces == 1:
        assert found == names


def test_parquet_is_read_as_well(tmp_path: Path) -> None:
    """Tables with the same columns give the same passages as JSON Lines."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{"id": str(r["id"]), "text": r["text"], "title": r.get("title", "")} for r in ROWS]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "c.parquet")
    assert list(read_corpus(str(tmp_path / "c.parquet"))) == list(read_corpus(write(tmp_path / "c.jsonl", ROWS)))


def test_a_bad_corpus_is_named(tmp_path: Path) -> None:
    """A row that is no passage is an error that names the line."""
    for rows, words in [
        ([{"id": "a"}], "needs a text"),
        ([{"id": "a", "text": "x"}] * 2, "occurs twice"),
        ([3], "must be an object"),
        ([{"text": "a\0b"}], "NUL"),
    ]:
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
    with (home / "making" / "vectors.f16").open("ab") as torn:
        torn.write(b"half a vector")
    index = open_index(corpus, encoder, folder=tmp_path / "i")
    assert (len(index), len(encoder.texts)) == (6, 6)
    assert index.passages([5]) == [Passage("norway", ROWS[5]["text"])]


def test_an_index_that_another_process_makes_is_left_alone(tmp_path: Path) -> None:
    """Two builders of one index do not mix: the second is told."""
    encoder, corpus = Counting(), write(tmp_path / "c.jsonl", ROWS)
    open_index(corpus, encoder, folder=tmp_path / "i")
    (home,) = (tmp_path / "i").iterdir()
    os.utime(corpus, ns=(time.time_ns(), 1))
    with indexes._alone(home), pytest.raises(InputError, match="another process"):
        open_index(corpus, encoder, folder=tmp_path / "i")


def test_an_open_index_stays_what_it_is_while_it_is_made_anew(tmp_path: Path) -> None:
    """Another process brings the index up to date: whoever has it open goes on finding the passages that it had."""
    encoder, corpus = Counting(), write(tmp_path / "c.jsonl", ROWS)
    retriever = Retriever(open_index(corpus, encoder, folder=tmp_path / "i"), encoder)
    before = retriever.find("capital of Norway")
    write(tmp_path / "c.jsonl", [{"id": "other", "text": "Something else."}, *ROWS[3:]])
    assert len(open_index(corpus, encoder, folder=tmp_path / "i")) == 4
    assert retriever.find("capital of Norway") == before
