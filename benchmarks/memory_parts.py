"""What a process of Eirene holds in memory at rest, stage by stage: imports, the encoder, the verifier, rows.

    EIRENE_THREADS=1 python benchmarks/memory_parts.py [--rows 100]

Rows and rewrites are those of `benchmarks/peers/rows.py`, scored, checked and judged by the embedded default without a
server. Prints resident memory (RSS) after each stage in MiB, and what the stage added.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "peers"))

from contender import resident_mib
from rows import rewrite, row


class Stages:
    """Prints a line for each stage."""

    def __init__(self) -> None:
        self._last = 0.0

    def done(self, stage: str) -> None:
        """What is resident now, and how much more than after the stage before."""
        now = resident_mib()
        print(f"{stage:<44} {now:7.1f}  {now - self._last:+7.1f}")
        self._last = now


def main() -> None:
    """Goes through the stages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100)
    rows = parser.parse_args().rows
    stages = Stages()
    stages.done("Python")
    import langgraph.graph  # noqa: F401

    stages.done("LangGraph with langchain-core, LangSmith")
    import langchain_openai  # noqa: F401

    stages.done("OpenAI's client (a batch with a chat model)")
    import eirene
    from eirene.agent import run  # noqa: F401

    stages.done("Eirene's loop")
    from eirene.models.encoder.runtime import shipped_encoder

    shipped_encoder()
    stages.done("encoder: session, weights, tokenizer")
    from eirene.models.verifier.runtime import shipped_verifier

    shipped_verifier()
    stages.done("verifier")
    from eirene.agent.backends import resolve_backend
    from eirene.testing.parts import ScriptedRefiner

    parts = resolve_backend("embedded")

    def refine(n: int) -> None:
        given = {name: value for name, value in row(n).items() if name in ("id", "question", "answer", "perspectives")}
        eirene.refine(
            given, backend=replace(parts, refiner=ScriptedRefiner([rewrite(n)])), mode="improve", max_rounds=1
        )

    refine(0)
    stages.done("the first row: graph, checks, their word lists")
    for n in range(1, rows):
        refine(n)
    stages.done(f"{rows} rows: caches of vectors, tokens, readings")
    for n in range(rows, 3 * rows):
        refine(n)
    stages.done(f"{3 * rows} rows")


if __name__ == "__main__":
    main()
