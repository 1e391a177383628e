"""Form: structure of every kind is one stretch, is found again by itself, and people's prose is none of it."""

from __future__ import annotations

import pytest

from eirene.text.form import form_spans, is_form
from eirene.text.sentences import split_sentences

STRUCTURE = {
    "json": '{\n  "name": "Oak. A tree.",\n  "old": true,\n  "in": {"parks": ["A. B", "C"]}\n}',
    "json cut off": '{"name": "Oak", "note": "It is old. It',
    "json list": '["Oaks are old.", "Elms are not."]',
    "json lines": '{"tree": "oak"}\n{"tree": "elm"}',
    "python dict": "{'tree': 'oak', 'old': True}",
    "html": "<ul>\n  <li>Oaks are old.</li>\n  <li>Elms. They die.</li>\n</ul>",
    "html on a line": '<div class="a"><p>Oaks are <b>old</b>. Elms die.</p><p>Yes.</p></div>',
    "unclosed html": "<li>Oaks are old\n<li>Elms die",
    "xml": '<?xml version="1.0"?>\n<tree kind="oak">\n  <age>It is old.</age>\n  <tall/>\n</tree>',
    "latex": "\\begin{itemize}\n\\item Oaks are old.\n\\item Elms die.\n\\end{itemize}",
    "environment in a formula": "$$h = |\\begin{matrix}a & b \\\\ c. D & e\\end{matrix}|,$$",
    "two environments on a line": "\\begin{a}Oaks.\\end{a} \\begin{b}Elms.\\end{b}",
    "formula": "\\[\nh = 31\\,\\mathrm{m}\n\\]",
    "python": "import math\n\ndef age(year):\n    # oaks are old\n    return math.floor(2024 - year)",
    "javascript": "const oak = await find({\n  old: true,\n});\nif (!oak) {\n  throw new Error(`none`);\n}",
    "c": '#include <stdio.h>\nint main(void) {\n    printf("oak");\n    return 0;\n}',
    "sql": "SELECT t.name\nFROM trees AS t\nWHERE t.age > 100\nORDER BY t.age;",
    "sql on a line": "SELECT name FROM trees WHERE age > 100",
    "shell": '#!/bin/sh\nset -e\ncp -r /srv/oak /backup\necho "Done."',
    "command": "pip install oak-tree==2.1",
    "ini": "[oak]\nage = 200\n; measured last year\nheight = 31",
    "yaml": "oak:\n  age: 200\n  note: It is old. Very.\nelms:\n  - name: one",
    "csv": "tree,height,planted\noak,31,1790\nelm,22,the year of the goat",
    "csv with semicolons": "Baum;Höhe\nEiche;31,5\nUlme;22",
    "tsv": "tree\theight\noak\t31\nelm\tas tall as a song",
    "fence": "```python\noak = 1. Two\n```",
    "agent": 'Thought: I look it up.\nAction: search\nAction Input: {"tree": "oak"}',
}
PROSE = [
    "The oak (31 m) is old: it was planted in 1790 - or so people say; nobody knows [1].",
    "Roses are red;\nViolets are blue;\nSugar is sweet,\nAnd so are you.",
    "There are oaks, elms, and limes.\nThey grow, bloom, and die.\nWe like, plant, and water them.",
    "Pros: It is cheap.\nCons: It is slow.\nNote: Prices may change.",
    "Name: Oak\nHeight: 31 metres\nAge: 234 years",
    "1. Furniture (sofa, chairs, tables)\n2. Dishes (plates, bowls, cups)\n3. Tools (saws, files, nails)",
    "Country 1: Oakland | People: 331,449,281\nCountry 2: Elmland | People: 213,993,437",
    "Use `foo.bar()` in the <b>loop</b>, where a < b and c > d.<sup>2</sup> It helps.",
    "If you ask for more than that, set the table:\nfor example, with plates\nwhile others cook.",
    "y = dependent variable (also called the response)\nx = independent variable (also called the predictor)",
    "We met on Monday. Action: Ana writes to Ben. Thought: it may rain.",
    "London, UK\nParis, France\nRome, Italy",
    "Hi Ana,\n\nthe oak is old.\n\nBest wishes,\nBen",
    'She said: [laughs] "Never." {Applause.} He said $5 or $6.\nThen they left.',
    "return to the oak, or continue to the elm;\nbreak no branch.",
    "import duties rose, and export duties fell.\nmake a list / a plan, then go.",
]


@pytest.mark.parametrize("text", STRUCTURE.values(), ids=STRUCTURE.keys())
def test_structure_is_one_piece_among_prose_and_by_itself(text: str) -> None:
    assert is_form(text) and form_spans(text)
    around = f"Here is what was asked for. It follows.\n\n{text}\n\n"
    pieces = [s.text for s in split_sentences(around)]
    if "cut off" not in text and not text.endswith("It"):
        assert all(is_form(piece) for piece in pieces[2:])
    assert "\n".join(pieces[2:]).split() == text.split() and len(pieces[2:]) <= 2


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_no_structure(text: str) -> None:
    assert form_spans(text) == ()


def test_what_is_said_after_structure_is_prose_again() -> None:
    steps = "Thought: I look it up.\nAction: search\nAction Input: oak\nObservation: 31 m\nFinal Answer:"
    text = f'{steps} The oak is 31 m tall. It is old.\nThe rest:\n{{"oak": 31}}\nThat is all.'
    assert [s.text for s in split_sentences(text)] == [
        steps, "The oak is 31 m tall.", "It is old.", "The rest:", '{"oak": 31}', "That is all.",
    ]  # fmt: skip
