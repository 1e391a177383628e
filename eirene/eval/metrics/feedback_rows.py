"""Rows of an evaluated feedback model: labels and predictions of one answer.

Exact, adjacent, different: the EIR paper's accuracy (section 5.1, table 3), and what needs no model to reach it.

The first sentence that is called incomplete decides: *exact* if it is incomplete, *adjacent* if only a neighbour of it
is, else *different*. No sentence called incomplete is exact where none is, else different (the paper does not say).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Annotated, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from eirene.core.critique import Critique, Sample, Tag
from eirene.core.usage import Usage
from eirene.core.validation import CheckedModel
from eirene.eval.datasets.base import FeedbackCase
from eirene.text.words import stems

_Share = Annotated[float, Field(ge=0.0, le=1.0)]


class FeedbackRow(CheckedModel):
    """One answer. `scored` rows have a vote; `abstained` (no quorum, or under the floor) and `failed` ones say why not.

    `gold` are the true tags, None where only the answer as a whole is labelled (`lacks`: it lacks information).
    `shares`: for each sentence the share of the valid samples that call it Incomplete; `share_any`: that call any so.
    `tags` and the consistencies are those of the selected critique. `reason_overlap` in [0, 1]: how much its reasons
    say what the annotators' do, where both find fault.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    id: str
    key: str
    signature: str
    n_sentences: int
    gold: tuple[Tag, ...] | None
    lacks: bool
    status: Literal["scored", "abstained", "failed"]
    why: str | None = None
    shares: tuple[_Share, ...] = ()
    share_any: _Share | None = None
    tags: tuple[Tag, ...] = ()
    tag_consistency: _Share | None = None
    reason_consistency: _Share | None = None
    reason_overlap: _Share | None = None
    n_drawn: int = 0
    n_valid: int = 0
    usage: Usage = Usage()

    @model_validator(mode="after")
    def _scored_rows_are_whole(self) -> Self:
        if self.status == "scored" and not (len(self.tags) == len(self.shares) == self.n_sentences):
            raise ValueError("a scored row needs a tag and a share for every sentence")
        if self.status != "scored" and (self.tags or not self.why):
            raise ValueError("a row that is not scored has no tags and says why")
        if self.gold is not None and len(self.gold) != self.n_sentences:
            raise ValueError("`gold` must have a tag for every sentence")
        return self


def scored_row(
    case: FeedbackCase, samples: Sequence[Sample], critique: Critique, *, key: str, signature: str, usage: Usage
) -> FeedbackRow:
    """The row of an answer on whose critique the samples agreed."""
    valid = [s.tags for s in samples if s.is_valid]
    flags = [[tags[i] == "Incomplete" for tags in valid] for i in range(len(case.sentences))]
    return FeedbackRow(
        id=case.item.id,
        key=key,
        signature=signature,
        n_sentences=len(case.sentences),
        gold=case.tags,
        lacks=case.lacks,
        status="scored",
        shares=tuple(fmean(f) for f in flags),
        share_any=fmean("Incomplete" in tags for tags in valid),
        tags=tuple(s.tag for s in critique.sentences),
        tag_consistency=critique.tag_consistency,
        reason_consistency=critique.reason_consistency,
        reason_overlap=reason_overlap(critique, case),
        n_drawn=critique.n_drawn,
        n_valid=critique.n_valid,
        usage=usage,
    )


def reason_overlap(critique: Critique, case: FeedbackCase) -> float | None:
    """F1 of the stems of content words in the critique's reasons and the annotators'; the mean over the sentences that
    both call incomplete, None where there is none.
    """
    if case.tags is None:
        return None
    found = []
    for sentence, reason in zip(critique.sentences, case.reasons, strict=True):
        if sentence.tag == "Incomplete" and reason:
            said, meant = set(stems(sentence.reason or "")), set(stems(reason))
            if said or meant:
                found.append(2 * len(said & meant) / (len(said) + len(meant)))
    return fmean(found) if found else None


Outcome = Literal["exact", "adjacent", "different"]
OUTCOMES: tuple[Outcome, ...] = ("exact", "adjacent", "different")


def outcome(predicted: Sequence[Tag], gold: Sequence[Tag]) -> Outcome:
    """Where the first sentence that is predicted incomplete lies; both sequences are of one answer."""
    if "Incomplete" not in predicted:
        return "different" if "Incomplete" in gold else "exact"
    return _at(list(predicted).index("Incomplete"), gold)


def random_outcomes(gold: Sequence[Tag], rate: float) -> list[float]:
    """The chances of exact, adjacent and different when each sentence is called incomplete with probability `rate`."""
    chances = dict.fromkeys(OUTCOMES, 0.0)
    none_so_far = 1.0
    for first in range(len(gold)):
        chances[_at(first, gold)] += none_so_far * rate
        none_so_far *= 1 - rate
    chances["different" if "Incomplete" in gold else "exact"] += none_so_far
    return [chances[name] for name in OUTCOMES]


def always(which: Literal["first", "last"]) -> Callable[[int], list[Tag]]:
    """A prediction for `n` sentences that calls the first, or the last, incomplete and no other."""

    def predict(n: int) -> list[Tag]:
        tags: list[Tag] = ["Complete"] * n
        tags[0 if which == "first" else n - 1] = "Incomplete"
        return tags

    return predict


def _at(first: int, gold: Sequence[Tag]) -> Outcome:
    if gold[first] == "Incomplete":
        return "exact"
    return "adjacent" if "Incomplete" in gold[max(0, first - 1) : first + 2] else "different"
