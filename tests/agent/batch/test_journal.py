"""The lines of a batch's journal: every finished row stays, once, and no line is believed that was changed."""

from __future__ import annotations

import asyncio
import errno
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from eirene.agent.batch.journal import (
    BatchLine,
    Totals,
    batch_line,
    line_text,
    read_lines,
    read_status,
    save_unwritten,
)
from eirene.agent.batch.rows import JournalWriter
from eirene.agent.batch.runner import RowOutcome, RowWork
from eirene.core.errors import InputError
from eirene.core.records import STATUSES, BeforeAfter, ErrorInfo, Record, parse_item
from eirene.core.usage import Usage
from eirene.data.journal import Journal
from eirene.data.line_checksum import sealed

SCORES = BeforeAfter(original={}, final={})


def outcome(name: str, *, answer: str = "It depends.", calls: int = 1, error: str | None = None) -> RowOutcome:
    item = parse_item({"id": name, "question": "Trams or buses?", "answer": answer})
    record = Record(
        id=name, question=item.question, original=answer, answer=answer, mode="improve", backend="b", seed=0,
        status="kept" if error is None else "failed", why="", signature="s", rounds=(), scores=SCORES,
        usage=Usage(calls=calls, seconds=0.5), error=None if error is None else ErrorInfo(kind="K", message=error),
    )  # fmt: skip
    return RowOutcome(RowWork(item, f"{len(name):016x}"), record)


def write(path: Path, outcomes: Sequence[RowOutcome]) -> list[BatchLine | None]:
    """What stood in the journal before these were appended."""
    with Journal(path) as journal:
        found = [row for _, row in read_lines(path, journal.lines())]
        journal.append(map(line_text, outcomes))
    return found


def ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_bytes().splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


def test_whatever_is_appended_over_many_openings_is_there(path: Path) -> None:
    """The lines in their order, with their figures, and nothing beside them; and the status adds them up."""
    answers = ["It depends.", "Aé\u2028😀.", '"},"usage":{"calls":9},"status":"kept","hash":"0"}', '\\",{"id":"x"']
    made = [outcome(f"row-{n}", answer=answers[n % 4], calls=n) for n in range(8)] + [outcome("bad", error="it fell")]
    for n in range(0, 9, 2):
        assert len(write(path, made[n : n + 2])) == n
    found = write(path, [])
    assert [(row.id, row.usage.calls, row.hash) for row in found if row is not None] == [
        (one.key, one.record.usage.calls, one.work.hash) for one in made
    ]
    assert [json.loads(line)["original"] for line in path.read_bytes().splitlines()][:4] == answers
    status = read_status(path)
    assert (status.totals.rows, status.totals.usage.calls, status.failures, status.is_held) == (9, 29, {"K": 1}, False)
    said = json.loads(status.to_json())
    assert said["statuses"] == dict.fromkeys(STATUSES, 0) | {"kept": 8, "failed": 1}
    assert said["usage"] == Usage(calls=29, seconds=4.5, cost_usd=0.0).model_dump(mode="json")
    assert {name: said[name] for name in ("rows", "accepted_share", "failures", "is_held")} == {
        "rows": 9, "accepted_share": 0.0, "failures": {"K": 1}, "is_held": False,
    }  # fmt: skip
    assert repr(status.totals) == "Totals(rows=9, kept=8, failed=1)"


def test_an_unknown_cost_makes_the_sum_unknown() -> None:
    totals = Totals()
    for cost, whole in ((0.25, 0.25), (0.5, 0.75), (None, None), (0.5, None)):
        used = Usage(calls=1, input_tokens=2, cost_usd=cost)
        totals.add(BatchLine(id="a", hash="", status="accepted", usage=used))
        assert totals.usage.cost_usd == whole
    assert (totals.usage.calls, totals.usage.input_tokens, totals.statuses["accepted"]) == (4, 8, 4)


