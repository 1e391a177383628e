"""Pairs of arguments and claims made of topics: what is supported, what is left out, what is turned round."""

from __future__ import annotations

from recipes.encoder.data import TrainingClaim, WordingCluster
from recipes.verifier.arguments import argument_rows

TOPICS = [
    TrainingClaim(
        1,
        "Cities should ban cars",
        (
            WordingCluster("pro", ("Clean air saves lives", "People live longer where the air is clean")),
            WordingCluster("con", ("Shops lose their customers", "Traders will sell less without drivers")),
        ),
        ("traffic",),
    ),
    TrainingClaim(
        2,
        "Zoos should close",
        (WordingCluster("pro", ("Animals suffer in cages", "Captivity is cruel to wild animals")),),
        ("animals",),
    ),
]


def test_a_wording_is_supported_where_its_argument_is_given_and_not_where_it_is_left_out() -> None:
    rows = [
        row for row in argument_rows(TOPICS, seed=1, each=3) if row.pair and row.pair.startswith("perspectives:1-0")
    ]
    assert {row.label for row in rows if row.edit is None} == {"supported"}
    assert all("Clean air saves lives." in row.premise[0] for row in rows if row.edit is None)
    left_out = [row for row in rows if row.edit == "left_out"]
    assert left_out
    assert all("Clean air" not in row.premise[0] and row.label == "not_supported" for row in left_out)


def test_arguments_of_other_topics_and_turned_ones_are_not_supported() -> None:
    rows = argument_rows(TOPICS, seed=2, each=4)
    assert {row.edit for row in rows} >= {None, "left_out", "foreign"}
    assert any((row.edit or "").startswith("negation") for row in rows)
    assert all((row.label == "supported") == (row.edit is None) for row in rows)
    assert {row.source for row in rows} == {"perspectives"}


def test_the_same_seed_makes_the_same_rows() -> None:
    assert argument_rows(TOPICS, seed=5) == argument_rows(TOPICS, seed=5)
    assert argument_rows(TOPICS, seed=5, each=2) != argument_rows(TOPICS, seed=6, each=2)
