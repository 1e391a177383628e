"""The pieces that synthetic answers are made of: usable arguments, plans, wordings, picking."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.core.signature import rng_for
from eirene.data.topics import Topic, parse_topic
from eirene.synth.matching import is_cut_as_composed
from eirene.synth.material import (
    FILLERS,
    INTRODUCTIONS,
    JOINTS,
    TAILS,
    ArgumentPart,
    Composer,
    Style,
    Tally,
    answer_of,
    material_of,
    placed,
    unusable,
)
from eirene.synth.plans import KINDS, half_of, parse_names, shapes_of
from eirene.text.clauses import clause_spans
from eirene.text.english import Decapitalizer
from eirene.text.sentences import split_sentences
from tests.rows import each


def topic(pro: list[Any], con: list[Any]) -> Topic:
    sides = [{"name": "pro", "arguments": pro}, {"name": "con", "arguments": con}]
    return parse_topic({"id": "t", "question": "Should it be done?", "perspectives": sides})


def usable_ids(found: Topic) -> tuple[list[str], Tally]:
    tally: Tally = Counter()
    material = material_of(found, tally)
    return [] if material is None else [p.id for p in material.points], tally


def test_a_filler_is_one_sentence_of_as_many_clauses_as_it_stands_for() -> None:
    all_of_them = [(n, text) for table in (INTRODUCTIONS, FILLERS) for n, texts in table.items() for text in texts]
    found = {text: (len(split_sentences(text)), len(list(clause_spans(text)))) for _, text in all_of_them}
    assert {text: counts for n, text in all_of_them if (counts := found[text]) != (1, n)} == {}


def test_a_tail_is_one_clause_more_and_a_joint_makes_one_sentence_of_two() -> None:
    def clauses(text: str) -> int:
        return len(list(clause_spans(text)))

    for before in ("Supporters say that cages are cruel", "They give a reason: Cages are cruel"):
        assert [t for t in TAILS if clauses(f"{before}, {t}.") != clauses(f"{before}.") + 1] == []
    joined = [f"Supporters say that the cages are cruel{joint}the zoos are dear." for joint in JOINTS]
    assert [text for text in joined if (len(split_sentences(text)), clauses(text)) != (1, 2)] == []


def test_what_cannot_be_said_in_a_sentence_is_not_used() -> None:
    cases = [
        ("Who would pay for it?", "a question"),
        ("No.", "not 3 to 40 words long"),
        ("word " * 41, "not 3 to 40 words long"),
        ("It is cheap. It is good.", "not one plain sentence"),
        ("1. It is cheap and good", "not one plain sentence"),
        ("It is \x1b[31mred and dear", "not one plain sentence"),
        ("it is this that", "no content word"),
        ("It costs {far} too much", ""),
    ]
    assert [(text, unusable(text)) for text, _ in cases] == cases


@given(st.text(max_size=80))
def test_any_text_is_usable_or_has_a_reason(text: str) -> None:
    assert isinstance(unusable(text), str)


def test_copies_and_near_copies_are_left_out_and_counted_across_sides() -> None:
    """A missing argument that another one says would be no coverage error."""
    pro = ["Cages are cruel to animals.", "Cages are CRUEL, to animals!", "Zoos cost the city money."]
    con = ["Zoos cost the poor city money.", "Children learn from watching."]
    ids, tally = usable_ids(topic(pro, con))
    assert ids == ["t-1", "t-3", "t-5"]
    assert tally == {"argument: a copy of another": 1, "argument: nearly a copy of another": 1}


def test_a_paraphrase_that_says_another_argument_is_left_out() -> None:
    pro = [
        {"text": "Cages are cruel to animals.", "paraphrases": ["Zoos cost the city money.", "Animals suffer there."]}
    ]
    tally: Tally = Counter()
    material = material_of(topic(pro, ["Zoos cost the city money."]), tally)
    assert material is not None
    assert material.points[0].paraphrases == ("Animals suffer there.",)
    assert tally == {"paraphrase: a copy of another": 1}


@each(
    "pro, con, cause",
    [
        ([], [], "topic: no arguments"),
        (["Cages are cruel."], [], "topic: one side only"),
        (["Cages are cruel."], ["Why?"], "topic: a side without a usable argument"),
    ],
)
def test_a_topic_that_gives_nothing_is_counted_under_its_cause(pro: list[str], con: list[str], cause: str) -> None:
    ids, tally = usable_ids(topic(pro, con))
    assert ids == []
    assert tally[cause] == 1


def test_a_shape_leaves_an_argument_over_and_has_a_side_with_two() -> None:
    material = material_of(
        topic(["Cages are cruel.", "Space is scarce."], ["Zoos teach much.", "Zoos save species."]), Counter()
    )
    assert material is not None
    assert shapes_of(material, most=3) == [(2, 1), (1, 2)]
    small = material_of(topic(["Cages are cruel."], ["Zoos teach much."]), Counter())
    assert small is not None
    assert shapes_of(small, most=3) == []


def test_half_an_argument_is_its_first_clause() -> None:
    assert half_of("Wages would rise, and prices would fall.") == "Wages would rise"
    assert half_of("Wages would rise.") is None


@given(st.lists(st.text(min_size=1, max_size=60).filter(str.strip), min_size=1, max_size=5), st.integers(0, 99))
def test_parts_stand_where_the_composer_says_whatever_they_hold(texts: list[str], seed: int) -> None:
    parts = [ArgumentPart(str(n), 0, text, "supported") for n, text in enumerate(texts)]
    composer = Composer(("Supporters",), Decapitalizer(texts))
    sentences = placed(composer.compose([(0, parts)], Style(True, 2, 0.5, 0.5), rng_for(seed)))
    answer = answer_of(sentences)
    assert [answer[s.start : s.end] for s in sentences] == [s.text for s in sentences]
    found = [answer[p.start : p.end] for s in sentences for p in s.parts]
    assert len(found) == len(texts)
    assert placed(sentences) == sentences


def test_a_cut_that_differs_from_the_composition_is_noticed() -> None:
    composer = Composer(("Supporters",), Decapitalizer([]))
    parts = [ArgumentPart("a", 0, "It is so. It is not", "supported")]
    assert not is_cut_as_composed(composer.compose([(0, parts)], Style(False, 0, 0.0, 0.0), rng_for(0)))


def test_lists_of_names_are_checked() -> None:
    for text, said in (("nonsense", "unknown: 'nonsense'; kinds are none, "), (" , ", "none is named")):
        with pytest.raises(InputError, match=said):
            parse_names(text, KINDS, "kinds")


def test_kinds_come_in_their_own_order_and_once() -> None:
    assert parse_names("both, none,both", KINDS, "kinds") == ("none", "both")
