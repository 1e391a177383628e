"""`eirene batch --ray` over a real Ray on this machine: the records of one process, whatever happens to an actor."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import eirene
from eirene.agent.batch.ray import ray_session
from eirene.core.errors import InputError, MissingExtraError
from eirene.core.records import STATUSES, Record
from eirene.data import read_items
from tests.cli.batch.batch_runs import data

EXAMPLES = Path(__file__).parents[3] / "examples"
LIMIT_S = 280

needs_ray = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra 'ray'")


def start(file: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    script = str(Path(sys.executable).with_name("eirene"))
    return subprocess.Popen(
        [script, "batch", str(file), "--out", str(out), "--ray", "local", "--workers", "2", *more],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def bare(row: dict[str, Any]) -> str:
    row = {key: value for key, value in row.items() if key not in ("hash", "line_crc32")}
    record = Record.model_validate(row)
    return record.model_copy(update={"usage": record.usage.model_copy(update={"seconds": 0.0})}).model_dump_json()


def family(pid: int) -> dict[int, str]:
    """The processes below one, with the name that each shows."""
    parents, names = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            names[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        except (OSError, ValueError):
            continue  # it has ended meanwhile
    below = {pid}
    while more := {child for child, parent in parents.items() if parent in below} - below:
        below |= more
    return {child: names[child] for child in below - {pid}}


@needs_ray
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_records_are_those_of_refine(tmp_path: Path) -> None:
    """Only `usage.seconds` differs, and nothing but our own lines is on standard error."""
    file, out = EXAMPLES / "npov.jsonl", tmp_path / "out.jsonl"
    process = start(file, out)
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, said
    made = {row["id"]: bare(row) for row in lines(out)}
    items = read_items(str(file))
    assert len(made) == len(lines(out)) == len(items)
    record = [eirene.refine(item) for item in items]
    assert [made[item.id] for item in items] == [bare(r.model_dump(mode="json")) for r in record]
    ours = r"refining: |made |warning: (\d+ more times: )?an actor has not begun"  # which a busy machine may bring
    assert all(re.match(ours, line) for line in said.splitlines()), said


@needs_ray
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(sys.platform != "linux", reason="finds the actors in /proc")
def test_a_killed_actor_costs_no_row_and_doubles_none(tmp_path: Path) -> None:
    """Another actor makes again what it had not finished; no process outlives the run."""
    n, out = 40, tmp_path / "out.jsonl"
    process = start(data(tmp_path, n), out)
    while process.poll() is None and not (out.exists() and out.stat().st_size):
        time.sleep(0.02)
    started = family(process.pid)
    actors = [pid for pid, name in started.items() if name.startswith("ray::RowWorker")]
    os.kill(actors[0], signal.SIGKILL)
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, said
    assert Counter(row["id"] for row in lines(out)) == Counter(f"row-{at}" for at in range(n))
    assert {row["status"] for row in lines(out)} <= {*STATUSES} - {"failed"}


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"eirene\[ray\]"), ray_session():
        pass


def test_an_address_of_another_kind_is_refused() -> None:
    """The client protocol (`ray://`) has no futures that an event loop could wait for."""
    for address in ("ray://head:10001", "head", "head:70000", "head:port", ":6379", ""):
        with pytest.raises(InputError, match="HOST:PORT"), ray_session(address):
            pass
