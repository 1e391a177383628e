"""The word for a sentence's fault: from tag, reason and findings; none where something is missing beside it."""

from __future__ import annotations

from typing import get_args

from eirene.core.critique import Finding, FindingKind, Tag, TaggedSentence
from eirene.views.faults import MEANING, NO_FAULT, STYLE, WORDS, letter_of, marked_spans, style_of, verdict_of

TEXT = "Trams are loud and old."


def sentence(*findings: Finding, tag: Tag = "Incomplete", reason: str | None = "r") -> TaggedSentence:
    return TaggedSentence(n=1, text=TEXT, start=10, end=33, tag=tag, reason=reason, findings=findings)


def finding(kind: str, start: int = 10, end: int = 33, reason: str = "r", edit: str | None = None) -> Finding:
    return Finding.model_validate({"kind": kind, "start": start, "end": end, "reason": reason, "edit": edit})


def test_each_kind_has_its_word() -> None:
    for kind, word in [
        ("entity", "contradicted"),
        ("relation", "contradicted"),
        ("contradictory", "contradicted"),
        ("invented", "unsupported"),
        ("unverifiable", "unsupported"),
        ("unsupported", "unsupported"),
        ("subjective", "an opinion"),
        ("repeated", "repeated"),
        ("misplaced", "misplaced"),
        ("relevance", "not relevant"),
        ("factuality", "factually wrong"),
    ]:
        verdict = verdict_of(sentence(finding(kind)))
        assert (verdict.word, verdict.gaps) == (word, ())
        assert verdict.faults[0].reasons == ("r",)


def test_every_kind_has_a_word_and_every_word_a_style_and_a_letter() -> None:
    assert set(WORDS) == set(get_args(FindingKind))
    letters = {style_of(word): letter_of(word) for word in [*WORDS.values(), *MEANING, *STYLE]}
    assert len(set(letters.values())) == len(letters)


def test_a_tag_and_a_reason_without_a_finding_is_incomplete() -> None:
    verdict = verdict_of(sentence(reason="It is vague."))
    assert (verdict.word, verdict.faults[0].reasons) == ("incomplete", ("It is vague.",))
    assert verdict_of(sentence(tag="Complete", reason=None)).word == NO_FAULT


def test_what_is_missing_blames_no_sentence() -> None:
    """It stands before the sentence or after it, with its own words; the votes are its own."""
    for at, before in [(33, False), (10, True), (0, True), (20, False)]:
        found = finding("missing", at, at, 'Missing for "pro": "Trams are quiet".', "Trams are quiet.")
        verdict = verdict_of(sentence(found, reason=found.reason))
        assert (verdict.word, verdict.faults, verdict.votes_for_gap) == (NO_FAULT, (), True)
        assert [(gap.line, gap.before) for gap in verdict.gaps] == [
            ('missing here for "pro": "Trams are quiet".', before)
        ]


def test_what_is_missing_is_said_in_the_words_there_are() -> None:
    lines = [
        verdict_of(sentence(finding("missing", 33, 33, reason, edit), reason="x" * bool(reason) or "y")).gaps[0].line
        for reason, edit in (
            ("Missing: the price.", None),
            ("Say the price.", "It costs 2 euros."),
            ("", "It costs 2."),
        )
    ]
    assert lines == ["missing here: the price.", "missing here: Say the price.", 'missing here: "It costs 2".']


def test_a_fault_and_a_gap_of_one_sentence_are_told_apart() -> None:
    wrong, missing = finding("unsupported", reason="Not given."), finding("missing", 33, 33, "Missing: the price.")
    verdict = verdict_of(sentence(wrong, missing, reason="Not given. Missing: the price."))
    assert (verdict.word, verdict.votes_for_gap) == ("unsupported", False)
    assert verdict.faults[0].reasons == ("Not given.",)
    assert [gap.line for gap in verdict.gaps] == ["missing here: the price."]


def test_a_reason_that_no_finding_names_stays() -> None:
    """A person's addition after what is missing makes the sentence incomplete; beside a fault it is one more reason."""
    missing = finding("missing", 33, 33, "Missing: the price.")
    assert verdict_of(sentence(missing, reason="Missing: the price. Say since when.")).faults[0].reasons == (
        "Say since when.",
    )
    both = verdict_of(sentence(finding("repeated", reason="Said before."), reason="Said before. And it is dull."))
    assert [(f.word, f.reasons) for f in both.faults] == [("repeated", ("And it is dull.", "Said before."))]


def test_where_a_misplaced_sentence_belongs_no_other_is_blamed() -> None:
    verdict = verdict_of(sentence(finding("misplaced", 33, 33, edit="Taxes rise."), tag="Complete", reason=None))
    assert (verdict.word, verdict.votes_for_gap) == (NO_FAULT, False)
    assert [gap.line for gap in verdict.gaps] == ['belongs here: "Taxes rise".']


def test_only_parts_of_a_sentence_are_marked_in_it() -> None:
    """A fault of the whole sentence is said beside it; where other words are known, they stand behind the old ones."""
    assert marked_spans(sentence(finding("unsupported", edit=""))) == ()
    runs = marked_spans(sentence(finding("relation", 20, 24, edit="quiet"), finding("subjective", 25, 33)))
    assert [(r.text, r.kind, r.edit) for r in runs] == [
        ("Trams are ", "", None), ("loud", "contradicted", "quiet"), (" ", "", None), ("and old.", "an opinion", None)
    ]  # fmt: skip
