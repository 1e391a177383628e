"""Values of tables in JSON's words."""

from __future__ import annotations

import datetime
import decimal
import json
import uuid
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.json import NotJsonableError, jsonable
from tests.rows import each

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_json_stays_as_it_is(value: Any) -> None:
    assert jsonable(value) == value
    assert type(jsonable(value)) is type(value)


@each(
    "value, expected",
    [
        (float("nan"), None),
        (pd.NaT, None),
        (np.float32("nan"), None),
        (np.datetime64("NaT"), None),
        (np.timedelta64("NaT"), None),
        (decimal.Decimal("NaN"), None),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.float64(0.5), 0.5),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.array(["a", None], dtype=object), ["a", None]),
        (np.datetime64("2024-02-29T01:02:03.000000004"), "2024-02-29T01:02:03.000000004"),
        (np.timedelta64(1500, "ms"), 1.5),
        (pa.scalar("a"), "a"),
        (pa.scalar(None, pa.string()), None),
        (pa.array([1, None]), [1, None]),
        (pd.Timestamp("2024-02-29 01:02:03.000000004"), "2024-02-29T01:02:03.000000004"),
        (pd.Series([1, 2]), [1, 2]),
        (datetime.date(2024, 2, 29), "2024-02-29"),
        (datetime.time(1, 2), "01:02:00"),
        (datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC), "2024-02-29T00:00:00+00:00"),
        (datetime.timedelta(minutes=1), 60.0),
        (decimal.Decimal("1.10"), "1.10"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        ((1, (2,)), [1, [2]]),
        ({1: "a", datetime.date(2024, 1, 1): "b"}, {"1": "a", "2024-01-01": "b"}),
    ],
)
def test_what_a_table_holds_becomes_json(value: object, expected: object) -> None:
    found = jsonable({"x": [value]})
    assert found == {"x": [expected]}
    json.dumps(found, allow_nan=False)


@each(
    "value, said",
    [
        (float("inf"), "Infinity"),
        (np.float32("-inf"), "Infinity"),
        (decimal.Decimal("Infinity"), "Infinity"),
        (b"abc", "holds 3 bytes"),
        (bytearray(2), "holds 2 bytes"),
        (object(), "of type object"),
        ({None: 1}, "has a key that is no text"),
        ({1: 1, "1": 2}, "has the key '1' twice"),
    ],
)
def test_what_json_has_no_word_for_is_an_error(value: object, said: str) -> None:
    with pytest.raises(NotJsonableError, match=said):
        jsonable([value])


def test_nesting_has_an_end() -> None:
    value: list[Any] = []
    for _ in range(101):
        value = [value]
    with pytest.raises(NotJsonableError, match="more than 100 levels"):
        jsonable(value)
