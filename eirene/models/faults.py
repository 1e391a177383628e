"""Classifies the exceptions of model clients as errors of ours, and says which are worth a retry.

The clients of OpenAI, Anthropic, Ollama, httpx, aiohttp and botocore have no exception in common. They do have shapes
in common: a status code, a response with headers, a parsed body, and telling class names. No client is imported.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from eirene.core.errors import (
    AddressError,
    AuthError,
    BackendError,
    BackendTimeoutError,
    MalformedReplyError,
    QuotaError,
    RateLimitError,
    RedirectedError,
    RequestRefusedError,
    TooLongError,
    UnreachableError,
    error_chain,
    root_cause,
)
from eirene.models.redaction import redacted

_NO_ADDRESS = frozenset({"InvalidURL", "LocationParseError", "UnsupportedProtocol"})
_NO_TLS = frozenset({"HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "WRONG_VERSION_NUMBER"})
_LATE = frozenset({"ConnectTimeout", "ConnectionTimeoutError"})
_WRONG_NAME = (62, 64)  # OpenSSL's codes for a certificate of another host or IP address

Diagnosis = tuple[type[BackendError], str]
SYSTEM = "system"
"""What a refused system message is called among the fields that a server does not take."""
_SYSTEM_ROLE = (
    r"(?:['\"`](?:system|developer)['\"`]|\b(?:system|developer)['\"`]*[ _-](?:role|messages?|prompts?|instructions?)\b"
    r"|\brole\W{1,4}(?:system|developer)\b)"
)
# How servers, and the chat templates behind them, say it.
_NO_SYSTEM = re.compile(
    rf"{_SYSTEM_ROLE}[^.!?\n]{{0,40}}(?:\bnot\b|n't\b|\bun(?:supported|known|expected|recogni[sz]ed)\b|\binvalid\b)"
    rf"|(?:\bnot|n't) (?:support|allow|accept|take|have|handle|use|expect)\b[^.!?\n]{{0,30}}{_SYSTEM_ROLE}"
    rf"|\b(?:un(?:supported|known|expected|recogni[sz]ed)|invalid)\b[^.!?\n]{{0,20}}{_SYSTEM_ROLE}"
    r"|\broles must alternate\b|\bonly\W+(?:the )?\W*user\b.{0,10}\bassistant\b.{0,60}\broles?\b",
    re.IGNORECASE,
)
RESPONSE_FORMAT = "response_format"
"""What a refused schema is called, whatever field it was sent in."""
LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""The two names of one limit: servers know the one, the other, or both."""
_NO_NAME = re.compile(
    r"\bnot? (?:support|permit|allow|longer)|\bextra\b|extra_|\bun(?:supported|known|expected|recogni[sz]ed)\b"
    r"|\badditional propert|\bdeprecated\b|\binstead\b|\binvalid (?:parameter|field|argument)",
    re.IGNORECASE,
)
"""How servers say that they do not know a name, rather than that its value is wrong."""
_RETRYABLE = (RateLimitError, BackendTimeoutError, UnreachableError, MalformedReplyError)
_QUOTA_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
_QUOTA_TEXT = re.compile(r"insufficient_quota|credit balance is too low|billing_hard_limit_reached", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context[ _](?:length|size|window)|too many (?:input )?tokens|prompt is too long|input is too long", re.IGNORECASE
)
_TIMEOUT_CLASS = re.compile(r"Timeout|DeadlineExceeded")
_CONNECTION_CLASS = re.compile(
    r"Connect(?:ion)?(?:Reset|Refused)?Error|ConnectionClosed|ProtocolError|ReadError|WriteError|NetworkError|"
    r"ServerDisconnected|ServiceUnavailable|IncompleteRead|ClientOSError|ClientPayloadError"
)
_UNKNOWN_ARGUMENT = re.compile(r"unexpected keyword argument '(\w+)'")
# How servers that give one reply a request say so without naming the field (llama.cpp among them, as a 500).
_ONE_REPLY = re.compile(
    r"(?:only (?:one|1)|single|multiple|number of) (?:completion )?(?:choice|completion)s?", re.IGNORECASE
)
# How servers speak of a schema that they do not take, whatever field it was sent in.
_SCHEMA = re.compile(
    r"response_?format|json.?schema|structured.?outputs?|guided.?decoding|grammar|tool_choice|"
    r"invalid format: expected|\bformat\b.{0,40}\bjson\b",
    re.IGNORECASE,
)
_NOT_THAT_KIND = re.compile(r"'(?:bool|dict|float|int|list|NoneType|str)' object has no attribute")
_NO_WORD = re.compile(r"Error code: \d+")
"""OpenAI's SDK where the body has no message in OpenAI's form."""
_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Fault:
    """One failed attempt: the error to raise if no attempt is left, and whether another may help.

    `retry_after_s` is the wait that the provider asked for; `parameter` the request field that it does not take;
    `is_internal` says that the server failed within (HTTP 500); `log` is what is to be logged where the error must not
    tell it.
    """

    error: BackendError
    retryable: bool
    retry_after_s: float | None = None
    parameter: str | None = None
    is_internal: bool = False
    log: str | None = None

    def of_one_call(self) -> Fault:
        """What it is where the server has answered before: its address is right, and another attempt may help."""
        if not isinstance(self.error, AddressError | RedirectedError):
            return self
        return replace(self, error=UnreachableError(f"{self.error} (it has answered before)"), retryable=True)


