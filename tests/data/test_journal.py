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

from eirene.agent.batch.journal import BatchJournal
from eirene.core.errors import InputError
from eirene.data.journal import Journal


def line(key: str, value: int = 0) -> dict[str, object]:
    return {"key": key, "value": value}


def kept(path: Path) -> list[dict[str, object]]:
    """What a journal is read as."""
    found: list[dict[str, object]] = []
    Journal(path, on_line=found.append).close()
    return found


def test_what_was_appended_is_there_when_it_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with Journal(path) as journal:
        journal.append(line("a", 1))
        journal.append(line("b", 2))
    assert kept(path) == [line("a", 1), line("b", 2)]
    assert path.read_text().count("\n") == 2


@pytest.mark.parametrize("cut", range(1, 20))
def test_a_torn_last_line_is_repaired_wherever_it_was_torn(tmp_path: Path, cut: int) -> None:
    """Only the end of a line may be missing without loss: then the line itself is whole, and stays."""
    path = tmp_path / "rows.jsonl"
    whole = json.dumps(line("a")) + "\n"
    torn = json.dumps(line("b")) + "\n"
    path.write_text(whole + torn[: len(torn) - cut])
    assert [line["key"] for line in kept(path)] == (["a", "b"] if cut == 1 else ["a"])
    with Journal(path) as journal:
        journal.append(line("c"))
    assert [json.loads(text)["key"] for text in path.read_text().splitlines()][-1] == "c"


def test_a_broken_line_in_the_middle_is_named_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    text = '{"key": "a"}\n{"key"\n{"key": "b"}\n'
    path.write_text(text)
    with pytest.raises(InputError, match=r"rows\.jsonl, line 2: is not JSON"):
        Journal(path)
    assert path.read_text() == text


@pytest.mark.parametrize("text", ['{"id": 1}\n', "[1]\n"])
def test_what_is_no_journal_of_its_kind_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "rows.jsonl").write_text(text)
    with pytest.raises(InputError, match="line"):
        Journal(tmp_path / "rows.jsonl")


def test_dropping_a_key_drops_all_its_lines_and_leaves_the_others_byte_for_byte(tmp_path: Path) -> None:
    """Two runs' files put together, say, and lines of an earlier version, without a checksum."""
    path = tmp_path / "rows.jsonl"
    texts = [json.dumps(line(key, value)) + "\n" for key, value in (("a", 1), ("b", 1), ("a", 2))]
    path.write_text("".join(texts).removesuffix("\n"))
    with Journal(path) as journal:
        assert not path.read_text().endswith("\n")
        journal.drop({"a"})
    assert path.read_text() == texts[1]


def test_dropped_lines_are_gone_and_the_lock_goes_with_the_new_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    with Journal(path) as journal:
        for key in "abc":
            journal.append(line(key))
        journal.drop({"b", "unknown"})
        journal.append(line("b", 2))
        with pytest.raises(InputError, match="in use by another run"):
            Journal(path)
    assert kept(path) == [line("a"), line("c"), line("b", 2)]
    assert os.listdir(tmp_path) == ["rows.jsonl"]


def test_a_link_to_a_journal_stays_one_when_lines_are_dropped(tmp_path: Path) -> None:
    """The file may lie on another disk, for its room: it is written there, and the link is left."""
    (tmp_path / "large").mkdir()
    path, link = tmp_path / "large" / "rows.jsonl", tmp_path / "rows.jsonl"
    path.write_text(json.dumps(line("a")) + "\n" + json.dumps(line("b")) + "\n")
    link.symlink_to(path)
    with Journal(link) as journal:
        journal.drop({"a"})
        journal.append(line("c"))
    assert link.is_symlink()
    assert [json.loads(text)["key"] for text in path.read_text().splitlines()] == ["b", "c"]


def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    code = f"from eirene.data.journal import Journal; Journal({str(path)!r})"
    with Journal(path):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "in use by another run" in done.stderr
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_half_a_line_goes_when_the_drive_is_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A drive that is lost in the middle of a line takes neither the rest of it nor its removal."""
    path, write, written = tmp_path / "rows.jsonl", os.write, list[int]()

    def half(handle: int, data: bytes) -> int:
        if written:
            raise OSError(errno.EIO, "Input/output error")
        written.append(write(handle, data[:9]))
        return 9

    def lost(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with Journal(path) as journal:
        journal.append(line("a"))
        with monkeypatch.context() as gone:
            gone.setattr(os, "write", half)
            gone.setattr(os, "ftruncate", lost)
            with pytest.raises(OSError, match="Input/output error"):
                journal.append(line("b"))
        assert not path.read_bytes().endswith(b"\n")
        journal.append(line("b"))
    assert kept(path) == [line("a"), line("b")]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        Journal(tmp_path / "no" / "rows.jsonl")


FOREIGN = [
    "My notes.\nNo line break ends them.", "not a journal", '{"a": 1}', '{"a": 1}\n', '{"a": 1}\n{"b',
    "id,answer\na,It", '{"id": "a", "question": "Why?", "answer": "So."}\n', "{\\rtf1 My notes", '{\n  "id": 1\n}',
    "\n", "\0\0\0", "[1,\n2]\n",
]  # fmt: skip


def opened(path: Path, kind: str) -> None:
    """Opens a journal and lets go of it."""
    if kind == "lines":
        Journal(path).close()
    else:
        BatchJournal(path).close()


@pytest.mark.parametrize("text", FOREIGN)
@pytest.mark.parametrize("kind", ["lines", "batch"])
@pytest.mark.parametrize("by", ["name", "link"])
def test_a_file_that_is_no_journal_is_left_byte_for_byte(tmp_path: Path, text: str, kind: str, by: str) -> None:
    """A file of the user's that is named by mistake is refused, under its own name or through a link."""
    path = tmp_path / "notes.txt"
    path.write_text(text)
    named = path if by == "name" else tmp_path / "link.jsonl"
    if by == "link":
        named.symlink_to(path)
    before = path.stat()
    with pytest.raises(InputError, match=re.escape(named.name)):
        opened(named, kind)
    assert path.read_text() == text
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("kind", ["lines", "batch"])
@pytest.mark.parametrize("place", ["/dev/null", "pipe", "folder", "no/such/folder", "nul\0character"])
def test_what_keeps_no_lines_is_refused(tmp_path: Path, kind: str, place: str) -> None:
    """A device, a pipe that nobody reads, a folder, a folder that is not there."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"keeps nothing|is a directory|cannot be written"):
        opened(tmp_path / place, kind)


def test_a_line_that_was_changed_is_named(tmp_path: Path) -> None:
    """By its checksum; lines of earlier versions have none, and are read."""
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(line("a", 1)) + "\n")
    with Journal(path) as journal:
        journal.append(line("b", 2))
    path.write_text(path.read_text().replace('"value": 2', '"value": 3'))
    with pytest.raises(InputError, match=r"rows\.jsonl, line 2: does not fit its checksum.*; without the line"):
        Journal(path)
