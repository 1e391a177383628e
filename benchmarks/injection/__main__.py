"""Puts 200 hostile texts into every place of a row and counts what they move; then opens every page with them.

    python -m benchmarks.injection                         # the loop, pages and terminals: some 20 CPU-minutes
    python -m benchmarks.injection --only loop --shard 1/3
    python -m benchmarks.injection --only model --base-url http://127.0.0.1:8899/v1 --model NAME

The journal holds what is done: the same command goes on there. What it found is written into docs/results/injection.md.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from harness import Journal, arguments, drawn

from benchmarks.faults.rows import KEY
from benchmarks.injection import loop, page, pages, real
from benchmarks.injection.attacks import PLACES, Attack, attacks

ALL = tuple(loop.DEFENCES)
SWITCHES: dict[str, tuple[str, ...]] = {
    "all": (),
    "none": ALL,
    "all but the fence": ("fence",),
    "the fence and its random name alone": ALL[2:],
    "all but the random name": ("random name",),
    "all but the stripping of control tokens": ("control tokens",),
    "all but one line each": ("one line each",),
    "all but the form": ("form",),
    "the gate's checks alone": ALL[:-1],
    "all but the gate's checks and the fence": ("fence", "gate's checks"),
}
"""What is switched off, by what the page calls it."""
CHUNK = 50


def chunks(texts: list[Attack]) -> Iterator[tuple[str, str, int, list[tuple[Attack, str]]]]:
    """Setting, role and rows: with all defences every text in every place, else half of them, each in one place."""
    everywhere = [(text, place) for place in PLACES for text in texts]
    own = [(text, PLACES[text.n // 2 % len(PLACES)]) for text in texts if (text.n + text.n // 8) % 2 == 0]
    for setting in SWITCHES:
        for role in loop.ROLES:
            rows = everywhere if setting == "all" and role != "writer" else own
            for start in range(0, len(rows), CHUNK):
                yield setting, role, start, rows[start : start + CHUNK]


def work(options: argparse.Namespace, texts: list[Attack]) -> Iterator[tuple[str, Callable[[], list[Any]]]]:
    """Each thing to do with its key in the journal."""
    if options.only in ("", "loop"):
        for setting, role, start, rows in chunks(texts):
            yield f"loop, {setting}, {role}, {start}", partial(_moved, rows, role, SWITCHES[setting])
    if options.only in ("", "pages"):
        yield "pages", lambda: list(pages.in_browser(texts))
        yield "terminals", lambda: list(pages.at_terminals(texts))
    if options.only == "model":
        few = [(text, PLACES[n % 5]) for n, text in enumerate(drawn(texts, options.texts, options.seed))]
        for way in real.WAYS:
            for start in range(0, len(few), 4):
                ask = partial(real.run, few[start : start + 4], way, model=options.model, base_url=options.base_url)
                yield f"model, {way}, {start}", lambda ask=ask: list(ask())


def _moved(rows: list[tuple[Attack, str]], role: str, off: tuple[str, ...]) -> list[Any]:
    return [[text.n, place, made] for (text, place), made in zip(rows, loop.run(rows, role, off), strict=True)]


def main() -> None:
    """Does what is missing and writes the page."""
    parser = arguments(__doc__, data=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("", "loop", "pages", "model"), default="")
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="the K-th of N processes, each with its journal")
    parser.add_argument("--journal", type=Path, default=Path("injection.jsonl"), metavar="FILE")
    parser.add_argument("--model", default="", help="a model for --only model, at --base-url")
    parser.add_argument("--base-url", default="")
    parser.add_argument("--texts", type=int, default=60, help="how many it is asked about")
    options = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = KEY
    journal, (shard, of) = Journal(options.journal), map(int, options.shard.split("/"))
    todo = list(work(options, attacks(options.seed)))[shard - 1 :: of]
    for at, (name, do) in enumerate(todo, start=1):
        key = f"{name}, seed {options.seed}"
        if key not in journal.rows:
            journal.add(key, found=do())
        print(f"{at}/{len(todo)} {key}", flush=True)
    page.write(journal.rows, options.seed)


if __name__ == "__main__":
    main()