def classify(
    error: Exception, *, name: str, parameters: frozenset[str] = frozenset(), secrets: frozenset[str] = frozenset()
) -> Fault | None:
    """The fault behind an exception of a client; None when it is none of a model call's (a bug, then: let it go).

    `name` stands before the message, which is redacted: of `secrets`, the keys of the call, and of what looks like one.
    `parameters` are the optional fields that were sent: a refusal that speaks of one of them says so in `parameter`.
    """
    if isinstance(error, BackendError):  # a scripted model's, or already told apart
        return Fault(error, retryable=isinstance(error, _RETRYABLE))
    status = _status(error)
    if status is not None:
        return _by_status(status, error, _said(error, secrets), name, parameters)
    broken: BackendError | None = None
    if any(_is_bad_header(e) for e in error_chain(error)):  # its message would show the key
        said = "the API key in the environment cannot be sent: it holds a line break, or a letter that is not ASCII"
        broken = AuthError(f"{name}: {said}")
    elif any(type(e).__name__ == "TooManyRedirects" for e in error_chain(error)):
        broken = RedirectedError(f"{name}: the server redirects in a circle; check its address (base_url)")
    elif (apart := diagnose(error)) is not None:
        kind, said = apart
        broken = kind(f"{name}: {said}")
    elif any(isinstance(e, TimeoutError) or _TIMEOUT_CLASS.search(type(e).__name__) for e in error_chain(error)):
        broken = BackendTimeoutError(f"{name}: no reply in time ({_said(error, secrets)})")
    elif any(_is_connection(e) for e in error_chain(error)):
        broken = UnreachableError(f"{name}: no connection ({_with_root(error, secrets)}); is the server up?")
    if broken is not None:
        return Fault(broken, retryable=isinstance(broken, _RETRYABLE))
    unknown = _UNKNOWN_ARGUMENT.search(str(error)) if isinstance(error, TypeError) else None
    if unknown is not None:
        refused = RequestRefusedError(f"{name}: the client does not take the field {unknown[1]!r}")
        return Fault(refused, retryable=False, parameter=unknown[1] if unknown[1] in parameters else None)
    if _is_malformed(error):
        said = _said(error, secrets)
        return Fault(MalformedReplyError(f"{name}: the reply cannot be read ({said})"), retryable=True)
    return None


