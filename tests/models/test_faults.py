"""What went wrong is read off any client's exception, by its shape."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np

from eirene.core.errors import (
    AuthError,
    BackendTimeoutError,
    MalformedReplyError,
    QuotaError,
    RateLimitError,
    RequestRefusedError,
    ScriptExhaustedError,
    UnreachableError,
)
from eirene.models.faults import classify, retry_after_s
from eirene.models.limits import RetryPolicy


class Response:
    def __init__(self, status: int, headers: dict[str, str] | None = None) -> None:
        self.status_code = status
        self.headers = headers or {}


class SdkError(Exception):
    """The shape of OpenAI's and Anthropic's `APIStatusError`."""

    def __init__(self, status: int, message: str = "no", body: Any = None, headers: Any = None) -> None:
        super().__init__(message)
        self.status_code, self.body, self.response = status, body, Response(status, headers)


class HttpxStatusError(Exception):
    """The shape of httpx's `HTTPStatusError`, which has no status of its own."""

    def __init__(self, status: int) -> None:
        super().__init__("no")
        self.response = Response(status)


class APITimeoutError(Exception): ...


class RemoteProtocolError(Exception): ...


class LocalProtocolError(Exception): ...


def caused(error: Exception, cause: Exception) -> Exception:
    """An SDK's exception that came of an HTTP client's."""
    error.__cause__ = cause
    return error


