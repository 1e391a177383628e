"""Whether records are still what they were, byte for byte: digests of some that ship, kept in a file and compared with.

    python benchmarks/record_digests.py --write digests.json
    python benchmarks/record_digests.py --check digests.json    # exit code 1 where one differs

200 records by the embedded backend and 50 through the scripted chat server, in all modes and with all critics; the
journal of a batch, the rows and figures of a comparison, the server's page, its schema and the page of a run. Each is
a SHA-256 of canonical JSON without times, versions and checksums of lines. A row's hash holds the version, and is held
against the file's where that has the same one: journals of before can be gone on with.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
from loopback import item, reply
from verbatim_cases import cases

from eirene import __version__, refine
from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.server.access import ServeOptions
from eirene.agent.server.app import create_app
from eirene.agent.server.engine import Engine
from eirene.agent.settings import Settings
from eirene.core.records import Item, Record
from eirene.core.signature import digest
from eirene.testing.loopback import LoopbackServer
from eirene.views.report import render_page

EXAMPLES = Path(__file__).parents[1] / "examples"
EMBEDDED, CHAT = 200, 50
WAYS: list[dict[str, Any]] = [
    {"mode": "fine-grained"},
    {"mode": "improve"},
    {"mode": "fine-grained", "critic": "both"},
    {"mode": "generic", "max_rounds": 1},
    {"mode": "edit", "critic": "both"},
    {"mode": "fine-grained", "critic": "hallucination", "samples": 5},
    {"mode": "edit", "critic": "hallucination", "removal": "mark"},
    {"mode": "fine-grained", "stop": "beta", "seed": 7},
]
"""What the records are made with, in turn."""
VARIES = {"seconds", "line_crc32", "value_crc32", "hash", "version", "made_at"}
"""Keys whose values are times, versions or checksums."""


def settled(value: Any) -> Any:
    """A JSON value without what differs from run to run."""
    if isinstance(value, dict):
        return {key: settled(inner) for key, inner in value.items() if key not in VARIES and "seconds" not in key}
    if isinstance(value, list):
        return [settled(inner) for inner in value if not (isinstance(inner, dict) and "seconds" in inner.values())]
    return value.replace(__version__, "VERSION") if isinstance(value, str) else value


def examples() -> Iterator[Item]:
    """The rows of the examples, then those of the made-up topics: answers that lack an argument, and whole ones."""
    for path in sorted(EXAMPLES.glob("*.json")):
        row = json.loads(path.read_text("utf-8"))
        yield Item.model_validate({key: value for key, value in row.items() if key != "feedback"})
    for n, case in enumerate(cases("chosen")):
        whole = {"id": f"{case.item.id}-whole", "answer": case.complete}
        yield case.item if n % 2 else case.item.model_copy(update=whole)


def made(items: Iterable[Item], backend: Any) -> dict[str, Any]:
    """A digest for each item's record; the ways take turns, one further each time that they have been through."""
    records = {}
    for n, one in enumerate(items):
        way = WAYS[(n + n // len(WAYS)) % len(WAYS)]
        record = refine(one, backend=backend, **way)
        if record.status == "failed":
            raise SystemExit(f"the record of {one.id} failed: {record.why}")
        records[f"{n} {one.id} {json.dumps(way)}"] = digest(settled(record.model_dump(mode="json")))
    return records


def by_chat() -> dict[str, Any]:
    """Records through the scripted server, one call at a time: their order is part of what is asked."""
    with LoopbackServer(reply) as server:
        parts = resolve_backend("openai:test", BackendOptions(base_url=server.base_url, concurrency=1))
        return made((item(n) for n in range(CHAT)), parts)


def eirene(*command: str) -> None:
    """The command line, in a process of its own."""
    subprocess.run([sys.executable, "-m", "eirene", *command], check=True, capture_output=True)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def by_batch(out: Path) -> dict[str, Any]:
    """The lines of a journal."""
    eirene("batch", str(EXAMPLES / "npov.jsonl"), "--out", str(out / "journal.jsonl"))
    return _journal(out / "journal.jsonl", key=("id",))


def by_comparison(out: Path) -> dict[str, Any]:
    """The rows of a comparison and its figures."""
    eirene("compare", str(EXAMPLES / "npov.jsonl"), "--out", str(out), "--limit", "6")
    figures = settled(json.loads((out / "summary.json").read_text("utf-8")))
    rows = _journal(out / "rows.jsonl", key=("id", "mode"))
    return {**rows, "summary.json": digest(figures)}


def _journal(path: Path, *, key: tuple[str, ...]) -> dict[str, Any]:
    found = {}
    for line in lines(path):
        name = " ".join(line[part] for part in key)
        found[name] = digest(settled(line))
        found[f"{name} {HASH}"] = line["hash"]
    return found


HASH = f"hash of {__version__}"


def by_server() -> dict[str, Any]:
    """The page, the schema, what a chat and a run are answered with, and the page of the run."""
    row = json.loads((EXAMPLES / "dropped-argument.json").read_text("utf-8"))
    given = {"question": row["question"], "answer": row["answer"], "perspectives": row["perspectives"]}

    def render(record: Record, item: Item) -> str:
        timeless = record.model_copy(update={"usage": record.usage.model_copy(update={"seconds": 0.0})})
        return render_page(timeless, item=item)

    async def ask() -> dict[str, Any]:
        engine = Engine(resolve_backend("embedded", BackendOptions()), Settings.of())
        app = create_app(engine, ServeOptions(), render=render)
        asgi = httpx.ASGITransport(app=app)
        async with app.router.lifespan_context(app), httpx.AsyncClient(
            transport=asgi, base_url="http://127.0.0.1:8400"
        ) as client:  # fmt: skip
            page, schema = await client.get("/"), await client.get("/openapi.json")
            begun = (await client.post("/v1/runs", json=given)).json()
            events = await client.get(f"/v1/runs/{begun['id']}/events")
            run = (await client.get(f"/v1/runs/{begun['id']}")).json()
            shown = await client.get(f"/runs/{begun['id']}")
        return {
            "page": digest([page.text, page.headers["content-security-policy"]]),
            "schema": digest(settled(schema.json())),
            "events": digest(re.findall(r"^event: (.*)$", events.text, re.M)),
            "records": digest(settled(run["records"])),
            "page of the run": digest(settled(shown.text)),
        }

    return asyncio.run(ask())


def all_digests() -> dict[str, dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        batch, comparison = Path(folder, "batch"), Path(folder, "comparison")
        batch.mkdir()
        return {
            "embedded": made(islice(examples(), EMBEDDED), "embedded"),
            "chat": by_chat(),
            "batch": by_batch(batch),
            "comparison": by_comparison(comparison),
            "server": by_server(),
        }


def differences(kept: dict[str, dict[str, Any]], now: dict[str, dict[str, Any]]) -> list[str]:
    """What differs, a line each. Hashes of another version are not looked at."""
    found = []
    for group in sorted(kept.keys() | now.keys()):
        before, after = kept.get(group, {}), now.get(group, {})
        for name in sorted(before.keys() | after.keys()):
            if " hash of " in name and not (name in before and name in after):
                continue
            if before.get(name) != after.get(name):
                found.append(f"{group}: {name}: {before.get(name, 'not there')} was, {after.get(name, 'not there')} is")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("--write", metavar="FILE", type=Path)
    either.add_argument("--check", metavar="FILE", type=Path)
    args = parser.parse_args()
    now = all_digests()
    print(", ".join(f"{group} {len(digests)}" for group, digests in now.items()))
    if args.write:
        args.write.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n", "utf-8")
    elif found := differences(json.loads(args.check.read_text("utf-8")), now):
        print("\n".join(found))
        raise SystemExit(f"{len(found)} digests differ")
    else:
        print("all as they were")


if __name__ == "__main__":
    main()
