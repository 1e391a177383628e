"""Records: the input row (`Item`) and the output row (`Record`).

Text from outside is validated here, once, strictly: unknown keys, blank texts, NUL characters and broken Unicode are
errors that name the field. Everything in a record is plain JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, JsonValue, model_validator

from eirene.core import loop_settings
from eirene.core.coercion import as_id, as_meta, as_notes, as_passages, as_sides, as_texts
from eirene.core.critique import Critique, FeedbackNote, Sample
from eirene.core.display import Displayed, sentence_diff
from eirene.core.errors import InputError
from eirene.core.history import History, HistoryTurn, query_in_place
from eirene.core.scores import PairJudgement, Probability, Scores
from eirene.core.signature import digest
from eirene.core.usage import Usage
from eirene.core.validation import CheckedModel, FrozenModel, described, is_empty, is_none, validated
from eirene.core.verification import ClaimWord, NumberedEvidence, UnsaidSentence
from eirene.text.unicode import LONE_SURROGATE, Text

Mode = loop_settings.Mode
MODES = loop_settings.MODES
Status = Literal["accepted", "complete", "no_fault_found", "flagged", "kept", "not_checked", "abstained", "failed"]
STATUSES: tuple[Status, ...] = get_args(Status)
WITHOUT_FAULT: frozenset[Status] = frozenset({"complete", "no_fault_found"})
"""Statuses of an answer in which nothing was found; `complete` where nothing was left unchecked."""
VOTED_MODES: frozenset[Mode] = frozenset({"fine-grained", "edit"})
"""Modes in which critics are sampled and voted on."""
CRITIQUED_MODES: frozenset[Mode] = VOTED_MODES | {"human"}
"""Modes that have a critique, and so one that a person can review."""
PATCHED_MODES: frozenset[Mode] = frozenset({"fine-grained", "human", "generic"})
"""Modes in which a language model may rewrite by a patch."""
UNASKED = "(none)"
"""The question of a row that was made of an answer alone."""
FOUND_PASSAGES = "eirene_passages"
"""The key in an item's meta that holds the ids of retrieved passages."""


def _distinct_names(perspectives: list[Perspective]) -> list[Perspective]:
    names = [p.name.strip() for p in perspectives]
    twice = sorted({n for n in names if names.count(n) > 1})
    if twice:
        raise ValueError(f"has the name {twice[0]!r} twice; give each perspective its own name")
    return perspectives


def _can_be_written(meta: dict[str, JsonValue]) -> dict[str, JsonValue]:
    try:
        digest(meta)
    except UnicodeEncodeError:
        raise ValueError(LONE_SURROGATE) from None
    except ValueError:
        raise ValueError("holds NaN or Infinity, which JSON has no word for; use null") from None
    return meta


class _InputModel(CheckedModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, ser_json_inf_nan="strings")


# For the server's JSON schemas: the forms that are accepted, not the one that is stored.
_OneOrMoreTexts = str | list[str | None]


class Perspective(_InputModel):
    """One side of a question with the arguments that an answer is to carry; one argument may be a text alone."""

    name: Text
    """The side's name, such as "pro"; no two sides of an item share one."""
    arguments: Annotated[
        list[Text], Field(min_length=1), BeforeValidator(as_texts, json_schema_input_type=_OneOrMoreTexts)
    ]
    """What the side argues, at least one text."""

    if TYPE_CHECKING:

        def __init__(self, *, name: str, arguments: str | Sequence[str]) -> None: ...


SIDES = BeforeValidator(as_sides, json_schema_input_type=str | dict[str, _OneOrMoreTexts | None] | list[Perspective])
"""What `perspectives` may be: see `eirene.core.coercion`."""
PASSAGES = BeforeValidator(as_passages, json_schema_input_type=str | list[Any] | dict[str, Any])
"""What `context` may be: see `eirene.core.coercion`."""


