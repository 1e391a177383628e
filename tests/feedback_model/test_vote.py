"""Selection follows equations 1 and 2 of Sachdeva et al. 2024, written here naively, and design rules around them."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from eirene.core.critique import Finding, Sample, Tag
from eirene.core.errors import InputError
from eirene.feedback_model.vote import (
    VoteResult,
    check_sample,
    count_distinct,
    has_quorum,
    reason_consistency,
    select,
    tag_consistency,
)
from eirene.text.sentences import Sentence, split_sentences
from eirene.text.words import lower_words

C: Tag = "Complete"
X: Tag = "Incomplete"
TWO = split_sentences("One is here. Two is there.")


def sample(*reasons: str | None, findings: tuple[Finding, ...] = ()) -> Sample:
    """A valid sample from its reasons: None is Complete."""
    return Sample(tags=tuple(C if r is None else X for r in reasons), reasons=reasons, findings=findings)


def bad(why: str = "refused") -> Sample:
    return Sample(invalid=why)


words = st.lists(st.sampled_from(["a", "b", "The", "the", "data", "don't", "数", "हिन्दी", "…"]), min_size=1, max_size=6)
valid = st.lists(st.none() | words.map(" ".join), min_size=2, max_size=2).map(lambda r: sample(*r))
drawn = st.lists(valid | st.just(bad()), min_size=1, max_size=12)


def naive_tags(samples: list[Sample]) -> list[float]:
    n = len(samples)
    return [sum(a.is_valid and b.is_valid and a.tags == b.tags for b in samples) / n for a in samples]


def naive_reasons(samples: list[Sample], survivors: list[int]) -> list[float]:
    said = [[w for r in samples[i].reasons if r is not None for w in lower_words(r)] for i in survivors]
    scores = []
    for mine in said:
        if not mine:
            scores.append(float(sum(other == [] for other in said)))
            continue
        scores.append(sum(sum(w in other for other in said) for w in mine) / len(mine))
    return scores


def naive_winner(samples: list[Sample]) -> int:
    by_tags = naive_tags(samples)
    survivors = [i for i, s in enumerate(by_tags) if s == max(by_tags)]
    by_reasons = naive_reasons(samples, survivors)
    return survivors[by_reasons.index(max(by_reasons))]


@given(drawn)
def test_tag_consistency_is_equation_1(samples: list[Sample]) -> None:
    assert tag_consistency(samples) == naive_tags(samples)


@given(drawn, st.data())
def test_reason_consistency_is_equation_2(samples: list[Sample], data: st.DataObject) -> None:
    usable = [i for i, s in enumerate(samples) if s.is_valid]
    assume(usable)
    survivors = sorted(data.draw(st.sets(st.sampled_from(usable), min_size=1)))
    assert reason_consistency(samples, survivors) == naive_reasons(samples, survivors)


@given(drawn)
def test_select_takes_the_first_drawn_of_the_best_and_abstains_without_quorum(samples: list[Sample]) -> None:
    n_valid = sum(s.is_valid for s in samples)
    chosen = select(samples, TWO, n_requested=20)
    if n_valid < 3 or n_valid < len(samples) / 2:
        assert chosen.critique is None and chosen.winner is None
        assert f"{n_valid} of {len(samples)} samples" in (chosen.abstained or "")
        return
    at = naive_winner(samples)
    assert chosen.winner == at and chosen.abstained is None and chosen.critique is not None
    assert tuple(s.tag for s in chosen.critique.sentences) == samples[at].tags
    assert chosen.critique.tag_consistency == naive_tags(samples)[at]
    assert 0 < (chosen.critique.reason_consistency or 0) <= 1
    assert (chosen.critique.n_drawn, chosen.critique.n_valid) == (len(samples), n_valid)


@given(drawn, st.floats(0, 1))
def test_the_floor_only_ever_withholds_the_critique(samples: list[Sample], floor: float) -> None:
    free = select(samples, TWO, n_requested=20)
    held = select(samples, TWO, n_requested=20, min_consistency=floor)
    if free.critique is None or (free.critique.tag_consistency or 0) >= floor:
        assert held == free
    else:
        assert held.critique is None and held.abstained


def test_equations_by_hand() -> None:
    # Survivors 0, 1, 3 (tags C X, 3 of 5). Words: 0 = {x, y}, 1 = {x, x, z}, 3 = {x}. Counts: x 3, y 1, z 1.
    samples = [sample(None, "x y"), sample(None, "x x z"), sample("x", None), sample(None, "x"), bad()]
    assert tag_consistency(samples) == [3 / 5, 3 / 5, 1 / 5, 3 / 5, 0]
    assert reason_consistency(samples, [0, 1, 3]) == [(3 + 1) / 2, (3 + 3 + 1) / 3, 3]
    chosen = select(samples, TWO, n_requested=5)
    assert chosen.winner == 3 and chosen.critique is not None
    assert chosen.critique.reason_consistency == 1.0  # 3 of 3 survivors


def test_words_of_samples_that_lost_the_tag_vote_count_for_nothing() -> None:
    samples = [sample(None, "common"), sample(None, "rare"), sample(None, "rare"), sample("common", None)]
    assert select(samples, TWO, n_requested=4).winner == 1


def test_distinct_counts_valid_samples_by_tags_and_reasons() -> None:
    drawn = [sample(None, "x"), sample(None, "x"), sample(None, "y"), sample("x", None), bad(), bad("other")]
    assert count_distinct(drawn) == 3
    assert count_distinct([]) == 0
    chosen = select(drawn, TWO, n_requested=6).critique
    assert chosen is not None and (chosen.n_valid, chosen.n_distinct) == (4, 3)


def test_a_full_tie_goes_to_the_first_drawn() -> None:
    samples = [bad(), sample("p", None), sample(None, "q"), sample("r", None), sample(None, "s")]
    assert select(samples, TWO, n_requested=5).winner == 1


def test_a_vote_for_complete_is_a_critique_without_reasons() -> None:
    chosen = select([sample(None, None)] * 3, TWO, n_requested=3)
    assert chosen.critique is not None and chosen.critique.is_complete
    assert (chosen.critique.tag_consistency, chosen.critique.reason_consistency) == (1.0, 1.0)


def test_the_same_reason_for_two_sentences_stays_at_both() -> None:
    chosen = select([sample("No figures.", " No figures. ")] * 3, TWO, n_requested=3)
    assert chosen.critique is not None
    assert [s.reason for s in chosen.critique.sentences] == ["No figures.", "No figures."]


def test_sentences_carry_number_text_and_offsets() -> None:
    answer = "  First one.\n\n- Second one.  "
    chosen = select([sample(None, "x")] * 3, split_sentences(answer), n_requested=3)
    assert chosen.critique is not None
    for n, s in enumerate(chosen.critique.sentences, start=1):
        assert s.n == n and answer[s.start : s.end] == s.text == s.text.strip()


def test_a_sample_that_does_not_fit_the_answer_is_invalid(subtests: pytest.Subtests) -> None:
    for given_sample, why in [
        (sample("x"), "1 tags where the answer has 2 sentences"),
        (sample("x", "y", "z"), "3 tags where the answer has 2 sentences"),
        (sample("x", None, findings=(Finding(kind="entity", start=5, end=99, reason="r"),)), "outside the answer"),
        (sample("x", None, findings=(Finding(kind="entity", start=5, end=4, reason="r"),)), "outside the answer"),
        (bad("cut off"), "cut off"),
    ]:
        with subtests.test(given_sample=given_sample, why=why):
            assert why in (check_sample(given_sample, TWO).invalid or "")


def test_a_sample_that_does_not_fit_counts_as_drawn_and_does_not_vote() -> None:
    chosen = select([sample("x")] * 3 + [sample(None, "x")] * 3, TWO, n_requested=6)
    assert chosen.critique is not None
    assert (chosen.critique.n_valid, chosen.critique.n_drawn, chosen.critique.tag_consistency) == (3, 6, 0.5)


def test_quorum_is_three_valid_and_half_of_those_drawn(subtests: pytest.Subtests) -> None:
    for n_drawn, n_valid, enough in [
        (3, 3, True),
        (2, 2, False),
        (6, 3, True),
        (7, 3, False),
        (20, 10, True),
        (20, 9, False),
        (0, 0, False),
    ]:
        with subtests.test(n_drawn=n_drawn, n_valid=n_valid, enough=enough):
            assert has_quorum(n_drawn, n_valid) is enough


def test_a_missed_quorum_names_counts_and_the_most_common_fault() -> None:
    cut = bad("cut off").model_copy(update={"reply": "1: Incom"})
    why = select([bad("cut off"), bad("refused"), cut, sample("x", None)], TWO, n_requested=4).abstained
    assert why == (
        "cut off (2 of 4 samples; 1 of 4 samples could be used; a vote needs at least 3 and half of those drawn); "
        'the model replied, for example: "1: Incom"'
    )


def test_too_few_samples_asked_for_says_so() -> None:
    assert "ask for at least 3" in (select([sample("x", None)] * 2, TWO, n_requested=2).abstained or "")


def test_under_the_floor_names_both_numbers() -> None:
    samples = [sample("x", None)] * 3 + [sample(None, "x")] * 2
    why = select(samples, TWO, n_requested=5, min_consistency=0.85).abstained
    assert why == "tag consistency 0.6 (3 of 5 samples agree) is under the floor of 0.85"


def test_a_floor_outside_0_to_1_is_an_input_error() -> None:
    for floor in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError, match=r"min_consistency must lie in \[0, 1\]"):
            select([], TWO, n_requested=3, min_consistency=floor)


def test_no_samples_at_all_abstain() -> None:
    assert select([], TWO, n_requested=20) == VoteResult(
        abstained="0 of 0 samples could be used; a vote needs at least 3 and half of those drawn"
    )


def test_sentences_may_be_many_and_samples_a_thousand() -> None:
    sentences = tuple(Sentence(n=i + 1, start=i, end=i + 1, raw="x") for i in range(50))
    reasons = tuple(f"word{i}" if i % 2 else None for i in range(50))
    chosen = select([sample(*reasons)] * 1000, sentences, n_requested=1000)
    assert chosen.winner == 0 and chosen.critique is not None and chosen.critique.tag_consistency == 1.0
