"""Maps of words on the pages of records: the right words, each map once, and only where the given text is at hand."""

from __future__ import annotations

import json

from eirene.core.records import Item, Record
from eirene.core.scores import ArgumentScore, Scores, WordScore
from eirene.views.report import render_page, render_report
from eirene.views.salience import MOST_WORDS, word_maps
from tests.views.records import ITEM, record

EVIL = "<script>alert(1)</script>"


def words(*spans: tuple[int, int]) -> tuple[WordScore, ...]:
    return tuple(WordScore(start=start, end=end, score=0.5) for start, end in spans)


def mapped(**changes: object) -> Scores:
    """Two words of the first argument, one of the second; two words of the answer."""
    arguments = (
        ArgumentScore(group="pro", n=1, coverage=0.5, words=words((0, 5), (11, 18))),
        ArgumentScore(group="con", n=1, coverage=0.5, words=words((0, 4))),
    )
    plain = {"hallucination": 0.5, "coverage": 0.5, "arguments": arguments, "words": words((0, 4), (5, 10))}
    return Scores.model_validate({**plain, "shares": ((2, 0, 0.25), (1, 1, 0.04)), **changes})


def with_maps(status: str = "kept", **scores: Scores) -> tuple[Record, Item]:
    made = record(status)
    sides = made.scores.model_copy(update={"original": scores, "final": scores})
    return made.model_copy(update={"scores": sides}), Item.model_validate(ITEM)


def test_rows_are_words_of_the_arguments_and_columns_words_of_the_answer() -> None:
    (shown,) = word_maps(*with_maps(salience=mapped()))
    assert shown.rows == (("pro", "Cages"), ("pro", "animals"), ("con", "Zoos"))
    assert shown.columns == ("Zoos", "teach")
    assert shown.shares == ((2, 0, 0.25), (1, 1, 0.04))


def test_a_map_that_two_detectors_share_is_shown_once_and_an_accepted_answer_has_its_own() -> None:
    found = list(word_maps(*with_maps("accepted", a=mapped(), b=mapped(), c=mapped(shares=()))))
    assert [shown.title for shown in found] == [
        "From the given to the original, word by word (a, b)",
        "From the given to the answer, word by word (a, b)",
    ]


def test_without_the_item_and_with_another_one_there_is_no_map() -> None:
    made, item = with_maps(salience=mapped())
    sides = [p.model_copy(update={"name": f"not {p.name}"}) for p in item.perspectives or ()]
    other = item.model_copy(update={"perspectives": sides})
    assert list(word_maps(made, None)) == list(word_maps(made, other)) == []


def test_long_sides_are_cut_and_the_page_says_so() -> None:
    many = words(*[(0, 4)] * (MOST_WORDS + 1))
    (shown,) = word_maps(*with_maps(salience=mapped(words=many, shares=((0, MOST_WORDS, 0.5), (0, 1, 0.5)))))
    assert (len(shown.columns), shown.shares) == (MOST_WORDS, ((0, 1, 0.5),))
    assert "the first 120 of 121 words of the answer" in shown.note


def test_the_page_draws_a_square_whose_area_is_the_share_and_the_report_holds_the_map() -> None:
    """A quarter of the largest area is half the side: 6.5 of 13."""
    made, item = with_maps(salience=mapped())
    assert 'width="6.5" height="6.5"' in render_page(made, item=item)
    assert 'class="map"' not in render_page(made)
    assert '"From the given to the original, word by word (salience)"' in render_report([made], items={made.id: item})


def test_words_on_a_map_stay_words() -> None:
    made, item = with_maps(salience=mapped())
    sides = [p.model_copy(update={"arguments": [f"{EVIL} and cages"]}) for p in item.perspectives or ()]
    page = render_page(made, item=item.model_copy(update={"perspectives": sides}))
    assert "<script>alert" not in page


def test_shares_are_in_json_where_there_are_any() -> None:
    for shares in [(), ((0, 0, 0.5),)]:
        scores = mapped(shares=shares)
        assert ("shares" in json.loads(scores.model_dump_json())) == bool(shares)
        assert Scores.model_validate_json(scores.model_dump_json()) == scores
