"""A canary API key that must be redacted everywhere, and a scripted server that quotes it wherever it can."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from eirene.testing.script import HttpError, ScriptedReply, ScriptedRequest

KEY = "local.CANARY/9f3k+2m=x"
"""Without the looks of a key of any provider, so that it is hidden as the key of the call alone."""
LOOKS = "sk-proj-CANARY7f3k9q2mZ"
"""A key of somebody's that the call does not know."""


def echo(status: int) -> Callable[[ScriptedRequest, int], ScriptedReply]:
    """A script that refuses every request with the key that came: whole, cut, quoted, percent-encoded."""

    def script(request: ScriptedRequest, _: int) -> ScriptedReply:
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        said = f"bad key {key}, {key[:14]}..., {key!r}, {quote(key, safe='')}, {request.headers.get('x-gate')}, {LOOKS}"
        return HttpError(status, said, headers={"Retry-After": "0"})

    return script


def assert_hidden(*shown: str | bytes | Path) -> None:
    """No text, and no file, holds the key or a piece of it."""
    for found in shown:
        data = found.read_bytes() if isinstance(found, Path) else found.encode() if isinstance(found, str) else found
        at = data.upper().find(b"CANARY")
        assert at < 0, (found if isinstance(found, Path) else "", data[max(0, at - 200) : at + 100])
