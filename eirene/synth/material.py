"""Material of a topic: arguments of one sentence that differ clearly from each other.

Whatever is left out is counted under its cause.

Every wording of synthetic answers that is nobody's argument: introductions, fillers, tails and joints.

They claim nothing about the matter. They come with one clause or with two, so that a count of clauses can be evened
out without a word that matters.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from eirene.data.topics import Argument, Topic, key_of
from eirene.npov.embedded import speakers_of
from eirene.text.sentences import split_sentences
from eirene.text.words import stems

Tally = Counter[str]
"""How often something was left out, by cause."""

MIN_WORDS, MAX_WORDS = 3, 40
_NEAR = 0.7
"""Share of common stems from which two texts are too close for one to be missing while the other is said."""
_MARKER = re.compile(r"^(?:[-*+•]|\(?\d{1,3}[.)]|[A-Za-z][.)])\s")
_MARKS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class Point:
    """A usable argument of side `side`: the text that is given, and the usable paraphrases of it."""

    id: str
    side: int
    given: str
    paraphrases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Material:
    """A topic's usable arguments. `names` are the sides' names, `who` how a sentence calls those who take them."""

    topic: str
    question: str
    names: tuple[str, ...]
    who: tuple[str, ...]
    points: tuple[Point, ...]

    def of(self, side: int) -> tuple[Point, ...]:
        """The arguments of one side."""
        return tuple(point for point in self.points if point.side == side)


def material_of(topic: Topic, tally: Tally, *, only_sayable: bool = True) -> Material | None:
    """The usable part of a topic; None, with the cause in `tally`, where it has not two sides with an argument.

    Without `only_sayable` arguments stay that are too long, too short or too broken up to be said in a sentence.
    """
    if len(topic.sides) < 2:
        tally["topic: one side only" if topic.sides else "topic: no arguments"] += 1
        return None
    usable: list[tuple[int, Argument]] = []
    for n, side in enumerate(topic.sides):
        for argument in side.arguments:
            others = [earlier.text for _, earlier in usable]
            cause = (unusable(argument.text) if only_sayable else "") or near_copy(argument.text, others)
            if cause:
                tally[f"argument: {cause}"] += 1
            else:
                usable.append((n, argument))
    points = tuple(
        Point(
            argument.id,
            n,
            one_line(argument.text),
            _paraphrases(argument, [other.text for _, other in usable if other is not argument], tally),
        )
        for n, argument in usable
    )
    if {point.side for point in points} != set(range(len(topic.sides))):
        tally["topic: a side without a usable argument"] += 1
        return None
    names, who = tuple(side.name for side in topic.sides), tuple(speakers_of(side) for side in topic.sides)
    return Material(topic.id, topic.question, names, who, points)


def unusable(text: str) -> str:
    """Why a text cannot stand in a synthetic answer; empty if it can."""
    line = one_line(text)
    if not MIN_WORDS <= len(line.split()) <= MAX_WORDS:
        return f"not {MIN_WORDS} to {MAX_WORDS} words long"
    if line.rstrip("\"'”’)").endswith("?"):
        return "a question"
    if _MARKS.search(line) or _MARKER.match(line) or len(split_sentences(line)) != 1:
        return "not one plain sentence"
    return "" if stems(line) else "no content word"


def near_copy(text: str, others: Iterable[str]) -> str:
    """`a copy of another` or `nearly a copy of another`, if the text is one; else empty."""
    own, key = frozenset(stems(text)), key_of(text)
    for other in others:
        if key_of(other) == key:
            return "a copy of another"
        theirs = frozenset(stems(other))
        if len(own & theirs) >= _NEAR * max(1, len(own | theirs)):
            return "nearly a copy of another"
    return ""


def one_line(text: str) -> str:
    """The text with its white space collapsed."""
    return " ".join(text.split())


def _paraphrases(argument: Argument, others: list[str], tally: Tally) -> tuple[str, ...]:
    """Those paraphrases that are usable, are not the text itself, and say nothing that another argument says."""
    kept: dict[str, str] = {key_of(argument.text): ""}
    for text in argument.paraphrases:
        cause = unusable(text) or near_copy(text, others) or ("a copy of its text" if key_of(text) in kept else "")
        if cause:
            tally[f"paraphrase: {cause}"] += 1
        else:
            kept[key_of(text)] = one_line(text)
    return tuple(text for text in kept.values() if text)


INTRODUCTIONS = {
    1: (
        "Opinions differ on this question.",
        "There is no agreed answer to this question.",
        "People see this matter in different ways.",
        "Here is what is said about it.",
        "This is a disputed question.",
        "Few questions are argued over as often as this one.",
    ),
    2: (
        "Opinions differ on this question, and each side has its arguments.",
        "The question is disputed, and the answer depends on whom one asks.",
        "The matter is disputed, and the sides are far apart.",
        "No answer satisfies everybody, and each camp has its reasons.",
    ),
}
FILLERS = {
    1: (
        "Opinions on this are divided.",
        "The debate has gone on for years.",
        "Many people have not made up their minds yet.",
        "Each camp is sure of its case.",
        "It is a question on which even friends disagree.",
        "Nobody expects an early agreement.",
        "There are good reasons to listen to every side.",
        "The discussion is often a heated one.",
        "Much depends on what a person values most.",
        "None of this settles the matter.",
        "People come to different conclusions here.",
        "The quarrel is an old one.",
        "So far no side has won the other over.",
        "Such questions are rarely decided by one argument alone, least of all in public.",
    ),
    2: (
        "The subject comes up often, and the tone is seldom calm.",
        "The talks have lasted for years, and no end is in sight.",
        "The question is an old one, and the answers have not come any closer.",
        "There is much to be said, and every side has said a lot of it.",
        "A vote would not end the quarrel, and a study would not do so either.",
        "The camps know each other well, but the gap is still wide.",
        "The question is a short one, but the answers are long.",
    ),
}
TAILS = (
    "and the point is often made",
    "and the same thing is heard again and again",
    "and the argument is an old one",
    "and the thought is a common one on this side",
    "and the reason is given again and again",
    "and the idea has been around for years",
    "and the remark is heard at every meeting",
    "and the case is made with some heat",
    "and the conviction behind it is strong",
    "and the words have changed little over the years",
    "and the message is always the same",
    "and the view is a common one",
)
"""A clause behind an argument that adds nothing to it."""
JOINTS = (", and that ", "; they add that ", ", as well as that ", "; they also say that ")
"""Two arguments of one side in one sentence."""


def all_wordings() -> tuple[tuple[int, str], ...]:
    """Every introduction and filler with the number of clauses it stands for, for tests."""
    return tuple((n, text) for table in (INTRODUCTIONS, FILLERS) for n, texts in table.items() for text in texts)
