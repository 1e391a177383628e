"""What was turned between two sentences, and whether one contradicts the other."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.text.polarity import contradicts, turns
from eirene.text.polarity.marks import read_marks
from tests.rows import each

TURNED = [
    ("Homework helps children.", "Homework does not help children.", "negation"),
    ("Homework doesn't help children.", "Homework helps children.", "negation"),
    ("No homework helps children.", "Homework helps children.", "negation"),
    ("Homework fails to help children learn.", "Homework helps children learn.", "negation"),
    ("Violent games increase crime among the young.", "Violent games decrease crime among the young.", "opposite"),
    ("The policy is helpful for workers.", "The policy is unhelpful for workers.", "opposite"),
    ("Cuts leave workers hopeful.", "Cuts leave workers hopeless.", "opposite"),
    ("Some students benefit from homework.", "All students benefit from homework.", "quantifier"),
    ("Homework may help.", "Homework will certainly help.", "certainty"),
    ("Opponents say that homework harms children.", "Opponents falsely say that homework harms children.", "report"),
    ("Opponents say that homework harms children.", "Opponents foolishly say that homework harms children.", "report"),
    ("Supporters say that homework helps.", "It is a proven fact that homework helps.", "report"),
    ("Supporters say that homework helps.", "Homework helps.", "attribution"),
    ("If taxes rise, jobs are lost.", "Jobs are lost, taxes rise.", "condition"),
    ("The city plans to build a bridge.", "The city has built a bridge.", "intent"),
    ("Experts disagree about this plan.", 'The "experts" disagree about this plan.', "quotation"),
    ("Crime causes poverty in cities.", "Poverty causes crime in cities.", "roles"),
    ("Cats are better than dogs.", "Dogs are better than cats.", "roles"),
    ("Lind was taught by Rowe.", "Rowe was taught by Lind.", "roles"),
    ("Children work because families are poor.", "Families are poor because children work.", "roles"),
]


@pytest.mark.parametrize(("before", "after", "kind"), TURNED)
def test_a_turned_mark_is_found_both_ways_round(before: str, after: str, kind: str) -> None:
    assert kind in {turn.kind for turn in turns(before, after)}
    if kind != "attribution":  # a claim may be attributed, not the other way round
        assert kind in {turn.kind for turn in turns(after, before)}


@each(
    "before, after",
    [
        ("Guns are dangerous for children.", "Guns are not safe for children."),
        ("Homework not only helps children but also parents.", "Homework helps children, and also parents."),
        ("Books and pens help.", "Pens and books help."),
        ("In schools, uniforms help.", "Uniforms help in schools."),
        ("Poverty causes crime.", "Crime is caused by poverty."),
        ("The main problem is cost.", "Cost is the main problem."),
        ("Oslo is the capital of Norway.", "The capital of Norway is Oslo."),
        ("Uniforms save money, don't they?", "Uniforms save money."),
        ("Supporters say that homework helps.", "Supporters add that homework helps."),
    ],
)
def test_the_same_in_other_words_is_no_turn(before: str, after: str) -> None:
    assert turns(before, after) == ()


@pytest.mark.parametrize(("before", "after", "kind"), [row for row in TURNED if row[2] in ("negation", "opposite")])
def test_a_negation_or_an_opposite_contradicts(before: str, after: str, kind: str) -> None:
    assert contradicts(before, after)
    assert contradicts(after, before)


@each(
    "premise, claim",
    [
        ("Homework helps children.", "Homework may help some children."),
        ("School uniforms limit freedom.", "The death penalty does not deter anybody."),
        ("Guns are dangerous for children.", "Opponents argue that guns are not safe for children."),
        ("Uniforms do not help pupils because they limit freedom.", "Uniforms limit freedom."),
        ("It is impossible to control movement.", "Movement cannot be controlled."),
        ("Independence is necessary to protect cultures.", "Without independence, cultures cannot be protected."),
        ("If taxes rise, trade suffers.", "Trade does not suffer."),
    ],
)
def test_what_says_less_or_something_else_contradicts_nothing(premise: str, claim: str) -> None:
    assert contradicts(premise, claim) is None


def test_the_words_of_a_turn_stand_at_its_offsets() -> None:
    before, after = "Some pupils like it.", "All pupils like it."
    (turn,) = turns(before, after)
    assert turn.before is not None and turn.after is not None
    assert (before[slice(*turn.before)], after[slice(*turn.after)]) == (turn.old, turn.new) == ("Some", "All")


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80), st.text(max_size=80))
def test_no_text_raises_and_all_offsets_are_inside(one: str, other: str) -> None:
    mixed = f'{one} not "all" can\'t {other} falsely than never'
    for text in (one, mixed):
        assert all(0 <= m.start < m.end <= len(text) for m in read_marks(text).marks)
    for turn in turns(mixed, other):
        assert turn.before is None or mixed[slice(*turn.before)].startswith(turn.old)
        assert turn.after is None or other[slice(*turn.after)].startswith(turn.new)
    contradicts(mixed, one)
