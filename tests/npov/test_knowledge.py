"""The topic that fits a query is found, the same one each time; where none fits, the nearest are told."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from eirene.core.errors import InputError
from eirene.data.topics import Topic, parse_topic, read_topics
from eirene.models.encoder.runtime import shipped_encoder
from eirene.npov import KnowledgeBase, load_topics
from eirene.npov.knowledge import THRESHOLD
from tests.rows import each

EXAMPLES = Path(__file__).parents[2] / "examples" / "topics.jsonl"


@pytest.fixture(scope="module")
def base() -> KnowledgeBase:
    return load_topics(str(EXAMPLES))


class Axes:
    """An encoder for tests: a text's vector is what a table says, else the first axis."""

    digest = "axes"

    def __init__(self, **table: list[float]) -> None:
        self._table = table
        self.encoded = 0

    def encode(self, texts: list[str]) -> np.ndarray:  # type: ignore[type-arg]
        self.encoded += len(texts)
        rows = [self._table.get(text.split()[0].strip("?").lower(), [1.0, 0.0]) for text in texts]
        return np.array(rows, np.float32).reshape(len(texts), 2)


def topic(name: str, *aliases: str, question: str | None = None) -> Topic:
    sides = [{"name": side, "arguments": [f"{side} {name}"]} for side in ("pro", "con")]
    return parse_topic({"id": name, "question": question or f"{name}?", "aliases": [*aliases], "perspectives": sides})


@each(
    "query, expected",
    [
        ("Should cities ban cars downtown?", "car-free-centres"),
        ("Should smartphones be forbidden in schools?", "phone-ban"),
        ("Should pupils in primary school have homework?", "homework"),
        ("Should entry to museums cost nothing?", "museum-fees"),
        ("Is it right for stores to take cards only?", "cash"),
    ],
)
def test_a_paraphrase_finds_its_topic(base: KnowledgeBase, query: str, expected: str) -> None:
    found = base.find(query)
    assert found.match is not None and not found.match.exact
    assert found.match.topic.id == expected


@each("query", ["cashless SHOPS", "  Cashless shops?", "card-only stores", "Card only, stores!"])
def test_a_name_is_found_whatever_its_case_and_marks(base: KnowledgeBase, query: str) -> None:
    found = base.find(query, threshold=1.0)
    assert found.match is not None
    assert (found.match.topic.id, found.match.exact, found.match.similarity) == ("cash", True, 1.0)


@each("query", ["Is tea better than coffee?", "Who wrote this?", "🙂", "x" * 5000])
def test_where_nothing_fits_the_nearest_are_told_best_first(base: KnowledgeBase, query: str) -> None:
    found = base.find(query, k=4)
    assert found.match is None
    similarities = [m.similarity for m in found.nearest]
    assert len(similarities) == 4
    assert similarities == sorted(similarities, reverse=True)
    assert similarities[0] < THRESHOLD


def test_the_threshold_itself_fits() -> None:
    encoder = Axes(near=[0.6, 0.8], far=[0.0, 1.0])
    base = KnowledgeBase([topic("near")], encoder)
    similarity = base.find("query").nearest[0].similarity
    assert base.find("query", threshold=similarity).match is not None
    assert base.find("query", threshold=np.nextafter(similarity, 1)).match is None


def test_ties_go_to_the_first_in_the_file_and_an_exact_name_before_any_similarity() -> None:
    encoder = Axes(b=[0.6, 0.8], c=[0.6, 0.8], query=[1.0, 0.0], d=[0.0, 1.0])
    base = KnowledgeBase([topic("d"), topic("b"), topic("c")], encoder)
    assert [m.topic.id for m in base.find("query", k=9).nearest] == ["b", "c", "d"]
    named = base.find("D", k=9)
    assert [m.topic.id for m in named.nearest] == ["d", "b", "c"]
    assert named.match is not None and named.match.exact
    twins = KnowledgeBase([topic("x", question="Same?"), topic("y", "same")], encoder)
    assert [m.topic.id for m in twins.find("same").nearest] == ["x", "y"]


def test_the_nearest_of_a_topic_s_names_counts() -> None:
    encoder = Axes(far=[0.0, 1.0], other=[0.0, 1.0], alias=[1.0, 0.0], query=[1.0, 0.0])
    base = KnowledgeBase([topic("far"), topic("other", "alias of it")], encoder)
    assert base.find("query").nearest[0].topic.id == "other"


@each(
    "options, said",
    [({"k": 0}, "k must be at least 1"), ({"threshold": 2.0}, "threshold"), ({"threshold": float("nan")}, "threshold")],
)
def test_numbers_out_of_range_are_refused(base: KnowledgeBase, options: dict[str, float], said: str) -> None:
    with pytest.raises(InputError, match=said):
        base.find("Why?", **options)  # type: ignore[arg-type]


def test_a_blank_query_is_refused_and_an_empty_base_finds_nothing() -> None:
    base = KnowledgeBase([], shipped_encoder())
    assert base.find("Why?").match is None
    with pytest.raises(InputError, match="blank"):
        base.find(" \n")


def write(path: Path, topics: int) -> Path:
    rows = [
        {"id": f"t{n}", "question": f"name{n} question?", "perspectives": [{"name": "pro", "arguments": [f"a{n}"]}]}
        for n in range(topics)
    ]
    path.write_bytes(b"\xef\xbb\xbf" + "\n\n".join(map(json.dumps, rows)).encode() + b"\n")
    return path


def test_a_bad_row_names_file_and_line_before_anything_is_encoded(tmp_path: Path) -> None:
    path = write(tmp_path / "topics.jsonl", 3)
    path.write_bytes(path.read_bytes() + b'{"question": "x?"}\n')
    encoder = Axes()
    with pytest.raises(InputError, match=r"topics.jsonl, line 6: 'perspectives' is missing"):
        load_topics(str(path), encoder=encoder)
    assert encoder.encoded == 0


def test_a_json_array_is_a_knowledge_base_too(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps([json.loads(line) for line in EXAMPLES.read_text("utf-8").splitlines()]))
    assert len(load_topics(str(path))) == len(read_topics(str(EXAMPLES)))
