"""Replies are whole text and their counts are counts, wherever they come from."""

from __future__ import annotations

import json
import math
import zlib
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult

from eirene.models.cache import CallCache
from eirene.models.replies import Reply, ReplyToken, Tokens, replies_of, token_count, tokens_of, whole_message
from tests.rows import each

HALF = "a\ud800"
MENDED = "a\ufffd"
TOKEN = {"token": HALF, "logprob": -1.0, "top_logprobs": [{"token": HALF, "logprob": -1.0}]}


def result(*messages: AIMessage) -> LLMResult:
    return LLMResult(generations=[[ChatGeneration(message=message) for message in messages]])


def test_a_reply_has_no_half_pair_in_any_of_its_texts_and_no_log_probability_that_is_no_number() -> None:
    metadata = {"finish_reason": HALF, "logprobs": {"content": [TOKEN]}}
    (reply,) = replies_of(result(AIMessage(HALF, response_metadata=metadata)))
    assert reply == Reply(MENDED, MENDED, (ReplyToken(MENDED, -1.0, ((MENDED, -1.0),)),))
    json.dumps([reply.text, reply.finish_reason, reply.tokens[0].text], ensure_ascii=False).encode("utf-8")
    metadata["logprobs"] = {"content": [TOKEN, {**TOKEN, "logprob": math.nan}]}
    assert replies_of(result(AIMessage("a", response_metadata=metadata)))[0].tokens == ()


def test_a_cache_that_holds_half_a_pair_gives_it_mended(tmp_path: Path) -> None:
    """One that an earlier version wrote, or another program."""
    cache = CallCache(tmp_path / "calls.sqlite")
    value = json.dumps([HALF, "stop", [[HALF, -1.0, [[HALF, -1.0]]]]]).encode("ascii")
    values = {b"k": value, b"l": b'[5, "stop"]', b"m": b'["x", 5]', b"n": b'["x", "stop", [[5, 1, []]]]'}
    cache._put({key: b"%08x%b" % (zlib.crc32(said), said) for key, said in values.items()})
    assert cache.recall_now([b"k", b"l", b"m", b"n"]) == {
        b"k": Reply(MENDED, "stop", (ReplyToken(MENDED, -1.0, ((MENDED, -1.0),)),))
    }
    cache.close()


def test_a_message_is_mended_in_all_that_is_handed_on() -> None:
    call = {"name": HALF, "args": {HALF: [HALF]}, "id": HALF, "type": "tool_call"}
    bad = {"name": HALF, "args": HALF, "id": HALF, "error": HALF, "type": "invalid_tool_call"}
    message = AIMessage(
        [{"type": "text", "text": HALF}], tool_calls=[call], invalid_tool_calls=[bad], id=HALF, name=HALF,
        additional_kwargs={"refusal": HALF}, response_metadata={"model": HALF},
    )  # fmt: skip
    json.dumps(whole_message(message).model_dump(), ensure_ascii=False).encode("utf-8")
    assert whole_message(message).tool_calls[0]["args"] == {MENDED: [MENDED]}


def test_what_can_be_no_count_is_none() -> None:
    assert [token_count(value) for value in (0, 7, 10**9)] == [0, 7, 10**9]
    none = (-1, 10**9 + 1, 10**400, "7", 7.0, True, None, [7])
    assert [value for value in none if token_count(value) is not None] == []


@each(
    "usage, tokens",
    [
        ({"input_tokens": 5, "output_tokens": 2}, Tokens(5, 2)),
        ({"input_tokens": 5, "output_tokens": -2}, Tokens(5, 0)),
        ({"input_tokens": 5, "output_tokens": 2, "input_token_details": {"cache_read": 9}}, Tokens(5, 2, 5)),
        ({"input_tokens": 5, "output_tokens": 2, "input_token_details": {"cache_read": "9"}}, Tokens(5, 2)),
        ({"input_tokens": 5, "output_tokens": 2, "input_token_details": 9}, Tokens(5, 2)),
        (
            {"input_tokens": 9, "output_tokens": 2, "input_token_details": {"cache_read": 3, "cache_creation": 4}},
            Tokens(9, 2, 3, 4),
        ),
        (
            {
                "input_tokens": 9,
                "output_tokens": 2,
                "input_token_details": {"cache_creation": 0, "ephemeral_5m_input_tokens": 4, "cache_read": 0},
            },
            Tokens(9, 2, 0, 4),
        ),
        (
            {"input_tokens": 5, "output_tokens": 2, "input_token_details": {"cache_read": 3, "cache_creation": 9}},
            Tokens(5, 2, 3, 2),
        ),
        ({"input_tokens": 10**30, "output_tokens": "2"}, Tokens(is_unknown=True)),
    ],
)
def test_counts_that_are_none_are_left_out(usage: dict[str, Any], tokens: Tokens) -> None:
    message = AIMessage("x").model_copy(update={"usage_metadata": usage})
    assert tokens_of(result(message)) == tokens
