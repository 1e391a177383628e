"""Rules that edit a claim: what each makes of small sentences, what it leaves alone, and the twins made of rows."""

from __future__ import annotations

import random

import pytest

from eirene.text.english import Decapitalizer
from recipes.verifier.data import VerifierRow
from recipes.verifier.edits import own_edits, paired, sentence_rows
from recipes.verifier.edits.additions import Additions, both
from recipes.verifier.edits.given import ClaimGiven, plain, quotations
from recipes.verifier.edits.make import FALSE, TRUE
from tests.rows import each

TEXT = (
    "In March 2004 Acme bought Beta for 400 million dollars. The station lies 12 km north of Graz, on the left side of "
    "the river. The chairman said that prices may rise, and some of the workers agreed to stay. Over 250 people came. "
    "Sales increased in Vienna, not in Linz. The staff did not strike. The road was closed."
)


def made(rule: str, claim: str, premise: str = TEXT) -> set[str]:
    """All that a rule makes of a claim under some seeds."""
    edit = FALSE[rule][0] if rule in FALSE else TRUE[rule][0]
    found = {edit(ClaimGiven(claim, premise, random.Random(seed))) for seed in range(40)}
    return {claim for claim in found if claim is not None}


@each(
    "rule, claim, wanted",
    [
        ("roles", "Acme bought Beta.", "Beta bought Acme."),
        ("roles", "A man chases a dog.", "A dog chases a man."),
        ("unit", "The station is 12 km away.", "The station is 12 miles away."),
        ("unit", "It cost 400 million dollars.", "It cost 400 billion dollars."),
        ("scale", "It cost 400 million dollars.", "It cost 4000 million dollars."),
        ("date", "It was sold in March 2004.", "It was sold in July 2004."),
        ("name", "Sales rose in Vienna.", "Sales rose in Linz."),
        ("direction", "It is on the left side.", "It is on the right side."),
        ("bound", "Over 250 people came.", "Under 250 people came."),
        ("opposite", "The station lies north of Graz.", "The station lies south of Graz."),
        ("opposite", "Sales increased in Vienna.", "Sales decreased in Vienna."),
        ("hedge", "Prices may rise.", "Prices will rise."),
        ("hedge", "It affects some of the workers.", "It affects all of the workers."),
        ("report", "The chairman said that prices rise.", "The chairman denied that prices rise."),
        ("report", "They agreed to stay.", "They refused to stay."),
        ("denied", "The road was closed to all.", "It is not true that the road was closed to all."),
        ("negation_in", "The road was closed.", "The road was not closed."),
        ("negation_out", "The staff did not strike.", "The staff did strike."),
        ("same:passive", "Acme bought Beta.", "Beta was bought by Acme."),
        ("same:passive", "Beta was bought by Acme.", "Acme bought Beta."),
        ("same:figure", "It took 3 weeks.", "It took three weeks."),
        ("same:figure", "It rose by 5%.", "It rose by 5 percent."),
        ("same:figure", "It cost 2 million dollars.", "It cost 2,000,000 dollars."),
        ("same:day", "It opened on May 20, 1946.", "It opened on 20 May 1946."),
        ("same:day", "It opened on 20 May 1946.", "It opened on May 20, 1946."),
        ("same:contraction", "The staff did not strike.", "The staff didn't strike."),
        ("same:contraction", "The staff didn't strike.", "The staff did not strike."),
        ("same:twice_negated", "A cure is possible.", "A cure is not impossible."),
        ("same:undated", "The firm was sold to Acme in March 2004.", "The firm was sold to Acme."),
        ("same:synonym", "She attempted a jump.", "She tried a jump."),
        ("same:affirmed", "The road was closed to all.", "It is true that the road was closed to all."),
        ("same:opened", "The road was closed.", "In short, the road was closed."),
    ],
)
def test_a_rule_makes_the_edit_that_it_is_named_after(rule: str, claim: str, wanted: str) -> None:
    assert wanted in made(rule, claim)


