"""Labels and scores side by side: what stands beside what, and what is said where nothing does."""

from __future__ import annotations

import numpy as np

from eirene.core.records import Item, Perspective
from eirene.core.scores import ArgumentScore, Scores, SentenceScore, Unscored, WordScore
from eirene.eval.datasets import Labelled
from eirene.eval.datasets.base import marked_faults
from eirene.eval.metrics.levels import CountedText, LabelLevel, levels
from eirene.text.sentences import split_sentences

ITEM = Item(
    id="a",
    question="Trams?",
    answer="Trams are quiet. Some cats purr; the dogs bark.",
    perspectives=[Perspective(name="pro", arguments=["Quiet trams.", "Clean air."])],
)
CASE = Labelled(
    ITEM,
    "trams",
    hallucination=True,
    coverage=True,
    marks=marked_faults(ITEM.answer, [(22, 31)]),
    missing={("pro", 1): False, ("pro", 2): True},
)
WHOLE = Scores(
    hallucination=0.9,
    coverage=0.8,
    sentences=(SentenceScore(n=1, hallucination=0.1), SentenceScore(n=2, hallucination=Unscored(unscored="odd"))),
    arguments=(
        ArgumentScore(group="pro", n=1, coverage=0.2, words=(WordScore(start=0, end=5, score=0.3),)),
        ArgumentScore(group="pro", n=2, coverage=0.7),
    ),
    words=(WordScore(start=0, end=5, score=0.0), WordScore(start=22, end=31, score=1.0)),
)


def by_name(scores: Scores) -> dict[tuple[str, str], LabelLevel]:
    return {(level.error, level.name): level for level in levels([CASE], {"d": [scores]})}


def test_every_label_has_its_score_beside_it() -> None:
    found = by_name(WHOLE)
    assert {place: level.labels.tolist() for place, level in found.items()} == {
        ("hallucination", "answer"): [True],
        ("hallucination", "sentence"): [False, True],
        ("hallucination", "word"): [False, False, True, True, False, False],
        ("coverage", "answer"): [True],
        ("coverage", "argument"): [False, True],
        ("coverage", "argument word"): [False, False, True, True],
    }
    scores = {place: level.values["d"].tolist() for place, level in found.items()}
    nan = float("nan")
    np.testing.assert_equal(
        scores,
        {
            ("hallucination", "answer"): [0.9],
            ("hallucination", "sentence"): [0.1, nan],
            # trams, quiet, cats, purr, dogs, bark: "cats" and "purr" share the detector's word from 22 to 31
            ("hallucination", "word"): [0.0, nan, 1.0, 1.0, nan, nan],
            ("coverage", "answer"): [0.8],
            ("coverage", "argument"): [0.2, 0.7],
            ("coverage", "argument word"): [0.3, nan, nan, nan],
        },
    )


def test_what_has_no_score_says_why() -> None:
    found = by_name(WHOLE)
    assert found["hallucination", "sentence"].reasons["d"] == {"odd": 1}
    assert found["hallucination", "word"].reasons["d"] == {"gives no score of this word": 3}
    none = by_name(Scores.none("no judge"))
    assert all(level.reasons["d"] == {"no judge": len(level.labels)} for level in none.values())


def test_levels_without_labels_are_not_there() -> None:
    case = Labelled(ITEM, "trams", coverage=False)
    assert [(x.error, x.name) for x in levels([case], {"d": [WHOLE]})] == [("coverage", "answer")]
    assert levels([], {"d": []}) == []


def test_things_keep_the_clusters_of_their_cases() -> None:
    other = Labelled(ITEM, "cats", hallucination=False, marks=CASE.marks)
    level = next(x for x in levels([CASE, other], {"d": [WHOLE, WHOLE]}) if x.name == "sentence")
    count, numbers = level.clusters
    assert (count, numbers.tolist(), level.cases.tolist()) == (2, [0, 0, 1, 1], [0, 0, 1, 1])


def test_floors_count_and_read_nothing() -> None:
    text = CountedText(CASE)
    assert text.of_answer() == {"words": 9, "sentences": 2, "clauses": 3, "given": 2}
    second = split_sentences(ITEM.answer)[1]
    assert text.of_sentence(second) == {"words": 6, "clauses": 2, "position": 2, "sentences": 2}
    assert text.of_argument("pro", 2) == {"words": 2, "position": 2, "given": 2, "answer's words": 9}
    passages = Labelled(Item(question="?", answer="Yes.", context=["a", "b", "c"]), "x", hallucination=True)
    assert CountedText(passages).of_answer()["given"] == 3
