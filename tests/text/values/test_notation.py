"""Values of a sentence in the notation of given texts."""

from __future__ import annotations

from eirene.text.values.notation import Notation
from tests.rows import each

GIVEN = (
    "The rope is 18 m long and costs USD 4,000. The shop, opened on 1974-05-12, closes at 19:00. "
    "Its 1,297,412 clients wait 36 months. Bake at 180 °C. Q3 was good. "
    "The pump takes 1 bar for 1 week and 250 mcg of salt."
)


@each(
    "sentence, written",
    [
        ("The rope is about 59 feet long.", "The rope is about 18 m long."),
        ("The rope is 18 metres long.", "The rope is 18 m long."),
        ("It costs $4 thousand.", "It costs USD 4,000."),
        ("It opened on May 12th, 1974.", "It opened on 1974-05-12."),
        ("It closes at 7 pm.", "It closes at 19:00."),
        ("It closes at 7 p.m.", "It closes at 19:00."),
        ("About 1.3 million wait for three years.", "About 1,297,412 wait for 36 months."),
        ("Bake at 356 degrees Fahrenheit.", "Bake at 180 °C."),
        ("The third quarter was good.", "Q3 was good."),
        ("It takes 100 kPa.", "It takes 1 bar."),
        ("It needs 0.25 milligrams.", "It needs 250 mcg."),
        ("It takes 10 days.", "It takes 10 days."),  # a week is no rounded ten days
        ("It has 18 rooms and 36 keys.", "It has 18 rooms and 36 keys."),  # no metres, no months
        ("It opened in May 1974.", "It opened in May 1974."),
        ("It closes at 7 am after 35 months.", "It closes at 7 am after 35 months."),
        ("It has over one million clients.", "It has over one million clients."),
    ],
)
def test_equal_values_are_written_as_the_given_texts_write_them(sentence: str, written: str) -> None:
    assert Notation([GIVEN]).written(sentence) == written
