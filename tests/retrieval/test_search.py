"""Passages for a question: search, order, reranking, LangChain."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from eirene.core.errors import InputError
from eirene.core.records import FOUND_PASSAGES, Item, parse_item
from eirene.models.encoder import load_encoder
from eirene.retrieval import Retriever, open_index, with_context
from eirene.retrieval.encoders import encoder_named
from eirene.retrieval.retriever import of_langchain
from eirene.retrieval.search import distances_of, names_of, near_by_signs, shares_of_names, sharing_names, signs
from tests.retrieval.corpora import ROWS, Counting, Spread, ids, write


def test_what_is_relevant_stands_last_and_names_come_before_all(tmp_path: Path) -> None:
    """The most relevant passage is the last; those that share the names rank above those that are merely like it."""
    encoder = Counting()
    index = open_index(write(tmp_path / "c.jsonl", ROWS), encoder, folder=tmp_path / "i")
    found = Retriever(index, encoder, top=3).find("What is the capital of Norway?")
    assert ids(found)[-1] == "oslo"
    assert set(ids(found)[-2:]) == {"oslo", "norway"}
    assert ids(found)[0] == "paris"  # alike, and of another name
    assert [hit.names > 0 for hit in found] == [False, True, True]
    without = Retriever(index, encoder, top=3, names="none").find("What is the capital of Norway?")
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
    retriever = Retriever(index, encoder, reranker=Backwards(), names="none")
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
    found = near_by_signs(distances_of(signs(vectors), query), 5)
    assert sorted(found.tolist()) == np.flatnonzero(slow <= np.sort(slow)[min(5, size) - 1]).tolist()


def test_among_many_the_nearest_are_those_by_distance() -> None:
    """Of more distances than are counted the same are taken as by sorting all of them, however they are spread."""
    for shape in ["even", "few near", "all alike", "near ones unseen"]:
        rng = np.random.default_rng(0)
        distances = rng.integers(100, 300, 160_001).astype(np.uint16)
        if shape == "few near":
            distances[rng.choice(160_001, 40)] = 3
        elif shape == "all alike":
            distances[:] = 7
        elif shape == "near ones unseen":  # none of them stands where a sample is taken
            distances[:] = 250
            distances[1:3000:3] = 9
        expected = np.flatnonzero(distances <= np.sort(distances)[999])
        assert near_by_signs(distances, 1000).tolist() == expected.tolist()


def test_few_passages_are_searched_exactly(tmp_path: Path) -> None:
    """Where all passages are candidates the nearest are those by cosine."""
    encoder = Counting()
    rows = [{"id": str(n), "text": f"{('red', 'blue', 'green')[n % 3]} thing number {n} of {n * n}"} for n in range(40)]
    index = open_index(write(tmp_path / "c.jsonl", rows), encoder, folder=tmp_path / "i")
    query = encoder.encode(["a blue thing"])[0]
    order = np.argsort(-(np.asarray(index.vectors, np.float32)[index.rows] @ query), kind="stable")[:5]
    found = Retriever(index, encoder, names="none").find("a blue thing")
    assert ids(found)[::-1] == [str(n) for n in order]


def test_names_weigh_by_how_rare_they_are(tmp_path: Path) -> None:
    """Passages with most of the names' weight are found; a name that many have, or none has, does not count."""
    assert names_of("When did Ann Lee move to the USA in 1,990?") == {"ann", "lee", "usa", "1,990"}
    rows = [{"text": f"Bob saw it on day {n}."} for n in range(1, 60)] + [{"text": "Ann saw it on day 61."}]
    index = open_index(write(tmp_path / "c.jsonl", rows), Counting(), folder=tmp_path / "i")
    shares = shares_of_names(index.keys, index.owners, len(index), "Did Ann, Bob or Zed see it?")
    assert shares is not None
    assert {n: shares[n] for n in np.flatnonzero(shares)} == {59: 1.0}
    assert shares_of_names(index.keys, index.owners, len(index), "did ann see it?") is None


