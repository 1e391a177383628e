"""Diagnoses failed connections: wrong address, unknown host (DNS), TLS, refused, timeout.

Clients wrap what happened in exceptions of their own, often with nothing but "Connection error." in them; what the
system said stands further down the chain.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable

from eirene.core.error_chain import error_chain
from eirene.core.errors import AddressError, BackendError, BackendTimeoutError, UnreachableError

_NO_ADDRESS = frozenset({"InvalidURL", "LocationParseError", "UnsupportedProtocol"})
_NO_TLS = frozenset({"HTTP_REQUEST", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL", "WRONG_VERSION_NUMBER"})
_LATE = frozenset({"ConnectTimeout", "ConnectionTimeoutError"})
_WRONG_NAME = (62, 64)  # OpenSSL's codes for a certificate of another host or IP address

Diagnosis = tuple[type[BackendError], str]

_BY_KIND: tuple[tuple[Callable[[BaseException], bool], Diagnosis], ...] = (
    (
        lambda link: isinstance(link, socket.gaierror),
        (UnreachableError, "the name of its host is not known (DNS); is it spelt right, and the network up?"),
    ),
    (
        lambda link: isinstance(link, ConnectionRefusedError),
        (UnreachableError, "connection refused; is the server up, and is this its port?"),
    ),
    (
        lambda link: type(link).__name__ in _LATE,
        (BackendTimeoutError, "no connection in time; is the host right, and no firewall between?"),
    ),
)


def diagnose(error: BaseException) -> Diagnosis | None:
    """The kind and a sentence of what to do; None where nothing below the exception tells. Names no address."""
    return next(filter(None, map(_diagnosis_of, error_chain(error))), None)


def _diagnosis_of(link: BaseException) -> Diagnosis | None:
    name = type(link).__name__
    if name in _NO_ADDRESS or _is_bad_port(link) or (isinstance(link, UnicodeError) and "idna" in str(link)):
        return AddressError, "no request can be sent to this address (base_url); http://HOST:PORT/v1 is wanted"
    if isinstance(link, ssl.SSLError):
        return _tls(link)
    return next((apart for is_kind, apart in _BY_KIND if is_kind(link)), None)


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


def _is_bad_port(link: BaseException) -> bool:
    return isinstance(link, OverflowError) and "port must be" in str(link)
