"""The journal: whatever is on disk stays, once; what is torn is repaired; what is broken is named."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from eirene.core.errors import InputError
from eirene.data.journal import Journal, is_held, open_journal
from eirene.data.line_checksum import sealed


def line(key: str, value: int = 0) -> dict[str, object]:
    return {"key": key, "value": value}


def kept(path: Path) -> list[dict[str, object]]:
    """What a journal is read as."""
    found: list[dict[str, object]] = []
    open_journal(path, on_line=found.append).close()
    return found


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rows.jsonl"


def test_what_was_appended_is_there_when_it_is_opened_again(path: Path) -> None:
    with Journal(path) as journal:
        journal.append([line("a", 1)])
        journal.append([line("b", 2), b'{"key":"c"}'])
    journal.close()  # a second time: nothing, and nobody else's file
    with pytest.raises(ValueError, match="is closed"):
        journal.append([line("d")])
    assert kept(path) == [line("a", 1), line("b", 2), {"key": "c"}]
    assert path.read_text().count("\n") == 3 and not path.stat().st_mode & 0o111
    told: list[tuple[int, int]] = []
    with open_journal(path) as journal:
        journal.append([line("x")] * 2200)
        ends = [one.end for one in journal.lines(on_scan=lambda *read: told.append(read))]
        assert [at.number for at in journal.lines()] == list(range(1, 2204))
    assert told == [(ends[999], ends[-1]), (ends[1999], ends[-1])] and ends[-1] == path.stat().st_size


def test_a_journal_works_without_what_windows_lacks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither locks nor reading at a place; and the bytes are the same there: no line ends in a carriage return."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.delattr(os, "pread")
    with Journal(path) as journal:
        journal.append([line("a", 1), line("b", 2)])
        (begin, end), *_ = [(one.end - len(one.text) - 1, one.end) for one in journal.lines()]
        assert kept(path) == [line("a", 1), line("b", 2)] and b"\r" not in journal.read(begin, end)
        journal.drop([(0, path.read_bytes().index(b"\n") + 1)])
        journal.append([line("c", 3)])
    path.write_bytes(path.read_bytes()[:-1])
    with open_journal(path) as journal:
        journal.append([line("d", 4)])
    assert kept(path) == [line("b", 2), line("c", 3), line("d", 4)]


def test_a_torn_last_line_is_repaired_wherever_it_was_torn(path: Path) -> None:
    """Only the end of a line may be missing without loss: then the line itself is whole, and stays. With a checksum or
    without one. Opening alone writes nothing."""
    for seal in (sealed, bytes):
        whole, torn = (seal(json.dumps(line(key)).encode()) + b"\n" for key in "ab")
        for cut in range(1, len(torn)):
            path.write_bytes(whole + torn[:-cut])
            assert [one["key"] for one in kept(path)] == (["a", "b"] if cut == 1 else ["a"]), cut
            assert path.read_bytes() == whole + torn[:-cut]
            with open_journal(path) as journal:
                journal.mend()  # of a run with nothing left to write
            assert path.read_bytes() == whole + (torn if cut == 1 else b""), cut
            path.write_bytes(whole + torn[:-cut])
            with open_journal(path) as journal:
                journal.append([line("c")])
            assert [json.loads(text)["key"] for text in path.read_bytes().splitlines()] == [
                one for one in "abc" if one != "b" or cut == 1
            ], cut


def test_a_broken_line_is_named_and_left_alone(path: Path) -> None:
    """One that is no JSON, one that was changed, one whose checksum another program moved."""
    good, other = sealed(b'{"key":"a"}') + b"\n", sealed(b'{"key":"b"}')
    for broken in (b'{"key"', b"[1]", other.replace(b'"b"', b'"c"'), json.dumps(json.loads(other)).encode()):
        path.write_bytes(good + broken + b"\n" + good)
        with pytest.raises(
            InputError, match=r"rows\.jsonl, line 2: is no line of a journal: it .*; without it, what it"
        ):
            open_journal(path)
        assert path.read_bytes() == good + broken + b"\n" + good
        with Journal(path) as journal:
            assert [one.fault is None for one in journal.lines(damaged_ok=True)] == [True, False, True]


def test_what_a_run_cannot_go_on_from_is_named(path: Path) -> None:
    with Journal(path) as journal:
        journal.append([line("a")])

    def refuse(_: object) -> None:
        raise ValueError("it is of another kind")

    def refuse_by_name(_: object) -> None:
        raise InputError(f"{path}, line 1: is old", field="key")

    with pytest.raises(InputError, match=r"rows\.jsonl, line 1: cannot be gone on from: it is of another kind"):
        open_journal(path, on_line=refuse)
    with pytest.raises(InputError, match=r"rows\.jsonl, line 1: is old") as caught:
        open_journal(path, on_line=refuse_by_name)
    assert str(caught.value).count("line 1") == 1 and caught.value.field == "key"
    open_journal(path, anew=True).close()
    assert path.read_bytes() == b""


def test_dropped_lines_are_gone_and_the_lock_goes_with_the_new_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others stay byte for byte, and a link to the file stays a link."""
    path, link = tmp_path / "large" / "rows.jsonl", tmp_path / "rows.jsonl"
    path.parent.mkdir()
    link.symlink_to(path)
    texts = [json.dumps(line(key)).encode() + b"\n" for key in "abc"]
    path.write_bytes(b"".join(texts)[:-1])
    with open_journal(link) as journal:
        with monkeypatch.context() as full:
            full.setattr(os, "replace", lambda *_: os.lseek(-1, 0, 0))
            with pytest.raises(OSError, match="Bad file descriptor") as caught:
                journal.drop([(0, len(texts[0]))])
        assert (caught.value.errno, caught.value.filename) == (errno.EBADF, str(link))
        assert path.read_bytes() == b"".join(texts) and os.listdir(path.parent) == ["rows.jsonl"]
        journal.drop([(at.begin, at.end) for at in journal.lines() if at.number != 2])
        assert path.read_bytes() == texts[1]
        journal.append([line("d")])
        with pytest.raises(
            InputError, match=r"rows\.jsonl: is in use by another run; wait for its end, or name another"
        ):
            Journal(path)
        assert is_held(path)
    assert not is_held(path) and not is_held(tmp_path / "missing")
    assert kept(path) == [line("b"), line("d")]
    assert link.is_symlink() and os.listdir(path.parent) == ["rows.jsonl"]


