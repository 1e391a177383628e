"""Form check: structure and sentences stay whole, and nothing is left to lean on what was taken out."""

from __future__ import annotations

import pytest

from eirene.gate.checks.form import form, torn
from tests.rows import each

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


REASONS = "There are two reasons for it. Wood was cheap. Stone was far away."


@each(
    "gone, rest, says",
    [
        ("In all, 90 ships were sold. ", "A third of them were new. The rest sank.", "A third of them"),
        ("Two sisters ran the inn. ", "They sold it in 1926.", "They sold it"),
        ("The city passed a law. ", "This law still applies.", "This law"),
    ],
)
def test_what_the_rest_leans_on_stays(gone: str, rest: str, says: str) -> None:
    (why,) = reasons(form, edit_case(gone + rest, rest))
    assert says in why


def test_a_part_needs_what_it_is_of_wherever_it_stands() -> None:
    before = "The yard is old. It built 90 ships. Half of them sank."
    assert len(reasons(form, edit_case(before, before.replace("It built 90 ships. ", "")))) == 1


def test_one_of_an_announced_number_stays() -> None:
    why = ["leaves fewer than the text announces"]
    assert reasons(form, edit_case(REASONS, REASONS.replace(" Stone was far away.", ""))) == why


@each(
    "before, after",
    [
        ("Goats sing there. The tower is old.", "The tower is old."),
        ("They are old. Goats sing there. They have roofs.", "They are old. They have roofs."),
        ("Two sisters ran the inn. They sold it.", "The sisters sold it."),
        ("Goats sing there. It is said that foxes do.", "It is said that foxes do."),
        (REASONS + " Goats sing there.", REASONS),
    ],
)
def test_other_removals_are_left_alone(before: str, after: str) -> None:
    assert reasons(form, edit_case(before, after)) == []


def test_prose_gets_no_list_unless_it_is_asked_for() -> None:
    listed = f"{REASONS}\n\n## Costs\n- Stone was dear.\n- Wood was not."
    assert set(reasons(form, edit_case(REASONS, listed))) == {"a list or a heading in an answer that has none"}
    assert reasons(form, edit_case("- Stone was far away.", "- Stone was far away.\n- Stone was dear.")) == []
    assert reasons(form, edit_case(REASONS, listed, question="List the reasons.")) == []


OLD = "Uniforms make all the pupils of a school more equal in class and cost 40 euros for a year if they last."


@each(
    "new, says",
    [
        (OLD.replace("pupils", "pulpis"), "exchanges letters"),
        (OLD.removesuffix(" if they last."), "breaks off"),
        (f"{OLD} Furthermore, it has to be said that the.", "breaks off"),
        (" ".join(sorted(OLD.rstrip(".").split(), key=str.lower)) + ".", "no sentence"),
    ],
)
def test_what_is_no_sentence_is_objected_to_and_its_removal_mends(new: str, says: str) -> None:
    given = ["Uniforms make pupils equal."]
    old, new = f"They are warm. {OLD}", f"They are warm. {new}"
    found = reasons(form, edit_case(old, new, given=given))
    assert len(found) == 1 and says in found[0]
    assert reasons(form, edit_case(new, old, given=given)) == []
    assert len(reasons(torn, edit_case(new, old, given=given).swapped)) == 1


@each(
    "new",
    [
        OLD,
        OLD.replace("equal", "alike"),
        OLD + " They are warm.",
        OLD + "\n\n```python\nfor x in y: the(of)\n```",
        "If they last, uniforms cost 40 euros for a year and make all the pupils of a school more equal in class.",
        "",
    ],
)
def test_sentences_pass(new: str) -> None:
    assert reasons(form, edit_case(OLD, new)) == []


def test_an_end_that_an_argument_has_passes() -> None:
    argument = "the freedom to decide what pupils get up for in the"
    assert reasons(form, edit_case(OLD, f"{OLD} It is {argument}")) != []
    assert reasons(form, edit_case(OLD, f"{OLD}\n{argument}", given=[argument])) == []
