"""What a sentence's opening leans on, and which sentences are announced by their number."""

from __future__ import annotations

from eirene.text.leaning import announced, goes_on, is_part, leans, pronoun, refers
from tests.rows import each


@each(
    "text, told",
    [
        ("Half of them were oaks.", "leans refers part"),
        ("The other side holds that it rains.", "leans refers"),
        ("Each of these points is fair.", "leans"),
        ("The latter is older.", "leans refers part"),
        ("They sold the mill.", "leans refers they"),
        ("Its walls are thick.", "leans refers it"),
        ("It’s closed in May.", "leans refers it"),
        ("This law still applies.", "leans refers"),
        ("It is said that foxes live there.", "leans it"),
        ("However, nothing was done.", "leans"),
        ("In addition, it has a park.", "leans goes_on"),
        ("Half of the trees were oaks.", ""),
        ("Most people walk.", ""),
        ("Item 5 is missing.", ""),
    ],
)
def test_openings(text: str, told: str) -> None:
    found = {"leans": leans(text), "goes_on": goes_on(text), "refers": refers(text), "part": is_part(text)}
    assert [*(name for name, holds in found.items() if holds), *filter(None, [pronoun(text)])] == told.split()


def test_a_number_announces_as_many_sentences() -> None:
    text = ["There are two main reasons.", "Wood was cheap.", "Stone was far away.", "So the tower burned."]
    assert [announced(text, n) for n in range(4)] == [False, True, True, False]
    assert not announced(["It has two towers.", "Wood was cheap."], 1)
