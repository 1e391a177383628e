"""Redacts secrets from clients' messages: the keys that a call is known to send, and what looks like one.

Providers like to quote the key that they refuse, and an exception goes on to logs, journals, reports and the clients of
a server: so it is redacted once, where a client's exception becomes one of ours.
"""

from __future__ import annotations

import base64
import binascii
import html
import itertools
import json
import os
import re
import string
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit

from pydantic import BaseModel, SecretStr

from eirene.core.errors import error_chain
from eirene.text.unicode import mend_surrogates

HIDDEN = "[redacted]"
NO_KEY = "not-needed"
"""What clients are given that insist on a key where a server asks for none. It is no secret."""
_PIECE = 6  # characters of a secret that are hidden wherever they stand: servers cut what they quote
_LEAST = 4  # characters of a secret; what is shorter ("x", "EMPTY" without its last letter) cannot be told from words
_LEAST_IN_REPLY = 16  # characters of a key that a reply must not hold: a shorter one ("local") may be a word of it
_MOST = 20_000  # characters of one message that are looked at: far more than is ever shown
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)

# Headers of a request whose values are no secrets; of all others they may be.
_OPEN_HEADERS = re.compile(
    r"(?:accept(?:-.*)?|anthropic-(?:version|beta)|connection|content-(?:length|type)|host|idempotency-key|"
    r"openai-(?:beta|organization|project)|transfer-encoding|user-agent|x-stainless-.*)",
    re.IGNORECASE,
)
_KEY_HEADERS = re.compile(r"(?i)authorization|key|token|secret")  # others may name what a reply may name
_OPEN_PARAMETERS = frozenset({"api-version", "model", "version"})
_SECRET_VARIABLE = re.compile(r"\w*(?:API_KEY|TOKEN|SECRET|SECRET_ACCESS_KEY|PASSWORD)")

_KEY = r"[\w*.…%+/=~-]"
_KEY_NAME = r"(?:api[-_ ]?key|authorization|access[-_ ]?token|secret|password)"
_FAR = 300
"""Characters within which a key has a digit: to look further from each of many beginnings takes time by the square."""
# What looks like a key; group 1, where there is one, stays.
_LOOKS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<![A-Za-z0-9])sk(?:[-_]|%2[dD]){_KEY}{{6,}}",  # OpenAI, Anthropic, OpenRouter, LangSmith
        r"(?<![A-Za-z0-9])(?:csk|fw|glpat|gh[opsu]|github_pat|gsk|lsv2|nvapi|pplx|r8|tvly|xai|xox[abp])[-_]"
        rf"(?=[^\s]{{0,{_FAR}}}\d){_KEY}{{10,}}",
        r"(?<![A-Za-z0-9])hf_[A-Za-z0-9*…]{10,}",
        r"(?<![A-Za-z0-9])AIza[\w*…-]{10,}",
        r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9*]{12,}",
        r"(?<![A-Za-z0-9])ey[JK][\w-]{8,2000}\.[\w-]{8,}(?:\.[\w-]*)?",  # a JSON web token
        r"\b((?i:bearer|basic)(?:\s|%20|\+){1,100})"
        rf"(?:(?={_KEY}{{0,{_FAR}}}(?:[\d=]|[a-z][A-Z])){_KEY}{{6,}}|{_KEY}{{20,}})",
        rf"(?i)({_KEY_NAME}['\"]?(?: provided| is| was)?\s*[:=]\s*(?:b?['\"])?)"
        r"(?!bearer\b|basic\b|\[redacted)[^\s'\",;})]{4,}",
        r"(://)[^\s/@'\"]+(?=@)",
        r"(?i)([?&][\w.-]*(?:auth|key|password|secret|sig|signature|token)=)[^&\s'\"#]+",
    )
)


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """The text with `[redacted]` for each secret, for pieces of one, and for what looks like a key.

    A secret is found in whatever case, and also as URLs, JSON, HTML and Base64 write it. Half surrogate pairs become
    U+FFFD; what is too long to be shown anyway is cut.
    """
    text = mend_surrogates(text if len(text) <= _MOST else text[:_MOST])
    hidden = bytearray(len(text))
    known = set(map(mend_surrogates, secrets))  # a variable of the environment may hold bytes that are no text
    for start, end in itertools.chain(_looks_in(text), *(_pieces_in(text, secret) for secret in known)):
        hidden[start:end] = b"\x01" * (end - start)
    out, last = [], 0
    for run in re.finditer(rb"\x01+", hidden):
        out += [text[last : run.start()], HIDDEN]
        last = run.end()
    return "".join([*out, text[last:]])


class RedactedError(Exception):
    """Stands for an exception of a client, the text of which showed a secret; it names the other's class."""


def redacted_error(error: Exception, secrets: Iterable[str] = ()) -> Exception:
    """The exception itself where nothing of it that a traceback prints shows a secret, else one in its place."""
    known = tuple(secrets)
    if all(redacted(text, known) == text for text in _texts(error)):
        return error
    said = redacted(str(error), known)
    return RedactedError(f"{type(error).__name__}: {said}").with_traceback(error.__traceback__)


