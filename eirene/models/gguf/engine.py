"""Runs a GGUF model by llama.cpp in this process: several replies from one reading of the prompt, a seed that holds.

llama.cpp comes with a server around it, which opens a port of the loopback; it is given a key that nobody else knows.
"""

from __future__ import annotations

import functools
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from eirene.core.errors import BackendError, InputError, MalformedReplyError, TooLongError
from eirene.core.extras import importing
from eirene.core.logs import get_logger
from eirene.models.gguf.spec import GgufSpec, check_file, file_digest, idle_threads, template_text
from eirene.models.gguf.trial import server_of, try_model

logger = get_logger(__name__)


@dataclass(slots=True)
class Choice:
    """One reply as it comes in, piece by piece."""

    text: list[str] = field(default_factory=list)
    tokens: list[dict[str, Any]] = field(default_factory=list)
    finish_reason: str | None = None


@dataclass(slots=True)
class Completion:
    """What a request gave: its choices, and the tokens of the prompt, read and known before."""

    choices: list[Choice]
    input_tokens: int = 0
    cached_tokens: int = 0

    def add(self, chunk: Mapping[str, Any]) -> None:
        """Takes in one piece of the stream."""
        for part in chunk.get("choices", ()):
            choice = self.choices[part["index"]]
            choice.text.append(part.get("delta", {}).get("content") or "")
            choice.tokens += (part.get("logprobs") or {}).get("content") or ()
            choice.finish_reason = part.get("finish_reason") or choice.finish_reason
        usage = chunk.get("usage")
        if usage:
            self.input_tokens = usage.get("prompt_tokens", 0)
            self.cached_tokens = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)


class GgufEngine:
    """A loaded GGUF model. Requests run one after the other: side by side they would share the same cores, and the
    rounding of one would hang on the others.

    Raises `MissingExtraError`, and `InputError` for a file that cannot be used.
    """

    def __init__(self, spec: GgufSpec) -> None:
        with importing("xllamacpp"):
            import xllamacpp
        check_file(spec)
        self.context = spec.context
        self.threads = spec.threads or idle_threads()
        self.digest = file_digest(spec.path)
        settings = {
            "path": spec.path, "context": spec.context, "threads": self.threads,
            "template": None if spec.template is None else template_text(spec.template),
        }  # fmt: skip
        try_model(
            settings, template="its chat template" if spec.template is None else f"the template {spec.template!r}"
        )
        try:
            self._server: Any = server_of(settings, secrets.token_urlsafe())
        except (RuntimeError, ValueError) as error:  # what a moment ago could be loaded
            raise InputError(f"llama.cpp cannot load {spec.path!r} any more: {error}", field="backend") from error
        # What is built with llguidance says so in the grammars that it makes.
        self.takes_llguidance = xllamacpp.json_schema_to_grammar({"type": "null"}).startswith("%llguidance")
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="eirene-gguf")
        logger.info("%s: %d threads, by the cores that are idle", spec.path, self.threads)

    def submit(self, body: Mapping[str, Any], stopped: threading.Event) -> Callable[[], Completion]:
        """Puts a request in the queue; returns what waits for it. It ends at the next token once `stopped` is set."""
        return self._thread.submit(self._run, dict(body), stopped).result

    def _run(self, body: dict[str, Any], stopped: threading.Event) -> Completion:
        done = Completion([Choice() for _ in range(body.get("n", 1))])
        failed: list[Any] = []

        def take(chunk: Any) -> bool:
            said = json.loads(chunk) if isinstance(chunk, str | bytes) else chunk
            if "error" in said:
                failed.append(said["error"])
            else:
                done.add(said)
            return stopped.is_set()

        if stopped.is_set():
            return done
        streaming = {"stream": True, "stream_options": {"include_usage": True}}
        self._server.handle_chat_completions({**body, **streaming}, take)
        if failed:
            raise _fault(failed[0])
        if not stopped.is_set() and any(choice.finish_reason is None for choice in done.choices):
            raise MalformedReplyError("llama.cpp ended a reply without a reason: the context may be used up")
        return done


@functools.lru_cache(maxsize=1)  # runs that follow each other share one loaded model; a second may not fit beside it
def load_engine(spec: GgufSpec) -> GgufEngine:
    """The engine of a model, loaded once."""
    return GgufEngine(spec)


def _fault(error: object) -> BackendError:
    said = error if isinstance(error, Mapping) else {"message": str(error)}
    message = " ".join(str(said.get("message", "")).split())[:300]
    if said.get("type") == "exceed_context_size_error" or "context" in message.lower():
        return TooLongError(f"{message}; shorten the item, or give more with ?context=N")
    return BackendError(f"llama.cpp: {message}")
