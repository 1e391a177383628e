"""Other frameworks with the same job, to improve an answer or keep it, at the server that fails by the same schedule.

    python -m benchmarks.faults.peers --only eirene,reflection --journal FILE
    PEERS_VENV/bin/python -m benchmarks.faults.peers --only dspy --journal FILE     # each wants an openai of its own

A journal line a contender, 200 rows each; what it holds is written into docs/results/peers.md. Every contender has its
own retries as they come, and five seconds an attempt.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

from harness import Journal, Row, arguments
from loopback import number_in

import eirene
from benchmarks.faults.jobs import TIMEOUT_S, Heard, options
from benchmarks.faults.ledger import Out, account
from benchmarks.faults.page import PAGE, table
from benchmarks.faults.rows import ADDED, INJECTED, KEY, answer, has_error, row
from benchmarks.faults.server import TRANSPORT, FaultServer, Schedule
from benchmarks.real_model.contenders import CONTENDERS, Refine, Server, Used
from eirene.testing.script import ScriptedRequest

ROW_S = 120.0
SIDES = [{"name": "for", "arguments": [ADDED]}, {"name": "against", "arguments": ["They are cheap."]}]
KINDS = tuple(kind for kind in TRANSPORT if kind != "sends without end")
"""Some peers read such a reply for ever, in memory."""
NAMES = {"eirene": "eirene", "reflection": "langgraph-reflection", "dspy": "dspy", "instructor": "instructor",
         "guardrails": "guardrails-ai"}  # fmt: skip
COUNTS = ("faults", "improved", "kept", "raised", "lost", "doubled", "wrongly scored", "hung", "leaked")
_HEAD = f"""# Peers at the same failing server

Written by `python -m benchmarks.faults.peers`, 200 rows each. The server and its schedule of faults are those of
[trust](trust.md), but that no reply is without end. A peer is asked as its own documentation would: improve the answer,
with its arguments, until a judge, the same model, is content, at most twice more. Retries are as each comes, an attempt
has {TIMEOUT_S:g} seconds. Counted by row:

- improved, kept: the sound rewrite, or the given answer, came out;
- raised: an exception came in their place, and whoever calls must keep the answer;
- lost: nothing came out; doubled: it came twice; hung: nothing came in {ROW_S:g} s;
- wrongly accepted: a text came out that the server sent in no sound reply;
- leaked: the API key, in what came out, in an exception or in the log (once).

"""


class PeerServer(FaultServer):
    """The fault server for prompts that are not Eirene's, in the form that each asks for."""

    def told(self, request: ScriptedRequest) -> tuple[str, str, str]:
        """A judge is content with the sound rewrite, and with an answer that has no error in truth."""
        text, form = request.text, request.body.get("response_format") or {}
        fields = list(form.get("json_schema", {}).get("schema", {}).get("properties", {})) or [
            name for name in ("discussion", "advice", "grade", "improved_answer") if f"## {name} ##" in text
        ]  # dspy names them in the text, and its advice quotes the others
        fields = [name for name in fields if name in ("discussion", "advice")] or fields
        job = "rewrite" if not fields or fields[0].endswith("answer") else "verdict"
        return job, _said(text, fields, bool(form), is_true=True), _said(text, fields, bool(form), is_true=False)


def _said(text: str, fields: Sequence[str], is_json: bool, *, is_true: bool) -> str:
    n, judged = number_in(text), text.rpartition("Answer: ")[2]
    good, better = (ADDED in judged or not has_error(n)) == is_true, f"{answer(n)} {ADDED if is_true else INJECTED}"
    values = {"comment": "I looked at it.", "good": good, "is_valid": good, "reason": "I looked at it.",
              "fixed_value": None, "grade": 10 if good else 2, "answer": better, "improved_answer": better,
              "discussion": "It lacks one.", "advice": {"self": "Say how long they last."}}  # fmt: skip
    if is_json and fields:
        return json.dumps({name: values.get(name) for name in fields})
    shown = [(name, v if isinstance(v := values[name], str) else json.dumps(v)) for name in fields]
    return "\n\n".join(f"[[ ## {name} ## ]]\n{v}" for name, v in [*shown, ("completed", "")]) if fields else better


