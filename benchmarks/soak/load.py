"""`eirene serve` and `eirene batch` as processes under load, at a model server of their own that fails now and then."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import openai
from harness import Journal, read_rows, write_rows
from loopback import uses

from benchmarks.faults.rows import answer, chance, question, row
from benchmarks.faults.server import FaultServer, Schedule
from eirene.testing.script import ScriptedRequest

LOOK_S = 5.0
ROWS = 2_000
"""Texts that differ, so that caches are as full as they get after some minutes."""
ROWS_A_MINUTE = 3_000
"""More than a batch makes."""
KINDS = ("drops", "cuts", "sends half of a JSON", "fails within", "is overloaded", "rate-limits")
_EIRENE = [sys.executable, "-m", "eirene"]


class Model(FaultServer):
    """The fault server, but that it forgets what came, so that it lasts."""

    def _noted(self, body: bytes, headers: dict[str, str]) -> ScriptedRequest:
        request = super()._noted(body, headers)
        self.requests.clear()
        if len(self._seen) > 10 * ROWS:
            self._seen.clear()
        return request


@contextlib.contextmanager
def model(options: argparse.Namespace) -> Iterator[str]:
    """The model server in a process of its own, so that its work is not counted; its address."""
    ours, theirs = Pipe()
    process = get_context("spawn").Process(target=_serve, args=(theirs, options.seed, options.latency), daemon=True)
    process.start()
    yield ours.recv()
    process.terminate()
    process.join()


def _serve(pipe: Connection, seed: int, latency_s: float) -> None:
    faults = Schedule(seed, transport=0.01, choices=0.02, stubborn=0.002, delayed=0.02, bad=0.02, kinds=KINDS)
    with Model(faults) as server:
        server.latency_s = latency_s
        pipe.send(server.base_url)
        pipe.recv()


def load(options: argparse.Namespace, journal: Journal) -> None:
    """Both commands side by side until the time is up; every look goes into the journal, at the end the sums."""
    with model(options) as url, tempfile.TemporaryDirectory() as name, tempfile.TemporaryFile() as log:
        out, rows = Path(name) / "out.jsonl", Path(name) / "in.jsonl"
        count = int(ROWS_A_MINUTE * options.minutes) + 1
        write_rows(rows, [{**row(n % ROWS), "id": f"i{n}"} for n in range(count)])
        given = ["--base-url", url, "--backend", "openai:test", "--samples", "4", "--max-rounds", "1"]
        command = [*_EIRENE, "batch", str(rows), "--out", str(out), *given, "--concurrency", "4"]
        batch = subprocess.Popen(command, stdout=log, stderr=log)
        serve = subprocess.Popen([*_EIRENE, "serve", "--port", "0", *given], stderr=subprocess.PIPE, text=True)
        with batch, serve, ThreadPoolExecutor(1) as pool:
            assert serve.stderr is not None
            clients = Clients(f"{serve.stderr.readline().split(' at ')[1].split()[0]}/v1", options)
            said = pool.submit(serve.stderr.read)  # or its pipe fills up
            pids = {"serve": serve.pid, "batch": batch.pid}
            asyncio.run(drive(journal, pids, clients, lines_in(out), 60 * options.minutes))
            for process in (serve, batch):
                process.terminate()
            codes = {"serve": serve.wait(600), "batch": batch.wait(600)}
        ids = Counter(line["id"] for line in read_rows(out))
        journal.add("load", pids=pids, exit_codes=codes, rows=len(ids), doubled=ids.total() - len(ids),
                    traces=said.result().count("Traceback"), **clients.found())  # fmt: skip


def lines_in(file: Path) -> Iterator[int]:
    """How many lines a file has by now, each time it is asked."""
    lines = read = 0
    while True:
        if file.exists():
            with file.open("rb") as journal:
                journal.seek(read)
                new = journal.read()
            lines, read = lines + new.count(b"\n"), read + len(new)
        yield lines


async def drive(
    journal: Journal, pids: Mapping[str, int], clients: Clients, lines: Iterator[int], seconds: float
) -> None:
    """The clients' chats, and what each process has meanwhile, every few seconds."""
    began = time.monotonic()
    running = asyncio.create_task(clients.run(began + seconds))
    for n in itertools.count():
        passed = time.monotonic() - began
        items = {"serve": clients.done.total(), "batch": next(lines)}
        for name, pid in pids.items():
            journal.add(f"{name} {n}", process=f"eirene {name}", pid=pid, at=passed, items=items[name], **uses(pid))
        if n % 12 == 0:
            left = f"{(seconds - passed) / 60:.0f} minutes are left"
            print(f"{items['serve']:,} chats, {items['batch']:,} rows; {left}", flush=True)
        if passed >= seconds:
            break
        await asyncio.sleep(min(LOOK_S, seconds - passed))
    await running


class Clients:
    """OpenAI's client, several at once without a pause: streams and plain, with passages and without; some die."""

    def __init__(self, url: str, options: argparse.Namespace) -> None:
        self._client = openai.AsyncOpenAI(base_url=url, api_key="none-needed", timeout=120, max_retries=0)
        self._numbers, self._many, self._seed = itertools.count(), options.clients, options.seed
        self.done, self.lost, self.seconds = Counter[str](), list[str](), list[float]()

    async def run(self, end: float) -> None:
        """Chats until then."""

        async def one() -> None:
            while time.monotonic() < end:
                await self._chat(next(self._numbers))

        await asyncio.gather(*(one() for _ in range(self._many)))
        await self._client.close()

    async def _chat(self, n: int) -> None:
        began, at = time.monotonic(), n % ROWS
        ask: dict[str, Any] = {"model": "test", "messages": [{"role": "user", "content": question(at)}]}
        ask["messages"] += [{"role": "assistant", "content": answer(at)}] if n % 5 == 0 else []
        ask["extra_body"] = {"context": [answer(at), "A district has its own council."]} if n % 3 == 0 else {}
        dies = 0.5 * chance("dies", self._seed, n) if n % 7 == 0 else None
        try:
            status = await asyncio.wait_for((self._stream if n % 2 else self._plain)(ask), dies)
        except TimeoutError:
            status = "client died"
        except (openai.APIConnectionError, ValueError) as error:
            status = "lost"
            self.lost.append(f"chat {n}: {type(error).__name__}: {error}"[:300])
        except openai.APIError as error:  # it was told, as before a draft it must be; a stream by an event
            status = f"HTTP {error.status_code}" if isinstance(error, openai.APIStatusError) else "an event's error"
        if status not in ("client died", "lost"):
            self.seconds.append(time.monotonic() - began)
        self.done[status] += 1

    async def _plain(self, ask: dict[str, Any]) -> str:
        reply = await self._client.chat.completions.create(**ask)
        return str((reply.model_extra or {})["eirene"]["status"])

    async def _stream(self, ask: dict[str, Any]) -> str:
        status = ""
        async with await self._client.chat.completions.create(**ask, stream=True) as stream:
            async for chunk in stream:
                status = str((chunk.model_extra or {}).get("eirene", {}).get("status", status))
        if not status:
            raise ValueError("a stream that ended without its record")
        return status

    def found(self) -> dict[str, Any]:
        """Sums."""
        times = [round(float(value), 2) for value in np.percentile(self.seconds, [50, 95, 99])]
        return {"chats": self.done.total(), "statuses": self.done, "lost": self.lost, "seconds": times,
                "load_average": os.getloadavg()[0]}  # fmt: skip
