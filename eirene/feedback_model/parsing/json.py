"""Parses verdicts from JSON: lists of entries, maps by number, parallel lists, groups; bare, fenced or line by line."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from eirene.core.critique import Tag
from eirene.feedback_model.parsing.verdict import Statement, StatementVerdict, number_at, reason_in, tag_at
from eirene.feedback_model.parsing.vocabulary import REASON_KEYS, TAGS, VERDICT_KEYS, fold, is_reason, stream
from eirene.models.reply_text import UnreadableError

# A value begins a line, or follows words and a colon on it; what has a digit before it may be a numbered line.
_START = re.compile(r"^[ \t]*(?:[^\W\d_][^\n\d{}\[\]\"]{0,200}:[ \t]*)?(?=\{\s*[\"}]|\[\s*[{\[\"])", re.MULTILINE)
_NOTHING = frozenset({"nothing", "no", "none", "n/a", "not"})
_MAX_FAILURES = 8  # each failure may cost the rest of the reply
_MAX_DEPTH = 4
_NUMBER_KEYS = frozenset({
    "n", "no", "nr", "num", "number", "id", "index", "idx", "i", "#", "line", "item", "point",
    "sentence", "sentencenumber", "sentenceno", "sentenceid", "sentenceindex", "satz", "phrase", "oración",
    "编号", "番号",
    "statement", "statementnumber", "statementno", "statementid", "statementindex", "aussage",
})  # fmt: skip
_TEXT_KEYS = frozenset({"text", "sentence", "statement", "content", "quote", "sentencetext", "statementtext"})
_SCHEMA_KEYS = frozenset({"enum", "properties", "required", "options", "choices", "example", "examples"})
_FLAGS: dict[str, bool] = {
    **dict.fromkeys(("complete", "iscomplete", "sufficient", "issufficient"), True),
    **dict.fromkeys(("incomplete", "isincomplete", "insufficient"), False),
}
_TRUTH = {"yes": True, "true": True, "no": False, "false": False}


def read_json(text: str, statements: Sequence[Statement]) -> tuple[list[StatementVerdict], str, str, bool]:
    """The claims of all JSON values in a reply, the text before and after the last of them, and whether one was broken.

    Raises `UnreadableError` where a key of a value stands there twice, or a list is out of step with the answer.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_Pairs)
    claims: list[StatementVerdict] = []
    kept, at, failures = [], 0, 0
    for found in _START.finditer(text):
        if found.end() < at or failures == _MAX_FAILURES:
            continue
        try:
            value, end = decoder.raw_decode(text, found.end())
        except (ValueError, RecursionError):
            failures += 1
            continue
        new = _claims(value, statements, depth=0)
        if new:
            kept.append(text[at : found.start()])
            raw = text[found.end() : end]
            claims += [replace(claim, raw=raw if i == 0 else "") for i, claim in enumerate(new)]
            at = end
    return claims, "\n".join(kept), text[at:], failures > 0