def eirene_refine(server: FaultServer) -> Refine:
    """Eirene, whose gate is the judge."""
    parts, settings = eirene.resolve_backend("openai:test", options(server)), {"mode": "improve", "max_rounds": 1}

    async def refine(item: Row) -> tuple[str, Used]:
        return (await eirene.arefine(item, backend=parts, settings=settings)).answer, Used()

    return refine


async def outs(refine: Refine, rows: range, hung: list[int]) -> list[Out]:
    """What comes out for each row, four at a time."""
    places = asyncio.Semaphore(4)

    async def one(n: int) -> list[Out]:
        async with places:
            try:
                shown, _ = await asyncio.wait_for(refine({**row(n), "perspectives": SIDES}), ROW_S)
                return [Out(n, shown, shown)] if shown else []
            except TimeoutError as error:
                if str(error):  # its own
                    return [Out(n, str(error), error="raised")]
                hung.append(n)
                return []
            except Exception as error:  # whatever a framework raises is what its caller gets
                return [Out(n, f"{type(error).__name__}: {error}", error="raised")]

    return [out for found in await asyncio.gather(*map(one, rows)) for out in found]


def contend(name: str, rows: range, seed: int) -> dict[str, Any]:
    """One contender's counts."""
    hung, make = list[int](), FaultServer if name == "eirene" else PeerServer
    with Heard.all() as heard, make(Schedule(seed, kinds=KINDS)) as server, asyncio.Runner() as runner:
        runner.get_loop().set_default_executor(ThreadPoolExecutor(8))
        at = Server(server.base_url, "test", KEY, TIMEOUT_S)
        refine = eirene_refine(server) if name == "eirene" else CONTENDERS[name](at)
        runner.run(outs(refine, range(10**6, 10**6 + 4), []))  # what is loaded once
        began, before = time.monotonic(), len(server.requests)
        came = runner.run(outs(refine, rows, hung))
        seconds, calls = time.monotonic() - began, len(server.requests) - before
        found = account(rows, came, server.book, logs="\n".join(heard.lines))
    shown = [out for out in came if not out.error]
    counts = {
        **found.counts, "lost": found.counts["lost"] - len(hung), "hung": len(hung), "faults": found.faults.total(),
        "improved": sum(ADDED in out.shown for out in shown), "raised": len(came) - len(shown),
        "kept": sum(out.shown == answer(out.n) for out in shown),
    }  # fmt: skip
    return {"version": version(NAMES[name]), "rows": len(rows), **counts, "calls": calls / len(rows),
            "seconds": seconds / len(rows), "notes": found.notes}  # fmt: skip


def main() -> None:
    """Runs what is missing, writes the page."""
    parser = arguments(__doc__, data=None)
    parser.add_argument("--only", default=",".join(NAMES))
    parser.add_argument("--journal", type=Path, required=True, metavar="FILE")
    chosen = parser.parse_args()
    os.environ["OPENAI_API_KEY"] = KEY
    journal = Journal(chosen.journal)
    for name in chosen.only.split(","):
        if name not in journal.rows:
            journal.add(name, **contend(name, range(200), seed=0))
        print(journal.rows[name], flush=True)
    lines = [
        [f"{NAMES[name]} {found['version']}", *(str(found.get(count, 0)) for count in COUNTS),
         f"{found['calls']:.1f}", f"{found['seconds']:.1f}"]
        for name, found in journal.rows.items()
    ]  # fmt: skip
    heads = ["wrongly accepted" if count == "wrongly scored" else count for count in COUNTS]
    PAGE.with_name("peers.md").write_text(_HEAD + table(["", *heads, "calls a row", "seconds a row"], lines) + "\n")


if __name__ == "__main__":
    main()
