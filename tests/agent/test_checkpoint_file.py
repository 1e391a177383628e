"""The file that keeps an interactive run: one run at a time, nobody else's database, plain values alone."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint

from eirene.agent.session import checkpoint_file
from eirene.core.errors import InputError, MissingExtraError


def opened(path: Path, *, inside: Any = None) -> None:
    async def open_it() -> None:
        async with checkpoint_file(path) as saver:
            if inside is not None:
                await inside(saver)

    asyncio.run(open_it())


def test_a_file_is_made_and_can_be_opened_again(tmp_path: Path) -> None:
    for _ in range(2):
        opened(tmp_path / "runs.sqlite")
    assert [p.name for p in tmp_path.iterdir()] == ["runs.sqlite"]


def test_an_empty_file_is_one_that_can_be_used(tmp_path: Path) -> None:
    (tmp_path / "runs.sqlite").touch()
    opened(tmp_path / "runs.sqlite")


def test_a_name_that_sqlite_takes_for_memory_is_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    opened(Path(":memory:"))
    assert (tmp_path / ":memory:").stat().st_size > 0


def test_a_file_that_another_run_holds_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"

    async def second(_: Any) -> None:
        with pytest.raises(InputError, match="in use by another run"):
            async with checkpoint_file(path):
                pass

    opened(path, inside=second)


def test_a_file_that_cannot_be_used_is_refused_and_left_as_it_is(subtests: pytest.Subtests, tmp_path: Path) -> None:
    pytest.importorskip("langgraph.checkpoint.sqlite")
    cases: list[str] = ["text", "folder", "nowhere", "other"]
    for kind in cases:
        with subtests.test(case=kind):
            path = {"folder": tmp_path, "nowhere": tmp_path / "none" / "runs.sqlite"}.get(kind, tmp_path / kind)
            if kind == "text":
                path.write_text('{"question": "Why?", "answer": "Because. It is so, and it was always so."}' * 20)
            if kind == "other":
                with sqlite3.connect(path) as database:
                    database.execute("CREATE TABLE bills (amount)")
                database.close()
            before = path.read_bytes() if path.is_file() else b""
            with pytest.raises(InputError) as refused:
                opened(path)
            assert str(path) in str(refused.value) and "\n" not in str(refused.value)
            assert (path.read_bytes() if path.is_file() else b"") == before


def test_a_database_that_fails_later_is_the_machines_fault(tmp_path: Path) -> None:
    async def break_it(_: Any) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with pytest.raises(OSError, match="disk is full"):
        opened(tmp_path / "runs.sqlite", inside=break_it)


def test_without_the_extra_its_name_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langgraph.checkpoint.sqlite.aio", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'eirene\[sqlite\]'"):
        opened(tmp_path / "runs.sqlite")


def saved(path: Path) -> Any:
    """What a run of one step leaves in the file, read back."""
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    found: list[Any] = []

    async def look(saver: Any) -> None:
        if await saver.aget(config) is None:
            await saver.aput(config, {**empty_checkpoint(), "channel_values": {"answer": "Yes."}}, {}, {})
        found.append((await saver.aget(config))["channel_values"])

    opened(path, inside=look)
    return found[0]


def test_a_value_that_was_changed_on_disk_is_refused(tmp_path: Path) -> None:
    """By its checksum; the file is named."""
    path = tmp_path / "runs.sqlite"
    assert saved(path) == saved(path) == {"answer": "Yes."}
    path.write_bytes(path.read_bytes().replace(b"Yes.", b"Yet."))
    with pytest.raises(InputError, match=r"runs\.sqlite: holds a run that does not fit its checksum"):
        saved(path)


def test_a_value_without_a_checksum_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    saved(path)
    with sqlite3.connect(path) as database:
        database.execute("UPDATE checkpoints SET type = 'msgpack', checkpoint = substr(checkpoint, 5)")
    database.close()
    with pytest.raises(InputError, match=r"runs\.sqlite: holds a run that has no checksum"):
        saved(path)