def retry_after_s(error: BaseException, *, now: datetime | None = None) -> float | None:
    """Seconds that the response's headers ask to wait: `retry-after-ms`, or `Retry-After` in seconds or as a date."""
    headers = {str(k).lower(): str(v) for k, v in _headers(error).items()}
    try:
        if "retry-after-ms" in headers:
            return max(0.0, float(headers["retry-after-ms"]) / 1000)
        value = headers.get("retry-after")
        if value is None:
            return None
        if re.fullmatch(r"\s*\d+(\.\d+)?\s*", value):
            return float(value)
        when = parsedate_to_datetime(value)
        return max(0.0, (when - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, TypeError):  # a header that follows no standard asks for nothing
        return None


def _by_status(status: int, error: Exception, message: str, name: str, parameters: frozenset[str]) -> Fault:
    more = "" if message == f"Error code: {status}" else f": {message}"
    said, wait = f"{name}: HTTP {status}{more}", retry_after_s(error)
    if _is_quota(status, error):
        return Fault(QuotaError(f"{said} (the account's credit or quota is used up)"), retryable=False)
    if status in (401, 403):
        return Fault(AuthError(f"{said} (check the provider's API key in the environment)"), retryable=False)
    if status == 429:
        return Fault(RateLimitError(said), retryable=True, retry_after_s=wait)
    if status == 408:
        return Fault(BackendTimeoutError(said), retryable=True, retry_after_s=wait)
    if status >= 500 and _told_of(_whole(error), parameters) is None:
        return Fault(UnreachableError(said), retryable=True, retry_after_s=wait, is_internal=status == 500)
    is_too_long = status in (400, 413, 422) and _TOO_LONG.search(_whole(error)) is not None
    refused = TooLongError(said) if is_too_long else RequestRefusedError(said + _where(status, message))
    parameter = None if is_too_long else _refused_parameter(error, parameters)
    return Fault(refused, retryable=False, parameter=parameter)


def _where(status: int, message: str) -> str:
    """What to look at where nothing is found."""
    if status not in (404, 405):
        return ""
    if "model" in message.lower():
        return " (check the model's name)"
    return " (check the model's name, and the path of the address: with OpenAI's protocol it mostly ends in /v1)"


def _refused_parameter(error: Exception, parameters: frozenset[str]) -> str | None:
    """The sent field that a refusal names: the body's `param`, else the first that the message speaks of as a name."""
    text = _whole(error)
    named = _detail(error).get("param")
    found = named if isinstance(named, str) and named in parameters else _told_of(text, parameters)
    found = found or next((f for f in sorted(parameters - {SYSTEM}) if re.search(_looks_of(f), text)), None)
    # A limit's value may be wrong as well, which another name for it does not mend.
    return None if found in LIMITS and _NO_NAME.search(text) is None else found


def _looks_of(field: str) -> str:
    """How a message speaks of a field. A one-letter one must look like one: 'n', `n`, n=, n >, n must, parameter n."""
    looks = rf"""['"`]{field}['"`]|\b(?:parameter|field|argument|option|value of) {field}\b|\b{field}\s*[=><:]"""
    loose = rf"|\b{field} (?:must|is|should|can|cannot|greater|larger)\b" if field == "n" else rf"|\b{field}\b"
    return looks + loose


def _is_quota(status: int, error: Exception) -> bool:
    detail = _detail(error)
    codes = {detail.get("code"), detail.get("type"), getattr(error, "code", None)}
    return status == 402 or bool(codes & _QUOTA_CODES) or (status < 500 and bool(_QUOTA_TEXT.search(str(error))))


def _status(error: BaseException) -> int | None:
    """The HTTP status of an exception or of what caused it."""
    for e in error_chain(error):
        response = getattr(e, "response", None)
        candidates = [
            getattr(e, "status_code", None), getattr(response, "status_code", None), getattr(e, "status", None),
            getattr(e, "http_status", None), getattr(e, "code", None), _detail(e).get("code"),
            _botocore_status(response),
        ]  # fmt: skip
        for value in candidates:
            if isinstance(value, int) and not isinstance(value, bool) and 300 <= value <= 599:
                return value
    return None


def _detail(error: BaseException) -> Mapping[str, object]:
    """The provider's own error object: `body` of an SDK's exception, or a dict that was raised as the message."""
    found: object = getattr(error, "body", None)
    if not isinstance(found, Mapping) and error.args and isinstance(error.args[0], Mapping):
        found = error.args[0]
    if isinstance(found, Mapping) and isinstance(found.get("error"), Mapping):
        found = found["error"]
    # Keys and codes are compared with text and numbers only; anything unhashable is of no use here.
    return {k: v for k, v in found.items() if isinstance(v, str | int)} if isinstance(found, Mapping) else {}


def _told_of(text: str, parameters: frozenset[str]) -> str | None:
    """What was sent and an error speaks of without naming a field."""
    if "n" in parameters and _ONE_REPLY.search(text):
        return "n"
    if SYSTEM in parameters and _NO_SYSTEM.search(text[:2_000]):
        return SYSTEM
    return RESPONSE_FORMAT if RESPONSE_FORMAT in parameters and _SCHEMA.search(text) else None


def _whole(error: BaseException) -> str:
    """All that an error says: SDKs leave out of their message what a body of another form has."""
    return f"{error} {_body(error)}"


def _body(error: BaseException) -> str:
    """What the body of a refused request says: a text, or FastAPI's list of problems; "" for a page of HTML."""
    body = getattr(error, "body", None)
    found = body.get("detail", body.get("error", body)) if isinstance(body, Mapping) else body
    if isinstance(found, list) and all(isinstance(problem, Mapping) for problem in found):
        found = "; ".join(f"{'.'.join(map(str, p.get('loc') or ()))}: {p.get('msg')}" for p in found)
    if isinstance(found, Mapping):
        found = json.dumps(found, default=str)
    return found if isinstance(found, str) and not found.lstrip().startswith("<") else ""


def _botocore_status(response: object) -> object:
    metadata = response.get("ResponseMetadata") if isinstance(response, Mapping) else None
    return metadata.get("HTTPStatusCode") if isinstance(metadata, Mapping) else None


def _headers(error: BaseException) -> Mapping[object, object]:
    for e in error_chain(error):
        for owner in (getattr(e, "response", None), e):
            items = getattr(getattr(owner, "headers", None), "items", None)
            if callable(items):
                return dict(items())
    return {}


def _is_connection(error: BaseException) -> bool:
    if isinstance(error, ConnectionError | EOFError):
        return True
    if isinstance(error, RuntimeError) and str(error) == "Event loop is closed":
        return True  # a pooled connection that another, finished event loop had opened
    return any(_CONNECTION_CLASS.search(c.__name__) for c in type(error).__mro__)


def _is_bad_header(error: BaseException) -> bool:
    """Whether a header could not be sent. Of all headers only the key's value is not the client's own."""
    if isinstance(error, UnicodeEncodeError):  # texts are sent as UTF-8, headers as ASCII
        return error.encoding == "ascii"
    return type(error).__name__ == "LocalProtocolError" and "header value" in str(error)


def _is_malformed(error: Exception) -> bool:
    """What clients raise on a reply that is no JSON, or JSON of another shape."""
    if isinstance(error, ValueError | KeyError | IndexError | TypeError | RecursionError):
        return True
    if isinstance(error, AttributeError):  # a client that took one kind of JSON value for another
        return _NOT_THAT_KIND.match(str(error)) is not None
    return "ResponseValidation" in type(error).__name__ or type(error).__name__ == "DecodingError"


def diagnose(error: BaseException) -> Diagnosis | None:
    """The kind of a failed connection and a sentence of what to do; None where nothing below the exception tells.

    Clients wrap what happened in exceptions of their own, often with nothing but "Connection error." in them; what the
    system said stands further down the chain. Names no address.
    """
    return next(filter(None, map(_diagnosis_of, error_chain(error))), None)


def _diagnosis_of(link: BaseException) -> Diagnosis | None:
    name = type(link).__name__
    is_bad_port = isinstance(link, OverflowError) and "port must be" in str(link)
    if name in _NO_ADDRESS or is_bad_port or (isinstance(link, UnicodeError) and "idna" in str(link)):
        return AddressError, "no request can be sent to this address (base_url); http://HOST:PORT/v1 is wanted"
    if isinstance(link, ssl.SSLError):
        return _tls(link)
    if isinstance(link, socket.gaierror):
        return UnreachableError, "the name of its host is not known (DNS); is it spelt right, and the network up?"
    if isinstance(link, ConnectionRefusedError):
        return UnreachableError, "connection refused; is the server up, and is this its port?"
    if name in _LATE:
        return BackendTimeoutError, "no connection in time; is the host right, and no firewall between?"
    return None


def _tls(error: ssl.SSLError) -> Diagnosis:
    if not isinstance(error, ssl.SSLCertVerificationError):
        if error.reason in _NO_TLS:
            return AddressError, "no TLS is spoken there; does its address begin with http:// rather than https://?"
        return UnreachableError, f"TLS failed ({error.reason or type(error).__name__}); is it a server of https://?"
    if error.verify_code in _WRONG_NAME:
        return AddressError, "its TLS certificate is for another host; name the server as its certificate does"
    return AddressError, (
        f"its TLS certificate is not trusted here ({error.verify_message or 'not verified'}); "
        "let the environment's SSL_CERT_FILE name a file with the authority that signed it"
    )


def _with_root(error: Exception, secrets: frozenset[str]) -> str:
    """What is said of an exception and of what it came from in the end: clients wrap the one that tells."""
    root = root_cause(error)
    outer, inner = _said(error, secrets), _said(root, secrets)
    return outer if inner in (outer, type(root).__name__) else f"{outer.rstrip('.')}: {inner}"


def _said(error: BaseException, secrets: frozenset[str]) -> str:
    """The exception in one line of bounded length, redacted."""
    message = _detail(error).get("message")
    said = message if isinstance(message, str) else str(error)
    if _NO_WORD.fullmatch(said):
        said = _body(error) or said
    text = redacted(" ".join(said.split()), secrets)
    text = text or type(error).__name__
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


@contextmanager
def out_of_memory_as_error(name: str, what: str) -> Iterator[None]:
    """Around a pass of the model `name` over `what`; raises `BackendError` where the memory does not suffice."""
    import torch

    try:
        yield
    except torch.OutOfMemoryError as error:
        raise BackendError(f"{name}: out of memory with {what}; use a narrower dtype or another device") from error
