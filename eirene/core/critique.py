"""Critique of an answer: one tag per sentence, with reasons and findings; its samples, votes and reviews by people.

A `Sample` is one drawn reply of a feedback model; a `Critique` is what was selected from many samples. The list of tags
follows the answer's sentences as `eirene.text.sentences` cuts them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal, Self, get_args

from pydantic import Field, model_validator

from eirene.core.errors import FormError, InputError
from eirene.core.loop_settings import StopRule
from eirene.core.scores import Probability
from eirene.core.validation import FrozenModel, described, is_empty, is_none, validated
from eirene.text.unicode import Text

Action = Literal["go on", "all complete", "stop", "save"]


class FeedbackNote(FrozenModel, strict=True):
    """A person's remark on one sentence of the answer. Sentences count from 1."""

    sentence: Annotated[int, Field(ge=1)]
    """The sentence's number, from 1."""
    reason: Text
    """What is wrong with it, or missing."""


class Review(FrozenModel):
    """A person's answer to a critique that is shown before the rewriting.

    - `go on`: rewrite with the critique, after its edits: `drop` (sentences that are complete after all), `replace` (a
      reason in place of the one shown) and `add` (one more reason).
    - `all complete`: no sentence lacks anything, so nothing is rewritten.
    - `stop`: nothing is rewritten, whatever the critique says.
    - `save`: keep these edits, and ask again. Never in a record.
    """

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
        raise InputError(f"review: {error}", field="review") from None


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
    """A fault at a place in the original answer."""

    kind: FindingKind
    """What is wrong there."""
    start: Annotated[int, Field(ge=0)]
    """The first character, from 0."""
    end: Annotated[int, Field(ge=0)]
    """Behind the last character; equal to `start` where something is missing."""
    reason: str
    """What is wrong, in words."""
    edit: str | None = None
    """What `answer[start:end]` should become, if that is known: "" deletes, and with start == end it inserts."""
    share: Annotated[float, Field(gt=0.0, le=1.0)] | None = Field(default=None, exclude_if=is_none)
    """The share of the valid samples that agree on it, in (0, 1], where they voted on findings."""


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
    """One sentence of the answer with its tag."""

    n: Annotated[int, Field(ge=1)]
    """Its number, from 1."""
    text: str
    """The sentence without white space around it."""
    start: int
    """Its first character in the answer, from 0."""
    end: int
    """Behind its last character."""
    tag: Tag
    """The vote's tag (EIR, section 4.1)."""
    reason: str | None = None
    """Why it is Incomplete; never null then."""
    chance: Probability | None = Field(default=None, exclude_if=is_none)
    """The model's probability that it is Incomplete, where that was read in place of a vote."""
    findings: tuple[Finding, ...] = ()
    """The faults at or in it."""

    @model_validator(mode="after")
    def _check_reason(self) -> Self:
        if self.tag == "Incomplete" and not (self.reason or "").strip():
            raise ValueError(f"sentence {self.n} is Incomplete and needs a reason")
        return self


class Sample(FrozenModel):
    """One drawn critique: valid with one tag a sentence and a reason for every Incomplete, else invalid.

    An invalid sample has no tags: it counts as drawn and does not vote.
    """

    tags: tuple[Tag, ...] = ()
    """A tag for each sentence, in order."""
    reasons: tuple[str | None, ...] = ()
    """A reason for each sentence, null where it is Complete."""
    findings: tuple[Finding, ...] = ()
    """Faults with a place, from critics that give one."""
    unusable: tuple[FeedbackNote, ...] = Field(default=(), exclude_if=is_empty)
    """Sentences whose tag does not count, each with the cause: what is wrong with its reason."""
    chances: tuple[Probability, ...] = Field(default=(), exclude_if=is_empty)
    """The model's probability that a sentence is Incomplete, for each, where tags were read from these."""
    invalid: str | None = None
    """Why the reply could not be read; null for a valid sample."""
    reply: str | None = Field(default=None, exclude_if=is_none)
    """The beginning of a model's reply that could not be read."""
    not_checked: bool = Field(default=False, exclude_if=is_empty)
    """Whether there was nothing that the critic could check; `invalid` says why."""
    critic: CriticKind | None = Field(default=None, exclude_if=is_none)
    """Which critic drew it; null for that of completeness."""

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

    @property
    def votes(self) -> tuple[Tag | None, ...]:
        """The tags, None where one does not count."""
        void = {note.sentence for note in self.unusable}
        return tuple(None if n in void else tag for n, tag in enumerate(self.tags, start=1))


