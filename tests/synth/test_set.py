"""A synthetic set: what is said of each answer is true, counting tells nothing, and the seed decides everything."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from eirene.core.errors import InputError
from eirene.core.records import Item, parse_item
from eirene.data.topics import Topic, key_of
from eirene.synth import AnswerRecipe, AnswerTotals, controls, synthesise
from eirene.synth.plans import CORE, KINDS, Kind
from eirene.synth.rows import COUNTS
from eirene.text.sentences import split_sentences
from tests.rows import each
from tests.synth.material import TOPICS, invented

RECIPE = AnswerRecipe(per_topic=1, seed=5)


def make(topics: list[Topic], recipe: AnswerRecipe = RECIPE) -> tuple[list[Item], AnswerTotals]:
    made = AnswerTotals(recipe)
    return list(synthesise(topics, recipe, made)), made


@pytest.fixture(scope="module")
def rows() -> list[Item]:
    return make(TOPICS[:4])[0]


def meta(item: Item) -> Any:
    return item.meta


def said_in(item: Item) -> list[tuple[str, str, str]]:
    """(argument id, kind, side that speaks) of every part of an answer."""
    return [(p["argument_id"], p["kind"], s["side"]) for s in meta(item)["sentences"] for p in s["parts"]]


def wordings() -> dict[str, set[str]]:
    """Every argument's id with the keys of all that says it."""
    return {a.id: {key_of(text) for text in a.wordings} for topic in TOPICS for _, a in topic.arguments}


def test_every_kind_and_both_wordings_are_there(rows: list[Item]) -> None:
    assert {meta(r)["kind"] for r in rows} == set(KINDS)
    assert {meta(r)["wording"] for r in rows} == {"given", "paraphrase"}


def test_sentences_and_parts_stand_where_they_are_said_to(rows: list[Item]) -> None:
    known = wordings()
    for item in rows:
        sentences = meta(item)["sentences"]
        cut = split_sentences(item.answer)
        assert [(s["start"], s["end"]) for s in sentences] == [(s.text_start, s.text_end) for s in cut]
        for part in (p for s in sentences for p in s["parts"]):
            text = key_of(item.answer[part["start"] : part["end"]])
            whole = known[part["argument_id"]]
            assert any(w.startswith(text) for w in whole) if part["kind"] == "half" else text in whole


def test_a_missing_argument_is_said_in_no_wording_and_every_other_is(rows: list[Item]) -> None:
    known = wordings()
    for item in rows:
        answer, labels = key_of(item.answer), meta(item)["arguments"]
        missing = {a["id"] for a in labels if a["missing"]}
        assert missing == set(meta(item)["missing_argument_ids"])
        assert not [a for a in missing if any(w in answer for w in known[a])]
        assert {a["id"] for a in labels} - missing <= {argument for argument, _, _ in said_in(item)}


def test_a_foreign_argument_is_of_the_topic_and_not_given(rows: list[Item]) -> None:
    for item in rows:
        given = {a["id"] for a in meta(item)["arguments"]}
        foreign = {argument for argument, kind, _ in said_in(item) if kind == "unsupported"}
        assert foreign == set(meta(item)["foreign_argument_ids"])
        assert not foreign & given
        assert all(argument.startswith(meta(item)["topic"]) for argument in foreign)
        assert [s["unsupported"] for s in meta(item)["sentences"]] == [
            any(p["kind"] == "unsupported" for p in s["parts"]) for s in meta(item)["sentences"]
        ]


def test_labels_of_arguments_follow_the_order_of_the_perspectives(rows: list[Item]) -> None:
    texts = {a.id: a.text for topic in TOPICS for _, a in topic.arguments}
    for item in rows:
        given = [(p.name, text) for p in item.perspectives or () for text in p.arguments]
        assert [(a["side"], texts[a["id"]]) for a in meta(item)["arguments"]] == given


EXPECTED: dict[Kind, dict[str, int]] = {
    "none": {},
    "coverage": {"missing": 1},
    "hallucination": {"unsupported": 1},
    "both": {"missing": 1, "unsupported": 1},
    "wrong_side": {"wrong_side": 1},
    "repetition": {"repeated": 1},
    "partial": {"half": 1},
}


@each("kind", KINDS)
def test_a_kind_has_its_error_and_no_other(rows: list[Item], kind: Kind) -> None:
    """Coverage errors alone may repeat an argument: it makes up for what is missing."""
    for item in (r for r in rows if meta(r)["kind"] == kind):
        found = Counter(k for _, k, _ in said_in(item) if k != "supported")
        found["missing"] = sum(a["missing"] for a in meta(item)["arguments"])
        if kind in ("coverage", "both"):
            assert found.pop("repeated", 0) <= 2
        assert +found == EXPECTED[kind]
        assert meta(item)["has_coverage_error"] == (kind in ("coverage", "both"))
        assert meta(item)["has_hallucination"] == (kind in ("hallucination", "both"))
        assert [meta(item)[f"has_{name}"] for name in ("wrong_side", "partial")] == [
            kind == "wrong_side",
            kind == "partial",
        ]


