"""Provider batch files (OpenAI's batch endpoint): requests for critiques written, replies read into the call cache."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eirene.agent.evidence import first_request
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.agent.thinking import answer_alone
from eirene.core.errors import InputError
from eirene.core.json import parse_json
from eirene.core.records import Item
from eirene.core.signature import digest
from eirene.data.json_rows import cannot_read, reason
from eirene.data.output import check_output
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import ChatFeedback
from eirene.feedback_model.request import COMPLETENESS_PROMPTS
from eirene.models.cache import is_whole
from eirene.models.redaction import redacted
from eirene.models.replies import Reply, choices_of, usage_of
from eirene.models.structured import guided_text

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
        self._parts, self._settings = parts, settings
        chat, sampling = self._feedback.chat, self._feedback.sampling
        prompts = [self._feedback.prompts.load(name).digest for name in COMPLETENESS_PROMPTS]
        drawn = [settings.samples, settings.evidence, settings.seed]
        made_with = [chat.name, sampling.asked(), *drawn, chat.structured, prompts]
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
        form = self.chat.form_of(asked.sampling)
        shown = asked.messages if form is None else form.messages
        messages = [{"role": message.role, "content": message.content} for message in shown]
        step = 1 if one_reply else len(asked.seeds)
        for first in range(0, len(asked.seeds), step):
            fields = self.chat.settable(replace(asked.sampling, seed=asked.seeds[first]))
            body = {"model": self.chat.name.partition(":")[2] or self.chat.name, "messages": messages, **fields}
            if step > 1:
                body["n"] = step
            if form is not None:
                body["response_format"] = form.response_format
            custom_id = str(CustomId(self.configuration, row, first, step))
            yield {"custom_id": custom_id, "method": "POST", "url": URL, "body": body}

    def _request(self, item: Item) -> FeedbackRequest:
        return first_request("completeness", answer_alone(item), self._parts, self._settings)


def export_requests(
    items: Iterable[Item], step: SamplingStep, path: str, *, one_reply: bool = False
) -> tuple[int, int]:
    """Writes the requests to `path`; returns of how many rows, and how many there are.

    A provider takes so many a file (OpenAI: 50,000, 200 MB); it may be cut between any two lines. Raises `InputError`
    for a file that exists or cannot be written.
    """
    check_output(path, force=True)
    rows = requests = 0
    try:
        with open(path, "xb") as file:
            for item in items:
                rows += 1
                for request in step.requests(item, one_reply=one_reply):
                    file.write(json.dumps(request, ensure_ascii=False, allow_nan=False).encode() + b"\n")
                    requests += 1
    except FileExistsError:
        raise InputError("exists already; name another file, or take it away", where=path) from None
    except BaseException as error:
        Path(path).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"cannot be written: {reason(error)}", where=path) from None
        raise
    return rows, requests


_OK = 200
_ReplyLines = dict[str, dict[int, list[Reply]]]
"""By row and number of the first sample the replies of a line."""


@dataclass(slots=True)
class Imported:
    """What came of the files.

    `rows` asked about, of which `complete` have all their samples and `partial` some; `replies` are the samples that
    were taken, `unusable` those cut off, filtered or empty. Of the lines, `errors` are requests that failed (the first
    says why in `first_error`), and `others` repeat an id, are not Eirene's, or belong to rows that are not asked about:
    finished ones, and rows that are not in the data or were changed. Tokens are the provider's count.
    """

    rows: int = 0
    complete: int = 0
    partial: int = 0
    replies: int = 0
    unusable: int = 0
    errors: int = 0
    first_error: str | None = None
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
    lines: _ReplyLines = {}
    for name in files:
        _read(name, lines, step, found)
    for item in items:
        wanted = step.samples(item)
        taken: dict[bytes, Reply] = {}
        for first, choices in lines.pop(wanted.row, {}).items():
            taken |= {wanted.keys[first + i]: reply for i, reply in enumerate(choices) if first + i < len(wanted.keys)}
        whole = {key: reply for key, reply in taken.items() if is_whole(reply)}
        cache.keep_now(whole)
        found.rows += 1
        found.replies += len(whole)
        found.unusable += len(taken) - len(whole)
        found.complete += len(whole) == len(wanted.keys)
        found.partial += 0 < len(whole) < len(wanted.keys)
    found.others += sum(map(len, lines.values()))
    if cache.evicted > evicted:
        raise InputError(f"the replies do not fit into the cache of {cache.max_bytes:,} bytes; give a larger one",
                         field="cache", where=str(cache.path))  # fmt: skip
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
        found.others += 1
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
    if known.first in lines.setdefault(known.row, {}):
        found.others += 1
        return
    lines[known.row][known.first] = _replies(body)
    tokens = usage_of(body)
    found.input_tokens += tokens.input
    found.output_tokens += tokens.output


def _body(line: dict[str, Any]) -> tuple[dict[str, Any] | None, str]:
    """The completion in a line, or why there is none."""
    response = line.get("response")
    body = response.get("body") if isinstance(response, dict) else None
    problem = line.get("error")
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        problem = problem or body["error"]
    status = response.get("status_code", _OK) if isinstance(response, dict) else None
    if not problem and isinstance(body, dict) and status == _OK and choices_of(body):
        return body, ""
    said = problem.get("message") if isinstance(problem, dict) else problem
    return None, redacted(str(said or ("no reply" if status in (None, _OK) else f"HTTP {status}")))


def _replies(body: dict[str, Any]) -> list[Reply]:
    """The replies of a completion; what has no text, and no JSON as its reasoning, is an empty one."""
    choices = choices_of(body)
    texts = (c.text if c.text.strip() else guided_text(c.message) or c.text for c in choices)
    return [Reply(text, choice.finish_reason) for text, choice in zip(texts, choices, strict=True)]
