"""The chat history in prompts: the turns before a question, one a line, bounded, with a note of what is left out.

The words around it are prompts like all others, and named as these are in the version of whoever shows them.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence

from eirene.core.history import HistoryTurn, Role, query_in_place
from eirene.prompts.fence import shown_line
from eirene.prompts.loader import SHIPPED, PromptSet

HISTORY_CHARACTERS = 4_000
"""What a prompt shows of a history at most, about 1,000 tokens: a small model's context has to hold the rest, too."""
TURN_CHARACTERS = 1_200
"""What it shows of one turn at most: its beginning and its end."""
HISTORY_PROMPT = "history"
"""The words around a history in every prompt but the refiners', which have their own (`refine_history`)."""

_NOTE = 80  # characters kept free for the lines that say what is left out
_NAMES = {"system": "Instructions to the assistant", "user": "User", "assistant": "Assistant", "tool": "Tool"}

_ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool", "user", "assistant")
PROBE = tuple(HistoryTurn(role=role, content=f"{role}:" + " word" * 1_000) for role in _ROLES)
"""A history longer than any bound, for digests of how one is laid out."""


def history_part(history: Sequence[HistoryTurn] | None, prompts: PromptSet = SHIPPED) -> str:
    """The words around a history and its lines, without a break at the end; "" where there is none."""
    return prompts.load(HISTORY_PROMPT).fill({"turns": history_lines(history)})[-1].content if history else ""


def history_lines(history: Sequence[HistoryTurn] | None) -> str:
    """The turns, oldest first, one a line, in at most `HISTORY_CHARACTERS`; "" where there are none.

    Kept are the instructions of the system that stand first, then the newest turns; a line says how many are left out.
    """
    turns = list(history or ())
    if not turns:
        return ""
    first = 1 if turns[0].role == "system" else 0
    head, left = [_line(turn) for turn in turns[:first]], HISTORY_CHARACTERS - _NOTE
    left -= sum(len(line) + 1 for line in head)
    tail: list[str] = []
    for turn in reversed(turns[first:]):
        line = _line(turn)
        left -= len(line) + 1
        if left < 0:
            break
        tail.append(line)
    missing = len(turns) - first - len(tail)
    note = [f"- ({missing} earlier turn{'s' * (missing > 1)} left out)"] if missing else []
    return "\n".join([*head, *note, *reversed(tail)])


def _line(turn: HistoryTurn) -> str:
    said, half = turn.content.strip(), TURN_CHARACTERS // 2
    # Cut before it is laid out, so that a turn of a million characters costs no more than it shows; and once more
    # after, for marks of broken lines make it longer.
    ends = (said,) if len(said) <= TURN_CHARACTERS else (said[:half], said[-half:])
    shown = [shown_line(text) for text in ends]
    if len(ends) > 1 or len(shown[0]) > TURN_CHARACTERS:
        left_out = max(len(said), len(shown[0])) - 2 * half
        shown = [shown[0][:half], f"[... {left_out} characters left out ...]", shown[-1][-half:]]
    return f"- {_NAMES[turn.role]}: {' '.join(shown)}"


@functools.cache
def history_version() -> str:
    """8 hex digits for how a history is laid out: its lines and their bounds, and the query of a follow-up question.

    In signatures and keys of what has one. They are the digest of `PROBE`, laid out.
    """
    laid_out = f"{history_lines(PROBE)}\n{query_in_place('asked', PROBE)}"
    return hashlib.sha256(laid_out.encode("utf-8")).hexdigest()[:8]


def history_key(history: Sequence[HistoryTurn] | None) -> list[object]:
    """What a history adds to a hash of what a model is shown; nothing where there is none."""
    return [[[turn.role, turn.content] for turn in history], history_version()] if history else []
