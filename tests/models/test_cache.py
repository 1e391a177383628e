"""The call cache: what a key stands for, what is kept, and that nothing of it can fail a run."""

from __future__ import annotations

import asyncio
import logging
import pickle
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.core.errors import InputError
from eirene.models.cache import CallCache, is_whole, parse_size, reply_keys
from eirene.models.replies import Reply, ReplyToken
from eirene.prompts import Message

texts = st.text(st.characters(exclude_categories=())) | st.sampled_from(['", "', "\\", "\x00", "]", "user"])
messages = st.lists(st.builds(Message, st.sampled_from(["system", "user"]), texts), max_size=3)
numbers = st.none() | st.integers(0, 3) | st.floats(0, 2)
fields = st.dictionaries(st.sampled_from(["temperature", "top_p", "top_logprobs"]), numbers, max_size=3)
asked = st.tuples(texts, messages, fields, st.integers(0, 2**63 - 1))


def key_of(what: Any) -> bytes:
    model, said, how, seed = what
    (key,) = reply_keys(model, said, how, seeds=[seed])
    return key


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[CallCache]:
    made = CallCache(tmp_path / "calls.sqlite")
    yield made
    made.close()


@given(asked, asked)
def test_two_calls_have_one_key_only_if_nothing_differs(one: Any, other: Any) -> None:
    """The key is a function of all that is asked, and of nothing else."""

    def shown(asked: Any) -> str:  # 1 and 1.0 are equal, and are not the same field
        model, said, how, seed = asked
        return repr((model, said, sorted(how.items()), seed))

    assert (key_of(one) == key_of(other)) == (shown(one) == shown(other))


@given(asked, st.data())
def test_a_change_in_any_one_part_changes_the_key(one: Any, data: st.DataObject) -> None:
    """Model, role, text, each field and seed: none may be changed without the key."""
    model, said, how, seed = one
    others = [(model + "x", said, how, seed), (model, [*said, Message("user", "")], how, seed),
              (model, said, {**how, "new": 0}, seed), (model, said, how, seed + 1)]  # fmt: skip
    if said:
        at = data.draw(st.integers(0, len(said) - 1))
        role = "user" if said[at].role == "system" else "system"
        others.append((model, [*said[:at], Message(role, said[at].content), *said[at + 1 :]], how, seed))
        others.append((model, [*said[:at], Message(said[at].role, said[at].content + " "), *said[at + 1 :]], how, seed))
    assert key_of(one) not in {key_of(other) for other in others}


def test_samples_of_one_prompt_have_keys_of_their_own_and_each_is_the_same_alone() -> None:
    """Twenty seeds give twenty keys, and a seed's key does not hang on the seeds beside it."""
    many = reply_keys("m", [Message("user", "hi")], {}, seeds=range(20))
    assert len(set(many)) == 20
    assert many == [reply_keys("m", [Message("user", "hi")], {}, seeds=[n])[0] for n in range(20)]


replies = st.builds(
    Reply,
    st.text(st.characters(exclude_categories=()), min_size=1).filter(str.strip),
    st.sampled_from([None, "stop"]),
    st.lists(
        st.builds(
            ReplyToken, st.text(), st.floats(-50, 0), st.lists(st.tuples(st.text(), st.floats(-50, 0))).map(tuple)
        ),
        max_size=2,
    ).map(tuple),
)


@given(st.lists(replies, min_size=1, max_size=4))
@settings(max_examples=40)
def test_a_reply_comes_back_as_it_was(given_replies: list[Reply]) -> None:
    """Text, ending and log-probabilities, whatever letters they hold."""
    with tempfile.TemporaryDirectory() as folder:
        cache = CallCache(Path(folder) / "c")
        kept = {bytes([n]): reply for n, reply in enumerate(given_replies)}
        cache.keep_now(kept)
        assert cache.recall_now(list(kept)) == kept
        cache.close()


def test_only_whole_replies_are_kept(cache: CallCache) -> None:
    """What was cut off, filtered, empty or a tool's call is asked for again."""
    for n, (reply, whole) in enumerate([
        (Reply("fine", "stop"), True), (Reply("fine", None), True), (Reply("cut of", "length"), False),
        (Reply("fine", "content_filter"), False), (Reply("fine", "tool_calls"), False), (Reply(" \n", "stop"), False),
    ]):  # fmt: skip
        key = b"%d" % n
        cache.keep_now({key: reply})
        assert (is_whole(reply), key in cache.recall_now([key])) == (whole, whole), reply


