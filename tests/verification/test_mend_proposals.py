"""Proposals of mends: which words of a given sentence could take the place of which, by form alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from eirene.verification.mend_proposals import (
    Proposal,
    fitted,
    negation_proposals,
    opposite_proposals,
    value_proposals,
)

Maker = Callable[[str, str], Iterator[Proposal]]


def made(maker: Maker, sentence: str, given: str) -> set[str]:
    """The sentences that the proposals make."""
    return {fitted(sentence, proposal).applied(sentence) for proposal in maker(sentence, given)}


def test_a_value_takes_the_place_of_one_of_its_kind() -> None:
    rows = [
        ("It opened in 1899.", "The bridge was opened in 1932.", "It opened in 1932."),
        ("It opened in 1899.", "It was opened on 12 May 1932.", "It opened in 1932."),
        ("It opened on 12 June 1932.", "It was opened on May 14, 1932.", "It opened on 14 May 1932."),
        ("It weighs 40 kg.", "Its weight is 55 kg.", "It weighs 55 kg."),
        ("It costs $5 million.", "The price was $7.5 million.", "It costs $7.5 million."),
        (
            "Smith wrote it with Alan Turing's help.",
            "It was done with Grace Hopper.",
            "Smith wrote it with Grace Hopper's help.",
        ),
    ]
    assert [row for row in rows if row[2] not in made(value_proposals, *row[:2])] == []


def test_a_value_of_another_form_takes_no_place() -> None:
    rows = [
        ("It weighs 40 kg.", "It has 55 seats."),  # another unit
        ("It was the 3rd bridge.", "It has 7 arches."),  # an ordinal is no count
        ("It has 40 seats.", "It was opened in 1932."),  # a year is no count
        ("It has one arch in 40 rows.", "It has 1 row."),  # "1 rows"
        ("It opened in 1932.", "In 1932 it opened, and in 1950 it closed."),  # what is given is not wrong
        ("It opened in 1899.", "It was opened by the mayor."),
    ]
    assert [row for row in rows if made(value_proposals, *row)] == []


def test_an_opposite_takes_a_words_place() -> None:
    rows = [
        ("Fold the left corner up.", "Take the right corner and fold it.", "Fold the right corner up."),
        ("Prices increased last year.", "Last year prices decreased.", "Prices decreased last year."),
        ("The safe way is north.", "To go is dangerous.", "The dangerous way is north."),
    ]
    assert [row for row in rows if row[2] not in made(opposite_proposals, *row[:2])] == []


def test_a_word_that_is_given_stays_and_no_other_word_takes_its_place() -> None:
    assert made(opposite_proposals, "Fold the left corner up.", "Fold the left corner, then the right, up.") == set()
    assert made(opposite_proposals, "The walls are painted green.", "The walls are painted purple.") == set()


def test_a_negation_goes_or_comes_with_the_verb_in_its_form() -> None:
    rows = [
        ("Rex is not open.", "It opens.", "Rex is open."),
        ("Rex isn't open.", "It opens.", "Rex is open."),
        ("Rex cannot swim.", "It swims.", "Rex can swim."),
        ("Rex won't swim.", "It swims.", "Rex will swim."),
        ("Rex never sleeps.", "It sleeps.", "Rex sleeps."),
        ("Rex does not carry trains.", "Trains are carried.", "Rex carries trains."),
        ("Bridges do not carry trains.", "It carries trains.", "Bridges carry trains."),
        ("Rex did not carry trains.", "It carried trains.", "Rex carried trains."),
        ("Rex is open.", "It is not open.", "Rex is not open."),
        ("Rex does swim.", "It does not swim.", "Rex does not swim."),
        ("Rex can swim.", "It cannot swim.", "Rex cannot swim."),
        ("Rex carries trains.", "It does not carry trains.", "Rex does not carry trains."),
    ]
    assert [row for row in rows if row[2] not in made(negation_proposals, *row[:2])] == []


def test_a_negation_stays_where_something_else_hangs_on_it() -> None:
    rows = ["However, it does not carry trains.", "There is no link.", "Rex does not carry any trains."]
    given = "Rex carries trains. There are links."
    assert [sentence for sentence in rows if made(negation_proposals, sentence, given)] == []


def test_a_past_that_no_rule_knows_is_not_guessed() -> None:
    assert made(negation_proposals, "Rex did not sink.", "It sank.") == set()


def test_the_first_word_of_a_sentence_keeps_its_capital_and_an_article_fits_what_follows() -> None:
    assert fitted("Left is better.", Proposal(0, 4, "right", "relation")).applied("Left is better.")[:5] == "Right"
    sentence = "It has a big arch."
    assert fitted(sentence, Proposal(9, 12, "enormous", "relation")).applied(sentence) == "It has an enormous arch."
    sentence = "It has an old arch."
    assert fitted(sentence, Proposal(10, 13, "new", "relation")).applied(sentence) == "It has a new arch."
