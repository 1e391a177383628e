"""Text that no UTF-8 can hold is mended wherever it stands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from eirene.text.unicode import mend_json, mend_surrogates, mend_values
from tests.rows import each


@each(
    "text, mended",
    [
        ("plain", "plain"),
        ("grüße 😀", "grüße 😀"),
        ("a\ud800b", "a\ufffdb"),
        ("\ud83d\ude00", "😀"),
        ("\udc00", "\ufffd"),
    ],
)
def test_half_a_pair_is_replaced_and_a_whole_one_is_its_sign(text: str, mended: str) -> None:
    assert mend_surrogates(text) == mended


@each("mend", [mend_values, mend_json])
def test_every_text_of_a_value_is_mended_its_keys_among_them(mend: Any) -> None:
    value = {"a\ud800": ["\ud800", ("\ud800", 1, None, 1.5)], "b": {"c": {"\ud800": True}}}
    assert mend(value) == {"a\ufffd": ["\ufffd", ("\ufffd", 1, None, 1.5)], "b": {"c": {"\ufffd": True}}}


@each("value", [{"a": ["b", 1]}, "text", 5, None])
def test_what_is_whole_stays_the_same_object(value: Any) -> None:
    assert mend_json(value) is value


def test_what_is_nested_without_end_is_refused() -> None:
    deep: Any = json.loads("[" * 500 + "]" * 500)
    with pytest.raises(ValueError, match="nested too deeply"):
        mend_values(deep)
