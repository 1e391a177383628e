"""Reads the files that a provider's batch endpoint gives back, and puts their replies into the call cache."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from eirene.agent.batch.offline_requests import CustomId, SamplingStep
from eirene.core.errors import InputError
from eirene.core.json import parse_json
from eirene.core.records import Item
from eirene.data.json_rows import cannot_read
from eirene.models.cache import is_whole
from eirene.models.redaction import redacted
from eirene.models.replies import Reply, ending, token_count

_OK = 200


@dataclass(slots=True)
class Imported:
    """What came of the files.

    `rows` asked about, of which `complete` have all their samples and `partial` some; `replies` are the samples that
    were taken, `unusable` those cut off, filtered or empty. Of the lines, `errors` are requests that failed (the first
    says why in `first_error`), `twice` repeat an id, `foreign` are not Eirene's, `others` belong to rows that are not
    asked about: finished ones, and rows that are not in the data or were changed. Tokens are the provider's count.
    """

    rows: int = 0
    complete: int = 0
    partial: int = 0
    replies: int = 0
    unusable: int = 0
    errors: int = 0
    first_error: str | None = None
    twice: int = 0
    foreign: int = 0
    others: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


def import_replies(files: Sequence[str], items: Iterable[Item], step: SamplingStep) -> Imported:
    """Puts the replies of the files under the keys that the run will ask for; what is missing it asks the model for.

    The lines may come in any order. Raises `InputError` where the model has no call cache or it does not take the
    replies, for a line that is none of such a file, and for replies that another configuration asked for.
    """
    cache = step.chat.cache
    if cache is None or not cache.stores:
        raise InputError("replies are read into the call cache: name one that can be written with --cache FILE",
                         field="import-replies")  # fmt: skip
    found, evicted = Imported(), cache.evicted
    with _ReplyLines() as lines:
        for name in files:
            _read(name, lines, step, found)
        for item in items:
            wanted = step.samples(item)
            taken: dict[bytes, Reply] = {}
            for first, choices in lines.take(wanted.row):
                taken |= {
                    wanted.keys[first + i]: reply for i, reply in enumerate(choices) if first + i < len(wanted.keys)
                }
            whole = {key: reply for key, reply in taken.items() if is_whole(reply)}
            cache.keep_now(whole)
            found.rows += 1
            found.replies += len(whole)
            found.unusable += len(taken) - len(whole)
            found.complete += len(whole) == len(wanted.keys)
            found.partial += 0 < len(whole) < len(wanted.keys)
        found.others = lines.left()
    if cache.evicted > evicted:
        raise InputError(f"the replies do not fit into the cache of {cache.max_bytes:,} bytes; give a larger one",
                         field="cache-size", where=str(cache.path))  # fmt: skip
    if not cache.stores:
        raise InputError("the call cache takes no replies", field="import-replies", where=str(cache.path))
    return found


def _read(name: str, lines: _ReplyLines, step: SamplingStep, found: Imported) -> None:
    try:
        with open(name, "rb") as file:
            for n, text in enumerate(file, start=1):
                if text.strip():
                    _take(text, f"{name}, line {n}", lines, step, found)
    except OSError as error:
        raise cannot_read(name, error) from None


def _take(text: bytes, where: str, lines: _ReplyLines, step: SamplingStep, found: Imported) -> None:
    line = parse_json(text, where=where, from_model=True)
    if not isinstance(line, dict) or "custom_id" not in line:
        raise InputError("is no line of a batch endpoint's output: it has no 'custom_id'", where=where)
    known = CustomId.read(line["custom_id"])
    if known is None:
        found.foreign += 1
        return
    if known.configuration != step.configuration:
        raise InputError(
            "answers a request of another configuration (model, prompts, temperature, --samples or --seed); give the "
            "flags that the requests were exported with",
            where=where,
        )
    body, error = _body(line)
    if body is None:
        found.errors += 1
        found.first_error = found.first_error or error
        return
    if not lines.add(known, text):
        found.twice += 1
        return
    usage: dict[str, Any] = body["usage"] if isinstance(body.get("usage"), dict) else {}
    found.input_tokens += token_count(usage.get("prompt_tokens")) or 0
    found.output_tokens += token_count(usage.get("completion_tokens")) or 0


def _body(line: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """The completion in a line, or why there is none."""
    response = line.get("response")
    body = response.get("body") if isinstance(response, dict) else None
    problem = line.get("error")
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        problem = problem or body["error"]
    status = response.get("status_code", _OK) if isinstance(response, dict) else None
    if not problem and isinstance(body, dict) and status == _OK and _choices(body):
        return body, ""
    said = problem.get("message") if isinstance(problem, dict) else problem
    return None, redacted(str(said or ("no reply" if status in (None, _OK) else f"HTTP {status}")))


def _choices(body: dict[str, Any]) -> list[Reply]:
    """The replies of a completion, in the order of their `index`; what has no text is an empty one."""
    sent = body.get("choices")
    choices = [choice for choice in sent if isinstance(choice, dict)] if isinstance(sent, list) else []
    if all(isinstance(choice.get("index"), int) for choice in choices):
        choices.sort(key=lambda choice: choice["index"])
    replies = []
    for choice in choices:
        message, why = choice.get("message"), choice.get("finish_reason")
        text = message.get("content") if isinstance(message, dict) else None
        replies.append(Reply(text if isinstance(text, str) else "", ending(why) if isinstance(why, str) else None))
    return replies


class _ReplyLines:
    """The lines by row, in a database of their own that is gone afterwards: files may be larger than the memory."""

    def __enter__(self) -> _ReplyLines:
        self._database = sqlite3.connect("", isolation_level=None)  # on disk as far as it must be, and without a name
        self._database.execute("CREATE TABLE lines (row TEXT, first INTEGER, text BLOB, PRIMARY KEY (row, first))")
        self._database.execute("BEGIN")
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._database.close()

    def add(self, known: CustomId, text: bytes) -> bool:
        """Keeps a line; False if there is one of that id."""
        row = (known.row, known.first, text)
        return self._database.execute("INSERT OR IGNORE INTO lines VALUES (?, ?, ?)", row).rowcount > 0

    def take(self, row: str) -> Iterator[tuple[int, list[Reply]]]:
        """The replies of a row's lines, each with the number of its first sample; they are left out from then on."""
        found = self._database.execute("SELECT first, text FROM lines WHERE row = ? ORDER BY first", (row,)).fetchall()
        self._database.execute("DELETE FROM lines WHERE row = ?", (row,))
        for first, text in found:
            body, _ = _body(parse_json(text, where="", from_model=True))
            yield first, _choices(body or {})

    def left(self) -> int:
        """How many lines nobody has asked for."""
        (n,) = self._database.execute("SELECT count(*) FROM lines").fetchone()
        return int(n)
