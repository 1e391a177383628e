"""Writing files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eirene.core.errors import InputError
from eirene.data.output import check_output, line_writer, write_text


def test_a_file_that_exists_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    for write in (lambda: write_text(str(path), "new"), lambda: line_writer(str(path)).__enter__()):
        with pytest.raises(InputError, match=r"exists already; .* --force"):
            write()
    assert path.read_text() == "old"


def test_force_writes_over_and_keeps_the_permissions(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("old")
    path.chmod(0o640)
    write_text(str(path), "new", force=True)
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new", 0o640)


def test_nothing_else_is_left_in_the_folder(tmp_path: Path) -> None:
    write_text(str(tmp_path / "a"), "text")
    assert os.listdir(tmp_path) == ["a"]


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_text(str(tmp_path / "link"), "new", force=True)
    assert (tmp_path / "real").read_text() == "new"
    assert (tmp_path / "link").is_symlink()


def test_what_cannot_be_written_says_why(
    subtests: pytest.Subtests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases: list[tuple[str, str]] = [("no/such/a", "no folder"), (".", "is a directory"), ("/proc/nix", "written")]
    for path, said in cases:
        with subtests.test(case=path):
            monkeypatch.chdir(tmp_path)
            with pytest.raises(InputError, match=said):
                write_text(path, "text")


def test_a_device_may_be_written() -> None:
    check_output(os.devnull, force=False)
    write_text(os.devnull, "text")


def test_lines_are_on_disk_as_soon_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with pytest.raises(KeyboardInterrupt), line_writer(str(path)) as write:
        write("one")
        assert path.read_text() == "one\n"
        raise KeyboardInterrupt
    assert path.read_text() == "one\n"
