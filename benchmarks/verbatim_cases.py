"""Answers that say every argument word for word, alone or two to a sentence, over made-up topics.

A case is a complete answer and the same one with an argument left out. The topics and the joints are in two parts: one
that may be looked at while something is chosen, one that is kept aside.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from eirene.core.records import Item

DATA = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
"""Topics, and by part the joints: {a} and {b} are arguments of one side, {c} is one of the other, with small first
letters; {A}, {B} and {C} have large ones."""


@dataclass(frozen=True, slots=True)
class Case:
    """A `complete` answer to an item's question; the item's own answer lacks the argument `left_out` of it."""

    joint: str
    item: Item
    complete: str
    left_out: str


def cases(part: str) -> list[Case]:
    """The cases of one part, topic by topic and joint by joint: each joint with each of three choices of arguments."""
    return list(_cases(part))


def _cases(part: str) -> Iterator[Case]:
    topics = [topic for topic in DATA["topics"] if topic["part"] == part]
    for topic, (joint, pattern), n in product(topics, DATA["joints"][part].items(), range(3)):
        a, b, c = topic["pro"][n], topic["pro"][(n + 1) % 3], topic["con"][n]
        given = [{"name": "pro", "arguments": [a, b]}, {"name": "con", "arguments": [c]}]
        complete = _said(pattern, a, b, c)
        lacking = _said("Supporters say that {a}. Opponents say that {c}.", a, b, c)
        row = {"id": f"{topic['id']}-{joint}-{n}", "question": topic["question"], "answer": lacking}
        item = Item.model_validate({**row, "perspectives": given})
        yield Case(joint, item, complete, b)


def _said(pattern: str, a: str, b: str, c: str) -> str:
    small = {name: text[0].lower() + text[1:] for name, text in (("a", a), ("b", b), ("c", c))}
    return pattern.format(**small, A=a, B=b, C=c)
