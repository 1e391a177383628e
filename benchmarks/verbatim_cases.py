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

TOPICS = Path(__file__).with_name("verbatim_topics.json")

# {a} and {b} are arguments of one side, {c} is one of the other; each argument's first letter is small.
JOINTS: dict[str, dict[str, str]] = {
    "chosen": {
        "alone": "Supporters say that {a}. They add that {b}. Opponents say that {c}.",
        ", opponents that": "Supporters say that {a}, opponents that {c}. It is also said in favour that {b}.",
        "that a, that b": "Supporters say that {a}, that {b}. Opponents say that {c}.",
        ", which": "Supporters say that {a}, which they hold beside the point that {b}. Opponents say that {c}.",
        ", while": "Supporters say that {a}, while opponents say that {c}. Supporters add that {b}.",
        "and": "Supporters say that {a} and {b}. Opponents say that {c}.",
        "; others": "Those in favour argue that {a}; others reply that {c}. Those in favour also hold that {b}.",
        "colon": "Two reasons are given in favour: {a}, {b}. One is given against it: {c}.",
        "brackets": "Supporters say that {a} (and, they add, {b}). Critics object that {c}.",
        "while, nobody named": "Supporters say that {a}, while {c}. They also say that {b}.",
        "quoted": "Supporters say \"{a}\", opponents \"{c}\". Supporters also say \"{b}\".",
        "without that": "Supporters say {a}, opponents say {c}. Supporters also say {b}.",
        "view": "In the eyes of supporters {a} while in those of opponents {c}. To supporters {b} as well.",
    },
    "aside": {
        ", whereas": "Those in favour argue that {a}, whereas critics fear that {c}. Those in favour add that {b}.",
        "not only": "Not only is it true that {a}, it is also true that {b}, say the supporters. Critics say that {c}.",
        "because": "Supporters are for it because {a} and because {b}. Critics object that {c}.",
        "dash": "Supporters say that {a} \N{EM DASH} and also that {b}. Critics object that {c}.",
        "as well as": "Supporters point out that {a}, as well as that {b}. Critics point out that {c}.",
        "to which": "Supporters say that {a}, to which opponents reply that {c}. Supporters also say that {b}.",
        "plain": "{A}. {B}. However, {c}.",
        "although": "Although {c}, {a} and {b}.",
        "but, nobody named": "{A}, but {c}. Besides, {b}.",
        "denied": "Supporters say that {a}, which opponents deny, and that {b}. Opponents say that {c}.",
        "first, second": "Supporters say, first, that {a}, and second, that {b}. Opponents say that {c}.",
        "some, others": "Some say that {a}, others that {c}, and some also that {b}.",
        "said after": "{A}, supporters say, while, as critics point out, {c}. And {b}, say the supporters.",
        "namely": "Supporters give two reasons, namely that {a} and that {b}; opponents give one, which is that {c}.",
        "in spite of": "Critics warn that {c}; supporters insist that {a} and, what is more, that {b}.",
    },
}  # fmt: skip


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
    topics = [topic for topic in json.loads(TOPICS.read_text("utf-8")) if topic["part"] == part]
    for topic, (joint, pattern), n in product(topics, JOINTS[part].items(), range(3)):
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
