"""The checksum of a line: every byte that is changed is noticed, and nobody's own lines are taken for ours."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.data.line_checksum import (
    DamagedError,
    check_seal,
    check_unsealed,
    check_value,
    sealed,
    sealed_value,
    unsealed,
    without_seal,
)

OBJECTS = st.dictionaries(st.text(max_size=5), st.text(max_size=9) | st.integers(), min_size=1, max_size=4)


@given(value=OBJECTS, depth=st.sampled_from([1, 2]))
def test_a_line_with_a_checksum_says_what_it_said(value: dict[str, object], depth: int) -> None:
    """And gives its own text back."""
    text = json.dumps(value if depth == 1 else {"a": 1, "meta": value}, ensure_ascii=False).encode()
    line = sealed(text, depth=depth)
    assert check_seal(line) and check_seal(line + b"\n")
    assert unsealed(line) == text
    read = json.loads(line)
    assert without_seal(read if depth == 1 else read["meta"]) == value


@given(value=OBJECTS, at=st.integers(0, 10**6), bit=st.integers(0, 7))
def test_every_changed_bit_is_noticed(value: dict[str, object], at: int, bit: int) -> None:
    """By the checksum, or because the line is no JSON any more."""
    line = bytearray(sealed(json.dumps(value).encode()))
    line[at % len(line)] ^= 1 << bit
    with pytest.raises(ValueError):  # a damaged line, or none of JSON's
        if not check_seal(bytes(line)):
            check_unsealed(json.loads(bytes(line)))
            raise AssertionError(bytes(line))


@pytest.mark.parametrize(
    "line", [b'{"a":1}', b"", b"}", b'{"crc32":"01234567"}', b'{"hash":"0123456789abcdef"}', b"\0" * 99]
)
def test_a_line_of_somebody_else_has_no_checksum(line: bytes) -> None:
    assert not check_seal(line)
    assert unsealed(line) == line


def test_a_checksum_at_another_place_is_one_of_a_line_that_was_written_anew() -> None:
    line = json.dumps(json.loads(sealed(b'{"a":1}')))
    assert not check_seal(line.encode())
    with pytest.raises(DamagedError, match="written anew by another program"):
        check_unsealed(json.loads(line))


def test_an_object_has_its_checksum_however_it_is_laid_out() -> None:
    value = {"b": [1, 2.5], "a": "é"}
    laid_out = json.loads(json.dumps(sealed_value(value), indent=2))
    assert check_value(laid_out) == check_value(value) == value
    with pytest.raises(DamagedError):
        check_value({**laid_out, "a": "e"})
