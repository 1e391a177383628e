"""After a rejected round the refiner is told what the scores point at: what is missing, and what nothing supports."""

from __future__ import annotations

from eirene.agent.rejections import faults
from eirene.agent.run import refine
from eirene.core.critique import Sample
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import ArgumentScore, Scores, SentenceScore, Unscored
from tests.scripted_parts import ScriptedRefiner, scripted_parts

SIDES = Grounding(
    "perspectives",
    (ArgumentGroup("pro", ("Trams are quiet.", "Trams are cheap.")), ArgumentGroup("con", ("Rails break.",))),
)
TEXT = "Trams are quiet. Trams can fly."


def scores(*coverage: tuple[str, int, float], sentences: tuple[float, ...] = ()) -> Scores:
    return Scores(
        hallucination=0.5,
        coverage=0.5,
        arguments=tuple(ArgumentScore(group=g, n=n, coverage=c) for g, n, c in coverage),
        sentences=tuple(SentenceScore(n=n, hallucination=s) for n, s in enumerate(sentences, start=1)),
    )


def test_the_worst_comes_first_and_what_is_well_is_not_named() -> None:
    found = scores(("pro", 1, 0.1), ("pro", 2, 0.7), ("con", 1, 0.9), sentences=(0.2, 0.8))
    assert list(faults({"alignment": found}, TEXT, SIDES)) == [
        'still missing for "con": "Rails break."',
        'not supported by what was given: "Trams can fly."',
        'still missing for "pro": "Trams are cheap."',
    ]


def test_two_detectors_name_a_fault_once_and_places_have_words_of_their_own() -> None:
    found = {"a": scores(("con", 1, 0.9)), "b": scores(("con", 1, 0.6)), "arrangement": scores(sentences=(0.1, 1.0))}
    assert list(faults(found, TEXT, SIDES)) == [
        'stands under the wrong side, or is said twice: "Trams can fly."',
        'still missing for "con": "Rails break."',
    ]


def test_what_a_critique_asked_for_is_named_as_such() -> None:
    derived = Grounding(
        "derived", (ArgumentGroup("kept", ("Trams are quiet.",)), ArgumentGroup("asked", ("Nothing of noise.",)))
    )
    found = scores(("kept", 1, 0.8), ("asked", 1, 0.9))
    assert list(faults({"alignment": found}, TEXT, derived)) == [
        'still not answered: "Nothing of noise."',
        'no longer said: "Trams are quiet."',
    ]


def test_a_passage_s_number_is_no_name() -> None:
    passages = Grounding("context", (ArgumentGroup("context", ("Trams are quiet.",)),))
    assert list(faults({"alignment": scores(("context", 1, 0.9))}, TEXT, passages)) == []


def test_what_is_unscored_or_speaks_of_nothing_there_names_nothing() -> None:
    for found in [Scores.none("no"), scores(("pro", 9, 1.0), sentences=(0.0, 0.0, 1.0))]:
        assert list(faults({"alignment": found}, TEXT, SIDES)) == []


def test_a_long_list_is_cut_and_long_texts_end_at_a_word() -> None:
    many = Grounding("perspectives", (ArgumentGroup("pro", tuple(f"{n} " + "long " * 90 for n in range(30))),))
    found = list(faults({"a": scores(*(("pro", n, 1.0) for n in range(1, 31)))}, TEXT, many))
    assert len(found) == 6
    assert all(len(text) < 300 and text.endswith(' long ..."') for text in found)


def test_the_next_round_hears_it_from_deciding_detectors_alone() -> None:
    worse = Scores(
        hallucination=0.9, coverage=Unscored(unscored="no"), sentences=(SentenceScore(n=1, hallucination=0.9),)
    )
    fine = Scores(hallucination=0.6, coverage=Unscored(unscored="no"))
    vote = Sample(tags=("Incomplete",), reasons=("Nothing of noise.",))
    answer = "Trams are quiet."
    rewrites = ["Trams can fly.", "Trams can swim."]
    parts = scripted_parts(
        samples=[vote] * 4, rewrites=rewrites, scores={answer: fine, **dict.fromkeys(rewrites, worse)}
    )
    sides = [{"name": "pro", "arguments": ["Trams are quiet."]}, {"name": "con", "arguments": ["Rails break."]}]
    record = refine({"question": "Trams?", "answer": answer, "perspectives": sides}, backend=parts, samples=4)
    assert record.status == "kept"
    assert isinstance(parts.refiner, ScriptedRefiner)
    (told,) = parts.refiner.tasks[1].rejections
    assert told.why.endswith('Wrong with it: not supported by what was given: "Trams can fly."')
    assert record.rounds[0].why in told.why
