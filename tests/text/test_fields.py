"""Fields: each value of JSON and tables is a sentence that names it, at its place; prose and code have none."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eirene.text.fields import fields_of
from tests.rows import each

LAPTOPS = '[{"name": "Aster 13", "ports": ["HDMI", 2]}, {"name": "Lyra", "price": {"eur": 899, "taxFree": false}}]'
PROSE = '{"title": "The bridge", "text": "It was opened in 1890. It carries two hundred trains a day over the river."}'


@each("text, wanted", [
    (LAPTOPS, [
        "name: Aster 13", "name Aster 13, ports: HDMI, 2",
        "name: Lyra", "name Lyra, price, eur: 899", "name Lyra, price, no tax free",
    ]),
    ('Found:\n{"flight": {"gate": "B7", "seat_row": null}, "on_time": true}\nThat is all.',
     ["flight, gate: B7", "on time: yes"]),
    ("{'say': 'it\\'s \"on\"'}", ["say: it\\'s \"on\""]),
    (PROSE, ["title The bridge", "It was opened in 1890.", "It carries two hundred trains a day over the river."]),
    ("Trees:\n| Tree | Age |\n|:--|--:|\n| **Oak** | 300 years |\n| Elm | |", ["Tree Oak, Age: 300 years"]),
    ("| Length | 20 m |\n| Toll | none |", ["Length: 20 m", "Toll: none"]),
    ('city,people,mayor\n"Weyer, North",24000,"Anna ""Ann"" Lund"\nLodd,9000,\n',
     ["city Weyer, North, people: 24000", 'city Weyer, North, mayor: Anna "Ann" Lund', "city Lodd, people: 9000"]),
    ('{"a": {"b": "cut o', ["a, b: cut"]),
    ("Trees grow. {so} they say: {\"never\": 1}. f(x) = [1, 2]", []),
])  # fmt: skip
def test_values_are_sentences_that_name_them(text: str, wanted: list[str]) -> None:
    found = fields_of(text)
    assert [field.text for field in found] == wanted
    assert all(text[field.start : field.end] == field.written for field in found)


@given(st.text(alphabet="{}[]\":,\\'|-;\n a1", max_size=60))
def test_broken_data_is_read_as_far_as_it_goes(text: str) -> None:
    assert all(text[field.start : field.end] == field.written for field in fields_of(text))
