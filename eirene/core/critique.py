"""Critique of an answer: one tag per sentence, with reasons and findings; its samples, votes and reviews by people.

A `Sample` is one drawn reply of a feedback model; a `Critique` is what was selected from many samples. The list of tags
follows the answer's sentences as `eirene.text.sentences` cuts them.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, ClassVar, Literal, Self, get_args

from pydantic import ConfigDict, Field, model_validator

from eirene.core.errors import FormError, InputError
from eirene.core.validation import FrozenModel, described, is_none, validated
from eirene.text.unicode import Text

Action = Literal["go on", "all complete", "stop", "save"]


class FeedbackNote(FrozenModel):
    """A person's remark on one sentence of the answer. Sentences count from 1."""

    model_config = ConfigDict(strict=True)
    example: ClassVar[str] = '{"sentence": 1, "reason": "..."}'

    sentence: Annotated[int, Field(ge=1)]
    reason: Text


class Review(FrozenModel):
    """A person's answer to a critique that is shown before the rewriting.

    - `go on`: rewrite with the critique, after its edits: `drop` (sentences that are complete after all), `replace` (a
      reason in place of the one shown) and `add` (one more reason).
    - `all complete`: no sentence lacks anything, so nothing is rewritten.
    - `stop`: nothing is rewritten, whatever the critique says.
    - `save`: keep these edits, and ask again. Never in a record.
    """

    whole_name: ClassVar[str] = "a review"

    action: Action
    replace: tuple[FeedbackNote, ...] = ()
    add: tuple[FeedbackNote, ...] = ()
    drop: tuple[Annotated[int, Field(ge=1, strict=True)], ...] = ()

    @model_validator(mode="after")
    def _check_edits(self) -> Self:
        if self.action in ("all complete", "stop") and self.has_edits:
            raise ValueError(f"action {self.action!r} takes no 'replace', 'add' or 'drop'; they go with 'go on'")
        replaced = [note.sentence for note in self.replace]
        for name, numbers in (("replace", replaced), ("drop", list(self.drop))):
            twice = sorted(n for n, count in Counter(numbers).items() if count > 1)
            if twice:
                raise ValueError(f"'{name}' names sentence {twice[0]} twice")
        both = sorted({*self.drop} & {*replaced, *(note.sentence for note in self.add)})
        if both:
            raise ValueError(f"sentence {both[0]} is dropped and given a reason; only 'replace' its reason")
        return self

    @property
    def has_edits(self) -> bool:
        """Whether any reason was replaced, added or dropped."""
        return bool(self.replace or self.add or self.drop)

    def added(self, sentence: int) -> str:
        """What the person added to the reason of a sentence, in the order given; empty without additions."""
        return " ".join(note.reason.strip() for note in self.add if note.sentence == sentence)


def parse_review(data: object) -> Review:
    """Checks a person's answer; raises `InputError`."""
    if isinstance(data, Review):
        return data
    if not isinstance(data, dict):
        raise InputError(f"a review must be an object such as {{'action': 'go on'}}, got {described(data)}")
    try:
        return validated(Review, data)
    except InputError as error:
        raise InputError(str(error), field="review") from None


Tag = Literal["Complete", "Incomplete"]
HallucinationKind = Literal["entity", "relation", "contradictory", "invented", "subjective", "unverifiable"]
HALLUCINATIONS: tuple[HallucinationKind, ...] = get_args(HallucinationKind)
"""The six kinds of FAVA (table 1); what each is stands in `eirene.core.findings.kinds`."""
FindingKind = Literal[
    HallucinationKind,
    "unsupported",  # said, but not among what was given
    "repeated",  # said before
    "missing",  # given and not said; the place is where it would stand (start == end), `edit` what to say
    "misplaced",  # said on the wrong side: one finding for where it goes (edit == ""), one for where it would stand
    # HaluQuestQA's five aspects: what an annotator marks in an answer (in a question, for the first).
    "misconception", "factuality", "relevance", "completeness", "references",
]  # fmt: skip


CriticKind = Literal["completeness", "hallucination"]


class Finding(FrozenModel):
    """A fault at a place: character offsets into the original answer, the reason, and the replacement if one is known.

    `edit` is what `answer[start:end]` should become: "" deletes, and with start == end it inserts. `share`: the share
    of the valid samples that agree on it, in (0, 1], where they voted on findings; else it is left out.
    """

    kind: FindingKind
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]
    reason: str
    edit: str | None = None
    share: Annotated[float, Field(gt=0.0, le=1.0)] | None = Field(default=None, exclude_if=is_none)


