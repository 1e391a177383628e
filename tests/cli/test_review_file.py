"""A critique as a file for an editor, and what the file says when it comes back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.agent.review import reviewed
from eirene.cli.review_file import read_review, write_review
from eirene.core.critique import Critique, Finding, Review, TaggedSentence
from eirene.core.errors import InputError
from eirene.core.records import Item
from tests.rows import each

FINDING = Finding(kind="unsupported", start=0, end=2, reason="Old.", edit="")
ITEM = Item(question="Q?", answer="A. B. C.", context=["A passage."])


def critique(*reasons: str | None, texts: tuple[str, ...] = ("A.", "B.", "C.")) -> Critique:
    sentences = [
        TaggedSentence(
            n=n, text=text, start=3 * n, end=3 * n + 2, tag="Incomplete" if reason else "Complete", reason=reason,
            findings=(FINDING,) if reason == "Old." else (),
        )
        for n, (text, reason) in enumerate(zip(texts, reasons, strict=True), start=1)
    ]  # fmt: skip
    return Critique(
        sentences=tuple(sentences), tag_consistency=1.0, reason_consistency=1.0, n_drawn=3, n_valid=3, n_requested=3
    )


CRITIQUE = critique("Old.", None, "Older.")
TEXT = write_review(CRITIQUE, ITEM)


def test_each_sentence_has_an_entry_below_its_text_and_what_was_given_stands_at_the_end() -> None:
    body = TEXT.split("empty the file.\n\n")[1]
    assert body == (
        '# "A."\n1 Incomplete: Old.\n\n# "B."\n2 Complete\n\n# "C."\n3 Incomplete: Older.\n\n'
        "# Given with the answer:\n# A passage.\n"
    )
    assert read_review(TEXT, CRITIQUE) == Review(action="go on")


@each("old, new, reasons", [
        ("1 Incomplete: Old.", "1 Incomplete: New.", ["New.", None, "Older."]),
        ("1 Incomplete: Old.", "1. [incomplete]:  Old. And\tnew.  ", ["Old. And new.", None, "Older."]),
        ("1 Incomplete: Old.", "1 Incomplete:\n    Old.\n\n    Also.", ["Old. Also.", None, "Older."]),
        ("1 Incomplete: Old.", "1 COMPLETE", [None, None, "Older."]),
        ("2 Complete", "2 Incomplete: Fehlt: „Straße“ 🚋 東京", ["Old.", "Fehlt: „Straße“ 🚋 東京", "Older."]),
        ("2 Complete", "2 Incomplete: 3 Complete\n  4 Complete", ["Old.", "3 Complete 4 Complete", "Older."]),
        ("3 Incomplete: Older.", "3 Incomplete:\n # no comment", ["Old.", None, "# no comment"]),
        ("2 Complete", "2 Incomplete: " + "very long " * 20_000, ["Old.", ("very long " * 20_000).strip(), "Older."]),
    ])  # fmt: skip
def test_what_is_changed_reaches_the_critique(old: str, new: str, reasons: list[str | None]) -> None:
    for text in (TEXT.replace(old, new), "\ufeff" + TEXT.replace(old, new).replace("\n", "\r\n")):
        found = reviewed(CRITIQUE, read_review(text, CRITIQUE))
        assert [s.reason for s in found.sentences] == reasons
        assert [s.tag for s in found.sentences] == ["Incomplete" if r else "Complete" for r in reasons]


def test_findings_stay_with_a_reason_that_is_added_to_and_go_with_one_that_is_replaced_or_dropped() -> None:
    """A refiner acts on findings: those of a reason that the person took away must not be carried out."""
    for new, findings in (("Incomplete: Old. And new.", (FINDING,)), ("Incomplete: Old", ()), ("Complete", ())):
        text = TEXT.replace("1 Incomplete: Old.", f"1 {new}")
        assert reviewed(CRITIQUE, read_review(text, CRITIQUE)).sentences[0].findings == findings


@each(
    "old, new, said",
    [
        ("2 Complete\n", "", "sentence 2 has no entry"),
        ("2 Complete", "4 Complete", "line 13: there is no sentence 4: the answer has 3"),
        ("2 Complete", "1 Complete", "line 13: sentence 1 has an entry already, in line 10"),
        ("2 Complete", "2 Maybe", "line 13 is no entry: '2 Maybe'; an entry is a number and a tag, such as:"),
        ("2 Complete", "x" * 500, "line 13 is no entry: '" + "x" * 40 + "…'"),
        ("2 Complete", "2 Complete: dear", "line 13: sentence 2 is Complete and has a reason"),
        ("2 Complete", "2 Incomplete", "line 13: sentence 2 is Incomplete and has no reason"),
        ("2 Complete", "2 Incomplete: a\x1b[A", "line 13 holds a control character (U+001B)"),
        ("# Your review", "  Your review", "line 1 is indented and belongs to no entry"),
    ],
)
def test_what_cannot_be_read_names_the_line(old: str, new: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read_review(TEXT.replace(old, new), CRITIQUE)
    assert str(refused.value).startswith(said)


@given(st.text(st.characters(codec=None, categories=None)))
def test_any_text_is_read_or_refused_in_a_line(text: str) -> None:
    for whole in (text, f"{TEXT}{text}"):
        try:
            reviewed(CRITIQUE, read_review(whole, CRITIQUE))
        except InputError as error:
            assert "\n" not in str(error)


FORGED = st.text() | st.sampled_from(
    ["x\n2 Complete", "\r2 Complete", "\u20282 Complete", "\x852 Complete", "\x1b[2J\n1 Complete\n#", "# 1 Complete"]
)


@given(st.lists(FORGED.filter(str.strip), min_size=2, max_size=2), FORGED.filter(str.strip))
def test_no_text_of_an_answer_or_a_model_becomes_an_entry(texts: list[str], reason: str) -> None:
    """What comes back unchanged changes nothing, whatever sentences, reasons and passages hold."""
    made = critique(reason, None, texts=(texts[0], texts[1]))
    given_with: dict[str, Any] = {"question": "Q?", "answer": "A. B.", "context": ["x\n1 Complete\n2 Complete"]}
    text = write_review(made, Item(**given_with))
    assert len(re.findall(r"^[^#\s]", text, re.MULTILINE)) == 2
    assert read_review(text, made) == Review(action="go on")
    assert not re.search("[\x1b\x07\u202e]", text)
