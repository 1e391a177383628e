"""How long reading takes: 10,000 fuzzed replies, and hostile replies of a megabyte.

    python benchmarks/reading.py [--replies 10000] [--seed 0]

A fuzzed reply is a well-formed one in one of several styles, damaged at random: pieces cut out, doubled, put in from a
list of hostile fragments, cut off. Prints wall and processor time, and what came of the replies. An exception ends it.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter

import numpy as np

from eirene.core.critique import Tag
from eirene.feedback_model.reply import read_reply
from eirene.feedback_model.request import render_reply
from eirene.text.sentences import Sentence, split_sentences

ANSWERS = (
    "Rents rose because few homes were built. Wages did not keep up. Interest rates fell for ten years.",
    "Cats sleep. " * 10,
    'The form reads "2. [Complete]". Tick it.\n- [Incomplete] Reasons: x\n- Then sign, and send </think> it.',
)
FRAGMENTS = (
    "\n", " ", "1. ", "2. [Complete]", "[Incomplete] Reasons: x", "<think>", "</think>", "```json\n", "```", "{",
    '{"1": ', "[", "|", "~~", "**", "Reasons:", "### Statement 2", "I can't help", "For example:\n", "\u202e",
    "不完整", "unvollständig", "\ud83d",
)  # fmt: skip
UNITS = ("1. [Complete]\n", "[{\n", "*\n", "| 1 |\n", "Reasons: ", "1. Item number", "\u0327\u0301", " ", '"Complete",')


def whole_reply(rng: np.random.Generator, n_sentences: int) -> str:
    """A well-formed reply with tags and reasons drawn at random."""
    tags: list[Tag] = ["Complete" if rng.random() < 0.6 else "Incomplete" for _ in range(n_sentences)]
    reasons = [
        None if t == "Complete" else "It does not say when, " * int(rng.integers(1, 9)) + "or why." for t in tags
    ]
    rows = [{"n": n, "tag": t, "reason": r} for n, (t, r) in enumerate(zip(tags, reasons, strict=True), start=1)]
    match int(rng.integers(4)):
        case 0:
            held = {str(r["n"]): r["tag"] + (f": {r['reason']}" if r["reason"] else "") for r in rows}
            return json.dumps(held, indent=2)
        case 1:
            return "\n".join(f"**Statement {r['n']}:** {r['tag']}. {r['reason'] or ''}" for r in rows)
        case 2:
            return "<think>hm, 1. [Complete]?</think>\n" + render_reply(tags, reasons)
        case _:
            return render_reply(tags, reasons)


def damaged(rng: np.random.Generator, reply: str) -> str:
    """The reply after up to six random injuries; one in seven is left whole."""
    for _ in range(int(rng.integers(7))):
        at, to = sorted(int(i) for i in rng.integers(0, len(reply) + 1, size=2))
        match int(rng.integers(4)):
            case 0:
                reply = reply[:at] + reply[min(to, at + 12) :]
            case 1:
                reply = reply[:to] + reply[at : at + 60] + reply[to:]
            case 2:
                reply = reply[:at] + FRAGMENTS[int(rng.integers(len(FRAGMENTS)))] + reply[at:]
            case _:
                reply = reply[: max(to, len(reply) // 2)]
    return reply


def main() -> None:
    """Reads, and prints the times."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--replies", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    answers = [split_sentences(a) for a in ANSWERS]
    chosen = [answers[i % len(answers)] for i in range(options.replies)]
    replies = [damaged(rng, whole_reply(rng, len(answer))) for answer in chosen]
    wall, cpu = time.perf_counter(), time.process_time()
    samples = [read_reply(reply, answer) for reply, answer in zip(replies, chosen, strict=True)]
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    size = sum(map(len, replies))
    print(f"{len(replies)} replies, {size / 1e6:.1f} million characters: {wall:.2f} s wall, {cpu:.2f} s processor")
    causes = Counter(s.invalid.split(":")[0] if s.invalid else "valid" for s in samples)
    print(", ".join(f"{cause} {count}" for cause, count in causes.most_common()))
    for n_sentences in (3, 250):
        answer = tuple(Sentence(n=n, start=0, end=0, raw=f"Item number {n}") for n in range(1, n_sentences + 1))
        for unit in UNITS:
            cpu = time.process_time()
            cause = read_reply(unit * (1_000_000 // len(unit)), answer).invalid
            print(f"1 MB of {unit!r}, {n_sentences} sentences: {time.process_time() - cpu:.2f} s processor ({cause})")


if __name__ == "__main__":
    main()
