"""The embedded writer says every argument, each in somebody's mouth, and treats all sides alike."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.data.topics import Side, Topic, parse_topic, read_topics
from eirene.npov.respond import to_be_said
from eirene.npov.writers import (
    FIRST,
    FIRST_AS_IT_IS,
    FURTHER,
    FURTHER_AS_IT_IS,
    INTRODUCTIONS,
    compose,
    quoted,
    speakers_of,
)
from eirene.text.clauses import core_text, opening_length
from eirene.text.language import other_language
from eirene.text.sentences import split_sentences
from tests.rows import each

EXAMPLES = Path(__file__).parents[2] / "examples" / "topics.jsonl"
TOPICS = read_topics(str(EXAMPLES))


def topic(*sides: dict[str, Any], question: str = "Should it be done?") -> Topic:
    return parse_topic({"id": "t", "question": question, "perspectives": list(sides)})


def all_openings(who: str = "Supporters") -> list[str]:
    return [o.format(who=who) for table in (FIRST, FURTHER, FIRST_AS_IT_IS, FURTHER_AS_IT_IS) for o in table]


def plain(text: str) -> str:
    return text.casefold().strip(" .")


@each("who", ["Supporters", "They", "Farmers", "Those against"])
def test_every_opening_is_one_to_the_clause_cutter(who: str) -> None:
    """What is put before an argument must not count as something said."""
    for opening in all_openings(who):
        assert opening_length(f"{opening} the state must do it") == len(opening) + 1


def test_no_verb_takes_a_stand() -> None:
    loaded = re.compile(r"\b(?:claim|admit|point out|insist|prove|show|reveal|allege|wrongly|rightly|of course)\w*")
    assert not [opening for opening in (*all_openings(), *INTRODUCTIONS) if loaded.search(opening)]


@each("seed", range(5))
@each("given_topic", TOPICS)
def test_every_argument_is_said_once_by_its_own_side(given_topic: Topic, seed: int) -> None:
    paragraphs = compose(given_topic, seed=seed).main.split("\n\n")
    assert len(paragraphs) == len(given_topic.sides)
    for side in given_topic.sides:
        (own,) = [p for p in paragraphs if p.startswith(speakers_of(side))]
        for argument in side.arguments:
            assert [plain(argument.text) in plain(p) for p in paragraphs].count(True) == 1
            assert plain(argument.text) in plain(own)


@each("given_topic", TOPICS)
def test_nothing_is_said_that_nobody_is_named_for(given_topic: Topic) -> None:
    """Every sentence of the main response opens with who says it, and what is left is an argument."""
    arguments = {plain(argument.text) for _, argument in given_topic.arguments}
    sentences = split_sentences(compose(given_topic, seed=1).main)
    assert len(sentences) == len(arguments)
    for sentence in sentences:
        assert opening_length(sentence.text) > 0
        assert plain(core_text(sentence.text)) in arguments


def test_argument_k_of_every_side_gets_the_same_opening() -> None:
    sides = [{"name": name, "arguments": [f"It is {n} {name}." for n in "abcdefgh"]} for name in ("pro", "con")]
    bare = [re.sub("Supporters|Opponents", "They", re.sub("pro|con", "", paragraph))
            for paragraph in compose(topic(*sides), seed=3).main.split("\n\n")]  # fmt: skip
    assert bare[0] == bare[1]


def test_the_same_seed_gives_the_same_text_and_seeds_vary_order_and_wording() -> None:
    texts = [compose(TOPICS[0], seed=seed).main for seed in range(12)]
    assert texts == [compose(TOPICS[0], seed=seed).main for seed in range(12)]
    assert len(set(texts)) > 6
    assert {text.split()[0] for text in texts} == {"Supporters", "Opponents"}


def test_an_argument_of_several_sentences_is_quoted_whole() -> None:
    """The second sentence would otherwise stand there as a fact."""
    sides = [{"name": "pro", "arguments": ["It is “good”. It is cheap."]}, {"name": "con", "arguments": ["No."]}]
    main = compose(topic(*sides), seed=0).main
    assert "“It is ‘good’. It is cheap.”" in main


def test_a_fragment_and_a_question_stand_behind_a_colon() -> None:
    sides = [{"name": "pro", "arguments": ["Duty to protect"]}, {"name": "con", "arguments": ["Who pays?"]}]
    main = compose(topic(*sides), seed=0).main
    assert ": Duty to protect." in main
    assert ": Who pays?" in main


@each(
    "name, speakers, expected",
    [
        ("pro", None, "Supporters"),
        ("Opponents", None, "Opponents"),
        ("con", "farmers and  hunters", "Farmers and hunters"),
        ("Keep the penny", None, "Those on the side “Keep the penny”"),
    ],
)
def test_a_side_s_own_name_is_used(name: str, speakers: str | None, expected: str) -> None:
    assert speakers_of(Side(name=name, arguments=[], speakers=speakers)) == expected


def test_a_long_name_is_said_once() -> None:
    sides = [
        {"name": name, "arguments": ["It is one.", "It is two."]} for name in ("Keep the penny", "Drop it at once")
    ]
    main = compose(topic(*sides), seed=0).main
    assert main.count("Keep the penny") == main.count("Drop it at once") == 1


def test_another_language_is_refused_with_what_to_do() -> None:
    said = "Die Tiere leiden in den Gehegen sehr, und niemand kann ihnen dort wirklich helfen oder sie befreien."
    sides = [{"name": "pro", "arguments": [said]}, {"name": "con", "arguments": [said]}]
    with pytest.raises(InputError, match=r"reads as German.*chat model"):
        compose(topic(*sides, question="Sollen Zoos schließen?"), seed=0)


@each(
    "sides, said",
    [
        ([{"name": "pro", "arguments": ["It is."]}, {"name": "con", "arguments": []}], "on the side 'pro' only"),
        ([{"name": "pro", "arguments": []}], "no arguments"),
    ],
)
def test_there_is_no_neutral_response_with_one_side(sides: list[dict[str, Any]], said: str) -> None:
    with pytest.raises(InputError, match=said):
        to_be_said(topic(*sides))


def test_per_side_draws_the_same_number_of_each_side_in_the_topic_s_order() -> None:
    sides = [
        {"name": "pro", "arguments": [f"It is {n}." for n in range(9)]},
        {"name": "con", "arguments": ["No.", "So."]},
    ]
    for seed in range(5):
        drawn, _ = to_be_said(topic(*sides), per_side=3, seed=seed)
        assert [len(side.arguments) for side in drawn.sides] == [2, 2]
        texts = [a.text for a in drawn.sides[0].arguments]
        assert texts == sorted(texts)


WORDS = st.text(min_size=1).filter(lambda text: text.strip() and "\0" not in text)


@given(WORDS, WORDS, st.integers(0, 5))
def test_any_text_can_be_an_argument(one: str, other: str, seed: int) -> None:
    topic = parse_topic({"id": "t", "question": "Q?", "perspectives": {"pro": [one], "con": [other]}})
    assume(other_language(f"Q? {one} {other}") is None)
    assert len(compose(topic, seed=seed).main.split("\n\n")) >= 2


def test_quotation_marks_never_end_inside() -> None:
    assert quoted("a ”b“\n c") == "“a ’b‘ c”"


def test_tables_hold_no_opening_twice() -> None:
    for table in (FIRST, FURTHER, FIRST_AS_IT_IS, FURTHER_AS_IT_IS):
        assert len(set(table)) == len(table)
