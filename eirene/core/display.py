"""How records and other results show themselves: by `print`, at a terminal, in a notebook, as a short `repr`.

The tables and pages are `eirene.views`, which stands above this package; the front door hands them in (`Views`).
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_FRAME_HEIGHT = 640
_SHORT = 60
_MARKS = {"kept": " ", "reworded": "+", "added": "+", "moved": ">"}


class Views(NamedTuple):
    """What results look like: `terminal` gives something that rich can print, `page` a record's whole HTML page."""

    terminal: Callable[[Any], RenderableType]
    page: Callable[[Any], str]


class Shown:
    """A result that `show()` and `rich.print` print in colours."""

    __slots__ = ()
    views: ClassVar[Views]
    """Set when `eirene` is imported."""

    def show(self, console: Console | None = None) -> None:
        """Prints all that a reader wants to know of it, on `console` or standard output."""
        from rich.console import Console

        (console or Console()).print(self)

    def __rich__(self) -> RenderableType:
        return self.views.terminal(self)


class Printed(Shown):
    """A result that `print` shows as `show()` does, in plain text."""

    __slots__ = ()
    width: ClassVar[int] = 100

    def __str__(self) -> str:
        from rich.console import Console

        console = Console(file=io.StringIO(), width=self.width, color_system=None)
        with console.capture() as found:
            console.print(self, markup=False, emoji=False, highlight=False)
        return "\n".join(line.rstrip() for line in found.get().strip("\n").split("\n"))

    def __repr__(self) -> str:
        with suppress(AttributeError, LookupError, TypeError, ValueError):  # of one that a caller changed
            return str(self)
        return super().__repr__()


class Displayed(Shown):
    """A record that a terminal (rich) and a notebook can show.

    Examples:
        >>> import eirene
        >>> record = eirene.refine(id="7", question="Is homework useful?", answer="It depends.")
        >>> record
        Record(id='7', status='not_checked', answer='It depends.')
    """

    def _repr_html_(self) -> str:
        """What a notebook shows: the page of a run in a frame of its own, so that neither styles the other."""
        import html

        frame = f'style="width: 100%; height: {_FRAME_HEIGHT}px; border: 0" sandbox="allow-scripts allow-downloads"'
        return f'<iframe title="A run of Eirene" {frame} srcdoc="{html.escape(self.views.page(self))}"></iframe>'

    def __repr_args__(self) -> list[tuple[str | None, Any]]:
        """The fields of the `repr`; the rest of a record is pages long."""
        answer = str(getattr(self, "answer", ""))
        short = answer if len(answer) <= _SHORT else f"{answer[:_SHORT].rstrip()}..."
        return [("id", getattr(self, "id", None)), ("status", getattr(self, "status", None)), ("answer", short)]


def sentence_diff(old: str, new: str) -> str:
    """A sentence a line: `- ` before what went, `+ ` before what came, `> ` before what moved here, else two spaces.

    By the same edits as the gate judges and the pages show; "" where nothing differs.
    """
    from eirene.text.edits.sentences import sentence_edits

    lines = []
    for edit in sentence_edits(old, new) if old != new else ():
        gone, come = (
            None if span is None else " ".join(text[slice(*span)].split())
            for text, span in ((old, edit.before), (new, edit.after))
        )
        if gone is not None and gone != come:
            lines.append(f"- {gone}")
        if come is not None:
            lines.append(f"{_MARKS[edit.kind]} {come}")
    return "\n".join(lines)
