"""Runs Eirene under load for long, and says whether memory, handles, threads and child processes stay flat.

    python -m benchmarks.soak --out DIR                                    # an hour on two cores
    python -m benchmarks.soak --minutes 1 --conversations 200 --out DIR

First `eirene serve` and `eirene batch` side by side, as processes, at a model server that fails now and then; then
conversations of five turns with the chat model, in processes that do nothing else. DIR/soak.jsonl holds every look at
a process: the same command goes on there. Loads that were cut off begin again; conversations go on in new processes.
The exit code is 1 unless all is flat, no chat is lost, and no answer has anything of another conversation.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from harness import Journal, arguments

from benchmarks.soak.load import load
from benchmarks.soak.page import PAGE, is_sound, write
from benchmarks.soak.talks import talk


def main() -> None:
    """Runs what is missing, writes the page."""
    parser = arguments(__doc__, data=None)
    parser.add_argument("--minutes", type=float, default=30.0, help="of load on serve and batch")
    parser.add_argument("--conversations", type=int, default=10_000)
    parser.add_argument("--most", type=float, default=60.0, metavar="MINUTES", help="for conversations")
    parser.add_argument("--clients", type=int, default=8, help="of serve, at once")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds that the model server takes")
    parser.add_argument("--workers", type=int, default=2, help="processes that converse")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = "none-needed"
    journal = Journal(options.out / "soak.jsonl")
    if "load" not in journal.rows:
        load(options, journal)
    talk(options, journal, end=time.monotonic() + 60 * options.most)
    write(options.page, journal.rows, options)
    raise SystemExit(not is_sound(journal.rows))


if __name__ == "__main__":
    main()
