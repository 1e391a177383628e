"""Topics for tests: invented, as many as wanted, with arguments of one clause or two."""

from __future__ import annotations

from pathlib import Path

from eirene.core.signature import rng_for
from eirene.data.topics import Topic, parse_topic, read_topics

EXAMPLES = Path(__file__).parents[2] / "examples" / "topics.jsonl"
TOPICS = read_topics(str(EXAMPLES))

_NOUNS = [
    "bridge",
    "market",
    "garden",
    "letter",
    "tower",
    "engine",
    "river",
    "forest",
    "basket",
    "window",
    "library",
    "harbour",
    "orchard",
    "festival",
    "museum",
    "village",
    "carpet",
    "kitchen",
    "teacher",
    "sailor",
    "painter",
    "baker",
    "farmer",
    "singer",
    "doctor",
    "lantern",
    "mountain",
    "island",
    "pocket",
    "mirror",
    "candle",
    "blanket",
    "hammer",
    "ladder",
    "needle",
    "pillow",
    "saddle",
    "shovel",
    "spoon",
    "ticket",
]
_VERBS = [
    "improves",
    "protects",
    "replaces",
    "weakens",
    "supports",
    "prevents",
    "damages",
    "creates",
    "reduces",
    "threatens",
]
_EXTRAS = ["in winter", "for many years", "near the old coast road", "at very low cost", "without much noise", ""]


def invented(number: int, *, per_side: int = 4) -> list[Topic]:
    """Topics about nothing, each argument in words that no other of its topic has; two paraphrases each."""
    return [_topic(n, per_side) for n in range(number)]


def _topic(n: int, per_side: int) -> Topic:
    rng = rng_for(0, "invented", n)
    nouns = iter([_NOUNS[int(i)] for i in rng.permutation(len(_NOUNS))])

    def statement() -> str:
        one = f"the {next(nouns)} {_VERBS[int(rng.integers(len(_VERBS)))]} the {next(nouns)}"
        text = f"{one} {_EXTRAS[int(rng.integers(len(_EXTRAS)))]}".strip()
        return text[:1].upper() + text[1:] + "."

    def argument() -> dict[str, object]:
        text = statement()
        if rng.random() < 0.3:
            text = f"{text[:-1]}, and the price of it is the lowest of all."
        bare = text[0].lower() + text[1:]
        return {"text": text, "paraphrases": [f"Every year {bare}", f"In this country {bare}"]}

    sides = [{"name": name, "arguments": [argument() for _ in range(per_side)]} for name in ("pro", "con")]
    return parse_topic({"id": f"invented-{n}", "question": f"Should case {n} be decided?", "perspectives": sides})
