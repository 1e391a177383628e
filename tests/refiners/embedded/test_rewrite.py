"""Additions and removals in running text and in Markdown."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.refiners.embedded.plan import Addition, Changes
from eirene.refiners.embedded.refiner import Phrases
from eirene.refiners.embedded.rewrite import rewrite
from eirene.text.english import Decapitalizer, is_english

PROSE = (
    "People disagree about this. Supporters argue that taxes are too high, and that the state is wasteful. "
    "They also say that freedom matters. On the other hand, cats are nice animals. "
    "They also say that schools need money; also, roads are bad."
)
LISTS = (
    "# Title\n\n## Pros\n- It is cheap.\n- It is fast.\n  And more.\n\n"
    "## Cons\n1. It is ugly.\n2. It is loud.\n3. It smells.\n\nEnd"
)


def run(
    answer: str,
    *,
    add: tuple[tuple[str, str, str | None], ...] = (),
    drop: tuple[str, ...] = (),
    claims: Callable[[int], bool] = lambda i: True,
) -> str:
    """Adds (text, after which words, perspective) and drops what is quoted."""
    letters = Decapitalizer([answer])
    phrases = Phrases(np.random.default_rng(1), letters, english=is_english(answer))
    changes = Changes(
        tuple(Addition(text, answer.index(after) + len(after), group) for text, after, group in add),
        tuple((answer.index(words), answer.index(words) + len(words)) for words in drop),
    )
    return rewrite(
        answer,
        changes,
        phrase=lambda a, before, in_list: phrases.say(
            a.text, group=a.group, opens=a.opens, before=before, in_list=in_list
        ),
        claims=claims,
        letters=letters,
    )


def test_an_addition_stands_after_its_sentence_and_changes_nothing_else() -> None:
    result = run(PROSE, add=(("It helps the poor", "freedom matters.", "pro"),))
    before, after = PROSE.split(" On the other")
    assert result.startswith(before)
    assert result.endswith(" On the other" + after)
    assert "that it helps the poor." in result


def test_a_clause_goes_with_its_joint_and_the_opening_stays(subtests: pytest.Subtests) -> None:
    for dropped, gone, there in [
        ("taxes are too high", "taxes", "Supporters argue that the state is wasteful."),
        ("the state is wasteful", "wasteful", "Supporters argue that taxes are too high. They"),
        ("roads are bad.", "roads", "They also say that schools need money."),
        ("schools need money", "schools", "They also say that roads are bad."),
    ]:
        with subtests.test(dropped=dropped, gone=gone, there=there):
            result = run(PROSE, drop=(dropped,))
            assert gone not in result
            assert there in result


def test_the_next_sentence_of_a_side_takes_over_the_opening_of_a_dropped_one() -> None:
    """Otherwise what critics say would stand under the supporters."""
    result = run(PROSE, drop=("cats are nice animals.",))
    assert result.endswith("freedom matters. On the other hand, schools need money; also, roads are bad.")


def test_a_bullet_list_gets_a_bullet_and_a_numbered_one_goes_on_counting() -> None:
    result = run(LISTS, add=(("it saves lives", "It is fast.", "pro"), ("it is far", "It is ugly.", "con")))
    assert (
        "- It is fast.\n  And more.\n- It saves lives.\n\n## Cons\n1. It is ugly.\n2. It is far.\n3. It is loud.\n4."
        in result
    )


def test_a_dropped_item_takes_its_line_and_the_rest_is_renumbered() -> None:
    result = run(LISTS, drop=("It is ugly.",))
    assert result == LISTS.replace("1. It is ugly.\n2. It is loud.\n3.", "1. It is loud.\n2.")


def test_an_item_may_be_replaced() -> None:
    result = run(LISTS, add=(("New one", "It is loud.", "con"),), drop=("It is loud.",))
    assert result == LISTS.replace("It is loud.", "New one.")


def test_paragraphs_stay_one_blank_line_apart(subtests: pytest.Subtests) -> None:
    for dropped, left in [("One.", "Two.\n\nThree.\n"), ("Two.", "One.\n\nThree.\n"), ("Three.", "One.\n\nTwo.\n")]:
        with subtests.test(dropped=dropped, left=left):
            assert run("One.\n\nTwo.\n\nThree.\n", drop=(dropped,)) == left


def test_a_text_without_an_end_mark_gets_one_before_an_addition() -> None:
    assert run("no end", add=(("Fine", "no end", None),)) == "no end. Fine."


def test_no_space_is_put_between_ideographs() -> None:
    assert (
        run("日本は良い。猫がいる。", add=(("犬もいる", "日本は良い。", "pro"),), drop=("猫がいる。",))
        == "日本は良い。犬もいる。"
    )


def test_nothing_is_added_on_a_table_row() -> None:
    table = "| a | b |\n|---|---|\n| cheap is good | x |"
    assert run(table, add=(("Fine", "| x |", None),)) == table + "\n\nFine."


def test_where_nothing_would_be_left_nothing_is_removed() -> None:
    assert run("All of it.", drop=("All of it.",)) == "All of it."


def test_a_list_of_additions_never_takes_an_answers_place() -> None:
    answer = "It is this. It is that."
    result = run(answer, add=(("Rents rise", "that.", None),), drop=("It is this.", "It is that."))
    assert result == f"{answer} Rents rise."


def test_a_sentence_that_says_nothing_of_the_matter_is_not_what_is_left() -> None:
    answer = "Opinions differ. It is this."
    add = (("Rents rise", "this.", None),)
    assert run(answer, add=add, drop=("It is this.",), claims=lambda i: i == 1) == f"{answer} Rents rise."
    assert run(answer, add=add, drop=("Opinions differ.",), claims=lambda i: i == 1) == "It is this. Rents rise."


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, Changes]:
    words = st.sampled_from(
        ["it is", "and that", "; also,", "\n", "\n\n", "- ", "1. ", "。", ". ", "Critics say that ", "🙂", "a"]
    )
    answer = "".join(draw(st.lists(st.one_of(words, st.text(max_size=4)), max_size=25)))
    places = st.integers(0, len(answer))
    additions = draw(st.lists(st.tuples(st.text(min_size=1, max_size=9).filter(str.strip), places), max_size=3))
    spans = draw(st.lists(st.tuples(places, places), max_size=3))
    return answer, Changes(
        tuple(Addition(text, at, "pro") for text, at in additions), tuple((min(s), max(s)) for s in spans)
    )


@settings(max_examples=300)
@given(cases())
def test_any_text_can_be_rewritten_and_holds_what_was_added(case: tuple[str, Changes]) -> None:
    answer, changes = case
    result = rewrite(
        answer,
        changes,
        phrase=lambda a, before, in_list: "«" + a.text + "»",
        claims=lambda i: True,
        letters=Decapitalizer([]),
    )
    if answer.strip():
        assert all("«" + a.text + "»" in result for a in changes.additions)


@settings(max_examples=300)
@given(cases())
def test_additions_alone_lose_no_character(case: tuple[str, Changes]) -> None:
    """The answer can be read off the result by leaving characters out."""
    answer, changes = case
    result = iter(
        rewrite(
            answer,
            Changes(changes.additions),
            phrase=lambda a, before, in_list: a.text,
            claims=lambda i: True,
            letters=Decapitalizer([]),
        )
    )
    kept = [c for c in answer if not c.isdigit()]  # numbers of list items may move on
    assert all(c in result for c in kept)
