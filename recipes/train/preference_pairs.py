"""Reads preference pairs: HaluQuestQA's rows, and the columns that TRL knows.

HaluQuestQA (Sachdeva et al. 2024): `question` (or `question_text`), `preferred_response`, `rejected_response`. TRL:
`prompt`, `chosen` and `rejected`, each a text, or a list of messages with `role` and `content`; the messages before the
last may stand in `chosen` and `rejected` instead. Other keys are passed over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from eirene.core.errors import InputError
from eirene.core.signature import digest, rng_for
from eirene.data.json_rows import HasRows, Row
from eirene.prompts import Message

ROLES = ("system", "user", "assistant")
EMPTY_PROMPT = "the prompt is empty"
EMPTY_SIDE = "a side is empty"
SAME_SIDES = "both sides are the same"
_MISSING = object()


@dataclass(frozen=True, slots=True)
class PreferencePair:
    """Two replies to one prompt, of which people preferred the first. `where` says where the row stood.

    `prompt` is a text or a conversation. `is_question` where it is a bare question and no prompt that was put into
    words by someone.
    """

    prompt: str | tuple[Message, ...]
    chosen: str
    rejected: str
    is_question: bool
    where: str

    @property
    def key(self) -> str:
        """The same for all pairs with the same prompt."""
        if isinstance(self.prompt, str):
            return self.prompt.strip()
        return digest([[turn.role, turn.content] for turn in self.prompt])


def read_pairs(source: HasRows) -> list[PreferencePair]:
    """All rows of a file, in order; raises `InputError` at the first that cannot be read, and names it."""
    return [parse_pair(row) for row in source.rows()]


def parse_pair(row: Row) -> PreferencePair:
    """One row in any of the forms. Sides and prompts may be empty here; see `usable`."""
    data = row.data
    if not isinstance(data, dict):
        raise InputError("a row must be a JSON object", where=row.where)
    if {"preferred_response", "rejected_response"} <= set(data):
        name = "question" if "question" in data or "question_text" not in data else "question_text"
        chosen, rejected = (_text(data, key, row.where) for key in ("preferred_response", "rejected_response"))
        return PreferencePair(_text(data, name, row.where), chosen, rejected, True, row.where)
    if {"chosen", "rejected"} <= set(data):
        return _from_trl(data, row.where)
    raise InputError(
        "a row needs HaluQuestQA's 'question', 'preferred_response' and 'rejected_response', or TRL's 'prompt', "
        "'chosen' and 'rejected'",
        where=row.where,
    )


def usable(pairs: Iterable[PreferencePair]) -> tuple[list[PreferencePair], Counter[str]]:
    """The pairs that can be learnt from, and how many of the others there are, by the cause."""
    kept: list[PreferencePair] = []
    dropped: Counter[str] = Counter()
    for pair in pairs:
        if not pair.prompt if isinstance(pair.prompt, tuple) else not pair.prompt.strip():
            dropped[EMPTY_PROMPT] += 1
        elif not pair.chosen.strip() or not pair.rejected.strip():
            dropped[EMPTY_SIDE] += 1
        elif pair.chosen.split() == pair.rejected.split():
            dropped[SAME_SIDES] += 1
        else:
            kept.append(pair)
    return kept, dropped


def split_pairs(
    pairs: list[PreferencePair], share: float, *, seed: int
) -> tuple[list[PreferencePair], list[PreferencePair]]:
    """Pairs to train on and pairs held out: all pairs of a prompt fall to one side, so that none is seen before.

    `share` of the distinct prompts, rounded, at least one where it is above 0. Raises `InputError` where nothing would
    be left on one of the sides.
    """
    keys = list(dict.fromkeys(pair.key for pair in pairs))
    if not share:
        return pairs, []
    n_held = max(1, round(share * len(keys)))
    if n_held >= len(keys):
        raise InputError(
            f"held_out = {share:g} of {len(keys)} question{'s' * (len(keys) != 1)} leaves none to train on; "
            "give more rows, or held_out 0",
            field="held_out",
        )
    order = rng_for(seed, "held-out").permutation(len(keys))
    held = {keys[i] for i in order[:n_held]}
    return [p for p in pairs if p.key not in held], [p for p in pairs if p.key in held]


def _from_trl(data: dict[str, Any], where: str) -> PreferencePair:
    prompt, chosen, rejected = data.get("prompt"), data["chosen"], data["rejected"]
    if isinstance(chosen, list) and isinstance(rejected, list):
        before, one = _conversation(data, "chosen", where)
        other_before, other = _conversation(data, "rejected", where)
        if before != other_before:
            raise InputError("'chosen' and 'rejected' may differ in their last message alone", where=where)
        return PreferencePair(_opening(prompt, before, where), one, other, False, where)
    if isinstance(chosen, list) or isinstance(rejected, list):
        raise InputError("'chosen' and 'rejected' must both be texts, or both lists of messages", where=where)
    asked = _turns(prompt, "prompt", where) if isinstance(prompt, list) else _text(data, "prompt", where)
    return PreferencePair(asked, _text(data, "chosen", where), _text(data, "rejected", where), False, where)


def _opening(prompt: object, before: tuple[Message, ...], where: str) -> tuple[Message, ...]:
    """The conversation up to the reply: the prompt's messages and those before the last of the sides."""
    if isinstance(prompt, str) and not before:
        return (Message("user", prompt),) if prompt.strip() else ()
    turns = (*_turns(prompt, "prompt", where), *before) if isinstance(prompt, list) else before
    if isinstance(prompt, str | list | None) and (not isinstance(prompt, str) or before == (Message("user", prompt),)):
        if turns and turns[-1].role == "assistant":
            raise InputError(
                "the last message before the replies is the assistant's; a user's must come before", where=where
            )
        return turns
    raise InputError(
        "'prompt' must be a text or a list of messages, and a text must be the one message before the replies",
        field="prompt",
        where=where,
    )


def _conversation(data: dict[str, Any], name: str, where: str) -> tuple[tuple[Message, ...], str]:
    """The messages before the last, and what the last says, which must be the assistant's. None is an empty reply."""
    turns = _turns(data[name], name, where)
    if turns and turns[-1].role != "assistant":
        raise InputError(f"the last message of {name!r} must be the assistant's", field=name, where=where)
    return turns[:-1], turns[-1].content if turns else ""


def _turns(messages: list[Any], name: str, where: str) -> tuple[Message, ...]:
    if not all(isinstance(m, dict) and m.get("role") in ROLES for m in messages):
        known = ", ".join(ROLES)
        raise InputError(
            f"{name!r} must hold messages with a 'role' of {known}, and a 'content'", field=name, where=where
        )
    return tuple(Message(m["role"], _text(m, "content", where)) for m in messages)


def _text(data: dict[str, Any], name: str, where: str) -> str:
    """A text, empty where the key holds null."""
    value = data.get(name, _MISSING)
    why = "is missing" if value is _MISSING else f"must be a text, got {type(value).__name__}"
    if value is not None and not isinstance(value, str):
        raise InputError(f"{name!r} {why}", field=name, where=where)
    if value and "\x00" in value:
        raise InputError(f"{name!r} contains a NUL character; remove it", field=name, where=where)
    return value or ""
