"""The gate in nine languages of seven scripts: figures, quotations, links, torn ends and doubled answers."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.gate.checks.registry import CHECKS
from eirene.gate.edits import Rewrite, check_edits
from eirene.models.encoder import load_encoder

FILE = Path(__file__).parents[1] / "text" / "edits_in_languages.toml"
LANGUAGES: dict[str, Any] = tomllib.loads(FILE.read_text("utf-8"))
CASES = [(name, parts["chosen"][n]) for name, parts in LANGUAGES.items() for n in (0, 1)]
UNSPACED = ("Chinese", "Japanese")
EASTERN_ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
FULL_WIDTH = str.maketrans("0123456789", "０１２３４５６７８９")


def undone(text: dict[str, Any], after: str) -> list[str | None]:
    """The checks that undo an edit of a text's answer."""
    given = Grounding("context", (ArgumentGroup("context", tuple(text["given"])),))
    rewrite = Rewrite(text["question"], text["answer"], after, given)
    return [decision.check for decision in check_edits(rewrite, CHECKS, None).undone]


def test_what_is_false_in_form_or_figures_is_undone() -> None:
    missed = []
    for language, text in CASES:
        answer, gap = text["answer"], "" if language in UNSPACED else " "
        half = text["added"][: len(text["added"]) // 2].rstrip(" 0123456789٠١٢٣٤٥٦٧٨٩")
        wanted = [
            *(("specifics", answer.replace(old, new)) for old, new in text["numbers"]),
            ("specifics", answer.replace(*text["quote"])),
            (None, f"{answer[:-1]}{gap}https://example.org/more{answer[-1]}"),
            ("repetition", f"{answer}{gap}{answer}"),
            ("form", f"{answer}{gap}{half}"),
        ]
        for check, after in wanted:
            found = undone(text, after)
            if not found or (check is not None and check not in found):
                missed.append((language, check, after, found))
    assert missed == []


def test_what_the_given_text_says_may_be_added() -> None:
    refused = []
    for language, text in CASES:
        gap = "" if language in UNSPACED else " "
        if found := undone(text, f"{text['answer']}{gap}{text['added']}"):
            refused.append((language, found))
    assert refused == []


def test_one_foreign_argument_does_not_switch_off_what_is_held_against_the_others() -> None:
    foreign = " ".join(t["answer"] for t in LANGUAGES["Russian"]["chosen"])
    before, added = "Trams are quiet. They are cheap.", "They are cheap for families and for pensioners."
    found = []
    for given in (("Some say that they are quiet.", foreign), (foreign,)):
        sides = Grounding("perspectives", (ArgumentGroup("pro", given),))
        rewrite = Rewrite("Are trams any good?", before, f"{before} {added}", sides)
        found.append([decision.check for decision in check_edits(rewrite, CHECKS, load_encoder()).undone])
    assert found == [["support"], []]


def test_digits_of_one_script_stand_for_those_of_another() -> None:
    arabic, japanese = LANGUAGES["Arabic"]["chosen"][1], LANGUAGES["Japanese"]["chosen"][0]
    assert undone(arabic, arabic["answer"].translate(EASTERN_ARABIC)) == []
    assert undone(japanese, japanese["answer"].translate(FULL_WIDTH)) == []


def test_english_is_told_without_the_identifier_of_languages() -> None:
    code = """
import sys
from eirene.gate.checks.registry import CHECKS
from eirene.gate.edits import Rewrite, check_edits
from eirene.core.grounding import Grounding

before = "Trams are quiet and they are used by people of every age. Critics say that the tracks take room. " * 5
for question, added in (
    ("Should the city have more trams?", "They last for decades as well, and the city can pay for them."),
    ("Is it good for towns to run trams?", "Historic districts attract visiting families and school classes."),
):
    found = check_edits(Rewrite(question, before, before + added, Grounding("derived", ())), CHECKS, None)
    print(len(found.decisions) > 0, "py3langid" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"] * 2
