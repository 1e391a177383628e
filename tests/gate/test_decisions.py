"""A mended fault is no excuse for a lost argument, unless nothing but a falsehood that was mended said it."""

from __future__ import annotations

from dataclasses import replace

import eirene
from eirene.agent.settings import Settings
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import ArgumentScore, Scores
from eirene.gate import judge
from eirene.gate.checks.base import EditCase
from eirene.gate.checks.loss import loss
from eirene.gate.decisions import Mended, without_errors
from eirene.models.encoder import load_encoder
from eirene.text.edits.words import SentenceEdit
from tests.scripted_parts import ScriptedRefiner

QUESTION = "Should the city build more tram lines?"
PERSPECTIVES = {
    "pro": ["Trams carry people of every age.", "Trams bring money into the district."],
    "con": ["Trams take room that homes need.", "Trams cost more than was promised."],
}
SOUND = "Supporters say that trams carry people of every age, and that they bring money into the district."
COSTS = "Opponents reply that trams cost more than was promised."
ROOM = "They also point out that trams take room that homes need"
TAIL = ", which matters to those who look for a flat"


def refined(answer: str, rewrite: str) -> eirene.RunRecord:
    parts = replace(eirene.resolve_backend("embedded"), refiner=ScriptedRefiner([rewrite]))
    item = {"question": QUESTION, "answer": answer, "perspectives": PERSPECTIVES}
    return eirene.refine(item, backend=parts, mode="improve", max_rounds=1)


def test_an_argument_does_not_go_with_the_clause_that_was_faulty() -> None:
    answer = f"{SOUND} {COSTS} {ROOM}{TAIL}."
    record = refined(answer, f"{SOUND} {COSTS}")
    assert record.answer == answer
    assert record.status == "kept"


def test_the_faulty_clause_alone_may_go() -> None:
    record = refined(f"{SOUND} {COSTS} {ROOM}{TAIL}.", f"{SOUND} {COSTS} {ROOM}.")
    assert record.status == "accepted"
    assert TAIL not in record.answer
    assert ROOM in record.answer


def test_a_sentence_in_disguised_characters_may_go_for_the_plain_one() -> None:
    own = "students will simply bring their own junk food from home."
    plain = f"On the other hand, banning junk food is not the answer because then {own}"
    disguised = plain.translate(str.maketrans("aeo", "аео"))  # Cyrillic letters
    first = "Supporters say that it makes children ill."
    before, after = f"{first} {disguised}", f"{first} {plain}"
    start = len(first) + 1
    edits = (
        SentenceEdit("kept", (0, len(first)), (0, len(first))),
        SentenceEdit("removed", (start, len(before)), None),
        SentenceEdit("added", None, (start, len(after))),
    )
    sides = ArgumentGroup("pro", ("It makes children ill.",)), ArgumentGroup("con", (own.capitalize(),))
    given = Grounding("perspectives", sides)
    case = EditCase("Should junk food be banned in schools?", before, after, edits, given, encoder=load_encoder())
    assert not list(loss(case))


def test_an_argument_does_not_go_beside_a_foreign_sentence() -> None:
    foreign = "The mayor of the next town is known for his collection of clocks."
    record = refined(f"{SOUND} {COSTS} {ROOM}. {foreign}", f"{SOUND} {COSTS}")
    assert ROOM in record.answer


def scores(coverage: float) -> Scores:
    argument = ArgumentScore(group="con", n=1, coverage=coverage)
    return Scores(hallucination=0.1, coverage=coverage, arguments=(argument,))


def test_what_a_mended_falsehood_alone_said_is_no_loss() -> None:
    for sound, accept in [(0.9, True), (0.1, False)]:
        found = judge(
            {"d": scores(0.1)},
            {"d": scores(0.9)},
            gain_measurable=True,
            settings=Settings(),
            mended=["polarity: x"],
            without_errors={"d": scores(sound)},
        )
        assert found.accept == accept
        assert found.test == ("gain" if accept else "harm")


def test_without_anything_false_a_lost_argument_is_harm() -> None:
    found = judge({"d": scores(0.1)}, {"d": scores(0.9)}, gain_measurable=True, settings=Settings(), mended=["talk: x"])
    assert not found.accept
    assert "argument 1 of con" in found.why


def test_the_text_without_falsehoods_keeps_every_other_clause() -> None:
    before = "Trams are quiet, but they do not carry people. They cost money."
    at = before.index("do not")
    false = Mended("x", ((at, at + 6),), falsifies=True)
    kept = without_errors(before, [false])
    assert kept is not None
    assert "do not carry" not in kept
    assert "They cost money." in kept
    assert without_errors(before, [replace(false, falsifies=False)]) is None
