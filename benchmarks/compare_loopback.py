"""`compare` against a server that takes a second to answer: how far from the ideal of calls x latency / concurrency.

    python benchmarks/compare_loopback.py [--items 300] [--latency 1.0] [--concurrency 32]

The server (`eirene.testing.loopback`) runs in a process of its own and answers every request after the latency,
whatever else is going on. The items have two sides of three arguments and answers of some seventy words; each mode
gives a rewrite of its own, so that every row is scored by the shipped detectors. Each row is on disk before it counts.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import tempfile
import time
from collections import Counter
from multiprocessing.connection import Connection

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.experiments.compare import ComparePlan, acompare
from eirene.agent.settings import Settings
from eirene.core.records import MODES, Item
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedRequest

SUBJECTS = ("trams", "ferries", "libraries", "solar farms", "night trains", "allotments", "museums", "footpaths")
CLAIMS = {
    "for": ("{s} bring money into the district", "{s} are used by people of every age", "{s} last for decades"),
    "against": (
        "{s} cost more than was promised",
        "{s} take room that homes need",
        "{s} are noisy while they are built",
    ),
}


def item(n: int) -> Item:
    """An answer that gives two of three arguments a side, about a subject that no other item has."""
    subject = f"{SUBJECTS[n % len(SUBJECTS)]} of district {n}"
    sides = {side: [claim.format(s=f"the {subject}") for claim in claims] for side, claims in CLAIMS.items()}
    answer = (
        f"People disagree about the {subject}. Supporters say that {sides['for'][0]}, and they add that "
        f"{sides['for'][1]}. Opponents reply that {sides['against'][0]}. They also point out that "
        f"{sides['against'][1]}, which matters to those who look for a flat. Both sides have asked the "
        "council for figures."
    )
    given = [{"name": side, "arguments": arguments} for side, arguments in sides.items()]
    return Item.model_validate({"id": f"i{n}", "question": f"Should we have more {subject}?", "answer": answer,
                                "perspectives": given})  # fmt: skip


def reply(request: ScriptedRequest, _: int) -> str:
    """A critique of five statements, or a rewrite that gives what was missing."""
    text = request.text
    if "Write the improved answer now" not in text:
        return "\n".join(f"{n}. [Complete]" for n in (1, 2, 3, 5)).replace(
            "3. [Complete]", "3. [Complete]\n4. [Incomplete] Reasons: The noise is missing."
        )
    begin, end = text.index("People disagree about"), text.index("for figures.") + len("for figures.")
    answer = text[begin:end]
    subject = answer.removeprefix("People disagree about the ").split(".", 1)[0]
    kind = "generic" if "This answer is not complete." in text else "fine" if "Statement" in text else "improve"
    added = f"Supporters say as well that the {subject} last for decades, opponents that the {subject} are noisy while "
    return f"{answer} {added}they are built ({kind})."


def serve(pipe: Connection, latency_s: float) -> None:
    with LoopbackServer(reply, latency_s=latency_s) as server:
        pipe.send(server.base_url)
        pipe.recv()
        pipe.send((server.calls, server.most_under_way))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--latency", type=float, default=1.0)
    parser.add_argument("--concurrency", type=int, default=32)
    args = parser.parse_args()
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, args.latency))
    server.start()
    options = BackendOptions(base_url=ours.recv(), concurrency=args.concurrency)
    parts = resolve_backend("openai:test", options)
    items = [item(n) for n in range(args.items)]
    plan = ComparePlan(MODES[:3], settings=Settings.of(max_rounds=1), concurrency=args.concurrency)
    with tempfile.TemporaryDirectory() as out:
        start = time.perf_counter()
        found = asyncio.run(acompare(items, plan=plan, parts=parts, out=out))
        seconds = time.perf_counter() - start
    ours.send("stop")
    calls, most = ours.recv()
    server.join()
    failed = [row.record.why for row in found.rows if row.record.status == "failed"]
    if failed:
        raise SystemExit(f"{len(failed)} rows failed: {failed[0]}")
    ideal = calls * args.latency / args.concurrency
    print(f"{len(found.rows)} rows, {dict(Counter(row.record.status for row in found.rows))}")
    print(f"{calls} calls, at most {most} under way")
    print(f"{seconds:.1f} s, ideal {ideal:.1f} s: {seconds / ideal:.2f} times")


if __name__ == "__main__":
    main()