def secrets_of(model: object) -> set[str]:
    """The keys that a model's settings hold: secrets, headers, and what its addresses carry. Names no client."""
    found = {value for name, value in os.environ.items() if _SECRET_VARIABLE.fullmatch(name)}
    if isinstance(model, BaseModel):
        for name in type(model).model_fields:
            found |= _secrets_in(getattr(model, name, None), name)
    return {secret for secret in found if _is_secret(secret)}


def without_keys(body: bytes | bytearray, url: str, headers: Iterable[tuple[str, str]]) -> bytes | bytearray:
    """The body of a reply with `[redacted]` for each whole key of its request, as it is and as JSON writes it."""
    keys = secrets_sent(url, ((name, value) for name, value in headers if _KEY_HEADERS.search(name)))
    for key in sorted((key for key in keys if len(key) >= _LEAST_IN_REPLY), key=len, reverse=True):
        for written in (key, json.dumps(key)[1:-1], key.replace("/", r"\/")):
            body = body.replace(written.encode("utf-8", "replace"), HIDDEN.encode())
    return body


def secrets_sent(url: str, headers: Iterable[tuple[str, str]]) -> set[str]:
    """The keys that a request carries, in its headers and its address."""
    found = secrets_in_url(url)
    for name, value in headers:
        if not _OPEN_HEADERS.fullmatch(name):
            found |= _secrets_in_header(value)
    return {secret for secret in found if _is_secret(secret)}


def secrets_in_url(url: str) -> set[str]:
    """User, password and the values of the query."""
    try:
        parts = urlsplit(url)
        found = {unquote(text) for text in (parts.username, parts.password) if text}
        found |= {value for name, value in parse_qsl(parts.query) if name.lower() not in _OPEN_PARAMETERS}
    except ValueError:  # no address at all
        return set()
    return found


def shown_address(url: str) -> str:
    """Scheme, host, port and path of an address: what may be told of it."""
    try:
        parts = urlsplit(url)
        host = parts.netloc.rpartition("@")[2]
    except ValueError:
        return HIDDEN
    return redacted(f"{parts.scheme}://{host}{parts.path}", secrets_in_url(url))


def _looks_in(text: str) -> Iterator[tuple[int, int]]:
    """Where something stands that looks like a key."""
    for looks in _LOOKS:
        for found in looks.finditer(text):
            yield (found.end(1) if looks.groups else found.start()), found.end()


def _pieces_in(text: str, secret: str) -> Iterator[tuple[int, int]]:
    """Where a piece of the secret stands that has so many characters; all of it, as a word, where it is shorter."""
    forms = {_lower(form) for form in _forms(secret)}
    plain = _lower(text)
    if len(secret) < _PIECE:
        alone = "|".join(re.escape(form) for form in forms)
        yield from (found.span() for found in re.finditer(rf"(?<!\w)(?:{alone})(?!\w)", plain))
        return
    pieces = {form[i : i + _PIECE] for form in forms for i in range(len(form) - _PIECE + 1)}
    yield from ((i, i + _PIECE) for i in range(len(plain) - _PIECE + 1) if plain[i : i + _PIECE] in pieces)


def _forms(secret: str) -> Iterator[str]:
    """The secret as it may be written; in Base64 behind none, one or two bytes, whose characters are left out."""
    yield from (secret, quote(secret), quote(secret, safe=""), quote_plus(secret), html.escape(secret))
    yield json.dumps(secret)[1:-1]
    yield from (base64.b64encode(bytes(n) + secret.encode()).decode().rstrip("=")[n + (n > 0) :] for n in range(3))


def _lower(text: str) -> str:
    """In lower case, and as long as before."""
    return text.translate(_LOWER)


def _texts(error: BaseException) -> Iterator[str]:
    """What a traceback says of an exception and of all that it came from."""
    for link in error_chain(error):
        yield str(link)
        yield repr(link)
        yield from getattr(link, "__notes__", ())


def _secrets_in(value: object, name: str) -> set[str]:
    if isinstance(value, SecretStr):
        return {value.get_secret_value()}
    if isinstance(value, Mapping):
        is_open = not re.search("header|query|cookie", name)
        return {s for key, one in value.items() if not _OPEN_HEADERS.fullmatch(str(key))
                for s in _secrets_in_setting(one, is_open=is_open)}  # fmt: skip
    return secrets_in_url(value) if isinstance(value, str) and "://" in value else set()


def _secrets_in_setting(value: Any, *, is_open: bool) -> set[str]:
    """Of one value of a mapping: a secret always, a text where the mapping is one of headers or the like."""
    if isinstance(value, SecretStr):
        return {value.get_secret_value()}
    return _secrets_in_header(value) if isinstance(value, str) and not is_open else set()


def _secrets_in_header(value: str) -> set[str]:
    """The value of a header, and where it has the form `scheme credentials` these alone and what Base64 hides."""
    scheme, _, rest = value.strip().partition(" ")
    if not rest:
        return {scheme}
    if scheme.lower() != "basic":
        return {rest.strip()}
    try:
        user, _, password = base64.b64decode(rest, validate=True).decode("utf-8").partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return {rest}
    return {rest, user, password}


def _is_secret(text: str) -> bool:
    return len(text) >= _LEAST and text != NO_KEY
