"""Conversation before a question, for pages: the turns of a record's history, the last of them where it is long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eirene.core.history import HistoryTurn

LAST_TURNS = 20
LONGEST_TURN = 1_000
"""Of a page with many records: turns of each record, and characters of a turn."""


@dataclass(frozen=True, slots=True)
class ShownConversation:
    """How many turns there are in words, a note where not all of it is shown, and (role, content) of each turn."""

    title: str
    note: str
    turns: tuple[tuple[str, str], ...]


def shown_conversation(history: Sequence[HistoryTurn] | None, *, bounded: bool = False) -> ShownConversation | None:
    """The turns before a record's question, or None; `bounded`: the last ones, each with its first characters."""
    if not history:
        return None
    title = f"The conversation before it: {len(history):,} turn{'s' if len(history) > 1 else ''}"
    if not bounded:
        return ShownConversation(title, "", tuple((turn.role, turn.content) for turn in history))
    last = history[-LAST_TURNS:]
    cuts = [f"the last {LAST_TURNS}"] if len(last) < len(history) else []
    cuts += [f"the first {LONGEST_TURN:,} characters of each"] if any(map(_is_long, last)) else []
    note = f"Shown are {', '.join(cuts)}; the record holds all." if cuts else ""
    return ShownConversation(title, note, tuple((turn.role, _cut(turn)) for turn in last))


def _is_long(turn: HistoryTurn) -> bool:
    return len(turn.content) > LONGEST_TURN


def _cut(turn: HistoryTurn) -> str:
    return f"{turn.content[:LONGEST_TURN]}…" if _is_long(turn) else turn.content
