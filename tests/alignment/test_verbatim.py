"""What an answer says word for word is said, whatever else the sentence says."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from functools import lru_cache
from itertools import cycle

import eirene
from eirene.agent.settings import Settings
from eirene.alignment import align, repeats
from eirene.alignment.verbatim import verbatim
from eirene.core.records import Item
from eirene.core.scores import Scores, number
from eirene.core.usage import Meter
from eirene.eval.base import case_of
from eirene.eval.detectors.alignment import AlignmentDetector, ArrangementDetector
from eirene.gate import judge
from eirene.models.encoder import Encoder, load_encoder
from eirene.text.clauses import units_of
from eirene.text.sentences import split_sentences
from tests.word_overlap import WordOverlapEncoder

JOINED = [
    "Supporters say that {a}, opponents that {c}. Supporters add that {b}.",
    "Supporters say that {a}, that {b}. Opponents say that {c}.",
    "Supporters say that {a}, which they hold beside the point that {b}. Opponents say that {c}.",
    "Supporters say that {a}, while opponents say that {c}. Supporters add that {b}.",
    "Supporters say that {a}, while {c}. They also say that {b}.",
    "Supporters argue that {a}; others reply that {c}. Supporters also hold that {b}.",
    "Two reasons are given in favour: {a}, {b}. One is given against it: {c}.",
    "Supporters say that {a} (and, they add, {b}). Critics object that {c}.",
    "Supporters say that {a}, to which opponents reply that {c}. Supporters also say that {b}.",
    "Supporters say that {a}, which opponents deny, and that {b}. Opponents say that {c}.",
]
# Two arguments for and one against, each with a small letter first.
TOPICS = {
    "Should the harbour be deepened?": (
        "large ships could call at the town", "a deeper harbour brings work for dockers", "dredging kills the seagrass",
    ),
    "Should pupils learn to code?": (
        "programming teaches children to think in steps", "firms look for people who can code",
        "a screen keeps children from playing outside",
    ),
    "Should shops close on Sundays?": (
        "shop assistants get a day with their children", "quiet streets let residents rest",
        "people who work all week could not buy food",
    ),
    "Should the old bridge be rebuilt?": (
        "lorries would no longer cross the village", "a wider bridge is safer for cyclists",
        "stone from the quarry costs a fortune",
    ),
}  # fmt: skip


@lru_cache(maxsize=1)
def encoder() -> Encoder:
    return load_encoder(threads=1)


def said(argument: str, answer: str) -> bool:
    sentences = split_sentences(answer)
    return bool(verbatim([argument], answer, units_of(answer, sentences), sentences).any())


def item(question: str, answer: str) -> Item:
    a, b, c = TOPICS[question]
    given = [{"name": "pro", "arguments": [a, b]}, {"name": "con", "arguments": [c]}]
    return Item.model_validate({"question": question, "answer": answer, "perspectives": given})


def scores(asked: Item, answer: str) -> dict[str, Scores]:
    detectors = (AlignmentDetector(encoder()), ArrangementDetector(encoder()))
    return {d.name: asyncio.run(d.score(case_of(asked, answer=answer), meter=Meter())) for d in detectors}


def written(pattern: str, question: str) -> str:
    return pattern.format(**dict(zip("abc", TOPICS[question], strict=True)))


def pairs() -> Iterator[tuple[str, str]]:
    """Each topic and each way to join with one another, in pairs: ten answers of the forty."""
    return zip(cycle(TOPICS), JOINED, strict=False)


def test_a_rewrite_that_says_every_argument_passes_the_gate() -> None:
    failing = []
    for question, pattern in pairs():
        lacking = written("Supporters say that {a}. Opponents say that {c}.", question)
        before, after = (scores(item(question, lacking), text) for text in (lacking, written(pattern, question)))
        verdict = judge(before, after, gain_measurable=True, settings=Settings())
        if not verdict.accept or max(number(a.coverage) or 0.0 for a in after["alignment"].arguments) >= 0.01:
            failing.append((question, pattern, verdict.why))
    assert failing == []


def test_an_answer_that_says_every_argument_is_left_as_it_is() -> None:
    asked = [item(question, written(pattern, question)) for question, pattern in pairs()]
    assert [one.answer for one in asked if eirene.refine(one).answer != one.answer] == []


def test_words_in_order_are_said_whatever_stands_around_them() -> None:
    table = [
        ("The tax harms small firms.", "Critics hold the tax harms small firms and drives them away."),
        ("Taxes harm the small firms of the town.", "It is said that a tax harmed small firms of the town for years."),
        ("Firms don't pay the new tax in time.", "They say that the firms do not pay the new tax in time anyway."),
        ("The tax harms small firms.", "It is false that the tax harms small firms."),
        ("It is cheap", "They say that it is cheap, and that it lasts."),
        ("Parks cool towns.", "Some say parks cool towns, others say parks cost money."),
        ("Parks cool the towns in summer.", "In the eyes of some parks cool the towns in summer as in autumn."),
        ("Trees cool the town. They clean its air.", "Trees cool the town. They clean its air. Birds like them."),
        ("The tax is high and it harms firms of the town.", "The tax is high and it harms firms of the town."),
    ]
    assert [row for row in table if not said(*row)] == []


def test_other_words_another_order_or_a_longer_claim_are_not() -> None:
    table = [
        ("The tax harms small firms.", "The tax does not harm small firms."),
        ("Firms don't pay the new tax in time.", "The firms do pay the new tax in time."),
        ("Prices rise before elections in every town.", "Prices rise after elections in every town."),
        ("Small firms harm the tax.", "The tax harms small firms."),
        ("It is cheap", "They say that it is cheap to build and dear to run."),
        ("It is cheap", "Cheap labour is what it is about."),
        ("Parks cost money.", "Car parks cost money."),
        ("Cars harm the air of our towns.", "He dislikes cars. Harm the air of our towns, they do."),
        ("", "Anything at all."),
    ]
    assert [row for row in table if said(*row)] == []


def test_a_sentence_that_says_an_argument_and_more_is_supported_no_better() -> None:
    """Saying what was given is one direction; having been given is the other, and stays as it was."""
    argument = "Large ships could call at the town"
    answer = f"{argument}, and nuclear plants need much water."
    found = align([argument], answer, encoder())
    assert found.p_missing[0] < 0.01 and found.p_unsupported_sentences[0] > 0.5


def test_a_passages_sentence_that_the_answer_says_is_not_missing() -> None:
    passage = "The harbour was deepened in 1911. Seagrass died within a few years of the work."
    answer = "The harbour was deepened in 1911, and seagrass died within a few years of the work, as fishermen say."
    asked = Item(question="Was the harbour deepened, and what happened?", answer=answer, context=[passage])
    assert eirene.refine(asked).answer == answer
    assert (number(scores(asked, answer)["alignment"].coverage) or 0.0) < 0.01


def test_a_part_that_says_one_argument_again_and_another_for_the_first_time_is_no_repetition() -> None:
    a, b = "trees cool the town in summer", "trees clean the air of dust"
    found = align([a, b], f"{a}. {a}, {b}.", WordOverlapEncoder())
    assert found.features.said.all(axis=0).any() and repeats(found) == ()