def findings_in(entries: object) -> tuple[Finding, ...]:
    """Findings as rows have them, with reasons or without. Raises `ValueError` that says which is invalid, and why."""
    if not isinstance(entries, list):
        raise ValueError("must be a list of findings, each an object with 'kind', 'start' and 'end'")
    found: list[Finding] = []
    for n, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            raise ValueError(f"number {n} must be an object with 'kind', 'start' and 'end'")
        try:
            found.append(Finding.model_validate({"reason": "", **entry}))
        except FormError as error:
            raise ValueError(f"number {n}: {error}") from None
    return tuple(found)


class TaggedSentence(FrozenModel):
    """One sentence with its tag (`n` from 1, offsets without surrounding white space); Incomplete needs a reason."""

    n: Annotated[int, Field(ge=1)]
    text: str
    start: int
    end: int
    tag: Tag
    reason: str | None = None
    findings: tuple[Finding, ...] = ()

    @model_validator(mode="after")
    def _check_reason(self) -> Self:
        if self.tag == "Incomplete" and not (self.reason or "").strip():
            raise ValueError(f"sentence {self.n} is Incomplete and needs a reason")
        return self


class Sample(FrozenModel):
    """One drawn critique. Valid: one tag a sentence and a reason for every Incomplete; else `invalid` says why not.

    An invalid sample has no tags: it counts as drawn and does not vote. `critic` is left out for the critic of
    completeness.
    """

    tags: tuple[Tag, ...] = ()
    reasons: tuple[str | None, ...] = ()
    findings: tuple[Finding, ...] = ()
    invalid: str | None = None
    critic: CriticKind | None = Field(default=None, exclude_if=is_none)

    @model_validator(mode="after")
    def _check_tags(self) -> Self:
        if self.invalid is not None:
            if self.tags or self.reasons:
                raise ValueError("an invalid sample carries no tags")
            return self
        if len(self.tags) != len(self.reasons):
            raise ValueError(f"{len(self.tags)} tags and {len(self.reasons)} reasons; there must be one a sentence")
        for n, (tag, reason) in enumerate(zip(self.tags, self.reasons, strict=True), start=1):
            if tag == "Incomplete" and not (reason or "").strip():
                raise ValueError(f"sentence {n} is Incomplete and needs a reason")
        return self

    @property
    def is_valid(self) -> bool:
        """Whether the sample may vote."""
        return self.invalid is None


class FindingVote(FrozenModel):
    """How the samples of the hallucination critic voted: on places and kinds, not on tag sequences.

    `agreement` in [0, 1]: the share of the valid samples that have a kept finding, as a mean over the kept findings;
    without any, the share of the valid samples without findings. `tag_consistency` in [0, 1]: the share of all drawn
    samples whose sentence tags equal the vote's. Both are null without a quorum; `abstained` then says why.
    """

    agreement: Annotated[float, Field(ge=0.0, le=1.0)] | None
    tag_consistency: Annotated[float, Field(ge=0.0, le=1.0)] | None
    n_kept: int
    n_found: int
    n_drawn: int
    n_valid: int
    n_requested: int
    abstained: str | None = None


class Critique(FrozenModel):
    """The selected critique. Consistencies lie in [0, 1], and are null for a critique without a vote.

    `n_distinct`: how many of the valid samples differ in tags or reasons. 1 of many is a sign of a cache or of a server
    that copies; null where it was not counted.

    `review`: a person's review of it, null without one. The sentences are then as reviewed; consistencies and counts
    are still those of the vote before.

    `hallucination`: the vote of the hallucination critic, where it was asked. Consistencies and counts are those of the
    critic of completeness, unless that was not asked or did not take part, for the reason in `abstained`; then they are
    those of the hallucination critic. `unchecked` says what the critics did not look for, if anything.
    """

    sentences: tuple[TaggedSentence, ...]
    tag_consistency: Annotated[float, Field(ge=0.0, le=1.0)] | None
    reason_consistency: Annotated[float, Field(ge=0.0, le=1.0)] | None
    n_drawn: int
    n_valid: int
    n_requested: int
    n_distinct: int | None = None
    early_stop: bool = False
    review: Review | None = None
    hallucination: FindingVote | None = Field(default=None, exclude_if=is_none)
    abstained: str | None = Field(default=None, exclude_if=is_none)
    unchecked: str | None = Field(default=None, exclude_if=is_none)

    @property
    def is_complete(self) -> bool:
        """Whether no sentence is Incomplete."""
        return all(s.tag == "Complete" for s in self.sentences)

    @property
    def incomplete(self) -> tuple[TaggedSentence, ...]:
        """The sentences tagged Incomplete, in order."""
        return tuple(s for s in self.sentences if s.tag == "Incomplete")
