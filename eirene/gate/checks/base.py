"""The interface of a check: an `EditCase` in, objections out; both ways round, harm done and harm mended.

A check looks at the edits that turn one text into another. The same check on the swapped case finds what the edits
took out that should not have been there: a mended fault is a gain for the reason that would have made it a harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from eirene.core.grounding import Grounding
from eirene.text.edits.words import SentenceEdit, WordEdit

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes


@dataclass(frozen=True, slots=True)
class Asked:
    """A place of the text before (offsets) that a finding, a critique's sentence or a person's note names, and why.

    `edit`: what should stand there, where that is known ("" for nothing); `start == end` for something missing.
    """

    start: int
    end: int
    reason: str
    kind: str | None = None
    edit: str | None = None


@dataclass(frozen=True)
class EditCase:
    """The edits between two texts of one item, and what may justify them.

    `given`: arguments or passages; with source `derived` nothing was given. `asked`: what the text before is to be
    changed for. `drafts`: earlier texts (the original answer) whose words may come back. `is_judged`: a model will
    compare the texts, and so may tell a new fact from a false one. `encoder` is None where the texts are in a language
    that it does not read; checks that need it then say nothing. `question` is in its place (`Item.query`), `history`
    what was said before it.
    """

    question: str
    before: str
    after: str
    edits: tuple[SentenceEdit, ...]
    given: Grounding
    asked: tuple[Asked, ...] = ()
    drafts: tuple[str, ...] = ()
    is_judged: bool = False
    encoder: Encodes | None = None
    history: str = ""
    _found: dict[Check, tuple[Objection, ...]] = field(default_factory=dict, repr=False, compare=False)

    def objections(self, check: Check) -> tuple[Objection, ...]:
        """What a check objects to in this case; each check is asked once."""
        if check not in self._found:
            self._found[check] = tuple(check(self))
        return self._found[check]

    @cached_property
    def has_given(self) -> bool:
        """Whether arguments or passages were given."""
        return self.given.source != "derived"

    @cached_property
    def given_texts(self) -> tuple[str, ...]:
        """The arguments, or the passages; none where nothing was given."""
        return self.given.arguments if self.has_given else ()

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """Every text that an edit may take its words from: the text before, drafts, question and what was said before
        it, given text, reasons."""
        reasons = [text for a in self.asked for text in (a.reason, a.edit or "") if text]
        asked = (self.question, self.history) if self.history else (self.question,)
        return (self.before, *self.drafts, *asked, *self.given_texts, *reasons)

    @cached_property
    def swapped(self) -> EditCase:
        """The case the other way round: the edits that would undo these. Nobody asked for those."""
        turned = tuple(_turned(edit) for edit in self.edits)
        return replace(self, before=self.after, after=self.before, edits=turned, asked=(), drafts=(), _found={})

    def old(self, edit: SentenceEdit) -> str:
        """What stood in the text before; "" for an added sentence."""
        return self.before[slice(*edit.before)] if edit.before else ""

    def new(self, edit: SentenceEdit) -> str:
        """What stands in the text after; "" for a removed sentence."""
        return self.after[slice(*edit.after)] if edit.after else ""

    def changed(self) -> Iterator[tuple[int, SentenceEdit]]:
        """The edits that are not `kept`, each with its index in `edits`."""
        return ((n, edit) for n, edit in enumerate(self.edits) if edit.kind != "kept")

    def asked_at(self, edit: SentenceEdit) -> tuple[Asked, ...]:
        """What was asked for at an edit's place in the text before."""
        if edit.before is None:
            return ()
        start, end = edit.before
        return tuple(a for a in self.asked if a.start < end and start < max(a.end, a.start + 1))


def _turned(edit: SentenceEdit) -> SentenceEdit:
    kind = {"added": "removed", "removed": "added"}.get(edit.kind, edit.kind)
    words = tuple(WordEdit(w.after, w.before) for w in edit.words)
    return SentenceEdit(kind, edit.after, edit.before, words)  # type: ignore[arg-type]  # one of the five kinds


@dataclass(frozen=True, slots=True)
class Objection:
    """Why an edit (its index in `EditCase.edits`) may not stay, in a few words that a reader and a model understand.

    `words`: the indices of the changed words that are at fault, where putting those back mends it; else the whole
    edit is undone. `falsifies`: what is there says otherwise than the given text, not more than it or in bad form; a
    given argument that it seems to say is not said.
    """

    edit: int
    why: str
    words: tuple[int, ...] | None = None
    falsifies: bool = False


Check = Callable[[EditCase], Iterable[Objection]]
"""A check: a plain function, without state, that is the same for the same case."""
