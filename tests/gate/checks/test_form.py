"""Form check: what breaks structure that was whole is undone, a change inside it that keeps it whole is not."""

from __future__ import annotations

import pytest

from eirene.gate.checks.form import form

from .cases import edit_case, reasons

JSON = '{\n  "tree": "Oaks are old.",\n  "note": "It sings."\n}'
BREAKS = [
    (JSON, '{\n  "tree": "Oaks are old.",\n}'),
    (JSON, "Oaks are old."),
    (f"As asked:\n\n{JSON}\n\nThat is all.", 'As asked:\n\n{\n  "tree": "Oaks are old.",\n}\n\nThat is all.'),
    ("<p>Oaks are old.</p>\n<p>They sing.</p>", "<p>Oaks are old.</p>\n<p>They sing."),
    ("<ul>\n<li>Oaks.</li>\n</ul>", "<ul>\n<li>Oaks.</li>"),
    ("\\begin{itemize}\n\\item Oaks.\n\\item Elms.\n\\end{itemize}", "\\begin{itemize}\n\\item Oaks.\n\\item Elms."),
    ("def age(y):\n    x = 2024\n    return x - y", "def age(y):\n    x = 2024\n   return x - y"),
    ("Run:\n```\na = 1\n```\nDone.", "Run:\n```\na = 1\nDone."),
    ("Oaks are old (and tall). They stand.", "Oaks are old (and tall. They stand."),
    ("| Tree | Age |\n| --- | --- |\n| Oak | 200 |\n| Elm | 90 |", "| Tree | Age |\n| Oak | 200 |\n| Elm | 90 |"),
]
KEEPS = [
    (JSON, '{\n  "tree": "Oaks are old."\n}'),
    ("<p>Oaks are old.</p>\n<p>They sing.</p>", "<p>Oaks are old.</p>"),
    ("def age(y):\n    x = 2024\n    return x - y", "def age(y):\n    return 2024 - y"),
    ("Oaks are old (and tall). They sing :)", "Oaks are old. They stand."),
    ("Two trees: 1) oaks, 2) elms. They stand.", "One tree: 1) oaks. It stands."),
    ("Oaks (are old. They stand.", "Oaks are old (. They stand."),
    ("Oaks are old. They sing.", "Oaks are old."),
]


@pytest.mark.parametrize(("before", "after"), BREAKS)
def test_what_leaves_structure_broken_is_objected_to(before: str, after: str) -> None:
    assert reasons(form, edit_case(before, after)) != []


@pytest.mark.parametrize(("before", "after"), KEEPS)
def test_what_keeps_it_whole_is_not(before: str, after: str) -> None:
    assert reasons(form, edit_case(before, after)) == []
