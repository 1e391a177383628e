"""Reasons that cannot count take the vote of their sentence alone: repeated, broken off, asking for what is said."""

from __future__ import annotations

from collections.abc import Callable

from eirene.core.critique import Sample, incomplete_shares
from eirene.feedback_model.base import LONGEST_LACK
from eirene.feedback_model.sampling import asks_for_what_is_said, breaks_off, should_stop, with_usable_votes
from eirene.feedback_model.vote import select, settled
from eirene.models.verifier.runtime import shipped_verifier
from eirene.text.sentences import split_sentences
from eirene.verification.context import ContextReader
from tests.rows import each

THREE = split_sentences("Trams are quiet. Buses are cheap. Both run at night.")


def sample(*reasons: str | None) -> Sample:
    tags = tuple("Complete" if reason is None else "Incomplete" for reason in reasons)
    return Sample.model_validate({"tags": tags, "reasons": reasons})


def void(*reasons: str | None) -> dict[int, str]:
    return {note.sentence: note.reason for note in with_usable_votes(sample(*reasons)).unusable}


@each(
    "reason, torn",
    [
        ("The term", True),
        ("The statement is", True),
        ("It does not say when and", True),
        ("the statement does not mention the specific year or place where the", True),
        ("Does not name the capital of the country of", True),
        ("No date", False),
        ("No 3.", False),
        ("Pollution is missing.", False),
        ("Missing year of publication", False),
        ("does not say who plays Carrie", False),
        ("It does not explain why the sky is blue.", False),
        ("Das Jahr fehlt, in dem es", False),  # another language is not read
    ],
)
def test_a_reason_that_breaks_off_is_told_by_its_end(reason: str, torn: bool) -> None:
    assert breaks_off(reason) is torn


def test_what_stands_whole_before_a_torn_end_is_kept() -> None:
    said = "It does not name the street. Whoever asks wants to know where the"
    assert with_usable_votes(sample(said, None, None)) == sample("It does not name the street.", None, None)
    full = "It does not say " + "where in the old town of Oslo " * 10
    assert breaks_off(full[:LONGEST_LACK].replace("w", "W")) and not breaks_off(full[:100].strip() + " it stops.")


def test_one_reason_for_several_sentences_counts_for_none_of_them() -> None:
    same = "It does not name the street."
    assert void(same, "It does not name the streets", None) == {
        1: "its reason is that of sentence 2", 2: "its reason is that of sentence 1",
    }  # fmt: skip
    assert void(same, "What a ticket costs is missing.", "The term") == {3: "its reason breaks off"}
    assert void("Nothing is missing.", "The sentence is complete.", same) == {
        1: "its reason says that nothing is wrong", 2: "its reason says that nothing is wrong",
    }  # fmt: skip
    assert void(None, None, same) == {} and with_usable_votes(Sample(invalid="empty")) == Sample(invalid="empty")


def test_a_reason_that_misses_what_the_answer_says_is_told_by_the_verifier() -> None:
    def says(answer: str) -> Callable[[str], float]:
        reader = ContextReader(shipped_verifier(), [answer])
        return lambda statement: reader.read([statement], values=False)[0].supported

    reason = "It does not say that Oslo is the capital."
    assert asks_for_what_is_said(reason, says("Oslo is the capital of Norway."))
    assert not asks_for_what_is_said(reason, says("Oslo is a city of Norway."))
    assert not asks_for_what_is_said("The year is missing.", says("Oslo is the capital of Norway."))


def test_a_void_tag_takes_that_of_the_others_and_its_sample_still_votes() -> None:
    """Two of three call sentence 2 incomplete; the third, whose reasons for 1 and 2 are one, goes with them there."""
    samples = [
        sample(None, "What they cost is missing.", None),
        sample(None, "No price of a ticket.", None),
        sample("It is vague.", "It is vague.", None),
    ]
    usable = [with_usable_votes(s) for s in samples]
    found = select(usable, THREE, n_requested=3, stop="exact")
    assert found.critique is not None and (found.critique.tag_consistency, found.critique.stop) == (1.0, "exact")
    assert [s.tag for s in found.critique.sentences] == ["Complete", "Incomplete", "Complete"]
    assert settled(usable)[2].reasons == (None, "What they cost is missing.", None)
    assert incomplete_shares(usable) == (0.0, 1.0, 0.0)
    assert settled(samples) == samples


def test_a_sample_of_one_reason_for_all_is_invalid_and_so_is_a_vote_of_such() -> None:
    samples = [with_usable_votes(sample(*["It lacks details."] * 3))] * 5
    assert settled(samples)[0].invalid == "no tag counts: its reason is that of sentence 2"
    assert "no tag counts" in (select(samples, THREE, n_requested=5).abstained or "")


def test_nothing_found_is_no_finding_where_most_tags_of_a_sentence_do_not_count() -> None:
    samples = [with_usable_votes(sample("It is vague.", "It is vague.", None))] * 3
    found = select(samples, THREE, n_requested=3)
    assert found.abstained == "too few critiques of sentence 1, 2 can be used: its reason is that of sentence 2"


def test_a_rule_waits_for_what_a_void_tag_may_come_to_stand_for() -> None:
    """Three votes lead one by more than is left to draw, but not by more than that and the torn ones."""
    lead, other = ("Complete",), ("Incomplete",)
    assert should_stop([lead] * 4 + [other], n_total=7, rule="exact")
    assert not should_stop([lead] * 4 + [other, (None,)], n_total=8, rule="exact")
