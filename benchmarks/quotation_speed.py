"""How long looking up quotations takes: as the answer and the passages grow together, and on words that repeat.

    python benchmarks/quotation_speed.py

Prints processor seconds for answers with as many altered quotations as there are passages of 150 words, and for 3 long
quotations beside 10 passages, all of the same 20 words in other orders: no word tells where such a quotation stands.
Twice the quotations beside twice the passages should take twice as long, and not four times.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence

from eirene.text.sentences import split_sentences
from eirene.verification.quotations import check_quotations

SIZES = 25, 50, 100, 200


def seconds(answer: str, passages: Sequence[str]) -> float:
    """Processor seconds of one look-up."""
    sentences = split_sentences(answer)
    began = time.process_time()
    check_quotations(answer, sentences, passages, [None] * len(passages))
    return time.process_time() - began


def altered(count: int, rng: random.Random) -> tuple[str, list[str]]:
    """An answer with a quotation of 12 words, two of them changed, from each of as many passages."""
    words = [f"w{chr(97 + n % 26)}{n}" for n in range(3000)] + ["the", "of", "and", "in"] * 200
    passages = [rng.choices(words, k=150) for _ in range(count)]
    quoted = ['"' + " ".join([*p[20:23], "changed", *p[24:27], "more", *p[28:32]]) + '"' for p in passages]
    return f"It says {', '.join(quoted)}.", [" ".join(p) for p in passages]


def repeating(rng: random.Random) -> tuple[str, list[str]]:
    """Long quotations and passages of few words."""
    words = [f"word{chr(97 + n)}" for n in range(20)]
    passages = [" ".join(rng.choices(words, k=400)) for _ in range(10)]
    quoted = ['"' + " ".join(rng.choices(words, k=150))[:900] + '"' for _ in range(3)]
    return f"It says {', '.join(quoted)}.", passages


def main() -> None:
    """Prints a line for each size, with the ratio to the one before."""
    rng = random.Random(0)
    before = None
    for size in SIZES:
        taken = min(seconds(*altered(size, rng)) for _ in range(3))
        ratio = "" if before is None else f", {taken / before:.1f} times as long"
        print(f"{size} quotations x {size} passages: {taken:.3f} s{ratio}")
        before = taken
    print(f"3 quotations x 10 passages of 20 words: {min(seconds(*repeating(rng)) for _ in range(3)):.3f} s")


if __name__ == "__main__":
    main()
