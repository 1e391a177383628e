"""Which sentence a finding goes to."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.critique import Finding, Sample
from eirene.feedback_model.finding_vote import joined_critiques, vote_on_findings
from eirene.feedback_model.vote import VoteResult, check_sample, select
from eirene.text.sentences import Sentence, split_sentences

TWO = split_sentences("One is here. Two is there.")


def sample(*reasons: str | None, findings: tuple[Finding, ...] = ()) -> Sample:
    """A valid sample from its reasons: None is Complete."""
    return Sample(tags=tuple("Complete" if r is None else "Incomplete" for r in reasons), reasons=reasons,
                  findings=findings)  # fmt: skip


def test_a_finding_goes_where_it_begins_and_an_insertion_where_it_follows(subtests: pytest.Subtests) -> None:
    for start, end, sentence in [
        (0, 3, 1),
        (5, 20, 1),
        (13, 16, 2),
        (0, 0, 1),
        (12, 12, 1),
        (13, 13, 1),
        (14, 14, 2),
        (26, 26, 2),
    ]:
        with subtests.test(start=start, end=end, sentence=sentence):
            found = Finding(kind="invented", start=start, end=end, reason="r")
            assert [(s.text_end, s.end) for s in TWO] == [(12, 13), (26, 26)]
            chosen = select([sample(None, "x", findings=(found,))] * 3, TWO, n_requested=3)
            assert chosen.critique is not None
            assert [s.n for s in chosen.critique.sentences if found in s.findings] == [sentence]


spans = st.tuples(st.integers(0, 30), st.integers(0, 30)).map(sorted)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8), st.lists(spans, max_size=6))
def test_every_finding_goes_to_the_first_sentence_that_ends_behind_its_begin(
    lengths: list[int], wanted: list[list[int]]
) -> None:
    ends = list(accumulate(lengths))
    sentences = tuple(Sentence(n, b - a, b, "x" * a) for n, (a, b) in enumerate(zip(lengths, ends, strict=True), 1))
    found = tuple(
        Finding(kind="entity", start=a, end=b, reason=str(i)) for i, (a, b) in enumerate(wanted) if b <= ends[-1]
    )
    chosen = select([sample(*["x"] * len(sentences), findings=found)] * 3, sentences, n_requested=3).critique
    assert chosen is not None
    # Written as it reads: one look at each sentence for each finding.
    for s in chosen.sentences:
        assert list(s.findings) == [f for f in found if s.n == 1 + next(
            (i for i, end in enumerate(ends) if f.start - (f.start == f.end) < end), len(ends) - 1
        )]  # fmt: skip


class Looked(Sentence):
    """A sentence that counts how often its end is read."""

    looks = 0

    def __getattribute__(self, name: str) -> Any:
        if name == "end":
            Looked.looks += 1
        return super().__getattribute__(name)


def test_each_sentence_is_looked_at_a_few_times_however_many_findings_there_are() -> None:
    sentences = tuple(Looked(i + 1, 2 * i, 2 * i + 2, "x ") for i in range(2000))
    found = tuple(Finding(kind="entity", start=s.start, end=s.end, reason="r") for s in sentences)
    Looked.looks = 0
    chosen = select([sample(*["x"] * 2000, findings=found)] * 3, sentences, n_requested=3).critique
    assert chosen is not None and all(len(s.findings) == 1 for s in chosen.sentences)
    assert Looked.looks <= 3 * len(sentences)


def test_findings_of_losing_samples_are_left_out() -> None:
    lost = sample("x", None, findings=(Finding(kind="entity", start=0, end=1, reason="r"),))
    chosen = select([lost, *[sample(None, "x")] * 3], TWO, n_requested=4)
    assert chosen.critique is not None and not any(s.findings for s in chosen.critique.sentences)


def test_where_there_is_no_sentence_there_is_no_place_for_a_finding() -> None:
    found = Finding(kind="missing", start=0, end=0, reason="r")
    assert check_sample(sample(), ()).is_valid
    assert not check_sample(sample(findings=(found,)), ()).is_valid


def test_of_two_critics_a_sentence_is_faulty_for_either() -> None:
    """One that abstained says so; a sample that does not fit stays its critic's."""
    found = Finding(kind="invented", start=0, end=3, reason="made up", edit="")
    one = select([sample(None, "thin")] * 3, TWO, n_requested=3)
    marked = [sample("made up", None, findings=(found,)).model_copy(update={"critic": "hallucination"})] * 3
    other = vote_on_findings(marked, TWO, n_requested=3)
    drawn = [*marked, Sample(invalid="refused", critic="hallucination")]
    both = joined_critiques(one, other, drawn=drawn, n_requested=5)
    assert both.critique is not None and other.critique is not None and both.winner == 0
    assert [(s.tag, s.reason, len(s.findings)) for s in both.critique.sentences] == [
        ("Incomplete", "made up", 1), ("Incomplete", "thin", 0),
    ]  # fmt: skip
    assert both.critique.hallucination == other.critique.hallucination
    twice = joined_critiques(select([sample("thin", None)] * 3, TWO, n_requested=3), other, drawn=drawn, n_requested=5)
    assert twice.critique is not None
    assert [(s.tag, s.reason) for s in twice.critique.sentences] == [("Incomplete", "thin made up"), ("Complete", None)]
    none = VoteResult(abstained="no quorum")
    alone = joined_critiques(one, none, drawn=drawn, n_requested=5)
    assert alone.critique is not None and alone.critique.hallucination is not None and alone.winner == 0
    vote = alone.critique.hallucination
    assert (vote.abstained, vote.n_drawn, vote.n_valid, vote.n_requested) == ("no quorum", 4, 3, 5)
    assert (vote.agreement, vote.tag_consistency, vote.n_kept, vote.n_found) == (None, None, 0, 0)
    alone = joined_critiques(VoteResult(abstained="why"), other, drawn=drawn, n_requested=5)
    assert alone.critique == other.critique.model_copy(update={"abstained": "why"})
    assert joined_critiques(none, none, drawn=drawn, n_requested=5) == none
    assert joined_critiques(VoteResult(abstained="why"), none, drawn=drawn, n_requested=5) == VoteResult(
        abstained="completeness: why; hallucination: no quorum"
    )
    found = Finding(kind="invented", start=0, end=99, reason="r", edit="")
    for bad in (sample(None, "x", findings=(found,)), sample(None)):
        checked = check_sample(bad.model_copy(update={"critic": "hallucination"}), TWO)
        assert (checked.is_valid, checked.critic) == (False, "hallucination")
