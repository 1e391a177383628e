"""Long texts in pieces that fit the encoder."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

MAX_TOKENS = 256
"""The longest input the base model was trained on, the two marks at its ends included."""


def cut_windows(ids: Sequence[int], *, max_tokens: int = MAX_TOKENS) -> list[list[int]]:
    """The token ids, marks at both ends, as windows of at most `max_tokens` with the same marks; none if blank.

    The windows differ by at most one token in length, so that no tail of a few words counts as a text of its own.
    """
    first, body, last = ids[0], ids[1:-1], ids[-1]
    if not body:
        return []
    room = max_tokens - 2
    count = -(-len(body) // room)
    bounds = [len(body) * part // count for part in range(count + 1)]
    return [[first, *body[start:end], last] for start, end in pairwise(bounds)]