def test_of_many_that_share_a_name_the_nearest_are_kept() -> None:
    """Where more passages share the names than are wanted, those nearest to the query are taken, not the first."""
    shares, distances = np.array([1.0, 0.4, 0.6, 1.0, 0.9]), np.array([9, 0, 2, 1, 3], np.uint16)
    assert sharing_names(shares, distances, 2).tolist() == [2, 3]
    assert sharing_names(shares, distances, 4).tolist() == [0, 2, 3, 4]


def test_what_shares_the_names_is_ranked_by_nearness(tmp_path: Path) -> None:
    """Of a hundred passages on the one name asked for, that with the answer is last, wherever it stands."""
    rows = [{"id": str(n), "text": f"Oslo has a street of number {n}, with trams and houses."} for n in range(99)]
    rows += [{"id": "best", "text": "The population of Oslo is seven hundred thousand."}]
    rows += [{"id": f"x{n}", "text": f"Bread of kind {n} is baked."} for n in range(5000)]
    index = open_index(write(tmp_path / "c.jsonl", rows), Spread(), folder=tmp_path / "i")
    assert ids(Retriever(index, Spread()).find("What is the population of Oslo?"))[-1] == "best"


def test_fava_finds_by_inner_product_and_one_document_by_the_entitys_name(tmp_path: Path) -> None:
    """Sections 6.2 and 7: one document by string matching on the entity, the others by Contriever; a tiny one, random.

    Contriever's vectors are means of tokens, and not brought to length 1.
    """
    library = pytest.importorskip("sentence_transformers")
    from tests.tiny_bert import make_bert

    rows = [
        {"id": str(n), "text": f"The quick fox jumps over {n} lazy dogs, and {n * 7} times more."} for n in range(40)
    ]
    rows += [{"id": "ada", "title": "Ada Lovelace", "text": "A writer. " + "She wrote. " * 60}]
    rows += [{"id": "ada king", "title": "Ada", "text": "A town."}, {"id": "fox", "title": "the fox", "text": "Red."}]
    folder = str(make_bert(tmp_path / "bert", texts=[str(r["text"]) for r in rows]))
    encoder = encoder_named(f"{folder}?as=fava")
    index = open_index(write(tmp_path / "c.jsonl", rows), encoder, folder=tmp_path / "i")
    query = "Tell me a bio of Ada Lovelace.\nAda likes the fox."
    model = library.SentenceTransformer(folder, device="cpu")
    shown = [p.shown for p in index.passages(range(len(index)))]
    products = np.asarray(index.vectors, np.float32)[index.rows] @ encoder.encode([query])[0]
    assert products == pytest.approx(model.encode(shown) @ model.encode([query])[0], rel=0.01)  # in half precision
    order = [index.passages([n])[0].id for n in np.argsort(-products, kind="stable")]
    assert not np.allclose(np.linalg.norm(model.encode(shown), axis=1), 1, atol=0.1)
    assert ids(Retriever(index, encoder, names="none").find(query))[::-1] == order[:5]
    found = Retriever(index, encoder).find(query)
    assert set(ids(found)) == {"ada", *[name for name in order if name != "ada"][:4]}
    assert [hit.score for hit in found] == sorted(hit.score for hit in found)
    assert "names=one" in Retriever(index, encoder).version and encoder.digest != encoder_named(folder).digest
    assert ids(Retriever(index, encoder).find("quick dogs"))[::-1] != []
    for name in ("embedded?as=fava", f"{folder}?as=dpr"):
        with pytest.raises(InputError, match="NAME or NAME"):
            encoder_named(name)


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


def test_any_langchain_retriever_is_one_of_ours_best_last() -> None:
    class Fixed(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document("best", metadata={"source": "s"}), Document("second"), Document("third")]

    ours = of_langchain(Fixed(), top=2).find("q")
    assert [(hit.passage.id, hit.passage.text) for hit in ours] == [("document-2", "second"), ("s", "best")]
    assert with_context(Item(question="q", answer="a"), of_langchain(Fixed())).context == ["third", "second", "best"]


