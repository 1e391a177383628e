"""The journal of a batch: every finished row stays, once, and no line is believed that was changed."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eirene.agent.batch.entries import DAMAGED, Entries, _outline, failed
from eirene.agent.batch.journal import BatchJournal, line_of
from eirene.agent.batch.rows import JournalWriter
from eirene.agent.batch.runner import RowOutcome, RowWork
from eirene.core.errors import InputError
from eirene.core.records import BeforeAfter, ErrorInfo, Record, parse_item
from eirene.core.usage import Usage
from eirene.data.journal_file import read_lines
from eirene.data.line_checksum import without_seal

SCORES = BeforeAfter(original={}, final={})


def outcome(name: str, *, answer: str = "It depends.", calls: int = 1, error: str | None = None) -> RowOutcome:
    item = parse_item({"id": name, "question": "Trams or buses?", "answer": answer})
    record = Record(
        id=name, question=item.question, original=answer, answer=answer, mode="improve", backend="b", seed=0,
        status="kept" if error is None else "failed", why="", signature="s", rounds=(), scores=SCORES,
        usage=Usage(calls=calls, seconds=0.5), error=None if error is None else ErrorInfo(kind="K", message=error),
    )  # fmt: skip
    return RowOutcome(RowWork(item, f"{len(name):016x}"), record)


def before(line: bytes) -> bytes:
    """A line as earlier versions wrote it."""
    return line[: line.index(b',"line_crc32"')] + b"}"


def write(path: Path, names: Sequence[str], **more: Any) -> None:
    with BatchJournal(path) as journal:
        journal.append([outcome(name, **more) for name in names])


def ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_bytes().splitlines()]


def reopened(path: Path) -> Entries:
    with BatchJournal(path) as journal:
        return journal.entries


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(st.text("aé\u2028😀", max_size=30), st.integers(0, 9)), max_size=4), max_size=5))
def test_whatever_is_appended_over_many_openings_is_there(
    tmp_path_factory: pytest.TempPathFactory, runs: list[list[tuple[str, int]]]
) -> None:
    """The lines in their order, with their figures, and nothing beside them."""
    path, n = tmp_path_factory.mktemp("journal") / "out.jsonl", 0
    for run in runs:
        with BatchJournal(path) as journal:
            assert len(journal.entries) == n
            made = [outcome(f"row-{n + at}", answer=f"A{text}.", calls=calls) for at, (text, calls) in enumerate(run)]
            journal.append(made)
            n += len(made)
    entries = reopened(path)
    assert ids(path) == [f"row-{at}" for at in range(n)]
    assert entries["calls"].tolist() == [calls for run in runs for _, calls in run]
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("cut", [1, 2, 19, 30, 31, 32, 100, 300])
def test_a_torn_last_line_is_taken_away_and_one_that_lacks_its_end_is_kept(path: Path, cut: int) -> None:
    """The checksum stands last: a line that was cut off anywhere has none. Opening alone writes nothing."""
    write(path, ["a", "b"])
    torn = path.read_bytes()[:-cut]
    path.write_bytes(torn)
    with BatchJournal(path) as journal:
        assert len(journal.entries) == (2 if cut == 1 else 1)
        assert path.read_bytes() == torn
        journal.append([outcome("c")])
    assert ids(path) == (["a", "b", "c"] if cut == 1 else ["a", "c"])
    assert len(reopened(path)) == len(ids(path))


@pytest.mark.parametrize(
    "text", [b"\0" * 9, line_of(outcome("a"))[:-2], b'{"id":"a","question":"Why', b'{"id": "a", "ques']
)
def test_half_a_line_alone_is_left_as_it_is(path: Path, text: bytes) -> None:
    """Nobody can tell whose it is."""
    path.write_bytes(text)
    with pytest.raises(InputError, match=r"is no journal of a batch: its only line was cut off; it is left as it is"):
        BatchJournal(path)
    assert path.read_bytes() == text


def test_every_byte_that_is_changed_is_noticed(path: Path) -> None:
    """Wherever it stands, the checksum's own bytes among them; the last line's end alone may be given anew."""
    write(path, ["a", "b", "c"])
    data, want = path.read_bytes(), reopened(path).tobytes()
    second = data.index(b"\n") + 1
    for at in range(second, data.index(b"\n", second) + 1):
        for bit in (1, 8, 32):
            changed = bytearray(data)
            changed[at] ^= bit
            path.write_bytes(changed)
            try:
                assert reopened(path).tobytes() == want, (at, bit)  # white space at the end of a line
            except InputError as error:
                assert re.search(r"out\.jsonl: is damaged in lines? 2", str(error)), error
    assert path.read_bytes() == changed


def test_a_line_without_a_checksum_is_read_as_those_of_earlier_versions(path: Path) -> None:
    """A whole journal of them, or some among others."""
    write(path, ["a", "b", "c"])
    want = reopened(path)
    path.write_bytes(b"".join(before(line) + b"\n" for line in path.read_bytes().splitlines()))
    assert np.array_equal(reopened(path)[["id", "hash", "status"]], want[["id", "hash", "status"]])
    write(path, ["d"])
    assert len(reopened(path)) == 4


@pytest.mark.parametrize("at", [0, 1])
def test_zeros_in_a_line_of_an_earlier_version_are_noticed(path: Path, at: int) -> None:
    """As a disk leaves them that lost its power."""
    lines = [before(line_of(outcome(name))) for name in "ab"]
    lines[at] = lines[at][:90] + b"\0" * 60 + lines[at][150:]
    path.write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(InputError, match=f"is damaged in line {at + 1} "):
        BatchJournal(path)


def test_a_line_that_another_program_wrote_anew_is_not_believed(path: Path) -> None:
    """Unless its checksum is taken out."""
    line = json.loads(line_of(outcome("b")))
    path.write_bytes(line_of(outcome("a")) + json.dumps(line).encode() + b"\n")
    with pytest.raises(InputError, match=r"line 2 \(was written anew by another program.*take 'line_crc32' out"):
        BatchJournal(path)
    del line["line_crc32"]
    path.write_bytes(line_of(outcome("a")) + json.dumps(line).encode() + b"\n")
    assert len(reopened(path)) == 2


def test_damaged_lines_that_are_dropped_are_kept_beside(path: Path) -> None:
    """Each time in a file of their own; the other lines stay as they are."""
    write(path, ["a", "b", "c"])
    lines = path.read_bytes().splitlines(keepends=True)
    broken = lines[1].replace(b"It depends", b"It despends")
    for name in ("out.jsonl.damaged", "out.jsonl.damaged-2"):
        path.write_bytes(lines[0] + broken + lines[2])
        with BatchJournal(path, damaged_ok=True) as journal:
            assert (journal.entries["status"] == DAMAGED).tolist() == [False, True, False]
            journal.drop(journal.entries["status"] == DAMAGED)
        assert path.read_bytes() == lines[0] + lines[2]
        assert path.with_name(name).read_bytes() == broken


def test_lines_that_are_dropped_are_gone_and_the_others_stay_as_they_are(path: Path) -> None:
    """Byte for byte, wherever they stood; the journal goes on."""
    write(path, ["a", "b"])
    write(path, ["c", "d"], error="it fell over")
    write(path, ["e"])
    lines = path.read_bytes().splitlines(keepends=True)
    with BatchJournal(path) as journal:
        journal.drop(failed(journal.entries))
        assert path.read_bytes() == lines[0] + lines[1] + lines[4]
        assert [journal.record(at)["id"] for at in range(3)] == ["a", "b", "e"]
        journal.append([outcome("c")])
    assert ids(path) == ["a", "b", "e", "c"]
    assert len(reopened(path)) == 4


def test_dropping_nothing_leaves_the_file_alone(path: Path) -> None:
    write(path, ["a"])
    before = path.stat()
    with BatchJournal(path) as journal:
        journal.drop(np.zeros(1, np.bool_))
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_an_id_that_stands_twice_is_named_by_both_its_lines(path: Path) -> None:
    write(path, ["a", "b", "c"])
    path.write_bytes(path.read_bytes() + line_of(outcome("b")))
    with pytest.raises(InputError, match=r"out\.jsonl, line 4: has the same id as line 2"):
        BatchJournal(path)


@pytest.mark.parametrize(
    "broken",
    [
        "[]", "{}", '{"id"', {"id": 5}, {"id": "\ud800"}, {"hash": "f" * 64}, {"hash": "-5"}, {"hash": "x"},
        {"status": "fine"}, {"usage": []}, {"usage": {"calls": -1}}, {"usage": {"calls": "x"}},
        {"usage": {"calls": 2**40}}, {"usage": {"calls": None}}, {"usage": {"cost_usd": "x"}},
        {"usage": {"input_tokens": 2**70}},
    ],
)  # fmt: skip
def test_a_line_that_is_none_of_a_batch_is_named_and_left_as_it_is(path: Path, broken: Any) -> None:
    """Whatever its fields hold: one input error with the line's number, and the file stays as it is."""
    if isinstance(broken, dict):
        line = without_seal(json.loads(line_of(outcome("b"))))
        inner = broken.get("usage")
        more = {"usage": {**line["usage"], **inner}} if isinstance(inner, dict) else broken
        broken = json.dumps(line | more)
    data = line_of(outcome("a")) + broken.encode() + b"\n" + line_of(outcome("c"))
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"out\.jsonl: is damaged in line 2 "):
        BatchJournal(path)
    assert path.read_bytes() == data