QUOTA = {"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}


KIND_AND_WHETHER_ANOTHER: list[Any] = [
    (
        caused(ConnectionError("Connection error."), LocalProtocolError("Illegal header value b'Bearer SECRET\\n'")),
        AuthError,
        False,
    ),
    (UnicodeEncodeError("ascii", "Bearer SECRETé", 13, 14, "ordinal not in range(128)"), AuthError, False),
    (SdkError(400), RequestRefusedError, False),
    (SdkError(401), AuthError, False),
    (SdkError(403), AuthError, False),
    (SdkError(404), RequestRefusedError, False),
    (SdkError(402), QuotaError, False),
    (SdkError(429), RateLimitError, True),
    (SdkError(429, body=QUOTA), QuotaError, False),
    (SdkError(400, "Your credit balance is too low"), QuotaError, False),
    (SdkError(408), BackendTimeoutError, True),
    (SdkError(500), UnreachableError, True),
    (SdkError(529), UnreachableError, True),
    (HttpxStatusError(429), RateLimitError, True),
    (HttpxStatusError(503), UnreachableError, True),
    (ValueError({"code": 429, "message": "slow down"}), RateLimitError, True),  # an error in a 200 reply
    (TimeoutError(), BackendTimeoutError, True),
    (APITimeoutError("timed out"), BackendTimeoutError, True),
    (ConnectionResetError("reset"), UnreachableError, True),
    (RemoteProtocolError("peer closed"), UnreachableError, True),
    (RuntimeError("Event loop is closed"), UnreachableError, True),
    (ValueError("not JSON"), MalformedReplyError, True),
    (KeyError("choices"), MalformedReplyError, True),
    (ScriptExhaustedError("used up"), ScriptExhaustedError, False),
]


def test_kind_and_whether_another_attempt_may_help() -> None:
    for error, kind, retryable in KIND_AND_WHETHER_ANOTHER:
        fault = classify(error, name="m")
        assert fault is not None
        assert (type(fault.error), fault.retryable) == (kind, retryable)


def test_a_status_is_found_on_the_cause() -> None:
    wrapped = RuntimeError("the model call failed")
    wrapped.__cause__ = SdkError(429)
    fault = classify(wrapped, name="m")
    assert fault is not None
    assert isinstance(fault.error, RateLimitError)


def test_what_an_exception_came_from_is_told_and_what_was_handled_beside_it_is_not() -> None:
    """Clients wrap the exception that tells; a fall-back of theirs raises while another one is being handled."""
    try:
        try:
            raise KeyError("pool")
        except KeyError:
            raise ConnectionResetError("reset by peer")  # noqa: B904 - the case to be tested
    except ConnectionResetError as error:
        fault = classify(caused(RemoteProtocolError("dropped."), error), name="m")
    assert fault is not None
    assert str(fault.error) == "m: no connection (dropped: reset by peer); is the server up?"


def test_a_bug_is_no_fault_of_the_provider() -> None:
    assert classify(AttributeError("no such thing"), name="m") is None
    assert classify(AssertionError(), name="m") is None


FIELDS = frozenset({"n", "seed", "temperature", "top_p"})


A_REFUSED_FIELD_IS: list[Any] = [
    (SdkError(400, "leave it out", body={"error": {"param": "n", "message": "x"}}), "n"),
    (SdkError(400, "'n' : number must be at most 1"), "n"),
    (SdkError(422, "{'loc': ['body', 'n'], 'msg': 'extra fields not permitted'}"), "n"),
    (SdkError(400, "n must be 1 when using greedy sampling"), "n"),
    (SdkError(500, "Only one completion choice is allowed"), "n"),
    (SdkError(400, "Unsupported value: 'temperature' does not support 0.7 with this model"), "temperature"),
    (SdkError(400, "top_p is not allowed"), "top_p"),
    (TypeError("create() got an unexpected keyword argument 'seed'"), "seed"),
    (SdkError(400, "the prompt is longer than the context of n tokens in sum"), None),
    (SdkError(404, "model not found"), None),
    (SdkError(401, "the parameter 'n' is fine, the key is not"), None),
    (SdkError(503, "'n' servers are down"), None),
]


def test_a_refused_field_is_named() -> None:
    for error, parameter in A_REFUSED_FIELD_IS:
        fault = classify(error, name="m", parameters=FIELDS)
        assert fault is not None
        assert fault.parameter == parameter


A_REFUSED_SYSTEM_MESSAGE: list[Any] = [
    (400, "System role not supported", True),
    (500, "Jinja Exception: System role not supported", True),
    (400, "Only user and assistant roles are supported!", True),
    (400, "Conversation roles must alternate user/assistant/user/assistant/...", True),
    (400, "Unsupported value: 'messages[0].role' does not support 'system' with this model.", True),
    (400, "Developer instruction is not enabled for models/gemma-3-27b-it", True),
    (400, "This model doesn't support system prompts", True),
    (422, "Unexpected role 'system' in messages", True),
    (400, "Invalid role: system. Expected user or assistant", True),
    (400, "the `system` message isn't allowed here", True),
    (400, "The system is not able to support this request", False),
    (400, "Your system prompt holds 9000 tokens. top_p is not allowed", False),
    (503, "The system is overloaded and cannot accept requests", False),
]


def test_a_refused_system_message_is_known_in_many_words() -> None:
    for status, said, is_refused in A_REFUSED_SYSTEM_MESSAGE:
        fault = classify(SdkError(status, said), name="m", parameters=frozenset({"system"}))
        assert fault is not None
        assert fault.parameter == ("system" if is_refused else None)


def test_a_refused_field_is_found_in_a_body_of_another_form() -> None:
    """OpenAI's SDK shows of a body what has OpenAI's form."""
    problem = {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted", "input": 5}
    error = SdkError(422, "Error code: 422", body={"detail": [problem]})
    fault = classify(error, name="m", parameters=FIELDS)
    assert fault is not None
    assert (fault.parameter, str(fault.error)) == ("seed", "m: HTTP 422: body.seed: Extra inputs are not permitted")


def test_only_a_field_that_was_sent_can_be_refused() -> None:
    fault = classify(SdkError(400, "'temperature' is not supported"), name="m", parameters=frozenset({"n"}))
    assert fault is not None
    assert fault.parameter is None


NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


RETRY_AFTER_IS_READ: list[Any] = [
    ({"Retry-After": "7"}, 7.0),
    ({"retry-after": "1.5"}, 1.5),
    ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
    ({"Retry-After": "Thu, 01 Jan 2026 12:00:30 GMT"}, 30.0),
    ({"Retry-After": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0.0),
    ({"Retry-After": "soon"}, None),
    ({}, None),
]


def test_retry_after_is_read_as_seconds_milliseconds_or_a_date() -> None:
    for headers, seconds in RETRY_AFTER_IS_READ:
        assert retry_after_s(SdkError(429, headers=headers), now=NOW) == seconds


NO_HEADER_MAKES_ANYBODY: list[Any] = [
    {"Retry-After": str(1000 * 365 * 86400)},
    {"Retry-After": "9" * 5000},
    {"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"},
    {"Retry-After": "Fri, 31 Dec 99999 23:59:59 GMT"},
    {"Retry-After": "-5"},
    {"retry-after-ms": "inf"},
    {"retry-after-ms": "nan"},
    {"retry-after-ms": "-1e999"},
    {"retry-after-ms": "9" * 5000},
]


def test_no_header_makes_anybody_wait_for_long() -> None:
    for headers in NO_HEADER_MAKES_ANYBODY:
        policy, fault = RetryPolicy(), classify(SdkError(429, headers=headers), name="m")
        assert fault is not None
        wait = policy.wait_s(fault, attempt=1, rng=np.random.default_rng(0))
        assert wait is None or 0 <= wait <= policy.max_retry_after_s * 1.1


def test_a_message_is_one_line_of_bounded_length() -> None:
    fault = classify(SdkError(400, "much\nmore\n" * 500), name="m")
    assert fault is not None
    assert "\n" not in str(fault.error)
    assert len(str(fault.error)) < 400
