"""Findings' edits: made, taken back, and how the joints read."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eirene.core.critique import HALLUCINATIONS, Finding
from eirene.core.findings.edits import Removal, apply_findings
from eirene.core.findings.kinds import finding_of
from eirene.core.findings.tags import parse_tagged
from eirene.text.edits.words import Edit, apply_edits
from tests.rows import each

WORDS = st.sampled_from(
    ["A", "an", "the", "and", "Paris", "is", "not", " ", "  ", ",", ".", "\n", "- ", "!", "“", "x", "E", "日"]
)
TEXTS = st.lists(WORDS, max_size=25).map("".join)


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, list[Finding]]:
    """A text with findings anywhere, overlapping as they like."""
    text = draw(TEXTS)
    found = []
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, len(text)))
        kind = draw(st.sampled_from(HALLUCINATIONS))
        found.append(finding_of(kind, start, end, text=text, edit=draw(st.none() | st.just("") | TEXTS)))
    return text, found


@given(cases(), st.sampled_from(["remove", "mark"]), st.booleans())
def test_undoing_gives_the_original_byte_for_byte(
    case: tuple[str, list[Finding]], removal: Removal, mend: bool
) -> None:
    """Whatever the findings, in both ways of treating removals, with joints mended or not."""
    text, findings = case
    edited = apply_findings(text, findings, removal=removal, mend=mend)
    undoing, shift = [], 0
    for made in edited.operations:
        start = made.start + shift
        assert edited.text[start : start + len(made.new)] == made.new
        undoing.append(Edit(start, start + len(made.new), made.old))
        shift += len(made.new) - len(made.old)
    assert apply_edits(edited.text, undoing) == text


@given(cases())
def test_without_mending_nothing_outside_the_findings_changes(case: tuple[str, list[Finding]]) -> None:
    """Each operation then takes out findings' own text (and white space between removals), and puts in their edits."""
    text, findings = case
    for operation in apply_findings(text, findings, mend=False).operations:
        inside = "".join(text[f.start : f.end] for f in operation.findings)
        assert "".join(operation.old.split()) == "".join(inside.split())
        assert operation.new == (operation.findings[0].edit or "")


@given(cases())
def test_every_edit_is_made_or_skipped(case: tuple[str, list[Finding]]) -> None:
    """No finding with an edit is lost without a word, and none is made twice."""
    text, findings = case
    edited = apply_findings(text, findings)
    made = [f for o in edited.operations for f in o.findings]
    assert len(set(made)) == len(made) and not set(made) & set(edited.skipped)
    assert {f for f in findings if f.edit is not None} == {*made, *edited.skipped}


@each(
    "tagged, edited",
    [
        ("One. <invented>Two.</invented> Three.", "One. Three."),
        ("One. <invented>Two.</invented>", "One."),
        ("<invented>One.</invented> Two.", "Two."),
        ("One. <invented>Two.</invented> <subjective>Three.</subjective> Four.", "One. Four."),
        ("One. <subjective>Fine</subjective>.", "One."),
        ("It sold well, and <invented>won a prize</invented>.", "It sold well."),
        ("It sold well<invented>, and won a prize</invented>.", "It sold well."),
        ("<subjective>Sadly, </subjective>the book sold.", "The book sold."),
        ("<subjective>Sadly, </subjective>iPhone sales fell.", "iPhone sales fell."),
        ("<entity><delete>Android</delete><mark>eBay</mark></entity> grew.", "eBay grew."),
        ("The <subjective>best </subjective>book <subjective>ever</subjective> sold.", "The book sold."),
        ("It is an <entity><delete>American</delete><mark>British</mark></entity> firm.", "It is a British firm."),
        ("<entity><delete>Paris</delete><mark>the town</mark></entity> is old.", "The town is old."),
        ("- one\n- <invented>two</invented>\n- three", "- one\n- three"),
        ("- one\n- <invented>two</invented>", "- one"),
        ("One (<subjective>sadly</subjective>) two.", "One two."),
        ("<invented>All of it.</invented>", "All of it."),
        ("It is old. <subjective>Sadly</subjective> .NET is used.", "It is old. .NET is used."),
        ("We use C and <subjective>really </subjective>.NET here.", "We use C and .NET here."),
        ("It rose by <subjective>about</subjective> .5 percent.", "It rose by .5 percent."),
        ("<invented>It <entity><delete>a</delete><mark>b</mark></entity> c.</invented> Two.", "Two."),
    ],
)
def test_joints_are_mended(tagged: str, edited: str) -> None:
    """What is left reads as if nothing had stood there; where nothing would be left, nothing goes."""
    read = parse_tagged(tagged)
    assert apply_findings(read.text, read.findings).text == edited


def test_doubtful_text_can_stay_and_be_named() -> None:
    """With `removal="mark"` the reader sees the text and the kind, and replacements are made all the same."""
    read = parse_tagged(
        "It has <entity><delete>two</delete><mark>3</mark></entity> wings. <invented>It flew.</invented>"
    )
    assert apply_findings(read.text, read.findings, removal="mark").text == "It has 3 wings. It flew [invented]."
