"""A critique of an answer: one tag per sentence, with reasons, and where it came from.

A `Sample` is one drawn reply of a feedback model; a `Critique` is what was selected from many samples. The list of tags
follows the answer's sentences as `eirene.text.sentences` cuts them.

What a person may answer when shown a critique before the rewriting: keep it, change it, or stop.
"""

from __future__ import annotations

from collections import Counter
from typing import Annotated, ClassVar, Literal, Self, get_args

from pydantic import ConfigDict, Field, model_validator

from eirene.core.errors import FormError, InputError
from eirene.core.validation import FrozenModel, described, validated
from eirene.text.unicode import Text

Action = Literal["go on", "all complete", "stop", "save"]


class FeedbackNote(FrozenModel):
    """A person's remark on one sentence of the answer. Sentences count from 1."""

    model_config = ConfigDict(strict=True)
    example: ClassVar[str] = '{"sentence": 1, "reason": "..."}'

    sentence: Annotated[int, Field(ge=1)]
    reason: Text


class Review(FrozenModel):
    """A person's answer to a critique.

    - `go on`: rewrite with the critique, after `drop` (these sentences are complete after all), `replace` (this is the
      reason, in place of the one shown) and `add` (this too); without any of them the critique is taken as it is.
    - `all complete`: no sentence lacks anything, so nothing is rewritten.
    - `stop`: the text stands as it is, whatever the critique says.
    - `save`: keep these edits, and ask again: nothing is decided yet. Never in a record.
    """

    whole_name: ClassVar[str] = "a review"

    action: Action
    replace: tuple[FeedbackNote, ...] = ()
    add: tuple[FeedbackNote, ...] = ()
    drop: tuple[Annotated[int, Field(ge=1, strict=True)], ...] = ()

    @model_validator(mode="after")
    def _says_one_thing_of_a_sentence(self) -> Self:
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
        """What the person added to the reason of a sentence, in the order given; empty where nothing was."""
        return " ".join(note.reason.strip() for note in self.add if note.sentence == sentence)


def parse_review(data: object) -> Review:
    """Checks a person's answer; raises `InputError` with one sentence that says what came and what was wanted."""
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


def _is_none(value: object) -> bool:
    return value is None


class Finding(FrozenModel):
    """A fault at a place: character offsets into the original answer, why, and the replacement if one is known.

    Always in one sense: `edit` is what `answer[start:end]` should become. "" deletes; with start == end it inserts.
    `share` is how many of the valid samples agree on it, in (0, 1], where they voted on findings; else it is left out.
    """

    kind: FindingKind
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]
    reason: str
    edit: str | None = None
    share: Annotated[float, Field(gt=0.0, le=1.0)] | None = Field(default=None, exclude_if=_is_none)


def findings_in(entries: object) -> tuple[Finding, ...]:
    """Findings as rows have them, with reasons or without. Raises `ValueError` that says which is none, and why."""
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
    """One sentence (`n` from 1, offsets without white space around it) with its tag; Incomplete always has a reason."""

    n: Annotated[int, Field(ge=1)]
    text: str
    start: int
    end: int
    tag: Tag
    reason: str | None = None
    findings: tuple[Finding, ...] = ()

    @model_validator(mode="after")
    def _reason_goes_with_incomplete(self) -> Self:
        if self.tag == "Incomplete" and not (self.reason or "").strip():
            raise ValueError(f"sentence {self.n} is Incomplete and needs a reason")
        return self


class Sample(FrozenModel):
    """One drawn critique. Valid: one tag a sentence and a reason for every Incomplete; else `invalid` says why not.

    An invalid sample has no tags: it counts as drawn and takes no part in the vote. `critic` says who drew it where
    that is not the critic of completeness.
    """

    tags: tuple[Tag, ...] = ()
    reasons: tuple[str | None, ...] = ()
    findings: tuple[Finding, ...] = ()
    invalid: str | None = None
    critic: CriticKind | None = Field(default=None, exclude_if=_is_none)

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
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

    `agreement` in [0, 1]: the mean, over the findings that were kept, of the share of the valid samples that have each;
    where none was kept, the share of the valid samples without any. `tag_consistency` in [0, 1]: the share of all drawn
    samples whose sentence tags are just those of the vote. Both are null without a quorum; `abstained` then says why.
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
    """The selected critique. Consistencies lie in [0, 1] and are null for a critique that nobody voted on.

    `n_distinct`: how many of the valid samples differ in tags or reasons. 1 among many, of a model that writes freely,
    is a sign of a cache or of a server that copies; null where it was not counted.

    `review` is what a person answered when shown it, null where nobody was asked: the sentences then stand as the
    person left them, while consistencies and counts still speak of the vote before.

    `hallucination` is the vote of the hallucination critic, where it was asked. If it was asked alone, the
    consistencies and counts here are its own; else they are those of the critic of completeness. `abstained` says why
    that critic, asked beside it, has no part: the consistencies and counts are then the other's as well. `unchecked`
    says what the critics did not look for, where they left something out.
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
    hallucination: FindingVote | None = Field(default=None, exclude_if=_is_none)
    abstained: str | None = Field(default=None, exclude_if=_is_none)
    unchecked: str | None = Field(default=None, exclude_if=_is_none)

    @property
    def is_complete(self) -> bool:
        """Whether no sentence is Incomplete."""
        return all(s.tag == "Complete" for s in self.sentences)

    @property
    def incomplete(self) -> tuple[TaggedSentence, ...]:
        """The sentences tagged Incomplete, in order."""
        return tuple(s for s in self.sentences if s.tag == "Incomplete")