def incomplete_shares(samples: Sequence[Sample]) -> tuple[float, ...]:
    """How surely each sentence is Incomplete, in [0, 1]: what a vote and a readout of probabilities are compared by.

    Of samples that vote, the share of the tags that count, 0 where none does; of one with `chances`, these. Empty
    without a valid sample.
    """
    valid = [sample for sample in samples if sample.is_valid]
    read = next((sample.chances for sample in valid if sample.chances), None)
    if read is not None:
        return read
    columns = ([tag for tag in column if tag is not None] for column in zip(*(s.votes for s in valid), strict=True))
    return tuple(column.count("Incomplete") / len(column) if column else 0.0 for column in columns)


class FindingVote(FrozenModel):
    """How the samples of the hallucination critic voted: on places and kinds, not on tag sequences."""

    agreement: Probability | None
    """The share of the valid samples that have a kept finding, as a mean over the kept ones, in [0, 1]; without any,
    the share of the valid samples without findings. Null without a quorum."""
    tag_consistency: Probability | None
    """The share of all drawn samples whose sentence tags equal the vote's, in [0, 1]; null without a quorum."""
    n_kept: int
    """Findings that a majority has."""
    n_found: int
    """Different findings in all samples."""
    n_drawn: int
    """Samples drawn."""
    n_valid: int
    """Samples that could be read."""
    n_requested: int
    """Samples asked for; more than drawn after an early stop."""
    abstained: str | None = None
    """Why there was no vote."""


class Critique(FrozenModel):
    """The critique that was selected from all samples.

    Consistencies and counts are those of the critic of completeness; where that was not asked or did not take part, of
    the hallucination critic.
    """

    sentences: tuple[TaggedSentence, ...]
    """Every sentence of the answer with its tag; after a review, as the person left it."""
    tag_consistency: Probability | None
    """The share of samples with the same tags, in [0, 1] (EIR, equation 1); null without a vote."""
    reason_consistency: Probability | None
    """How alike the reasons of those samples are, in [0, 1] (EIR, equation 2); null without a vote."""
    n_drawn: int
    """Samples drawn."""
    n_valid: int
    """Samples that could be read."""
    n_requested: int
    """Samples asked for; more than drawn after an early stop."""
    n_distinct: int | None = None
    """How many valid samples differ; 1 of many is a sign of a cache or a server that copies. Null: not counted."""
    early_stop: bool = False
    """Whether a stop rule ended the drawing."""
    stop: StopRule | None = Field(default=None, exclude_if=is_none)
    """The rule that samples were drawn by, as `auto` came to it; null where nobody voted on tags."""
    review: Review | None = None
    """A person's review of it."""
    hallucination: FindingVote | None = Field(default=None, exclude_if=is_none)
    """The vote of the hallucination critic, where it was asked."""
    abstained: str | None = Field(default=None, exclude_if=is_none)
    """Why the critic of completeness took no part."""
    unchecked: str | None = Field(default=None, exclude_if=is_none)
    """What the critics did not look for."""

    @property
    def is_complete(self) -> bool:
        """Whether no sentence is Incomplete."""
        return all(s.tag == "Complete" for s in self.sentences)

    @property
    def incomplete(self) -> tuple[TaggedSentence, ...]:
        """The sentences tagged Incomplete, in order."""
        return tuple(s for s in self.sentences if s.tag == "Incomplete")
