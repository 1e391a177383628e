"""What a person may answer when shown a critique before the rewriting: keep it, change it, or stop."""

from __future__ import annotations

from collections import Counter
from typing import Annotated, ClassVar, Literal, Self

from pydantic import ConfigDict, Field, model_validator

from eirene.checked import Checked, checked
from eirene.errors import InputError
from eirene.problems import shown
from eirene.texts import Text

Action = Literal["go on", "all complete", "stop", "save"]


class FeedbackNote(Checked):
    """A person's remark on one sentence of the answer. Sentences count from 1."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
    example: ClassVar[str] = '{"sentence": 1, "reason": "..."}'

    sentence: Annotated[int, Field(ge=1)]
    reason: Text


class Review(Checked):
    """A person's answer to a critique.

    - `go on`: rewrite with the critique, after `drop` (these sentences are complete after all), `replace` (this is the
      reason, in place of the one shown) and `add` (this too); without any of them the critique is taken as it is.
    - `all complete`: no sentence lacks anything, so nothing is rewritten.
    - `stop`: the text stands as it is, whatever the critique says.
    - `save`: keep these edits, and ask again: nothing is decided yet. Never in a record.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)  # not strict: from a file or a checkpoint tuples are lists
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
        raise InputError(f"a review must be an object such as {{'action': 'go on'}}, got {shown(data)}")
    try:
        return checked(Review, data)
    except InputError as error:
        raise InputError(str(error), field="review") from None
