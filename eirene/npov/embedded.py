"""The embedded writer: words every argument in the mouth of its side, and checks what a model wrote. English only.

Every verb is one that takes no stand: nobody "points out", "admits" or "claims". All sides get the same openings in the
same order, so that none is treated better.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eirene.alignment import align
from eirene.core.errors import InputError
from eirene.core.signature import rng_for
from eirene.core.usage import Meter
from eirene.data.topics import Side, Topic
from eirene.npov.writers import Draft, WriteTask
from eirene.text.english import Decapitalizer, as_sentence, is_statement, side_of
from eirene.text.language import other_language, unsupported_language
from eirene.text.sentences import split_sentences

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

INTRODUCTIONS = (
    "There is no agreed answer to this question; here is what each side says.",
    "Opinions differ on this question, and each side has its arguments.",
    "People disagree about this question, and each side gives its reasons.",
)
"""None repeats the question: its words would stand in the response without being anybody's argument."""
SPEAKERS = {"for": "Supporters", "against": "Opponents"}
# {who}: the speakers. The first of a side, then the others; each for statements and for what cannot follow "that".
FIRST = ("{who} say that", "{who} argue that", "{who} hold that")
FURTHER = (
    "They add that", "{who} also say that", "A further argument they make is that", "They also argue that",
    "{who} also hold that", "Another reason they give is that",
)  # fmt: skip
FIRST_AS_IT_IS = ("{who} give this reason:", "{who} make this argument:")
FURTHER_AS_IT_IS = ("They give a further reason:", "They make another argument:", "{who} also give this reason:")
_MOST_REPEATED = 2
"""Words of a name up to which it may come again and again."""
LIKELY = 0.5
"""Probability from which something is reported."""


class EmbeddedWriter:
    """Composes a response from the arguments, with openings that vary and are the same for every side.

    Sides come in an order drawn with the seed, the arguments of a side as the topic has them, a paragraph for each
    side. Calls no model and costs nothing. Raises `InputError` for a topic in another language than English.
    """

    name = "embedded"
    version = ""

    async def write(self, task: WriteTask, *, meter: Meter) -> Draft:
        """The response; nothing goes on `meter`, since nothing is called."""
        return compose(task.topic, seed=task.seed)


def compose(topic: Topic, *, seed: int) -> Draft:
    """What `EmbeddedWriter` writes: the same topic and seed give the same text."""
    texts = [topic.question, *(argument.text for _, argument in topic.arguments)]
    whole = " ".join(texts)
    language = other_language(whole)
    if language is not None:
        raise InputError(
            f"the topic {topic.id!r} reads as {language}, and the embedded writer knows English alone; "
            "name a chat model as backend",
            field="backend",
        )
    rng = rng_for(seed, "npov")
    introduction = INTRODUCTIONS[int(rng.integers(len(INTRODUCTIONS)))]
    frames = Frames(rng, Decapitalizer(texts), topic.sides)
    paragraphs = []
    for n in rng.permutation(len(topic.sides)):
        side = topic.sides[int(n)]
        paragraphs.append(" ".join(frames.say(a.text, side=side, k=k) for k, a in enumerate(side.arguments)))
    return Draft(introduction, "\n\n".join(paragraphs))


def speakers_of(side: Side) -> str:
    """Who takes a side, as the beginning of a sentence: the topic's own word for them where it has one."""
    if side.speakers is not None:
        text = " ".join(side.speakers.split())
        return text[:1].upper() + text[1:]
    known = SPEAKERS.get(side_of(side.name))
    return known or f"Those on the side {quoted(side.name)}"


def quoted(text: str) -> str:
    """The text on one line in quotation marks that do not end inside it."""
    line = " ".join(text.split())
    return f"“{line.replace('“', '‘').replace('”', '’')}”"


class Frames:
    """Draws the openings of one response for `sides`; argument k of every side gets the same one."""

    def __init__(self, rng: np.random.Generator, letters: Decapitalizer, sides: Sequence[Side]) -> None:
        self._letters = letters
        self._who = {side.name: speakers_of(side) for side in sides}
        # A long name is said once; then they are "they", on every side.
        self._again = all(len(who.split()) <= _MOST_REPEATED for who in self._who.values())
        most = max((len(side.arguments) for side in sides), default=0)
        self._that = _drawn(rng, FIRST, FURTHER, most)
        self._as_it_is = _drawn(rng, FIRST_AS_IT_IS, FURTHER_AS_IT_IS, most)

    def say(self, argument: str, *, side: Side, k: int) -> str:
        """Argument `k` (from 0) of a side as one sentence that names who says it.

        A statement goes on after "that"; anything else stands behind a colon as it is, and in quotation marks where it
        is more than one sentence: nothing is said that nobody is named for.
        """
        plain = as_sentence(argument)
        who = self._who[side.name] if k == 0 or self._again else "They"
        if len(split_sentences(plain)) > 1:
            return f"{self._as_it_is[k].format(who=who)} {quoted(plain)}"
        lowered = self._letters.lowered(plain) if is_statement(plain) else None
        if lowered is None:
            return f"{self._as_it_is[k].format(who=who)} {plain}"
        return f"{self._that[k].format(who=who)} {lowered}"


def _drawn(rng: np.random.Generator, first: Sequence[str], further: Sequence[str], most: int) -> list[str]:
    """One of `first`, then `further` in a drawn order, over and over."""
    order = [further[int(n)] for n in rng.permutation(len(further))]
    return [first[int(rng.integers(len(first)))], *(order[k % len(order)] for k in range(max(0, most - 1)))]


@dataclass(frozen=True, slots=True)
class Check:
    """Ids of the arguments that the response seems not to say, and the sentences of it that no argument seems to back.

    Both are calibrated guesses (docs/concepts/detectors.md), not findings.
    """

    missing: tuple[str, ...]
    unsupported: tuple[str, ...]


def check(topic: Topic, main: str, encoder: Encodes) -> Check | None:
    """The check of a main response; None where it or its topic is in another language than English."""
    if unsupported_language(main, [argument.text for _, argument in topic.arguments]) is not None:
        return None
    ids = [argument.id for _, argument in topic.arguments]
    found = align([argument.text for _, argument in topic.arguments], main, encoder, question=topic.question)
    return Check(
        tuple(i for i, p in zip(ids, found.p_missing, strict=True) if p >= LIKELY),
        tuple(s.text for s, p in zip(found.sentences, found.p_unsupported_sentences, strict=True) if p >= LIKELY),
    )