@each(
    "rule, claim",
    [
        ("roles", "Acme and Beta met."),
        ("roles", "Acme married Beta."),
        ("unit", "It has run for over 12 years."),
        ("name", "Sales rose."),
        ("opposite", "The staff did not leave the north."),
        ("hedge", "Prices can often rise."),
        ("hedge", "The staff did not try some of the food."),
        ("direction", "They left early."),
        ("direction", "They make up 12 percent."),
        ("bound", "Spain's Under 21s came."),
        ("roles", "The head of Acme bought Beta."),
        ("roles", "Acme bought Beta and Gamma."),
        ("same:passive", "Acme bought Beta, which is in Graz."),
        ("direction", "You have the right to stay."),
        ("negation_in", "Some people are here."),
        ("negation_out", "Prices did not only rise."),
        ("same:undated", "It was the first firm that was sold in 2004."),
        ("same:synonym", "It is an effort, a try, to win."),
    ],
)
def test_a_rule_leaves_alone_what_it_cannot_be_sure_of(rule: str, claim: str) -> None:
    assert made(rule, claim, TEXT.replace("some of", "all of").replace("may", "will")) == set()


def test_a_bounded_number_only_moves_past_its_bound() -> None:
    higher = made("number", "Over 250 people came.")
    assert higher
    assert all(int("".join(filter(str.isdigit, claim))) > 250 for claim in higher)


def test_additions_are_foreign_to_the_premise_and_not_made_to_what_is_denied() -> None:
    additions = Additions({"here": ["Cats sleep most of the day.", "The road was closed in Sweden."]})
    given = ClaimGiven("The road was closed.", TEXT, random.Random(1), Decapitalizer(["All cats eat."]))
    clause = additions.clause(given, "here")
    assert clause is not None
    assert clause.startswith("The road was closed")
    assert clause.endswith("cats sleep most of the day.")
    assert additions.phrase(given, "here") == "The road was closed in Sweden."
    assert additions.phrase(ClaimGiven("The road was not closed.", TEXT, random.Random(1)), "here") is None
    assert both(given, ["Some workers agreed to stay."]) in (
        "The road was closed and some workers agreed to stay.",
        "The road was closed, and some workers agreed to stay.",
    )


CLAIMS = (
    "Acme bought Beta in March 2004.",
    "The station lies 12 km north of Graz.",
    "Some of the workers agreed to stay at the firm.",
    'The chairman said that "prices may rise in March 2004" soon.',
    "The staff did not strike at all.",
    "Over 250 people came to the station.",
)
ROWS = [VerifierRow("defacto", (TEXT,), claim, "supported") for claim in CLAIMS]
ROWS.append(VerifierRow("defacto", (TEXT,), "The road was opened to all that day.", "contradicted", pair="given"))


def test_twins_share_the_pair_of_their_base_and_are_new() -> None:
    rows = paired(ROWS)
    twins = own_edits(rows, seed=3, share=1.0)
    labels = {row.pair for row in rows}
    truths = {plain(row.claim) for row in rows if row.label == "supported"}
    assert {"supported"} < {twin.label for twin in twins}
    assert all(twin.pair in labels and twin.source == "own_edits" and twin.by == "rule" for twin in twins)
    assert all(twin.label == "supported" or plain(twin.claim) not in truths for twin in twins)
    assert len({(twin.pair, plain(twin.claim)) for twin in twins}) == len(twins)
    assert paired(rows) == rows


def test_the_same_seed_makes_the_same_twins() -> None:
    assert own_edits(ROWS, seed=3, share=0.8) == own_edits(ROWS, seed=3, share=0.8)
    assert own_edits(ROWS, seed=3, share=1.0) != own_edits(ROWS, seed=4, share=1.0)
    assert own_edits(ROWS, seed=3, share=0.0) == []


def test_quotations_are_never_edited() -> None:
    for seed in range(60):
        for twin in own_edits(ROWS[3:4], seed=seed, share=1.0):
            assert quotations(twin.claim) == ['"prices may rise in March 2004"']


def test_what_is_supported_by_rule_is_marked_so() -> None:
    for seed in range(30):
        for twin in own_edits(ROWS, seed=seed, share=1.0):
            assert (twin.label == "supported") == (twin.edit or "").startswith("same:")


def test_a_share_outside_its_range_is_refused() -> None:
    with pytest.raises(ValueError, match="share"):
        own_edits(ROWS, seed=0, share=1.5)


def test_sentences_of_premises_that_a_rare_rule_can_edit_are_supported_claims() -> None:
    rows = sentence_rows(ROWS, seed=1, most=20)
    assert {row.claim for row in rows} >= {"In March 2004 Acme bought Beta for 400 million dollars."}
    assert all(row.label == "supported" and row.claim in TEXT and row.premise == (TEXT,) for row in rows)
    assert len(sentence_rows(ROWS, seed=1, most=1)) == 1
    assert sentence_rows([VerifierRow("infotabs", (TEXT,), "It rose.", "supported")], seed=1) == []
    assert any(twin.label != "supported" for twin in own_edits(paired(rows), seed=1, share=1.0))
