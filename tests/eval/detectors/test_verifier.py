"""The `verifier` detector: scores by sentence and by argument, and what stays unscored."""

from __future__ import annotations

import asyncio

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Scores, Unscored
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.eval.registry import build_detector
from eirene.eval.resources import Resources

DETECTOR = build_detector("verifier", Resources())
PASSAGE = Grounding("context", (ArgumentGroup("context", ("The bridge was opened in 1932. It carries trains.",)),))
SIDES = Grounding(
    "perspectives",
    (
        ArgumentGroup("pro", ("Wind power is clean.", "Wind power is cheap.")),
        ArgumentGroup("con", ("Turbines kill birds.",)),
    ),
)


def score(answer: str, given: Grounding) -> Scores:
    return asyncio.run(DETECTOR.score(Case("What is known of it?", answer, given), meter=Meter()))


def test_a_sentence_that_the_passages_do_not_hold_scores_higher() -> None:
    scores = score("The bridge was opened in 1932. It was painted by a famous Italian artist in 1950.", PASSAGE)
    first, second = (s.hallucination for s in scores.sentences)
    assert isinstance(first, float) and isinstance(second, float)
    assert first < 0.5 < second
    assert isinstance(scores.hallucination, float) and second < scores.hallucination < 1.0
    assert isinstance(scores.coverage, Unscored)


def test_what_claims_nothing_is_unscored() -> None:
    scores = score("These are the facts:\n\nIs it old?", PASSAGE)
    assert all(isinstance(s.hallucination, Unscored) for s in scores.sentences)
    assert isinstance(scores.hallucination, Unscored)


def test_an_argument_that_is_not_said_is_missing() -> None:
    scores = score("Supporters say that wind power is clean and cheap.", SIDES)
    coverage = {(a.group, a.n): a.coverage for a in scores.arguments}
    missing, said = coverage["con", 1], coverage["pro", 1]
    assert isinstance(missing, float) and isinstance(said, float)
    assert said < 0.5 < missing
    assert scores.coverage == missing


def test_nothing_given_and_other_languages_are_unscored() -> None:
    derived = score("The bridge is old.", Grounding("derived", (ArgumentGroup("kept", ("The bridge is old.",)),)))
    assert isinstance(derived.hallucination, Unscored)
    foreign = score("Die Brücke wurde im Jahr 1932 nach acht Jahren Arbeit eröffnet und trägt Züge.", PASSAGE)
    assert isinstance(foreign.hallucination, Unscored)


def test_the_version_names_encoder_and_head() -> None:
    version = DETECTOR.version
    assert version is not None
    assert version.startswith("verifier=63c596c62932/")
