"""Where the CPU time of a row's gate and detectors goes: the encoder's runs, each check, each detector, one thread.

    EIRENE_THREADS=1 python benchmarks/gate_stages.py [--rows 100]

Rows, and rewrites that the gate mostly accepts, are those of `benchmarks/peers/rows.py`; every row has a subject of its
own, so that nothing of it is known before. Prints milliseconds of CPU and calls a row; a stage's time is its own,
without the stages that it calls.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import onnxruntime

sys.path.insert(0, str(Path(__file__).parent / "peers"))

from rows import rewrite, row

import eirene.alignment.comparison
from eirene.agent.backends import resolve_backend
from eirene.agent.gate.checks.registry import NamedCheck
from eirene.agent.gate.edits import Rewrite, check_edits
from eirene.agent.state import Parts
from eirene.core.grounding import grounding_for
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.models.encoder.runtime import Encoder, shipped_encoder
from eirene.models.verifier.runtime import Verifier

WARM = 30
"""Rows before those that count."""


class Stages:
    """The CPU seconds and calls of wrapped functions."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._open = threading.local()

    def timed(self, work: Callable[..., Any], name: str) -> Callable[..., Any]:
        """The function, its own time counted under the name; a generator is run to its end."""

        def run(*args: Any, **named: Any) -> Any:
            inner: list[float] = self._open.__dict__.setdefault("inner", [])
            began = time.thread_time()
            inner.append(0.0)
            try:
                found = work(*args, **named)
                return tuple(found) if name.startswith("check ") else found
            finally:
                whole = time.thread_time() - began
                self.seconds[name] += whole - inner.pop()
                self.calls[name] += 1
                if inner:
                    inner[-1] += whole

        return run

    def wrap(self, owner: Any, attribute: str, name: str) -> None:
        """Has a function or method counted."""
        setattr(owner, attribute, self.timed(getattr(owner, attribute), name))

    def clear(self) -> None:
        """Begins anew."""
        self.seconds.clear()
        self.calls.clear()


def prepared(stages: Stages) -> Parts:
    """The embedded parts, with what is to be told apart wrapped."""
    stages.wrap(onnxruntime.InferenceSession, "run", "onnxruntime (encoder and verifier)")
    stages.wrap(Encoder, "encode", "around the encoder")
    stages.wrap(Encoder, "tokens", "around the encoder's tokens")
    stages.wrap(Verifier, "read", "around the verifier")
    stages.wrap(eirene.alignment.comparison, "_compare_sides", "alignment")
    parts = resolve_backend("embedded")

    def timed(check: NamedCheck) -> NamedCheck:
        mended = check.mended and stages.timed(check.mended, f"check {check.name}, mended")
        return replace(check, find=stages.timed(check.find, f"check {check.name}"), mended=mended)

    return replace(parts, checks=tuple(map(timed, parts.checks)))


def process(numbers: Iterable[int], parts: Parts, stages: Stages) -> None:
    """Gate and detectors of some rows."""
    checked = stages.timed(check_edits, "the rest of the gate")
    for n in numbers:
        item = Item.model_validate({name: value for name, value in row(n).items() if name != "statements"})
        given = grounding_for(item, None)
        found = checked(
            Rewrite(item.question, item.answer, rewrite(n), given), parts.checks, shipped_encoder(), parts.verifier
        )
        for detector in parts.detectors:
            score = stages.timed(lambda case, d=detector: asyncio.run(d.score(case, meter=Meter())), detector.name)
            for text in (item.answer, found.text):
                score(Case(item.question, text, given))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100)
    count = parser.parse_args().rows
    stages = Stages()
    parts = prepared(stages)
    process(range(count, count + WARM), parts, stages)
    stages.clear()
    process(range(count), parts, stages)
    print(f"{1000 * sum(stages.seconds.values()) / count:.1f} ms of CPU a row")
    for name, seconds in stages.seconds.most_common():
        print(f"{1000 * seconds / count:7.2f} ms {stages.calls[name] / count:6.1f} calls  {name}")


if __name__ == "__main__":
    main()
