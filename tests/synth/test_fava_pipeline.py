"""What a model made of a text counts only where every rule is kept; text outside of the tags never changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.critique import HALLUCINATIONS, Finding, HallucinationKind
from eirene.core.findings.edits import apply_findings
from eirene.models.replies import Reply
from eirene.synth.fava.pipeline import RefusedError, read_error, read_genre
from eirene.synth.fava.recipe import changed
from tests.rows import each

TEXT = "The dam was built in 1932 by Olga Brandt. It holds 40 million litres."
MARK = "TEXT-abc"


def read(reply: str, kind: HallucinationKind = "entity", text: str = TEXT) -> tuple[str, list[Finding]]:
    return changed(text, [], read_error(Reply(reply), text, kind, [], mark=MARK))


@each("kind, reply, wrong", [
        ("entity", TEXT.replace("1932", "<entity><delete>1923</delete><mark>1932</mark></entity>"), "1923"),
        ("entity", TEXT.replace("1932", "<entity><mark>1923</mark><delete>1932</delete></entity>"), "1923"),
        ("entity", TEXT.replace("in 1932 by", "<entity><delete>in 1923 by</delete><mark>in 1932 by</mark></entity>"),
         "1923"),
        ("relation", f"Sure, here is the text:\n{MARK}\n"
         + TEXT.replace("built", "<relation><delete>never built</delete><mark>built</mark></relation>"), "never built"),
        ("invented", TEXT.replace(" It", " <invented>It won a Golden Weir.</invented> It"), "It won a Golden Weir."),
        ("subjective", TEXT[:-1] + "<subjective>, which is a delight</subjective>.", ", which is a delight"),
        ("unverifiable", "<unverifiable>Olga liked tea.</unverifiable> " + TEXT, "Olga liked tea."),
        ("contradictory", TEXT + "\n\n<contradictory> There is no dam.</contradictory>", "There is no dam."),
    ])  # fmt: skip
def test_a_marked_error_becomes_a_finding_whose_edit_takes_it_back(
    kind: HallucinationKind, reply: str, wrong: str
) -> None:
    """Swapped tags, wide tags, frames and white space are put right; the edit is the least and gives the text back."""
    text, findings = read(reply, kind)
    (found,) = findings
    assert (found.kind, text[found.start : found.end]) == (kind, wrong)
    assert apply_findings(text, findings).text == TEXT


@each("reply, why", [
        (TEXT, "no error is marked"),
        ("I cannot help with that.", "no error is marked"),
        (TEXT.replace("1932", "<invented>1923</invented>"), "another kind"),
        (TEXT.replace("1932", "<entity><delete>1923</delete><mark>1932</mark></entity>")
         .replace("40", "<entity><delete>41</delete><mark>40</mark></entity>"), "more than one"),
        (TEXT.replace("1932", "<entity>1923</entity>"), "tags are not those"),
        (TEXT.replace("1932", "<entity><delete>1923</delete><mark>1932</mark></entity>").replace("holds", "has"),
         "changed outside"),
        (TEXT.replace("1932", "1<entity><delete>8</delete><mark>9</mark></entity>32"), "changed outside"),
        (TEXT.replace("1932", "<entity><delete>1932</delete><mark>1932</mark></entity>"), "changes nothing"),
        (f"<entity><delete>A lake lay where nobody had thought of one.</delete><mark>{TEXT}</mark></entity>",
         "more than 6 words"),
    ])  # fmt: skip
def test_a_reply_that_breaks_a_rule_is_refused_by_name(reply: str, why: str) -> None:
    """Errors unmarked, of another kind, too many, too long, empty, or with other words changed do not count."""
    with pytest.raises(RefusedError, match=why):
        read(reply)


def test_said_already_cut_off_or_on_top_of_another_is_refused() -> None:
    """An added statement must be new; a reply must be whole; no error lies in the place of one before it."""
    with pytest.raises(RefusedError, match="says it already"):
        read("<invented>It holds 40 million litres.</invented> " + TEXT, "invented")
    with pytest.raises(RefusedError, match="cut off"):
        read_error(Reply(TEXT, "length"), TEXT, "entity", [], mark=MARK)
    text, findings = read(TEXT.replace("1932", "<entity><delete>1923</delete><mark>1932</mark></entity>"))
    again = text.replace("1923", "<entity><delete>1924</delete><mark>1923</mark></entity>")
    with pytest.raises(RefusedError, match="on top of another"):
        read_error(Reply(again), text, "entity", findings, mark=MARK)


def test_errors_after_one_another_keep_their_places() -> None:
    """A second error moves the first one's offsets; both edits give the text back, an error before an error too."""
    text, findings = read(TEXT + " <invented>Boats race there each May.</invented>", "invented")
    reply = text.replace("Olga Brandt", "<entity><delete>Anna Maria Brandt</delete><mark>Olga Brandt</mark></entity>")
    text, findings = changed(text, findings, read_error(Reply(reply), text, "entity", findings, mark=MARK))
    assert [text[f.start : f.end] for f in findings] == ["Anna Maria", "Boats race there each May."]
    assert apply_findings(text, findings).text == TEXT


@given(st.text(max_size=300) | st.lists(st.sampled_from(
    ["<entity>", "</entity>", "<mark>", "</mark>", "<delete>", "</delete>", "<invented>", "</invented>", "&lt;", " ",
     *TEXT.split(), TEXT]), max_size=30).map(" ".join), st.sampled_from(HALLUCINATIONS))  # fmt: skip
def test_any_reply_is_refused_or_gives_the_words_back(reply: str, kind: HallucinationKind) -> None:
    """Whatever a model says, nothing else is raised, and without mending the edits give back the text's words."""
    try:
        text, findings = read(reply, kind)
    except RefusedError:
        return
    assert apply_findings(text, findings, mend=False).text.split() == TEXT.split()


def test_a_text_in_a_genre_is_on_the_passage_and_holds_no_tags() -> None:
    """Refusals, other matters, fragments, tags and floods are refused; the frame around a text is taken off."""
    said = read_genre(Reply(f"Here is the text:\n\nOlga Brandt built a dam in 1932!\n{MARK}"), TEXT, mark=MARK)
    assert said == "Olga Brandt built a dam in 1932!"
    for bad in ("I'm sorry, but I cannot assist with writing that.", "A dam.", "<entity>The dam was built</entity> by",
                "dam " * 200, "<think>hm", "  "):  # fmt: skip
        with pytest.raises(RefusedError):
            read_genre(Reply(bad), TEXT, mark=MARK)
