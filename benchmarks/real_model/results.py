"""What a FOLDER of the benchmark holds: for each set and arm a result a row, from Eirene's journals and the peers'."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import Row, read_rows

from benchmarks.real_model.measures import Pairs, measure, repeats
from benchmarks.real_model.rows import SETS, Case, cases_of

USED = ("calls", "input_tokens", "cached_tokens", "output_tokens")


@dataclass(frozen=True)
class Result:
    """What became of a row. `answer` None: it failed, and has no figure; `why` says so. `written`: all rewrites that
    were scored. `status`: a record's; of a peer's row `changed`, `same` or `failed`."""

    case: Case
    answer: str | None
    status: str
    used: Row
    measured: Pairs
    written: tuple[str, ...] = ()
    why: str | None = None


Arms = dict[tuple[str, str], list[Result]]
"""By set and arm; an arm is a mode of Eirene, a peer, or `people`, the person's own correction."""


def read_results(folder: Path) -> Arms:
    """Every row that is there; rows of journals that the cases do not have are left out."""
    cases = {case.id: case for case in cases_of(folder, None, 0)}
    found: Arms = {}
    for name in SETS:
        for file in sorted(folder.glob(f"{name}.*.jsonl")):
            arm = file.name.split(".")[1]
            read = {"peer": of_peer, "jsonl": of_record}.get(file.name.split(".")[2])
            if read is not None:
                rows = {row["id"] if "id" in row else row["key"]: row for row in whole_lines(file)}
                found[name, arm] = [read(cases[i], row) for i, row in sorted(rows.items()) if i in cases]
    corrected = [case for case in cases.values() if case.set == "qa"]
    if corrected:
        found["qa", "people"] = [result(c, c.known["corrected"], "changed", {}) for c in corrected]
    return found


def whole_lines(file: Path) -> Iterator[Row]:
    """The rows of a journal but a line that was cut off."""
    yield from map(json.loads, filter(None, file.read_text("utf-8").rpartition("\n")[0].split("\n")))


def result(case: Case, answer: str | None, status: str, used: Row, **told: Any) -> Result:
    """A row with its measures; a failed one has none."""
    measured = {} if answer is None else measure(case, answer)
    if answer is not None:
        measured["second rounds that repeat the first"] = repeats(told.get("written", ()))
    return Result(case, answer, status, used, measured, **told)


def of_record(case: Case, row: Row) -> Result:
    """A line of `eirene batch`: its record."""
    failed = row["status"] == "failed"
    tried = [r for r in row["rounds"] if r["scores"]]  # what could not be read as a rewrite has no scores
    written = tuple(t for r in tried if (t := r.get("written") or r["candidate"]) is not None)
    answer, why = (None, row["error"]["message"]) if failed else (row["answer"], None)
    used = {name: row["usage"][name] for name in (*USED, "seconds")}
    return result(case, answer, row["status"], used, written=written, why=why)


def of_peer(case: Case, row: Row) -> Result:
    """A line of a peer's journal."""
    used = {name: row[name] for name in (*USED, "seconds") if name in row}
    status = "failed" if row["failed"] else "same" if row["answer"] == case.item["answer"] else "changed"
    return result(case, row["answer"], status, used, why=row["failed"])


def wall(folder: Path) -> dict[str, Row]:
    """Seconds of wall clock and CPU a row of each arm, with the rows at once."""
    found: dict[str, Row] = {}
    for row in read_rows(folder / "times.jsonl") if (folder / "times.jsonl").exists() else ():
        own = found.setdefault(row["arm"], {"rows": 0, "seconds": 0.0, "cpu_s": 0.0, "concurrency": row["concurrency"]})
        for name in ("rows", "seconds", "cpu_s"):
            own[name] += row[name]
    return found