def test_an_argument_stands_in_another_side_s_mouth_only_where_that_is_the_error(rows: list[Item]) -> None:
    for item in rows:
        for sentence in meta(item)["sentences"]:
            for part in sentence["parts"]:
                assert (part["side"] != sentence["side"]) == (part["kind"] == "wrong_side")


def test_a_paraphrase_is_never_the_given_text_unless_it_is_said_again(rows: list[Item]) -> None:
    texts = {a.id: key_of(a.text) for topic in TOPICS for _, a in topic.arguments}
    for item in rows:
        for part in (p for s in meta(item)["sentences"] for p in s["parts"] if p["kind"] == "supported"):
            is_given = key_of(item.answer[part["start"] : part["end"]]) == texts[part["argument_id"]]
            assert is_given == (meta(item)["wording"] == "given")


def test_answers_of_one_group_are_alike_in_what_can_be_counted(rows: list[Item]) -> None:
    groups: dict[str, set[tuple[int, ...]]] = {}
    for item in rows:
        counts = meta(item)["counts"]
        key = (counts["arguments"], counts["sentences"], counts["clauses"])
        groups.setdefault(meta(item)["group"], set()).add(key)
        assert counts["sentences"] == len(split_sentences(item.answer))
        assert counts["words"] == len(item.answer.split())
        assert counts["arguments"] == sum(len(p.arguments) for p in item.perspectives or ())
    assert all(len(keys) == 1 for keys in groups.values())


@pytest.mark.slow
def test_counting_tells_nothing_in_a_large_set() -> None:
    """On 30 invented topics every count of the controls stays near one half, for both errors."""
    _, made = make(invented(30), AnswerRecipe(kinds=CORE, wordings=("paraphrase",), seed=3))
    assert len(made.rows) > 200
    found = [c for c in controls(made.rows, draws=10) if c.count in COUNTS]
    assert len(found) == 2 * len(COUNTS)
    for control in found:
        assert control.auc.value is not None
        assert abs(control.auc.value - 0.5) < 0.06, (control.error, control.count, control.auc)
        if control.count in ("arguments", "sentences", "clauses", "clauses - arguments"):
            assert control.auc.value == 0.5


def test_the_controls_catch_a_set_in_which_counting_tells() -> None:
    """The same answers, with every hallucinating one a clause longer, give the label away at once."""
    _, made = make(TOPICS[:4])
    longer = [
        replace(row, counts=replace(row.counts, clauses=row.counts.clauses + 9)) if row.has("hallucination") else row
        for row in made.rows
    ]
    found = {(c.error, c.count): c.auc.value for c in controls(longer, draws=10)}
    assert (found["hallucination", "clauses"] or 0) > 0.95


def test_the_same_seed_gives_the_same_rows_and_another_seed_others() -> None:
    one, other = (make(TOPICS[:1])[0] for _ in range(2))
    assert [r.model_dump_json() for r in one] == [r.model_dump_json() for r in other]
    third = make(TOPICS[:1], AnswerRecipe(per_topic=1, seed=6))[0]
    assert [r.answer for r in third] != [r.answer for r in one]


def test_a_topic_s_rows_do_not_hang_on_the_others() -> None:
    alone, among = make(TOPICS[2:3])[0], make(TOPICS[:4])[0]
    assert alone == [r for r in among if meta(r)["topic"] == TOPICS[2].id]


def test_only_the_kinds_and_wordings_asked_for_are_made() -> None:
    recipe = AnswerRecipe(kinds=("none", "partial"), wordings=("paraphrase",), per_topic=1)
    rows, made = make(TOPICS[:3], recipe)
    assert {meta(r)["kind"] for r in rows} <= {"none", "partial"}
    assert {meta(r)["wording"] for r in rows} == {"paraphrase"}
    assert list(made.card(inputs=[], settings={})["by_kind"]) == ["none", "partial"]


def test_ids_are_unique_and_rows_are_items_that_read_back(rows: list[Item]) -> None:
    assert len({r.id for r in rows}) == len(rows)
    assert [parse_item(r.model_dump(mode="json")) for r in rows] == rows


def test_three_sides_are_as_good_as_two() -> None:
    rows, _ = make([t for t in TOPICS if len(t.sides) == 3])
    assert rows
    assert all(len(r.perspectives or ()) == 3 for r in rows)


@each(
    "options, said",
    [
        ({"per_topic": 0}, "per-topic"),
        ({"most": 1}, "most"),
        ({"seed": -1}, "seed"),
        ({"per_topic": 10**6}, "per-topic"),
    ],
)
def test_numbers_out_of_range_are_refused(options: dict[str, int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        AnswerRecipe(**options)  # type: ignore[arg-type]


def test_groups_are_whole_where_only_kinds_of_the_paper_are_asked_for() -> None:
    rows, made = make(TOPICS[:3], AnswerRecipe(kinds=CORE, per_topic=2))
    assert len(rows) == 4 * made.groups