async def test_the_reply_that_was_first_is_given_to_whoever_comes_second(cache: CallCache) -> None:
    """Two calls for one key at once end with one reply, which a rerun will get as well."""
    assert await cache.keep({b"k": Reply("first", "stop")}) == {}
    assert await cache.keep({b"k": Reply("second", "stop")}) == {b"k": Reply("first", "stop")}
    assert await cache.recall([b"k"]) == {b"k": Reply("first", "stop")}


def test_threads_and_loops_share_one_cache(cache: CallCache) -> None:
    """Calls from loops of several threads neither fail nor lose a reply."""

    async def work(start: int) -> None:
        for n in range(start, start + 40):
            await cache.keep({b"%d" % n: Reply(str(n), "stop")})
            assert (await cache.recall([b"%d" % n]))[b"%d" % n].text == str(n)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: asyncio.run(work(100 * n)), range(4)))
    assert len(cache) == 160


def test_a_copy_in_another_process_opens_the_same_file(cache: CallCache) -> None:
    """Pickling carries the file's name and the limit."""
    cache.keep_now({b"k": Reply("fine", "stop")})
    copy = pickle.loads(pickle.dumps(cache))
    assert copy.recall_now([b"k"]) == {b"k": Reply("fine", "stop")}
    assert copy.max_bytes == cache.max_bytes
    copy.close()


async def test_a_full_disk_ends_the_storing_with_one_warning_and_nothing_else(
    cache: CallCache, caplog: pytest.LogCaptureFixture
) -> None:
    """Replies are still read, the calls that come find no fault, and the user hears of it once."""
    await cache.keep({b"k": Reply("fine", "stop")})
    cache._connection.execute("PRAGMA max_page_count = 1")  # SQLite's own way to a full disk
    with caplog.at_level(logging.WARNING):
        for n in range(3):
            assert await cache.keep({b"%d" % n: Reply("x" * 100_000, "stop")}) == {}
    assert [r.getMessage().partition(": nothing")[2] for r in caplog.records] == [
        " is added from now on: database or disk is full"
    ]
    assert not cache.stores
    assert await cache.recall([b"k"]) == {b"k": Reply("fine", "stop")}


async def test_a_cache_that_cannot_be_read_any_more_answers_nothing(
    cache: CallCache, caplog: pytest.LogCaptureFixture
) -> None:
    """A file that is damaged while it is in use turns the cache off, with one warning."""
    cache._connection.execute("DROP TABLE replies")
    with caplog.at_level(logging.WARNING):
        assert [await cache.recall([b"k"]) for _ in range(3)] == [{}, {}, {}]
        assert await cache.keep({b"k": Reply("fine", "stop")}) == {}
    assert len(caplog.records) == 1


def test_a_value_that_was_changed_on_disk_is_no_reply(cache: CallCache, caplog: pytest.LogCaptureFixture) -> None:
    """Damage in one entry costs that entry, and a warning says so; what is stored next takes its place."""
    broken: list[object] = [
        b"\xff",
        b"[1, 2]",
        b'{"a": 1}',
        b'["fine", "stop"]',
        b"0" * 8 + b'["fine","stop"]',
        b"",
        7,
        "x",
    ]
    damaged = {b"%d" % n: value for n, value in enumerate(broken)}
    cache._put(cast("dict[bytes, bytes]", damaged))
    cache.keep_now({b"whole": Reply("fine", "stop")})
    assert cache.recall_now([*damaged, b"whole"]) == {b"whole": Reply("fine", "stop")}
    assert f"{len(damaged)} replies of the call cache" in caplog.text and "are asked for anew" in caplog.text
    assert cache.keep_now({b"0": Reply("anew", "stop")}) == {} != cache.recall_now([b"0"])


def test_sizes_are_read_with_their_units() -> None:
    """A size is a number with an optional unit, in powers of ten; anything else is an error that shows the form."""
    sizes = {"500MB": 500 * 10**6, "2 GB": 2 * 10**9, "1.5g": 15 * 10**8, "9000": 9000, "1KiB": 1000}
    assert {text: parse_size(text) for text in sizes} == sizes
    for text in ("", "0", "0.1", "-1GB", "many", "1PB", "1e9", "nan"):
        with pytest.raises(InputError, match="such as 500MB or 2GB"):
            parse_size(text)
