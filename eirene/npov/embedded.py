"""The embedded writer: says every argument, each in the mouth of its side, and nothing else. English only."""

from __future__ import annotations

from eirene.errors import InputError
from eirene.language import other_language
from eirene.npov.frames import Frames
from eirene.npov.writer import Draft, WriteTask
from eirene.phrasing import Letters
from eirene.seeds import rng_for
from eirene.topics import Topic
from eirene.usage import Meter

INTRODUCTIONS = (
    "There is no agreed answer to this question; here is what each side says.",
    "Opinions differ on this question, and each side has its arguments.",
    "People disagree about this question, and each side gives its reasons.",
)
"""None repeats the question: its words would stand in the response without being anybody's argument."""


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
    frames = Frames(rng, Letters(texts), topic.sides)
    paragraphs = []
    for n in rng.permutation(len(topic.sides)):
        side = topic.sides[int(n)]
        paragraphs.append(" ".join(frames.say(a.text, side=side, k=k) for k, a in enumerate(side.arguments)))
    return Draft(introduction, "\n\n".join(paragraphs))
