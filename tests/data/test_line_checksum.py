"""The checksum of a line: every byte that is changed is noticed, and nobody's own lines are taken for ours."""

from __future__ import annotations

import json

import pytest

from eirene.data.line_checksum import DamagedError, check_value, sealed, sealed_value, unsealed


def test_a_line_with_a_checksum_says_what_it_said() -> None:
    """And no change of a byte lets it say anything else without a word."""
    text = '{"a":"é","b":[1]}'.encode()
    line = sealed(text)
    assert unsealed(line) is not line and unsealed(line) == unsealed(line + b"\r\n") == text
    assert json.loads(line)["a"] == "é"
    for at in range(len(line)):
        for bit in range(8):
            other = bytearray(line)
            other[at] ^= 1 << bit
            try:
                found = json.loads(unsealed(bytes(other)))
            except ValueError:
                continue
            assert (found["a"], found["b"], "line_crc32" in found) == ("é", [1], False) or len(found) == 3, other


def test_a_line_of_somebody_else_has_no_checksum() -> None:
    for line in (b'{"a":1}', b"", b"}", b'{"crc32":"01234567"}', b'{"hash":"0123456789abcdef"}', b"\0" * 99):
        assert unsealed(line) is line
        assert unsealed(line) == line


def test_an_object_has_its_checksum_however_it_is_laid_out() -> None:
    value = {"b": [1, 2.5], "a": "é"}
    laid_out = json.loads(json.dumps(sealed_value(value), indent=2))
    assert check_value(laid_out) == check_value(value) == value
    assert list(laid_out) == ["b", "a", "value_crc32"]
    for other in ({**laid_out, "a": "e"}, {**laid_out, "value_crc32": "00000000"}):
        with pytest.raises(DamagedError, match="does not fit its checksum: a byte of it was changed since"):
            check_value(other)
    with pytest.raises(ValueError, match=r"must end in a closing brace, got b'\]'"):
        sealed(b"[1]")