def test_a_second_process_is_refused_until_the_first_is_gone(path: Path) -> None:
    code = f"from eirene.data.journal import Journal; Journal({str(path)!r})"
    with Journal(path):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "in use by another run" in done.stderr
    Journal(path).close()


def test_half_a_line_goes_when_the_drive_is_back(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drive that is lost in the middle of a line takes neither the rest of it nor its removal."""
    write, written = os.write, list[int]()

    def half(handle: int, data: bytes) -> int:
        if written:
            raise OSError(errno.EIO, "Input/output error")
        written.append(write(handle, data[:9]))
        return 9

    def lost(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with Journal(path) as journal:
        journal.append([line("a")])
        with monkeypatch.context() as gone:
            gone.setattr(os, "write", half)
            gone.setattr(os, "ftruncate", lost)
            with pytest.raises(OSError, match="Input/output error") as caught:
                journal.append([line("b")])
        assert (caught.value.errno, caught.value.filename) == (errno.EIO, str(path))
        assert not path.read_bytes().endswith(b"\n")
        journal.append([line("b")])
        written.clear()
        whole = path.read_bytes()
        with monkeypatch.context() as full:  # what can be removed goes at once
            full.setattr(os, "write", half)
            with pytest.raises(OSError, match="Input/output error"):
                journal.append([line("c")])
        assert path.read_bytes() == whole
    assert kept(path) == [line("a"), line("b")]


def test_a_file_that_goes_is_noticed(path: Path) -> None:
    with Journal(path) as journal:
        path.unlink()
        with pytest.raises(OSError, match="the file or its folder has been removed") as caught:
            journal.append([line("a")])
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(path))


def test_a_new_file_that_nothing_came_of_goes_again(path: Path) -> None:
    with pytest.raises(RuntimeError), Journal(path):
        raise RuntimeError
    assert not path.exists()


def test_a_file_that_is_no_journal_is_left_byte_for_byte(tmp_path: Path) -> None:
    """A file of the user's that is named by mistake is refused, under its own name or through a link."""
    path, link = tmp_path / "notes.txt", tmp_path / "link.jsonl"
    link.symlink_to(path)
    for text in (
        "My notes.\nNo line break ends them.", "not a journal", '{"a": 1}x\n{"b', "id,answer\na,It", "{\\rtf1 My notes",
        '{\n  "id": 1\n}', "\n", "\0\0\0", "[1,\n2]\n", '{"id":"a","question":"Why',
    ):  # fmt: skip
        path.write_text(text)
        before = path.stat()
        for named in (path, link):
            with pytest.raises(InputError, match=named.name):
                open_journal(named)
        assert path.read_text() == text
        assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_what_keeps_no_lines_is_refused(tmp_path: Path) -> None:
    """A device, a pipe that nobody reads, a folder, a folder that is not there."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for place, said in (
        ("/dev/null", "is a device or a pipe, which keeps nothing; name a file"),
        ("pipe", "is a device or a pipe, which keeps nothing; name a file"),
        ("folder", "is a directory; name a file"),
        ("no/such/folder", "cannot be written: No such file or directory"),
        ("nul\0character", "cannot be written: (stat: )?embedded null (byte|character in path)"),
    ):
        with pytest.raises(InputError) as caught:
            Journal(tmp_path / place)
        assert re.fullmatch(re.escape(f"{tmp_path / place}: ") + said, str(caught.value))
