"""Spans of model calls, one for each attempt: model, sampling, tokens, why replies ended, what failed (`gen_ai.*`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from eirene.core.tracing import Attributes, OpenSpan, SpanKind, note, span
from eirene.models.faults import Fault
from eirene.models.http_guard import DEFAULT_PORTS, current_call
from eirene.models.redaction import redacted, secrets_of
from eirene.models.replies import ENDINGS, Reply, Tokens

if TYPE_CHECKING:
    from langchain_core.outputs import LLMResult

_PROVIDERS = {
    "azure_ai": "azure.ai.inference", "azure_openai": "azure.ai.openai", "bedrock": "aws.bedrock",
    "bedrock_converse": "aws.bedrock", "amazon_bedrock": "aws.bedrock", "google_anthropic_vertex": "gcp.vertex_ai",
    "google_genai": "gcp.gemini", "google_vertexai": "gcp.vertex_ai", "ibm": "ibm.watsonx.ai",
    "mistralai": "mistral_ai", "xai": "x_ai",
}  # fmt: skip
"""LangChain's names of providers where the conventions have others."""
_IN_THIS_PROCESS = ("hf:", "gguf:")
_STATUS = re.compile(r"\bHTTP (\d{3})\b")
_NAME = re.compile(r"[A-Za-z0-9][\w./:@+-]{0,127}", re.ASCII)
SAMPLING_FIELDS = ("temperature", "top_p", "seed", "max_tokens", "presence_penalty", "frequency_penalty")


@dataclass(frozen=True, slots=True)
class TracedCall:
    """One attempt as its span tells it: `name` is `provider:model`, or a model's own with the `model` object.

    `fields` are those of the request, `messages` its roles and texts, read only where content was asked for, `tries`
    the attempts before this one, `output` the type that was asked for.
    """

    name: str
    model: object = None
    fields: Mapping[str, Any] | None = None
    messages: Iterable[tuple[str, str]] = ()
    tries: int = 0
    address: str | None = None
    output: str | None = None

    def open(self) -> AbstractContextManager[OpenSpan | None]:
        """The span around the attempt; None where nothing is traced."""
        kind: SpanKind = "internal" if self.name.startswith(_IN_THIS_PROCESS) else "client"
        return span(f"chat {self._model}", self._attributes, kind=kind, shown_as="LLM")

    @property
    def _model(self) -> str:
        return self.name.partition(":")[2] or self.name

    def _attributes(self) -> Attributes:
        fields = self.fields or {}
        n = fields.get("n", 1)
        return {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _provider(self.name, self.model),
            "gen_ai.request.model": self._model,
            "gen_ai.output.type": self.output,
            "gen_ai.request.choice.count": n if n != 1 else None,
            **{f"gen_ai.request.{name}": fields.get(name) for name in SAMPLING_FIELDS},
            **_server(self.address),
            "eirene.attempt": self.tries + 1,
        }

    def told(self, found: OpenSpan | None, outcome: Sequence[Reply] | Fault, tokens: Tokens | None = None) -> None:
        """Adds what came of it."""
        if found is None:
            return
        found.set_messages("gen_ai.input.messages", lambda: ((role, text, None) for role, text in self.messages))
        if isinstance(outcome, Fault):
            _tell_fault(found, outcome)
            return
        found.set({"gen_ai.response.finish_reasons": [_ending(r) for r in outcome] or None})
        if tokens is not None and not tokens.is_unknown:
            found.set({
                "gen_ai.usage.input_tokens": tokens.input,
                "gen_ai.usage.output_tokens": tokens.output,
                "gen_ai.usage.cache_read.input_tokens": tokens.cached or None,
            })  # fmt: skip
        found.set_messages("gen_ai.output.messages", lambda: (("assistant", r.text, _ending(r)) for r in outcome))


def note_response(said: Mapping[str, Any]) -> None:
    """Adds what a response says of itself to the span under way: the model that answered, and its number."""
    note(lambda: {"gen_ai.response.model": _name(said.get("model")), "gen_ai.response.id": _name(said.get("id"))})


def response_of(result: LLMResult) -> Mapping[str, Any]:
    """What a response to LangChain says of itself."""
    found: Mapping[str, Any] = {}
    for generation in result.generations[0][:1]:
        found = getattr(getattr(generation, "message", None), "response_metadata", None) or {}
    more = {**(result.llm_output or {}), **found}
    return {"model": more.get("model_name") or more.get("model"), "id": more.get("id")}


def _ending(reply: Reply) -> str:
    """Why a reply ended, where the word is a known one: a server may write anything there."""
    if reply.finish_reason is None:
        return "unknown"
    return reply.finish_reason if reply.finish_reason in ENDINGS else "other"


def _name(sent: object) -> str | None:
    """A name or number that a server sent, where it looks like one and shows no key; else None."""
    if not isinstance(sent, str) or _NAME.fullmatch(sent) is None:
        return None
    call = current_call()
    secrets = secrets_of(None) | (set() if call is None else call.secrets)
    return sent if redacted(sent, secrets) == sent else None


def _tell_fault(found: OpenSpan, fault: Fault) -> None:
    message = str(fault.error)
    status = _STATUS.search(message)
    found.failed(type(fault.error).__name__, message)
    found.set({
        "http.response.status_code": None if status is None else int(status[1]),
        "eirene.retryable": fault.retryable,
    })  # fmt: skip


def _provider(name: str, model: object) -> str:
    """The provider by the conventions' word for it: that of the name, else what the model's class says."""
    said, colon, _ = name.partition(":")
    if not colon:
        params = getattr(model, "_get_ls_params", None)  # what LangChain tells tracers
        said = str((params() if callable(params) else {}).get("ls_provider") or type(model).__name__)
    return _PROVIDERS.get(said, said)


def _server(address: str | None) -> Attributes:
    """Host and port alone: the rest of an address may hold a key."""
    try:
        parts = urlsplit(address or "")
        port = parts.port or DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return {}
    return {"server.address": parts.hostname, "server.port": port if parts.hostname else None}
