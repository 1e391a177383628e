"""The sampling step as requests of a provider's batch endpoint: what is asked for each row, under an id that ties it.

The form is OpenAI's batch file, a JSON line for each request, which other providers and vLLM take as well.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.core.signature import derive_seed, digest
from eirene.data.json_rows import reason
from eirene.data.output import check_output
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import ChatFeedback
from eirene.prompts import load_prompt
from eirene.text.sentences import split_sentences

MAX_REQUESTS = 50_000
MAX_BYTES = 200 * 10**6
"""What one file may hold at OpenAI; other providers take less, and files can be split further by hand, line by line."""
URL = "/v1/chat/completions"
_ID = re.compile(r"eirene-([0-9a-f]{12})-([0-9a-f]{24})-(\d{1,5})x(\d{1,5})")


@dataclass(frozen=True, slots=True)
class CustomId:
    """Which request of which row a reply belongs to: samples `first` to `first + count - 1`.

    `configuration` stands for model, prompts and sampling, `row` for those and what the row makes of them.
    """

    configuration: str
    row: str
    first: int
    count: int

    def __str__(self) -> str:
        return f"eirene-{self.configuration}-{self.row}-{self.first}x{self.count}"

    @classmethod
    def read(cls, text: object) -> CustomId | None:
        """The parts of an id; None for one that is not ours."""
        found = _ID.fullmatch(text) if isinstance(text, str) else None
        return None if found is None else cls(found[1], found[2], int(found[3]), int(found[4]))


@dataclass(frozen=True, slots=True)
class RowSamples:
    """The samples of one row: what stands for them, and what the call cache files each under."""

    row: str
    keys: tuple[bytes, ...]


class SamplingStep:
    """The first thing that a run asks of its chat model about each row: the critiques of the original answer.

    Raises `InputError` for a run that draws none from a chat model, or not all at once.
    """

    def __init__(self, parts: Parts, settings: Settings) -> None:
        if settings.mode != "fine-grained" or settings.critic != "completeness":
            raise InputError("batch files hold the critiques of mode fine-grained with critic completeness; this run "
                             "draws others or none", field="mode")  # fmt: skip
        if not isinstance(parts.feedback_model, ChatFeedback):
            raise InputError(
                f"batch files are for a provider's chat model, such as openai:gpt-4o-mini; {parts.backend!r} sends no "
                "requests",
                field="backend",
            )
        self._feedback = parts.feedback_model
        self._settings = settings
        chat, sampling = self._feedback.chat, self._feedback.sampling
        made_with = [chat.name, sampling.asked(), settings.samples, settings.seed, load_prompt("feedback").digest]
        self.configuration = digest(made_with)[:12]
        self.chat = chat

    def samples(self, item: Item) -> RowSamples:
        """What stands for a row's samples."""
        asked = self._feedback.asks(self._request(item), start=0, count=self._settings.samples)
        keys = self.chat.keys(asked.messages, sampling=asked.sampling, seeds=asked.seeds)
        known = tuple(key for key in keys if key is not None)
        return RowSamples(hashlib.sha256(b"".join(known)).hexdigest()[:24], known)

    def requests(self, item: Item, *, one_reply: bool) -> Iterator[dict[str, Any]]:
        """The requests of a row: one for all samples, or with `one_reply` one for each."""
        row = self.samples(item).row
        asked = self._feedback.asks(self._request(item), start=0, count=self._settings.samples)
        messages = [{"role": message.role, "content": message.content} for message in asked.messages]
        step = 1 if one_reply else len(asked.seeds)
        for first in range(0, len(asked.seeds), step):
            fields = self.chat.settable(replace(asked.sampling, seed=asked.seeds[first]))
            body = {"model": self.chat.name.partition(":")[2] or self.chat.name, "messages": messages, **fields}
            if step > 1:
                body["n"] = step
            custom_id = str(CustomId(self.configuration, row, first, step))
            yield {"custom_id": custom_id, "method": "POST", "url": URL, "body": body}

    def _request(self, item: Item) -> FeedbackRequest:
        seed = derive_seed(self._settings.seed, item.id, "feedback", 1)
        return FeedbackRequest(item, item.answer, split_sentences(item.answer), seed)


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: the files, and how many rows and requests they hold."""

    files: tuple[Path, ...]
    rows: int
    requests: int


def export_requests(
    items: Iterable[Item],
    step: SamplingStep,
    path: str,
    *,
    one_reply: bool = False,
    max_requests: int = MAX_REQUESTS,
    max_bytes: int = MAX_BYTES,
) -> Exported:
    """Writes the requests to `path`, and where they are too many for a file on to `NAME-2.jsonl` and so forth.

    A row's requests are never parted. Raises `InputError` for a file that exists or cannot be written.
    """
    rows = requests = 0
    with _Files(path, max_requests, max_bytes) as files:
        for item in items:
            lines = [
                json.dumps(request, ensure_ascii=False, allow_nan=False).encode() + b"\n"
                for request in step.requests(item, one_reply=one_reply)
            ]
            files.write(lines)
            rows, requests = rows + 1, requests + len(lines)
    return Exported(tuple(files.paths), rows, requests)


class _Files:
    """Files that are written in turn; none of them is left behind where that fails."""

    def __init__(self, path: str, max_requests: int, max_bytes: int) -> None:
        self.paths: list[Path] = []
        self._first = Path(path)
        self._limits = max_requests, max_bytes
        self._file: BinaryIO | None = None
        self._held = (0, 0)

    def __enter__(self) -> _Files:
        self._next()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        is_whole = False
        try:
            self._close()
            is_whole = kind is None
        except InputError:
            if kind is None:  # else why it failed is on its way
                raise
        finally:
            for path in () if is_whole else self.paths:
                path.unlink(missing_ok=True)

    def write(self, lines: list[bytes]) -> None:
        size = sum(map(len, lines))
        if len(lines) > self._limits[0] or size > self._limits[1]:
            raise InputError(f"a row makes {len(lines):,} requests of {size:,} bytes, more than a file may hold")
        held = self._held[0] + len(lines), self._held[1] + size
        if held[0] > self._limits[0] or held[1] > self._limits[1]:
            self._next()
            held = len(lines), size
        self._held = held
        assert self._file is not None
        try:
            self._file.writelines(lines)
        except OSError as error:
            raise InputError(f"cannot be written: {reason(error)}", where=str(self.paths[-1])) from None

    def _next(self) -> None:
        number = len(self.paths) + 1
        path = self._first if number == 1 else self._first.with_stem(f"{self._first.stem}-{number}")
        check_output(str(path), force=True)
        self._close()
        try:
            self._file = path.open("xb")
        except FileExistsError:
            raise InputError("exists already; name another file, or take it away", where=str(path)) from None
        except OSError as error:
            raise InputError(f"cannot be written: {reason(error)}", where=str(path)) from None
        self.paths.append(path)

    def _close(self) -> None:
        """Writes what is held back, which is where a full disk may show."""
        file, self._file = self._file, None
        try:
            if file is not None:
                file.close()
        except OSError as error:
            raise InputError(f"cannot be written: {reason(error)}", where=str(self.paths[-1])) from None
