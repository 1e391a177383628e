"""How arguments become sentences."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.refiners.embedded.refiner import FIRST, FURTHER, Phrases
from eirene.refiners.embedded.rewrite import sets_side
from eirene.text.clauses import opening_length
from eirene.text.english import Decapitalizer, as_sentence, is_english, is_statement, side_of


def phrases(*texts: str, seed: int = 0) -> Phrases:
    return Phrases(np.random.default_rng(seed), Decapitalizer(texts), english=True)


def say(argument: str, *, group: str = "pro", before: str = "", known: str = "") -> str:
    return phrases(known).say(argument, group=group, opens=False, before=before, in_list=False)


def test_every_connective_is_an_opening_to_the_clause_cutter() -> None:
    """What the refiner puts before an argument must not count as something said."""
    leads = [lead for table in (FURTHER, FIRST) for pair in table.values() for kind in pair for lead in kind]
    assert [x for x in leads if opening_length(f"{x} the state must do it") != len(x) + 1] == []


def test_only_a_whole_statement_may_follow_that(subtests: pytest.Subtests) -> None:
    for argument, expected in [
        ("It is the state's duty to protect its people", True),
        ("Taxes reduce the gap between rich and poor.", True),
        ("Duty to protect the child", False),
        ("Can be reserved for the worst", False),
        ("Fuels discontent between religions", False),
        ("Is it fair?", False),
        ("No, people may say what they like", False),
        ("People who are denied a voice", False),
        ("It helps. It is cheap.", False),
    ]:
        with subtests.test(argument=argument, expected=expected):
            assert is_statement(argument) is expected


def test_names_keep_their_capital(subtests: pytest.Subtests) -> None:
    """None: the word may be a name, and nothing at hand tells."""
    for text, expected in [
        ("The EU shares values.", "the EU shares values."),
        ("NATO keeps the peace.", "NATO keeps the peace."),
        ("I think so.", "I think so."),
        ("Legislation is slow.", "legislation is slow."),
        ("Iran has oil.", None),
        ("New York is big.", None),
        ("Tax Cuts Harm Social Programs", None),
        ("“Benefits” are unclear.", "“Benefits” are unclear."),
        ("16 is too young.", "16 is too young."),
    ]:
        with subtests.test(text=text, expected=expected):
            assert Decapitalizer([]).lowered(text) == expected


def test_a_word_seen_in_lower_case_is_no_name() -> None:
    assert Decapitalizer(["many artefacts were looted"]).lowered("Artefacts belong home.") == "artefacts belong home."


def test_statements_follow_that_and_fragments_a_colon() -> None:
    assert say("It helps the poor").endswith(" that it helps the poor.")
    assert say("Duty to protect the child").endswith(": Duty to protect the child.")


def test_a_connective_is_not_used_twice_in_a_row() -> None:
    speaker = phrases("")
    before, openings = "Supporters add that it is cheap.", []
    for _ in range(30):
        before = speaker.say("it is safe", group="pro", opens=False, before=before, in_list=False)
        openings.append(before.split(" that ")[0])
    assert all(a != b for a, b in pairwise(openings))
    assert len(set(openings)) > 2


def test_in_lists_passages_and_other_languages_an_argument_stands_alone() -> None:
    speaker = Phrases(np.random.default_rng(0), Decapitalizer([]), english=False)
    assert speaker.say("es ist billig", group="pro", opens=False, before="", in_list=False) == "Es ist billig."
    assert phrases("").say("it is cheap", group="pro", opens=False, before="", in_list=True) == "It is cheap."
    assert phrases("").say("it is cheap", group=None, opens=False, before="", in_list=False) == "It is cheap."


def test_an_unnamed_side_is_opened_with_its_name() -> None:
    said = phrases("").say("Duty to protect", group="a\nb", opens=True, before="", in_list=False)
    assert said == 'Another view ("a b"): Duty to protect.'


def test_the_side_of_a_perspective_is_read_from_its_name(subtests: pytest.Subtests) -> None:
    for name, side in [
        ("pro", "for"),
        ("Arguments against", "against"),
        ("con", "against"),
        ("economy", ""),
        ("for and against", ""),
    ]:
        with subtests.test(name=name, side=side):
            assert side_of(name) == side


def test_openings_that_turn_to_a_side(subtests: pytest.Subtests) -> None:
    for opening, expected in [
        ("Opponents argue that", True),
        ("On the other hand,", True),
        ("Those in favour say that", True),
        ("They also say that", False),
        ("Moreover,", False),
        ("Critics add that", False),
    ]:
        with subtests.test(opening=opening, expected=expected):
            assert sets_side(opening) is expected


def test_english_is_told_by_its_common_words() -> None:
    assert is_english("People say that it is the best of all.")
    assert not is_english("Die Leute sagen, dass es das Beste von allem ist.")


@given(st.text(min_size=1))
def test_any_text_becomes_one_line_that_holds_it(text: str) -> None:
    said = say(text)
    assert "\n" not in said
    core = "".join(c for c in " ".join(text.split()) if c.isalnum()).casefold()
    assert core in "".join(c for c in said if c.isalnum()).casefold() or as_sentence(text) in said