def test_rows_that_a_full_disk_kept_out_are_saved_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the error says where, or that they are lost."""
    made, full = [outcome("a"), outcome("b")], OSError(errno.ENOSPC, "No space left on device", "out.jsonl")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    told = save_unwritten(made, full)
    (saved,) = tmp_path.glob("eirene-batch-*.jsonl")
    assert (told.errno, told.filename) == (errno.ENOSPC, "out.jsonl")
    assert told.strerror == (
        f"No space left on device; 2 finished rows are in {saved}; append them to the journal before the next run"
    )
    assert saved.read_bytes() == b"".join(sealed(line_text(one)) + b"\n" for one in made)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    told = save_unwritten(made, full)
    assert told.strerror == ("No space left on device; 2 finished rows could be written nowhere and will be made again")


def test_every_byte_that_is_changed_is_noticed(path: Path) -> None:
    """Wherever it stands, the checksum's own bytes among them; the last line's end alone may be given anew."""
    write(path, [outcome("a"), outcome("b")])
    whole = path.read_bytes()
    for at in range(len(whole) - 1):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(InputError, match=r"out\.jsonl, line [12]: "):
            write(path, [])


def test_a_line_without_a_checksum_is_read(path: Path) -> None:
    """As one is whose checksum was taken out, to edit it; one that another program wrote anew is not."""
    path.write_bytes(b"".join(line_text(outcome(name)) + b"\n" for name in "ab"))
    assert len(write(path, [outcome("c")])) == 2
    assert len(write(path, [])) == 3
    path.write_bytes(json.dumps(json.loads(sealed(line_text(outcome("a"))))).encode() + b"\n")
    with pytest.raises(InputError, match=r"was written anew by another program.*take 'line_crc32' out"):
        write(path, [])
    path.write_bytes(
        b'{"line_crc32":"00000000",' + line_text(outcome("a"))[1:] + b"\n" + line_text(outcome("b")) + b"\n"
    )
    with Journal(path) as journal:
        rows = [row for _, row in read_lines(path, journal.lines(damaged_ok=True), damaged_ok=True)]
    assert [row and row.id for row in rows] == [None, "b"]


def test_a_line_that_is_none_of_a_batch_is_named_and_left_as_it_is(path: Path) -> None:
    """Whatever its fields hold: one input error with the line's number, and the file stays as it is."""
    line = json.loads(line_text(outcome("b")))
    texts = ["[]", "{}", '{"id"', "\0" * 40, line_text(outcome("b")).decode()[:70] + line_text(outcome("c")).decode()]
    changes: list[dict[str, Any]] = [
        {"id": 5}, {"id": "\ud800"}, {"hash": "f" * 64}, {"hash": "-5"}, {"hash": "x"}, {"status": "fine"},
        {"usage": []}, *({"usage": {**line["usage"], **bad}} for bad in (
            {"calls": -1}, {"calls": "x"}, {"calls": None}, {"cost_usd": "x"},
        )),
    ]  # fmt: skip
    for broken in (*texts, *(json.dumps(line | change) for change in changes)):
        data = line_text(outcome("a")) + b"\n" + broken.encode() + b"\n" + line_text(outcome("c")) + b"\n"
        path.write_bytes(data)
        with pytest.raises(
            InputError, match=r"out\.jsonl, line 2: is .*has such rows made again and keeps the lines in a"
        ):
            read_status(path)
        with Journal(path) as journal:
            found = [row is None for _, row in read_lines(path, journal.lines(damaged_ok=True), damaged_ok=True)]
        assert found == [False, True, False], broken
        assert path.read_bytes() == data
        path.write_bytes(broken.encode() + b"\n" + data)
        with pytest.raises(InputError, match=r"out\.jsonl, line 1: .*--replace-damaged"):
            read_status(path)


def test_a_file_of_something_else_is_no_journal_of_a_batch(path: Path) -> None:
    for text in ('{"id": "a", "question": "Why?", "answer": "So."}\n', "My notes.\n", '{"id":"a","ques'):
        path.write_text(text)
        with pytest.raises(InputError, match=r"out\.jsonl: is no journal of a batch: .* name another file"):
            read_status(path)
        with Journal(path) as journal, pytest.raises(InputError, match="no journal"):
            list(read_lines(path, journal.lines(damaged_ok=True), damaged_ok=True))


def test_half_a_surrogate_pair_keeps_no_row_from_the_journal(path: Path) -> None:
    """No UTF-8 text can hold one, and a server's error message may: it is replaced, and the row stands."""
    text = line_text(outcome("a", error="bad \ud800 words, good \U0001f600 ones"))
    assert batch_line(text) is not None
    assert json.loads(text)["error"]["message"] == "bad \ufffd words, good 😀 ones"


def test_a_listener_that_fails_loses_no_row_and_is_heard(path: Path) -> None:
    """All rows are on disk before its error is raised."""

    def on_written(one: RowOutcome) -> None:
        if one.record.id == "row-1":
            raise RuntimeError("the listener fell over")

    async def go(journal: Journal) -> None:
        writer = JournalWriter(
            lambda some: journal.append(map(line_text, some)), on_written=on_written, on_fault=lambda error: None
        )
        for at in range(4):
            await writer.put(outcome(f"row-{at}"))
        await writer.finish()

    with Journal(path) as journal, pytest.raises(RuntimeError, match="fell over"):
        asyncio.run(go(journal))
    assert ids(path) == [f"row-{at}" for at in range(4)]
