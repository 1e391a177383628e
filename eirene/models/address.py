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

from eirene.core.errors import InputError, RequestRefusedError, UnusableReplyError
from eirene.models.faults import Fault
from eirene.models.redaction import redacted, secrets_in_url, shown_address

_ADDRESS = re.compile(
    r"https?://(?:[^\s/?#@]*@)?(?:\[[0-9a-f:.]+\]|[^\s/?#@\\<>^`{|}\"%:\[\]]+)(?::\d+)?(?:[/?#]\S*)?", re.IGNORECASE
)
_OPERATORS = frozenset({" (HTTP 404)", " (HTTP 405)"})  # what is refused with these is the address, or the model's name
_STATUS = re.compile(r"\bHTTP \d{3}\b")
_PRIVATE: ContextVar[bool] = ContextVar("eirene_private_addresses", default=False)


def check_address(url: str, *, name: str = "base_url") -> str:
    """The address of a server as it came, which goes by `name`.

    Raises `InputError` where no request could be sent to it.
    """
    try:
        is_address = _ADDRESS.fullmatch(url) is not None and urlsplit(url).port != 0
    except ValueError:  # a port beyond the range, or no IPv6 address
        is_address = False
    if not is_address:
        said = " ".join(redacted(url.strip(), secrets_in_url(url.strip())).split())
        what = f"{name} must be the http:// or https:// address of a server, such as http://HOST:PORT/v1"
        raise InputError(f"{what}, got {said[:200]!r}", field="base_url")
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


def _without(text: str, address: str | None) -> str:
    """A text without the address: whole, or its host with or without the port."""
    if address is None:
        return text
    parts = urlsplit(address)
    for known in (address.rstrip("/"), parts.netloc, parts.netloc.rpartition("@")[2], parts.hostname):
        if known:
            text = re.sub(rf"(?<![\w.-]){re.escape(known)}(?![\w-])", "[server]", text, flags=re.IGNORECASE)
    return text