def test_a_document_that_no_item_can_hold_is_mended() -> None:
    """Half a surrogate pair and a NUL, in text or id, do not end a run when its row is hashed."""

    class Odd(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
            return [Document("half \ud83d, nul \0.", id="a\ud83d")]

    item = with_context(Item(question="q", answer="a"), of_langchain(Odd()))
    assert item.context == ["half \ufffd, nul ."]
    assert parse_item(item.model_dump(mode="json")).meta[FOUND_PASSAGES] == ["a\ufffd"]


def test_a_cross_encoder_scores_pairs(tmp_path: Path) -> None:
    """A tiny sequence classifier made here gives each pair one score, the same each time; a bad name is an error."""
    from eirene.retrieval.encoders import CrossEncoder
    from tests.retrieval.tiny_pairs import make_cross_encoder

    reranker = CrossEncoder(make_cross_encoder(tmp_path / "tiny", [str(r["text"]) for r in ROWS]))
    texts = [str(r["text"]) for r in ROWS] + ["water " * 2000]
    scores = reranker.scores("Where does rain fall?", texts)
    assert len(scores) == 7
    assert len(set(scores)) > 1
    assert reranker.scores("Where does rain fall?", texts) == scores
    with pytest.raises(InputError, match="no folder"):
        CrossEncoder(str(tmp_path / "none"))


def test_an_encoder_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    """The shipped encoder has a name of its own; a folder that is no model is an error of one kind."""
    assert encoder_named("embedded").digest == load_encoder().digest
    pytest.importorskip("sentence_transformers")
    with pytest.raises(InputError, match="cannot be loaded"):
        encoder_named(str(tmp_path / "none"))


def test_an_encoder_runs_no_code_of_its_folder(tmp_path: Path) -> None:
    """Older releases of sentence-transformers run what a folder's list of parts names; here nothing is loaded."""
    for n, (file, content, said) in enumerate(
        [
            (
                "modules.json",
                '[{"idx": 0, "path": "", "type": "own.Module"}]',
                r"run code of its own \('own\.Module' in mod",
            ),
            (
                "1_Router/router_config.json",
                '{"types": {"a": "own.Module"}}',
                r"run code of its own \('own\.Module' in rou",
            ),
            ("modules.json", "{", r"cannot be loaded: modules\.json"),
        ]
    ):
        folder = tmp_path / str(n)
        (folder / "1_Router").mkdir(parents=True)
        (folder / file).write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match=said):
            encoder_named(str(folder))


@pytest.mark.parametrize("damage", ["missing", "nan", None])
def test_an_encoder_is_loaded_whole(tmp_path: Path, damage: str | None) -> None:
    """A model of the library whose weights lack a tensor or hold NaN is refused; a whole one gives the same twice."""
    library = pytest.importorskip("sentence_transformers")
    from safetensors.torch import load_file, save_file

    from tests.tiny_bert import make_bert

    library.SentenceTransformer(str(make_bert(tmp_path / "bert")), device="cpu").save(str(tmp_path / "st"))
    weights = load_file(tmp_path / "st" / "model.safetensors")
    name = "encoder.layer.1.attention.self.query.weight"
    if damage == "missing":
        del weights[name]
    elif damage == "nan":
        weights[name][0, 0] = float("nan")
    save_file(weights, tmp_path / "st" / "model.safetensors", metadata={"format": "pt"})
    if damage is None:
        assert encoder_named(str(tmp_path / "st")).digest == encoder_named(str(tmp_path / "st")).digest
    else:
        with pytest.raises(InputError, match="lacks tensors" if damage == "missing" else "NaN or infinity in 1 tensor"):
            encoder_named(str(tmp_path / "st"))