TEXTS = st.text() | st.lists(
    st.sampled_from(
        ['"', "\\", ',"usage":{"calls":9}', '{"id":"x"', ',"status":"kept"', ',"hash":"' + "0" * 16 + '"}', "é"]
    )
).map("".join)


@given(name=st.text(min_size=1), answer=TEXTS, error=st.none() | TEXTS)
def test_what_a_line_says_in_short_is_what_a_parser_reads(name: str, answer: str, error: str | None) -> None:
    """Also where texts hold the very marks by which the line is read."""
    one = outcome("a", answer="x")
    failure = None if error is None else ErrorInfo(kind="K", message=error)
    record = one.record.model_copy(update={"id": name, "original": answer, "error": failure})
    line = line_of(RowOutcome(one.work, record))
    found, data = _outline(line), json.loads(line)
    assert found is None or found == {key: data[key] for key in ("id", "status", "usage", "hash")}


def test_lines_that_have_run_into_one_another_are_not_taken_for_one(path: Path) -> None:
    """Half a line and a whole one behind it: an input error that names the line."""
    path.write_bytes(line_of(outcome("a")) + line_of(outcome("b"))[:70] + line_of(outcome("c")))
    with pytest.raises(InputError, match=r"out\.jsonl: is damaged in line 2 "):
        BatchJournal(path)


