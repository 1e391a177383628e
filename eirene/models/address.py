"""The address (base_url) of a model's server: checked, named in errors, and kept private from a server's clients.

What serves other people's requests runs them inside `private_addresses`: their errors tell the kind of failure and no
address, which goes to the log alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from urllib.parse import urlsplit

from eirene.core.errors import BackendError, InputError, RequestRefusedError, UnusableReplyError
from eirene.core.logs import get_logger
from eirene.models.faults import Fault
from eirene.models.redaction import redacted, secrets_in_url, shown_address

logger = get_logger(__name__)

_SCHEMES = ("http", "https")
_HOST = re.compile(r"[^\s/?#@\\<>^`{|}\"%]+")
_MOST_LABEL, _MOST_HOST = 63, 253  # characters, as DNS has it
_OPERATORS = frozenset({" (HTTP 404)", " (HTTP 405)"})  # what is refused with these is the address, or the model's name
_STATUS = re.compile(r"\bHTTP \d{3}\b")
_PRIVATE: ContextVar[bool] = ContextVar("eirene_private_addresses", default=False)


def check_address(url: str, *, name: str = "base_url") -> str:
    """The address of a server as it came, which goes by `name`.

    Raises `InputError` where no request could be sent to it.
    """
    problem = _problem(url)
    if problem is not None:
        said = redacted(url.strip(), secrets_in_url(url.strip()))
        raise InputError(
            f"{name} must be the address of a server, such as http://HOST:PORT/v1, got {said[:200]!r}: {problem}",
            field="base_url",
        )
    return url


@contextmanager
def private_addresses() -> Iterator[None]:
    """In calls of the body, its tasks and threads, an error names no address."""
    token = _PRIVATE.set(True)
    try:
        yield
    finally:
        _PRIVATE.reset(token)


def named(name: str, address: str | None) -> str:
    """What an error of a call begins with: the model, and its server where that is known."""
    if address is None:
        return name
    shown = shown_address(address) if "://" in address else redacted(address)
    return f"{name} at {shown.rstrip('/')}"


def private_fault(fault: Fault, *, name: str, address: str | None) -> Fault:
    """The fault as it may be read here: as it is, or where addresses are private without what may hold one.

    Of a private one stays its kind, and of a refused request what the provider said of it, but for the address.
    """
    if not _PRIVATE.get():
        return fault
    whole, kind = str(fault.error), type(fault.error)
    found = _STATUS.search(whole)
    status = "" if found is None else f" ({found[0]})"
    if issubclass(kind, RequestRefusedError | UnusableReplyError) and status not in _OPERATORS:
        said = _without(whole.removeprefix(f"{named(name, address)}: "), address)
    else:
        said = f"{kind.summary}{status}"
    # What the server said stays out of the log as well: it may quote what people wrote.
    log = f"{named(name, address)}: {kind.__name__}{status}" if status else whole
    return replace(fault, error=kind(f"{name}: {said}"), log=log)


def logged_error(fault: Fault) -> BackendError:
    """The error to raise for a fault after which nothing is tried; what it must not tell goes to the log."""
    if fault.log is not None:
        logger.warning("%s", fault.log)
    return fault.error


def _without(text: str, address: str | None) -> str:
    """A text without the address: whole, or its host with or without the port."""
    if address is None:
        return text
    parts = urlsplit(address)
    for known in (address.rstrip("/"), parts.netloc, parts.netloc.rpartition("@")[2], parts.hostname):
        if known:
            text = re.sub(rf"(?<![\w.-]){re.escape(known)}(?![\w-])", "[server]", text, flags=re.IGNORECASE)
    return text


def _problem(url: str) -> str | None:
    """What is wrong with an address; None where nothing is."""
    scheme, separator, _ = url.partition("://")
    problems = (
        (not url.strip(), "it is empty"),
        (re.search(r"[\s\x00-\x1f\x7f]", url), "it has a space or a line break in it"),
        (not separator, "http:// or https:// is missing at its beginning"),
        (scheme.lower() not in _SCHEMES, f"{scheme[:20]}:// is not spoken"),
    )
    return next((said for is_so, said in problems if is_so), None) or _problem_of_host(url)


def _problem_of_host(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return "its host cannot be read"
    if not host or not _is_host(host):
        return "its host cannot be the name of one" if host else "it has no host"
    try:
        has_port = parts.port != 0
    except ValueError:  # no number, or one beyond the range
        has_port = False
    return None if has_port else "its port must be a number from 1 to 65535"


def _is_host(host: str) -> bool:
    if ":" in host:
        return True  # an IPv6 address, which `urlsplit` has read
    labels = host.removesuffix(".").split(".")
    fits = all(0 < len(label) <= _MOST_LABEL for label in labels) and len(host) <= _MOST_HOST
    return fits and _HOST.fullmatch(host) is not None
