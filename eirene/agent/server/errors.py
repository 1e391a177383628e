"""Errors of the API: a status and a body in OpenAI's form, where a request cannot be answered."""

from __future__ import annotations

import math
from typing import Any

from eirene.core.errors import (
    BackendError,
    BackendTimeoutError,
    EireneError,
    InputError,
    QuotaError,
    RateLimitError,
    RequestRefusedError,
    ScriptExhaustedError,
    UnusableReplyError,
)

_TYPES = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
CLIENT_GONE = 499
"""The status, in the metrics alone, of a request whose client went away."""


class ApiError(EireneError):
    """A request that gets an error for an answer. `code` and `param` as in OpenAI's protocol."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        self.status = status
        self.code = code
        self.param = param
        self.retry_after_s = retry_after_s
        super().__init__(message)

    @property
    def body(self) -> dict[str, Any]:
        """The body, `{"error": {...}}`."""
        kind = _TYPES.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")
        return {"error": {"message": str(self), "type": kind, "param": self.param, "code": self.code}}

    @property
    def headers(self) -> dict[str, str]:
        """`Retry-After` where waiting helps, `WWW-Authenticate` where a key is wanted."""
        headers = {}
        if self.retry_after_s is not None:
            headers["Retry-After"] = str(max(1, math.ceil(self.retry_after_s)))
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        return headers


def from_input(error: InputError) -> ApiError:
    """The 400 for what the client gave."""
    return ApiError(400, str(error), param=error.field, code="invalid_value")


def from_upstream(error: BackendError) -> ApiError:
    """The error for a draft that the model behind the server did not write."""
    said = f"the model behind this server did not answer: {error}"
    if isinstance(error, QuotaError):
        return ApiError(429, said, code="insufficient_quota")
    if isinstance(error, RateLimitError):
        return ApiError(429, said, code="rate_limit_exceeded", retry_after_s=5)
    if isinstance(error, RequestRefusedError):
        return ApiError(422 if "HTTP 422" in said else 400, said, code="upstream_refused")
    if isinstance(error, BackendTimeoutError):
        return ApiError(504, said, code="upstream_timeout")
    if isinstance(error, ScriptExhaustedError | UnusableReplyError):
        return ApiError(502, said, code="upstream_unusable")
    return ApiError(502, said, code="upstream_failed")


def timed_out(timeout_s: float) -> ApiError:
    """The error for a request whose time was up before there was a draft."""
    return ApiError(504, f"no answer within the server's limit of {timeout_s:g} s", code="timeout")


def internal_error() -> ApiError:
    """The error for a mistake of the server's own; what it was stands in the log."""
    return ApiError(500, "the server made a mistake; its log says which", code="internal_error")
