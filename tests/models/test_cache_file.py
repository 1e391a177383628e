"""The file of the call cache: shared, bounded, and clear about a file that is none."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from eirene.core.errors import InputError
from eirene.models.cache import CallCache

BIG = 10**9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.sqlite"


@pytest.fixture
def cache(path: Path) -> Iterator[CallCache]:
    made = CallCache(path, max_bytes=BIG)
    yield made
    made.close()


def key(n: int) -> bytes:
    return n.to_bytes(32, "big")


def test_what_was_put_is_there_for_whoever_opens_the_file_next(cache: CallCache, path: Path) -> None:
    """An entry outlives the object that wrote it, and an unknown key has none."""
    assert cache._put({key(1): b"one", key(2): b"two"}) == {}
    cache.close()
    again = CallCache(path, max_bytes=BIG)
    assert again._get([key(1), key(3), key(2)]) == {key(1): b"one", key(2): b"two"}
    again.close()


def test_the_first_value_of_a_key_stands(cache: CallCache) -> None:
    """A second value is refused, and the first is given back in its place."""
    cache._put({key(1): b"first"})
    assert cache._put({key(1): b"second", key(2): b"new"}) == {key(1): b"first"}
    assert cache._get([key(1), key(2)]) == {key(1): b"first", key(2): b"new"}


def test_any_number_of_keys_is_looked_up_at_once(cache: CallCache) -> None:
    """A look-up has no limit of keys."""
    many = {key(n): b"%d" % n for n in range(2_000)}
    cache._put(many)
    assert cache._get(list(many)) == many


def test_the_oldest_entries_make_room(path: Path) -> None:
    """The file stays within its limit, also for a run that comes later, and the newest entry is there."""
    for start in (0, 200):
        cache = CallCache(path, max_bytes=100_000)
        for n in range(start, start + 200):
            cache._put({key(n): b"x" * 2000})
            assert cache._held() <= 100_000 and key(n) in cache._get([key(n)])
        left = sorted(cache._get([key(n) for n in range(400)]))
        assert left == [key(n) for n in range(start + 200 - len(left), start + 200)] and 30 < len(left) < 50
        assert len(cache) == len(left) and cache.evicted > 100
        cache.close()


def test_a_file_that_is_no_database_is_refused_and_left_as_it_is(path: Path) -> None:
    """One clear error, and not a byte of the file changes."""
    for content in (b"hello, this is a letter and no database\n" * 100, b"SQLite format 3\x00" + b"\xff" * 5000):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"cannot be used as a call cache|another program"):
            CallCache(path, max_bytes=BIG)
        assert path.read_bytes() == content


def test_the_database_of_another_program_is_refused_and_left_as_it_is(path: Path) -> None:
    """Nothing of ours is written into tables of others."""
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE checkpoints (a)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="another program"):
        CallCache(path, max_bytes=BIG)
    assert path.read_bytes() == before


def test_a_cache_of_another_version_is_refused(cache: CallCache, path: Path) -> None:
    """A layout that this version does not know is not guessed at."""
    cache.close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()
    with pytest.raises(InputError, match="another version"):
        CallCache(path, max_bytes=BIG)


def test_a_place_that_cannot_hold_a_file_is_refused(tmp_path: Path) -> None:
    """A folder, a folder that is not there, a pipe and a device are one error each."""
    os.mkfifo(tmp_path / "pipe")
    for place in (tmp_path, tmp_path / "no" / "such.sqlite", tmp_path / "pipe", Path("/dev/null")):
        with pytest.raises(InputError, match=r"cannot be used as a call cache|is a folder, a device or a pipe"):
            CallCache(place, max_bytes=BIG)


def test_an_empty_file_becomes_a_cache(path: Path) -> None:
    """What `mktemp` leaves behind can be used."""
    path.touch()
    cache = CallCache(path, max_bytes=BIG)
    cache._put({key(1): b"one"})
    assert cache._get([key(1)]) == {key(1): b"one"}
    cache.close()


WRITER = """
    import sys
    from pathlib import Path
    from eirene.models.cache import CallCache

    path, start = Path(sys.argv[1]), int(sys.argv[2])
    print("ready", flush=True)
    sys.stdin.readline()
    cache = CallCache(path, max_bytes=10**9)
    for n in range(start, start + 300):
        cache._put({n.to_bytes(32, "big"): b"%d" % n, b"shared%d" % (n % 300): b"%d" % start})
        assert cache._get([n.to_bytes(32, "big")])
    cache.close()
"""


def test_processes_that_make_and_write_one_file_at_once_lose_nothing(path: Path) -> None:
    """Three processes, one new file: every entry of each is there once, and shared keys have one value for good."""
    command = [sys.executable, "-c", textwrap.dedent(WRITER), str(path)]
    writers = [
        subprocess.Popen([*command, str(1000 * n)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) for n in range(3)
    ]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == b"ready\n"
    for writer in writers:  # all start in the same moment
        assert writer.stdin is not None
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    for writer in writers:
        assert writer.stdin is not None and writer.stdout is not None
        writer.stdin.close()
        writer.stdout.close()
    cache = CallCache(path, max_bytes=BIG)
    wanted = {key(1000 * w + n): b"%d" % (1000 * w + n) for w in range(3) for n in range(300)}
    assert cache._get(list(wanted)) == wanted
    shared = cache._get([b"shared%d" % n for n in range(300)])
    assert len(shared) == 300 and set(shared.values()) <= {b"0", b"1000", b"2000"}
    assert len(cache) == 1200
    cache.close()


def test_a_kill_in_the_middle_leaves_a_cache_that_works(path: Path) -> None:
    """`kill -9` at any moment costs at most what was being written."""
    writer = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(WRITER).replace("300)", "10**6)", 1), str(path), "0"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert writer.stdin is not None and writer.stdout is not None
    writer.stdout.readline()
    writer.stdin.write(b"go\n")
    writer.stdin.flush()
    log = path.with_name(path.name + "-wal")
    while not log.exists() or log.stat().st_size < 50_000:
        assert writer.poll() is None
        time.sleep(0.01)
    writer.kill()
    writer.wait()
    writer.stdin.close()
    writer.stdout.close()
    cache = CallCache(path, max_bytes=BIG)
    assert len(cache) > 0
    cache._put({b"after": b"1"})
    assert cache._get([b"after"]) == {b"after": b"1"}
    cache.close()


@pytest.mark.parametrize("owner", [0, 7])
def test_the_write_ahead_log_of_another_program_stays_as_it_is(path: Path, owner: int) -> None:
    """To open such a database for writing alone would change it."""
    code = (
        "import os, sqlite3, sys; c = sqlite3.connect(sys.argv[1]);"
        "c.execute(f'PRAGMA application_id = {sys.argv[2]}');"
        "c.execute('PRAGMA journal_mode = WAL'); c.execute('CREATE TABLE bills (n)'); c.commit(); os._exit(0)"
    )
    subprocess.run([sys.executable, "-c", code, str(path), str(owner)], check=True)
    log = path.with_name(path.name + "-wal")
    before = path.read_bytes(), log.read_bytes()
    with pytest.raises(InputError, match="another program"):
        CallCache(path, max_bytes=BIG)
    assert (path.read_bytes(), log.read_bytes()) == before
