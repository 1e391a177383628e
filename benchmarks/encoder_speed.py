"""How long the shipped encoder takes for the texts of one answer, nothing cached.

    python benchmarks/encoder_speed.py [--encoder FOLDER] [--threads 1] [--repeats 30] [--together 8] [--neighbours 0]

One answer of about 100 words and six arguments: the arguments, the sentences and the clauses of those with several. Run
it pinned to as many cores as threads (`taskset -c 0`) with nothing beside it; the least time is the machine's own.
The last line is what batches across answers would save: so many answers' texts in one call against a call for each.
`--neighbours`: processes beside that keep a core busy each.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

from encoder_auc import unit_texts
from neighbours import neighbours

from eirene.models.encoder import Encoder, load_encoder

ARGUMENTS = (
    "Homework gives pupils the practice that makes new knowledge last.",
    "It teaches children to organise their time.",
    "Parents see what their children are learning.",
    "Homework widens the gap between rich and poor families.",
    "Children need their afternoons for play, sport and sleep.",
    "There is no proof that it improves results in primary school.",
)
ANSWER = (
    "People disagree about whether schools should set homework.",
    "Supporters argue that practising at home helps pupils to remember what they were taught, and that planning"
    " the work shows them how to manage their time.",
    "They also say that families get an idea of what goes on in the classroom.",
    "Opponents reply that children from poor homes fall behind because nobody there can help with difficult tasks.",
    "Young people have to rest and move after a long day at school, but many sit at a desk until the evening.",
    "Besides, studies have not found any benefit for the youngest, while teachers spend hours marking exercises.",
)


def main() -> None:
    """Reads the arguments, measures, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--together", type=int, default=8, help="answers whose texts go into one call")
    parser.add_argument("--neighbours", type=int, default=0, help="processes beside that keep a core busy each")
    options = parser.parse_args()
    with neighbours(options.neighbours):
        measure(options)


def measure(options: argparse.Namespace) -> None:
    """The times of one answer's texts, and what encoding those of several in one call would save."""
    started = time.perf_counter()
    encoder = load_encoder(options.encoder, threads=options.threads, cached_texts=0)
    loaded = time.perf_counter() - started
    texts = list(dict.fromkeys([*ARGUMENTS, *(unit for sentence in ANSWER for unit in unit_texts(sentence))]))
    words = sum(len(sentence.split()) for sentence in ANSWER)
    taken_ms, used_ms = [], []
    for _ in range(options.repeats):
        started, used = time.perf_counter(), time.process_time()
        encoder.encode(texts)
        used_ms.append(1000 * (time.process_time() - used))
        taken_ms.append(1000 * (time.perf_counter() - started))
    print(f"encoder {encoder.digest}, loaded in {loaded:.2f} s, {options.threads} thread(s)")
    print(f"{words} words, {len(ARGUMENTS)} arguments, {len(texts)} texts:")
    print(f"wall time: least {min(taken_ms):.1f} ms, median {statistics.median(taken_ms):.1f} ms")
    print(f"processor time: least {min(used_ms):.1f} ms, median {statistics.median(used_ms):.1f} ms")
    saved = [one_by_one_to_together(encoder, texts, options.together) for _ in range(options.repeats)]
    print(f"one by one to {options.together} answers together, processor time: {statistics.median(saved):.2f} to 1")


def one_by_one_to_together(encoder: Encoder, texts: list[str], answers: int) -> float:
    """Processor time of one call an answer, divided by that of one call for all. Each has a word of its own."""
    by_answer = [[f"{n} {text}" for text in texts] for n in range(answers)]
    started = time.process_time()
    for own in by_answer:
        encoder.encode(own)
    apart = time.process_time() - started
    started = time.process_time()
    encoder.encode([text for own in by_answer for text in own])
    return apart / (time.process_time() - started)


if __name__ == "__main__":
    main()