class Item(_InputModel):
    """One input row, checked. Each field takes several forms and is held in the one shown here.

    Raises `InputError`, which here is a `ValueError` too, that names the field, what came and what was wanted.
    """

    id: Annotated[Text, BeforeValidator(as_id)] = Field(default="", validate_default=False)
    """A name of the row, or a whole number; without one, a hash of the content."""
    question: Text
    """What was asked."""
    history: History = Field(default=None, exclude_if=is_none)
    """The conversation before the question, oldest first; also OpenAI's or LangChain's messages."""
    answer: Text
    """The answer to refine."""
    perspectives: Annotated[list[Perspective], Field(min_length=1), AfterValidator(_distinct_names), SIDES] | None = (
        None
    )
    """The sides of the question with their arguments; also a mapping of each side to its arguments."""
    context: Annotated[Annotated[list[Text], Field(min_length=1)] | None, PASSAGES] = None
    """Passages that the answer is checked against; also one text, or a retriever's documents."""
    feedback: Annotated[list[FeedbackNote], Field(min_length=1), BeforeValidator(as_notes)] | None = None
    """A person's notes on sentences of the answer, for mode `human`."""
    gold: Text | None = None
    """A reference answer. Never shown to a refiner."""
    meta: Annotated[dict[str, JsonValue], AfterValidator(_can_be_written), BeforeValidator(as_meta)] = Field(
        default_factory=dict
    )
    """Anything else, as JSON. Never shown to a refiner, and not repeated in the record."""

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            id: str | int = ...,
            question: str,
            history: Sequence[Any] | str | None = ...,
            answer: str,
            perspectives: Mapping[str, str | Sequence[str]] | Sequence[Perspective | Mapping[str, Any]] | None = ...,
            context: str | Sequence[Any] | None = ...,
            feedback: Sequence[FeedbackNote | Mapping[str, Any]] | None = ...,
            gold: str | None = ...,
            meta: Mapping[str, Any] = ...,
        ) -> None: ...

    @model_validator(mode="after")
    def _set_id(self) -> Self:
        if not self.id:
            object.__setattr__(self, "id", "item-" + digest(self.model_dump(mode="json", exclude={"id"}))[:12])
        return self

    @property
    def query(self) -> str:
        """The question with what a follow-up leaves unsaid, for encoders and searches."""
        return query_in_place(self.question, self.history)


class EditDecision(FrozenModel):
    """One edit of a rewrite, and the gate's decision on it.

    A sentence that was taken in part has an entry of its own for the words that were not.
    """

    kind: Literal["reworded", "added", "removed", "moved", "characters"]
    """What the rewrite did to the sentence or words."""
    before: tuple[int, int] | None
    """Start and end in the text before; null where a sentence was added."""
    after: tuple[int, int] | None
    """Start and end in the rewrite as the refiner wrote it; null where a sentence was removed."""
    old: str
    """The words before."""
    new: str
    """The words after."""
    taken: bool
    """Whether the edit stays. One that does not is undone by itself."""
    check: str | None = Field(default=None, exclude_if=is_none)
    """The gate's check that undid it."""
    why: str | None = Field(default=None, exclude_if=is_none)
    """The reason, in words."""


class Change(FrozenModel):
    """One change of a patch, by which a model rewrites an answer."""

    sentence: Annotated[int, Field(ge=1)]
    """The number of the sentence in the text before, from 1."""
    action: Literal["replace", "insert_after", "delete"]
    """What is done at the sentence."""
    text: str = ""
    """The words that come in; none where the sentence goes."""

    def __str__(self) -> str:
        said = {"replace": f"{self.sentence}: ", "insert_after": f"after {self.sentence}: "}
        return said.get(self.action, f"drop {self.sentence}") + self.text


class Drawn(FrozenModel):
    """How a model drew a rewrite, and what else it drew with it."""

    form: loop_settings.RewriteForm
    """How it was written: as a patch, sentence by sentence, or as the whole answer."""
    n: Annotated[int, Field(ge=1)]
    """Which of the rewrites it is that were drawn together, from 1."""
    of: Annotated[int, Field(ge=1)]
    """How many were drawn together."""
    seed: int
    """The seed that it was drawn with; those of one request are told apart by `n`."""
    temperature: float | None
    """The temperature."""
    changes: tuple[Change, ...] = Field(default=(), exclude_if=is_empty)
    """The patch's changes that were made."""
    refused: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """Changes of the patch that were not, each with the reason."""
    passed_over: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """Rewrites of the same round in whose place it was taken, each with the reason."""


class RewriteComparison(FrozenModel):
    """What the gate's comparison says of a rewrite that passages were given for (`eirene.gate.comparison`)."""

    better: Probability
    """Probability that the rewrite is the better answer."""
    threshold: Probability | None
    """The least at which it is accepted; null where the calibration keeps the risk by no threshold."""
    risk: Probability
    """The share of accepted rewrites that may be worse than the text before."""
    calibration: str
    """The rewrites, judged by people, that the threshold stands on."""

    @property
    def accepts(self) -> bool:
        """Whether the rewrite is accepted; one that is only as good, as with other white space, never is."""
        return self.threshold is not None and self.better >= self.threshold and self.better > 0.5


