"""The tag layer: written and read back, and read from whatever a model writes."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eirene.core.critique import HALLUCINATIONS, Finding
from eirene.core.errors import InputError
from eirene.core.findings.kinds import REMOVED, finding_of
from eirene.core.findings.tags import DEEPEST, escape_tags, in_order, parse_tagged, write_tagged
from tests.rows import each

PIECES = st.sampled_from(
    ["<", ">", "/", "<entity>", "</entity>", "<mark>", "</mark>", "<delete>", "</delete>", "<b>", "</b>", "&lt;",
     "&amp;lt;", "&amp;", "&", "amp;", "lt;", "< delete >", "<Invented>", "a", "Paris", " ", "\n", ".", "é", "<<",
     "subjective>"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=30)


@st.composite
def tagged(draw: st.DrawFn) -> tuple[str, tuple[Finding, ...]]:
    """A text and findings that tags can say: nested or apart, never crossing."""
    text = draw(TEXTS)
    found: list[Finding] = []
    for _ in range(draw(st.integers(0, 5))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, len(text)))
        if any(f.start < start < f.end < end or start < f.start < end < f.end for f in found):
            continue
        kind = draw(st.sampled_from(HALLUCINATIONS))
        edit = draw(st.just("") | TEXTS if kind in REMOVED else st.none() | TEXTS)
        if start < end or edit:
            found.append(finding_of(kind, start, end, text=text, edit=edit))
    return text, in_order(found)


@given(tagged())
@example(("x <entity> y", (finding_of("entity", 2, 10, text="x <entity> y", edit="&lt;mark>"),)))
def test_what_is_written_is_read_back(case: tuple[str, tuple[Finding, ...]]) -> None:
    """parse(write(x)) = x, for texts and edits that hold tags, halves of tags and escapes themselves."""
    text, findings = case
    read = parse_tagged(write_tagged(text, findings))
    assert (read.text, read.findings, read.stray) == (text, findings, 0)


@given(TEXTS, st.booleans())
def test_anything_can_be_read(reply: str, tidy: bool) -> None:
    """Arbitrary text never raises; findings lie in what was read, and written again they read the same."""
    read = parse_tagged(reply, tidy=tidy)
    assert all(0 <= f.start <= f.end <= len(read.text) for f in read.findings)
    again = parse_tagged(write_tagged(read.text, read.findings))
    assert (again.text, again.findings) == (read.text, read.findings)


@given(TEXTS)
def test_escaped_text_is_text_alone(text: str) -> None:
    """A text that holds tags literally comes back whole once it is escaped."""
    read = parse_tagged(escape_tags(text))
    assert (read.text, read.findings, read.stray) == (text, (), 0)


@each("written, text, found", [
        ("a <entity><mark>new</mark><delete>old</delete></entity> b", "a old b", [("entity", 2, 5, "new")]),
        ("a <entity><delete>old</delete><mark>new</mark></entity> b", "a old b", [("entity", 2, 5, "new")]),
        ("a <entity><mark>new</mark>old</entity> b", "a old b", [("entity", 2, 5, "new")]),
        ("a <entity><mark>new<delete>old</delete></entity> b", "a old b", [("entity", 2, 5, "new")]),
        ("a <Relation><delete>old</Relation> b", "a old b", [("relation", 2, 5, "")]),
        ("a <entity>the <delete>old</delete><mark>new</mark> one</entity>", "a the old one",
         [("entity", 2, 13, "the new one")]),
        ("a <entity>old</entity> b", "a old b", [("entity", 2, 5, None)]),
        ("a <entity><mark>new </mark></entity>b", "a b", [("entity", 2, 2, "new ")]),
        ("<sentence>Not so.</sentence> b", "Not so. b", [("contradictory", 0, 7, "")]),
        ("<subjective>A <entity><delete>b</delete><mark>c</mark></entity></subjective>", "A b",
         [("subjective", 0, 3, ""), ("entity", 2, 3, "c")]),
        ("a <entity>b", "a b", []),
        ("a</entity> <mark>b</mark> <delete>c</delete>", "a  c", []),
        ("<b>a</b> <thing>c</thing> 1 < 2 > 0", "<b>a</b> <thing>c</thing> 1 < 2 > 0", []),
        ("&lt;entity>a&lt;/entity> &amp;lt; &amp;", "<entity>a</entity> &lt; &amp;", []),
        ("<entity>a<relation>b</entity>c</relation>", "abc", [("entity", 0, 2, None)]),
    ])  # fmt: skip
def test_forms_that_models_and_people_write(written: str, text: str, found: list[tuple[object, ...]]) -> None:
    """Either order, a lone half, nesting, crossing, unknown and literal tags have one reading each."""
    read = parse_tagged(written)
    assert read.text == text
    assert [(f.kind, f.start, f.end, f.edit) for f in read.findings] == found


def test_tidy_reading_drops_the_white_space_that_annotators_leave() -> None:
    """White space inside tags is not the text's, whichever side of them it is on."""
    read = parse_tagged(
        "a <entity> <delete> old</delete> <mark> new </mark> </entity> b <invented>One. </invented>Two", tidy=True
    )
    assert read.text == "a old b One. Two"
    assert [(f.start, f.end, f.edit) for f in read.findings] == [(2, 5, "new"), (8, 12, "")]


@each(
    "finding",
    [
        Finding(kind="missing", start=1, end=1, reason="r", edit="x"),
        Finding(kind="entity", start=0, end=9, reason="r", edit="x"),
        Finding(kind="entity", start=1, end=1, reason="r", edit=""),
        Finding(kind="invented", start=0, end=1, reason="r"),
    ],
)
def test_what_tags_cannot_say_is_refused(finding: Finding) -> None:
    """Another kind, a place outside, nothing at all, no edit for what is removed: an error, not a wrong tag."""
    with pytest.raises(InputError):
        write_tagged("abc", [finding])


def test_findings_that_cross_are_refused() -> None:
    """Tags nest; two findings that cross have no tags that say both."""
    crossing = [finding_of("entity", a, a + 2, text="abc", edit="x") for a in (0, 1)]
    with pytest.raises(InputError, match="crosses"):
        write_tagged("abc", crossing)


@each("depth", [DEEPEST, DEEPEST + 1, 20_000])
def test_tags_further_in_than_is_read_are_dropped_with_their_other_halves(depth: int) -> None:
    """The text stays whole, the outer elements keep their ends, and each tag that is dropped is counted."""
    read = parse_tagged("a " + "<invented>" * depth + "b" + "</invented>" * depth + " c <entity>d</entity>")
    assert (read.text, read.stray) == ("a b c d", max(depth - DEEPEST, 0))
    assert {(f.kind, f.start, f.end) for f in read.findings} == {("invented", 2, 3), ("entity", 6, 7)}


def test_findings_in_more_others_than_are_read_back_are_refused() -> None:
    """What is written must be read back."""
    text = "a" * 100
    nested = [finding_of("invented", 0, 100 - n, text=text, edit="") for n in range(DEEPEST)]
    assert parse_tagged(write_tagged(text, nested[:-1])).findings == in_order(nested[:-1])
    with pytest.raises(InputError, match="nest 64 deep"):
        write_tagged(text, nested)
