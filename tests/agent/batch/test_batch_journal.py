"""The journal of a batch and the index beside it: every finished row stays, once, and is known in a moment."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eirene.agent.batch.index import ENTRY, Entries, _outline, index_path, known_entries, scan
from eirene.agent.batch.journal import BatchJournal, failed, line_of
from eirene.agent.batch.runner import Outcome, Work
from eirene.agent.batch.writer import Writer
from eirene.errors import InputError
from eirene.records import BeforeAfter, ErrorInfo, Record, parse_item
from eirene.usage import Usage

SCORES = BeforeAfter(original={}, final={})


def outcome(name: str, *, answer: str = "It depends.", calls: int = 1, error: str | None = None) -> Outcome:
    item = parse_item({"id": name, "question": "Trams or buses?", "answer": answer})
    record = Record(
        id=name, question=item.question, original=answer, answer=answer, mode="improve", backend="b", seed=0,
        status="kept" if error is None else "failed", why="", signature="s", rounds=(), scores=SCORES,
        usage=Usage(calls=calls, seconds=0.5), error=None if error is None else ErrorInfo(kind="K", message=error),
    )  # fmt: skip
    return Outcome(Work(item, f"{len(name):016x}"), record)


def write(path: Path, names: Sequence[str], **more: Any) -> None:
    with BatchJournal(path) as journal:
        journal.append([outcome(name, **more) for name in names])


def ids(path: Path) -> list[str]:
    return [json.loads(line)["id"] for line in path.read_bytes().splitlines()]


def reopened(path: Path) -> Entries:
    with BatchJournal(path) as journal:
        return journal.entries


def known(path: Path) -> Entries:
    """What the index alone says."""
    data = path.read_bytes()
    return known_entries(path, size=len(data), read=lambda begin, end: data[begin:end])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.jsonl"


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(st.text("aé\u2028😀", max_size=30), st.integers(0, 9)), max_size=4), max_size=5))
def test_whatever_is_appended_over_many_openings_is_there_and_so_says_the_index(
    tmp_path_factory: pytest.TempPathFactory, runs: list[list[tuple[str, int]]]
) -> None:
    """The lines in their order; the index has them all, and one that is made anew is the same."""
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
    assert known(path).tobytes() == entries.tobytes()
    index_path(path).unlink()
    assert reopened(path).tobytes() == entries.tobytes()


@pytest.mark.parametrize("cut", [1, 2, 19, 20, 21, 100, 300])
def test_a_torn_last_line_is_taken_away_and_one_that_lacks_its_end_is_kept(path: Path, cut: int) -> None:
    """The hash stands last: a line that was cut off anywhere has none."""
    write(path, ["a", "b"])
    index_path(path).unlink()
    path.write_bytes(path.read_bytes()[:-cut])
    with BatchJournal(path) as journal:
        assert len(journal.entries) == (2 if cut == 1 else 1)
        assert (journal.repaired_bytes == 0) == (cut == 1)
        journal.append([outcome("c")])
    assert ids(path) == (["a", "b", "c"] if cut == 1 else ["a", "c"])
    assert len(reopened(path)) == len(ids(path))


def test_an_index_that_lacks_the_last_lines_or_ends_in_half_an_entry_is_completed(path: Path) -> None:
    """As a kill between the journal and the index leaves it."""
    write(path, ["a", "b", "c"])
    whole = index_path(path).read_bytes()
    for lacks in (ENTRY.itemsize, ENTRY.itemsize + 5, 7):
        index_path(path).write_bytes(whole[:-lacks])
        assert len(reopened(path)) == 3
        assert index_path(path).read_bytes() == whole


def test_an_index_of_more_than_the_journal_has_is_believed_for_the_rest(path: Path) -> None:
    """A journal that lost its last line in a power cut has lost it in the index, too."""
    write(path, ["a", "b", "c"])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]))
    assert len(reopened(path)) == len(known(path)) == 2


@pytest.mark.parametrize("how", ["other", "garbage", "empty", "folder", "shifted"])
def test_a_foreign_index_is_not_believed(path: Path, tmp_path: Path, how: str) -> None:
    """That of another journal, noise, nothing, a folder, that of the journal before a line was edited."""
    write(path, ["a", "b", "c"])
    want, beside = reopened(path).tobytes(), index_path(path)
    if how == "other":
        write(tmp_path / "other.jsonl", ["d", "e"])
        beside.write_bytes(index_path(tmp_path / "other.jsonl").read_bytes())
    elif how == "shifted":
        path.write_bytes(path.read_bytes().replace(b"It depends.", b"It depends!!"))
        index_before = beside.read_bytes()
        beside.unlink()
        want = reopened(path).tobytes()
        beside.write_bytes(index_before)
    else:
        beside.unlink()
        beside.mkdir() if how == "folder" else beside.write_bytes(b"noise" * 99 if how == "garbage" else b"")
    assert reopened(path).tobytes() == want


def test_lines_that_are_dropped_are_gone_and_the_others_stay_as_they_are(path: Path) -> None:
    """Byte for byte, wherever they stood; the journal goes on, and an index of before the dropping is not believed."""
    write(path, ["a", "b"])
    write(path, ["c", "d"], error="it fell over")
    write(path, ["e"])
    lines, index_before = path.read_bytes().splitlines(keepends=True), index_path(path).read_bytes()
    with BatchJournal(path) as journal:
        journal.drop(failed(journal.entries))
        assert path.read_bytes() == lines[0] + lines[1] + lines[4]
        assert [journal.record(at)["id"] for at in range(3)] == ["a", "b", "e"]
        journal.append([outcome("c")])
    assert ids(path) == ["a", "b", "e", "c"]
    entries = reopened(path)
    assert known(path).tobytes() == entries.tobytes()
    index_path(path).write_bytes(index_before)
    assert reopened(path).tobytes() == entries.tobytes()


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
def test_a_line_that_is_none_of_a_batch_is_named_and_left_alone(path: Path, broken: Any) -> None:
    """Whatever its fields hold: one input error with the line's number, and the file stays as it is."""
    if isinstance(broken, dict):
        line = json.loads(line_of(outcome("b")))
        inner = broken.get("usage")
        more = {"usage": {**line["usage"], **inner}} if isinstance(inner, dict) else broken
        broken = json.dumps(line | more)
    data = line_of(outcome("a")) + broken.encode() + b"\n" + line_of(outcome("c"))
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"out\.jsonl, line 2: is no line of a batch's journal"):
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
    line = line_of(Outcome(one.work, record))
    found, data = _outline(line), json.loads(line)
    assert found is None or found == {key: data[key] for key in ("id", "status", "usage", "hash")}


def test_lines_that_have_run_into_one_another_are_not_taken_for_one(path: Path) -> None:
    """Half a line and a whole one behind it: an input error that names the line."""
    path.write_bytes(line_of(outcome("a")) + line_of(outcome("b"))[:70] + line_of(outcome("c")))
    with pytest.raises(InputError, match=r"out\.jsonl, line 2: is no line of a batch's journal"):
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

    def on_written(one: Outcome) -> None:
        if one.record.id == "row-1":
            raise RuntimeError("the listener fell over")

    async def go() -> None:
        writer = Writer(journal, on_written=on_written, on_fault=lambda error: None)
        for at in range(4):
            await writer.put(outcome(f"row-{at}"))
        await writer.finish()

    with BatchJournal(path) as journal, pytest.raises(RuntimeError, match="fell over"):
        asyncio.run(go())
    assert ids(path) == [f"row-{at}" for at in range(4)]


def test_a_journal_that_is_shorter_than_it_was_is_read_to_its_end() -> None:
    """Whoever looks on has asked for the size before a run has taken a torn line away."""
    data = b"one\ntwo\n"
    assert list(scan(lambda begin, end: data[begin:end], begin=0, size=20)) == [(b"one", 4), (b"two", 8)]