def test_half_a_surrogate_pair_keeps_no_row_from_the_journal(path: Path) -> None:
    """No UTF-8 text can hold one, and a server's error message may: it is replaced, and the row stands."""
    with BatchJournal(path) as journal:
        journal.append([outcome("a", error="bad \ud800 words, good \U0001f600 ones"), outcome("b")])
    assert ids(path) == ["a", "b"]
    assert len(reopened(path)) == 2
    assert json.loads(path.read_text("utf-8").splitlines()[0])["error"]["message"] == "bad \ufffd words, good 😀 ones"


def test_a_listener_that_fails_loses_no_row_and_is_heard(path: Path) -> None:
    """All rows are on disk before its error is raised."""

    def on_written(one: RowOutcome) -> None:
        if one.record.id == "row-1":
            raise RuntimeError("the listener fell over")

    async def go() -> None:
        writer = JournalWriter(journal.append, on_written=on_written, on_fault=lambda error: None)
        for at in range(4):
            await writer.put(outcome(f"row-{at}"))
        await writer.finish()

    with BatchJournal(path) as journal, pytest.raises(RuntimeError, match="fell over"):
        asyncio.run(go())
    assert ids(path) == [f"row-{at}" for at in range(4)]


def test_a_journal_that_is_shorter_than_it_was_is_read_to_its_end() -> None:
    """Whoever looks on has asked for the size before a run has taken a torn line away."""
    data = b"one\ntwo\n"
    found = read_lines(lambda begin, end: data[begin:end], size=20, is_whole=lambda _: False)
    assert list(found) == [
        (b"one", 4),
        (b"two", 8),
    ]
