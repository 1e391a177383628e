"""Checksums of JSON lines: the last key, `line_crc32`, covers every byte before it.

A disk, a copy or an editor may change what was written. Whoever believes a line that Eirene wrote checks it first, and
says so where it does not fit. Lines of earlier versions have none and are read as they are; what `jq` or another
program makes of a line anew fits no more, and is believed once the key is taken out (`jq -c 'del(.line_crc32)'`).
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

KEY = "line_crc32"
VALUE_KEY = "value_crc32"

_SEAL = re.compile(rb',"line_crc32":"([0-9a-f]{8})"(\}{1,2})[ \t\r]*\n?\Z')
_FORM = b',"line_crc32":"'
_LONGEST = len(_FORM) + len('01234567"}}') + 2
_MOST_DIFFER = 2  # bytes of a seal that is damaged itself
_DAMAGED = "does not fit its checksum: a byte of it was changed since it was written"


class DamagedError(ValueError):
    """A line is not what was written; the message says why, as the end of a sentence about the line."""


def sealed(text: bytes, *, depth: int = 1) -> bytes:
    """A JSON object's compact text with its checksum as the last key; with `depth` 2, of the object that stands last
    inside it."""
    body, braces = text[:-depth], text[-depth:]
    if braces != b"}" * depth:
        raise ValueError(f"the text must end in {depth} closing braces, got {braces!r}")
    return b'%b,"line_crc32":"%08x"%b' % (body, zlib.crc32(body), braces)


def check_seal(line: bytes) -> bool:
    """Whether a line has a checksum, which then fits; raises `DamagedError` where it does not."""
    found = _SEAL.search(line, max(len(line) - _LONGEST, 0))
    if found is None:
        if _is_broken_seal(line):
            raise DamagedError(_DAMAGED)
        return False
    if zlib.crc32(memoryview(line)[: found.start()]) != int(found[1], 16):
        raise DamagedError(_DAMAGED)
    return True


def unsealed(line: bytes) -> bytes:
    """The text of a line whose checksum fits, without it; a line without one as it is. Raises `DamagedError`."""
    found = _SEAL.search(line, max(len(line) - _LONGEST, 0)) if check_seal(line) else None
    return line if found is None else line[: found.start()] + found[2]


def check_unsealed(value: dict[str, Any]) -> None:
    """Raises `DamagedError` where the value of a line without a checksum at its end has one all the same: another
    program wrote it anew, and nobody can tell what else was changed."""
    last = next(reversed(value.values()), None)
    if KEY in value or (isinstance(last, dict) and KEY in last):
        raise DamagedError(f"was written anew by another program, so that its checksum fits no more; take {KEY!r} out")


def without_seal(value: dict[str, Any]) -> dict[str, Any]:
    """The value of a line that was checked, without its checksum."""
    return {name: part for name, part in value.items() if name != KEY}


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


def _is_broken_seal(line: bytes) -> bool:
    """Whether a line ends in what was a checksum but for a byte or two: it must not pass for a line without one."""
    text = line.rstrip()
    for braces in (1, 2):
        begin = len(text) - braces - len('01234567"') - len(_FORM)
        if begin >= 0 and text.endswith(b'"' + b"}" * braces):
            found = text[begin : begin + len(_FORM)]
            if sum(a != b for a, b in zip(found, _FORM, strict=True)) <= _MOST_DIFFER:
                return True
    return False
