"""Checksums of JSON lines: the last key, `line_crc32`, covers every byte before it.

A disk, a copy or an editor may change what was written. Whoever believes a line that Eirene wrote checks it first. A
line without one is somebody else's; what `jq` or another program makes of a line anew fits no more, and is believed
once the key is taken out (`jq -c 'del(.line_crc32)'`).
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

KEY = "line_crc32"
VALUE_KEY = "value_crc32"

_SEAL = re.compile(rb',"line_crc32":"([0-9a-f]{8})"\}[ \t\r]*\n?\Z')
_LONGEST = len(',"line_crc32":"01234567"}') + 8
_DAMAGED = "does not fit its checksum: a byte of it was changed since it was written"


class DamagedError(ValueError):
    """A line is not what was written; the message says why, as the end of a sentence about the line."""


def sealed(text: bytes) -> bytes:
    """A JSON object's compact text with its checksum as the last key."""
    body, brace = text[:-1], text[-1:]
    if brace != b"}":
        raise ValueError(f"the text must end in a closing brace, got {brace!r}")
    return b'%b,"line_crc32":"%08x"}' % (body, zlib.crc32(body))


def unsealed(line: bytes) -> bytes:
    """The text of a line whose checksum fits, without it; a line without one as it is. Raises `DamagedError`."""
    found = _SEAL.search(line, max(len(line) - _LONGEST, 0))
    if found is None:
        return line
    body = line[: found.start()]
    if zlib.crc32(body) != int(found[1], 16):
        raise DamagedError(_DAMAGED)
    return body + b"}"


def sealed_value(value: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON object with the checksum of what it says as its last key, however it is laid out in its file."""
    return {**value, VALUE_KEY: _checksum(value)}


def check_value(value: dict[str, Any]) -> dict[str, Any]:
    """The object without its checksum; raises `DamagedError` where that does not fit. One without any is as it is."""
    plain = {name: part for name, part in value.items() if name != VALUE_KEY}
    if VALUE_KEY in value and value[VALUE_KEY] != _checksum(plain):
        raise DamagedError(_DAMAGED)
    return plain


def _checksum(value: Mapping[str, Any]) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return f"{zlib.crc32(text.encode('ascii')):08x}"