class _Pairs(dict[str, Any]):
    """A JSON object that refuses a key with two values: the last one must not win in silence."""

    def __init__(self, pairs: Sequence[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        if len(self) != len(pairs) and any(self[key] != value for key, value in pairs):
            raise UnreadableError("conflict: the JSON gives a key twice")


def _claims(value: Any, statements: Sequence[Statement], *, depth: int) -> list[StatementVerdict]:
    if depth == _MAX_DEPTH:
        return []
    if isinstance(value, list):
        return _of_list(value, statements)
    if not isinstance(value, dict):
        return []
    keys = {_key(k): v for k, v in value.items()}
    for read in (_of_parallel, _of_entry, _of_map, _of_groups):
        claims = read(keys, statements)
        if claims:
            return claims
    inner = [c for k, v in keys.items() if k not in _SCHEMA_KEYS and (c := _claims(v, statements, depth=depth + 1))]
    return [claim for claims in inner for claim in claims]


@lru_cache(maxsize=4096)
def _folded_key(start: str) -> str:
    return fold(start).replace(" ", "").replace("_", "").replace("-", "")


def _key(key: str) -> str:
    return _folded_key(key[:80])


def _of_list(values: Sequence[Any], statements: Sequence[Statement]) -> list[StatementVerdict]:
    claims = []
    for place, value in enumerate(values):
        claim = _one(value)
        if claim is None:
            return []
        if claim.n is None and isinstance(value, dict):
            _check_text(value, place, statements)
        claims.append(claim)
    return claims


def _check_text(entry: Mapping[str, Any], place: int, statements: Sequence[Statement]) -> None:
    """An entry without a number that repeats a sentence must stand where that sentence stands."""
    for key, value in entry.items():
        said = stream(value) if _key(key) in _TEXT_KEYS and isinstance(value, str) else ""
        if said and (place >= len(statements) or not statements[place].stream.startswith(said[:20])):
            raise UnreadableError(f"ambiguous: entry {place + 1} of the list repeats another sentence")


def _of_entry(keys: Mapping[str, Any], statements: Sequence[Statement]) -> list[StatementVerdict]:
    claim = _entry(keys)
    return [] if claim is None else [claim]


def _of_parallel(keys: Mapping[str, Any], statements: Sequence[Statement]) -> list[StatementVerdict]:
    """`{"tags": [...], "reasons": [...]}`, one of each a sentence."""
    tags, reasons = keys.get("tags", keys.get("labels", keys.get("verdicts"))), keys.get("reasons")
    if not (isinstance(tags, list) and isinstance(reasons, list) and len(tags) == len(reasons)):
        return []
    claims = []
    for tag, reason in zip(tags, reasons, strict=True):
        read = _tag(tag)
        if read is None:
            return []
        claims.append(StatementVerdict(None, read[0], _text(reason) or None, "", _text(reason) or read[1]))
    return claims


def _of_map(keys: Mapping[str, Any], statements: Sequence[Statement]) -> list[StatementVerdict]:
    """`{"1": "Complete", "2": {"tag": ..., "reason": ...}}`; an entry that cannot be read is a missing one."""
    claims = []
    for key, value in keys.items():
        n = _number(key)
        claim = _one(value) if n is not None else None
        if claim is not None and claim.n in (None, n):
            claims.append(replace(claim, n=n))
    return claims


def _of_groups(keys: Mapping[str, Any], statements: Sequence[Statement]) -> list[StatementVerdict]:
    """`{"complete": [1, 3], "incomplete": [{"n": 2, "reason": ...}]}`, or with `{"2": "reason"}` for the second."""
    claims: list[StatementVerdict] = []
    for key, group in keys.items():
        tag = TAGS.get(key)
        if tag is None or not isinstance(group, (list, dict)):
            continue
        entries = group.items() if isinstance(group, dict) else ((entry, None) for entry in group)
        for entry, reason in entries:
            held = {_key(k): v for k, v in entry.items()} if isinstance(entry, dict) else {}
            n = _entry_number(held) if held else _number(entry)
            said = _reason(held) if held else _text(reason)
            if n is None:
                return []
            claims.append(StatementVerdict(n, tag, said or None if tag == "Incomplete" else None, "", said))
    return claims


def _one(value: Any) -> StatementVerdict | None:
    """A single verdict: a text that is or begins with a tag, `[tag, reason]`, or an object."""
    if isinstance(value, dict):
        return _entry({_key(k): v for k, v in value.items()})
    if isinstance(value, list) and len(value) == 2 and all(isinstance(v, str) or v is None for v in value):
        read = _tag(value[0])
        said = "" if read is None else _text(value[1]) or read[1]
        return None if read is None else StatementVerdict(None, read[0], said or None, "", said)
    if not isinstance(value, str):
        return None
    head = number_at(value)
    read = _tag(value) or (_tag(value[head[1] :]) if head else None)
    return None if read is None else StatementVerdict(head[0] if head else None, read[0], read[1] or None, "", read[1])


def _entry(keys: Mapping[str, Any]) -> StatementVerdict | None:
    """`{"n": 2, "tag": "Incomplete", "reason": "..."}`, under any of the known keys; two tags that differ are none."""
    read: set[Tag] = set()
    spoken = ""
    for key, value in keys.items():
        if key in VERDICT_KEYS:
            tag = _tag(value)
            if tag is None:
                return None
            read.add(tag[0])
            spoken = spoken or tag[1]
        elif key in _FLAGS:
            truth = value if isinstance(value, bool) else _TRUTH.get(fold(value)) if isinstance(value, str) else None
            if truth is None:
                return None
            read.add("Complete" if truth == _FLAGS[key] else "Incomplete")
    if not read:
        return None
    if len(read) > 1:
        raise UnreadableError("conflict: a JSON entry holds two tags")
    tag_read = next(iter(read))
    if tag_read == "Complete" and _names_missing(keys.get("missing")):
        raise UnreadableError("contradiction: a JSON entry is Complete and names what is missing")
    comment = _reason(keys) or spoken
    return StatementVerdict(
        _entry_number(keys), tag_read, comment or None if tag_read == "Incomplete" else None, "", comment
    )


def _names_missing(value: Any) -> bool:
    """Whether the value of the key "missing" is a text that names something."""
    said = _text(value)
    return is_reason(said) and fold(said[:80]).split()[0].strip(".,;:!") not in _NOTHING


def _entry_number(keys: Mapping[str, Any]) -> int | None:
    numbers = {n for key, value in keys.items() if key in _NUMBER_KEYS and (n := _number(value)) is not None}
    if len(numbers) > 1:
        raise UnreadableError("ambiguous: a JSON entry holds two numbers")
    return next(iter(numbers), None)


def _number(value: Any) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, str)):
        return None
    if isinstance(value, int):
        return value
    head = number_at(value)
    return head[0] if head and not value[head[1] :].strip() else None


def _tag(value: Any) -> tuple[Tag, str] | None:
    if not isinstance(value, str):
        return None
    read = tag_at(value)
    return None if read is None else (read[0], reason_in(value[read[1] :]))


def _reason(keys: Mapping[str, Any]) -> str:
    return " ".join(said for key, value in keys.items() if key in REASON_KEYS and (said := _text(value)))


def _text(value: Any) -> str:
    if isinstance(value, list):
        return " ".join(said for v in value if isinstance(v, str) and (said := _text(v)))
    return " ".join(value.split()) if isinstance(value, str) else ""