class Round(FrozenModel):
    """One turn of the loop: a critique, a rewrite, its scores, the gate's decision."""

    critique: Critique | None
    """The critique that the rewrite was written from; null in modes without one."""
    samples: tuple[Sample, ...] = ()
    """The critiques drawn for this round; none where an earlier round's were used again."""
    evidence: NumberedEvidence | None = Field(default=None, exclude_if=is_none)
    """What models were shown of the passages beside the text to be bettered."""
    candidate: str | None
    """The rewrite that was scored, without the edits that were undone; null where there was none."""
    written: str | None = Field(default=None, exclude_if=is_none)
    """What the refiner wrote, where that is another text than `candidate`."""
    drawn: Drawn | None = Field(default=None, exclude_if=is_none)
    """How a model drew the rewrite."""
    edits: tuple[EditDecision, ...] = Field(default=(), exclude_if=is_empty)
    """Every edit, with the gate's decision on it."""
    mended: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """Faults of the text before that the rewrite took out, as the gate's checks found them."""
    comparison: RewriteComparison | None = Field(default=None, exclude_if=is_none)
    """How likely the rewrite is the better answer, where passages tell."""
    pairwise: PairJudgement | None = Field(default=None, exclude_if=is_none)
    """The pairwise judge's votes on the rewrite, where it was asked."""
    scores: dict[str, Scores]
    """The scores of `candidate`, by detector."""
    decision: Literal["accept", "reject"]
    """What the gate decided."""
    why: str
    """Its reason, in words."""


class ErrorInfo(FrozenModel):
    """Why a run failed: the exception's class name and its message."""

    kind: str
    """The exception's class."""
    message: str
    """What it says."""


class BeforeAfter(FrozenModel):
    """Scores of the original and of the text that is shown, by detector. Equal where the original is shown."""

    original: dict[str, Scores]
    """Of the answer that came in."""
    final: dict[str, Scores]
    """Of the answer that is shown."""


class Record(Displayed, FrozenModel):
    """One output row. `show()` prints it; `rich.print` and notebooks show it by themselves."""

    id: str
    """The item's id."""
    question: str
    """What was asked."""
    history: tuple[HistoryTurn, ...] | None = Field(default=None, exclude_if=is_none)
    """The conversation before the question; left out where there was none."""
    original: str
    """The answer that came in."""
    answer: str
    """The text to show: the original, byte for byte, in every status but `accepted`."""
    status: Status
    """What happened (docs/concepts/loop.md): a rewrite was accepted, or why the original stands."""
    why: str
    """The reason for the status, in a sentence."""
    mode: Mode
    """What the refiner was told."""
    backend: str
    """Who critiqued and rewrote."""
    seed: int
    """The seed of the run; the same one gives the same record."""
    signature: str
    """A digest of everything that the result depends on besides the item: settings, models, prompts, constants."""
    rounds: tuple[Round, ...]
    """Each turn of the loop."""
    scores: BeforeAfter
    """Error scores of the original and of the answer."""
    usage: Usage
    """Calls, tokens, cost and seconds."""
    passages: tuple[str, ...] = ()
    """Ids of the passages that were retrieved as context, in order."""
    advisory: tuple[str, ...] = ()
    """The detectors whose scores are shown and decide nothing."""
    verdicts: dict[ClaimWord, int] = Field(default={}, exclude_if=is_empty)
    """How many sentences of `answer` have which verdict of `eirene.verify` by the passages; empty without any."""
    unclear: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """Those that are unclear: no fault was found, and the passages do not clearly say them."""
    unsaid: tuple[UnsaidSentence, ...] = Field(default=(), exclude_if=is_empty)
    """What the passages say to the question and `answer` seems to leave out, with P, as `eirene.verify` names it."""
    error: ErrorInfo | None = None
    """What broke, with status `failed` alone."""

    @model_validator(mode="after")
    def _check_status(self) -> Self:
        if self.status != "accepted" and self.answer != self.original:
            raise ValueError(f"status {self.status!r} must show the original answer")
        if (self.status == "failed") != (self.error is not None):
            raise ValueError("`error` goes with status 'failed' and with no other")
        return self

    @property
    def diff(self) -> str:
        """From the original to the answer, a sentence a line: `- ` gone, `+ ` new, `> ` moved here; "" if it stands."""
        return sentence_diff(self.original, self.answer)

    @property
    def edits(self) -> tuple[EditDecision, ...]:
        """Every edit of every round's rewrite, and what the gate made of it."""
        return tuple(edit for round_ in self.rounds for edit in round_.edits)

    def to_json(self, *, indent: int | None = None) -> str:
        """The record as JSON text; never contains NaN or Infinity."""
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=False, allow_nan=False, indent=indent)


def parse_item(data: object, *, where: str | None = None) -> Item:
    """Checks one row and returns it as an `Item`; its fields may have any of the forms that `Item` takes.

    Raises `InputError` that names the field, what came and what was wanted; `where` (file and row) goes before it.
    """
    if isinstance(data, Item):
        return data
    if not isinstance(data, Mapping):
        raise InputError(
            f"a row must be a JSON object with 'question' and 'answer', got {described(data)}", where=where
        )
    return validated(Item, data if isinstance(data, dict) else dict(data), where=where)


def found_ids(item: Item) -> tuple[str, ...]:
    """The ids of an item's retrieved passages, in order; none where its meta holds something else."""
    ids = item.meta.get(FOUND_PASSAGES)
    if not item.context or not isinstance(ids, list) or len(ids) != len(item.context):
        return ()
    named = tuple(i for i in ids if isinstance(i, str))
    return named if len(named) == len(ids) else ()
