"""A GGUF model as a LangChain chat model, run by llama.cpp in this process, so that every role can be given it.

Several replies come from one reading of the prompt, and a seed holds. llama.cpp comes with a server around it, which
opens a port of the loopback; it is given a key that nobody else knows.
"""

from __future__ import annotations

import asyncio
import functools
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import PrivateAttr

from eirene.core.concurrency import run_blocking
from eirene.core.errors import BackendError, InputError, MalformedReplyError, TooLongError
from eirene.core.extras import importing
from eirene.core.logs import get_logger
from eirene.core.usage import Meter, Usage
from eirene.models.costs import rough_count
from eirene.models.gguf.spec import (
    PREFIX,
    GgufSpec,
    check_file,
    file_digest,
    idle_threads,
    parse_gguf,
    template_text,
)
from eirene.models.gguf.trial import SLOTS, server_of, try_model
from eirene.models.replies import Tokens
from eirene.models.structured import ReplyForm, most_tokens
from eirene.models.token_scores import Count, ScoredToken
from eirene.prompts import Message

logger = get_logger(__name__)

ROLES: Mapping[str, Literal["system", "user", "assistant"]] = {"system": "system", "human": "user", "ai": "assistant"}


@dataclass(slots=True)
class Written:
    """One reply as it comes in, piece by piece."""

    text: list[str] = field(default_factory=list)
    tokens: list[dict[str, Any]] = field(default_factory=list)
    finish_reason: str | None = None


@dataclass(slots=True)
class Streamed:
    """What a request gave: its choices, and the tokens of the prompt, read and known before."""

    choices: list[Written]
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
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="eirene-gguf")
        # Loading holds the interpreter: a thread that is interrupted meanwhile, before it has begun, is never ended.
        self._thread.submit(int).result()
        try:  # there, as a signal would drop the server before its loop has begun
            self._server: Any = self._thread.submit(server_of, settings, secrets.token_urlsafe()).result()
        except (RuntimeError, ValueError) as error:  # what a moment ago could be loaded
            raise InputError(f"llama.cpp cannot load {spec.path!r} any more: {error}", field="backend") from error
        # What is built with llguidance says so in the grammars that it makes.
        self.takes_llguidance = xllamacpp.json_schema_to_grammar({"type": "null"}).startswith("%llguidance")
        logger.info("%s: %d threads, by the cores that are idle", spec.path, self.threads)

    def submit(self, body: Mapping[str, Any], stopped: threading.Event) -> Callable[[], Streamed]:
        """Puts a request in the queue; returns what waits for it. It ends at the next token once `stopped` is set."""
        return self._thread.submit(self._run, dict(body), stopped).result

    def _run(self, body: dict[str, Any], stopped: threading.Event) -> Streamed:
        done = Streamed([Written() for _ in range(body.get("n", 1))])
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


class ChatInProcess(BaseChatModel):
    """A LangChain chat model that runs here: the fields of a request, and what stands for the weights."""

    model: str
    n: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    response_format: dict[str, Any] | None = None
    max_tokens: int | None = None

    @property
    def digest(self) -> str | None:
        """What stands for the weights."""
        raise NotImplementedError

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model, "digest": self.digest}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return run_blocking(lambda: self._answered(messages, stop), name=self._llm_type)

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await self._answered(messages, stop)

    async def _answered(self, messages: list[BaseMessage], stop: list[str] | None) -> ChatResult:
        raise NotImplementedError


def chat_result(messages: Iterable[AIMessage], tokens: Tokens) -> ChatResult:
    """What LangChain makes of replies; the usage of the whole request stands on each of them, as OpenAI's does."""
    usage = UsageMetadata(
        input_tokens=tokens.input, output_tokens=tokens.output, total_tokens=tokens.input + tokens.output,
        input_token_details={"cache_read": tokens.cached},
    )  # fmt: skip
    counted = (message.model_copy(update={"usage_metadata": usage}) for message in messages)
    return ChatResult(generations=[ChatGeneration(message=message) for message in counted])


class ChatGguf(ChatInProcess):
    """Any GGUF file in this process, with its own chat template; `n` replies come from one reading of the prompt.

    `model` is `PATH[?threads=N&context=N&tokens=N][#TEMPLATE]`. The same seed gives the same replies; reply i of a
    request has seed + i. `max_tokens` bounds a reply in text; one that is held to a schema (`response_format`, as
    OpenAI has it) has what its longest form takes. Raises `MissingExtraError`, and `InputError` for a file that
    cannot be used.
    """

    _engine: GgufEngine = PrivateAttr()
    _tokens: int = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Loads the file, or finds it loaded."""
        super().model_post_init(context)
        spec = parse_gguf(PREFIX + self.model)
        self._tokens = spec.tokens
        self._engine = load_engine(replace(spec, tokens=0))  # which is nothing of the engine's

    @property
    def digest(self) -> str:
        """What stands for the weights."""
        return self._engine.digest

    @property
    def _llm_type(self) -> str:
        return "gguf"

    async def _answered(self, messages: list[BaseMessage], stop: list[str] | None) -> ChatResult:
        stopped = threading.Event()
        try:
            waits = [self._engine.submit(body, stopped) for body in self._bodies(messages, stop)]
            return _result([await asyncio.to_thread(wait) for wait in waits])
        finally:
            stopped.set()  # one that is cancelled must not write on

    def _bodies(self, messages: list[BaseMessage], stop: list[str] | None) -> list[dict[str, Any]]:
        """The requests: one, or as many as it takes for so many replies to have room in the context."""
        longest = self.max_tokens or self._tokens
        if self.response_format is not None:
            longest = most_tokens(self.response_format["json_schema"]["schema"])
        # A token has two bytes or more in any text worth reading; the context must not run over, which ends all.
        prompt = sum(len(str(m.text).encode()) for m in messages) // 2
        at_once = max(1, min(SLOTS, (self._engine.context - prompt) // longest))
        fields = {
            "messages": [{"role": ROLES.get(m.type, m.type), "content": str(m.text)} for m in messages],
            "temperature": self.temperature,
            "top_p": self.top_p,
            "stop": stop,
            "logprobs": True,  # they are the count of tokens
            "top_logprobs": max(1, self.top_logprobs or 0),
            "max_tokens": longest,
            "chat_template_kwargs": {"enable_thinking": False},
            **self._held_to(),
        }
        body = {name: value for name, value in fields.items() if value is not None}
        first, wanted = self.seed or 0, self.n or 1
        return [
            {**body, "n": min(at_once, wanted - at), "seed": (first + at) % 2**32} for at in range(0, wanted, at_once)
        ]

    def _held_to(self) -> dict[str, Any]:
        if self.response_format is None:
            return {}
        form = self.response_format["json_schema"]
        if not self._engine.takes_llguidance:
            return {"response_format": self.response_format}
        return {"grammar": ReplyForm(form["name"], json.dumps(form["schema"])).grammar}


def _result(completions: list[Streamed]) -> ChatResult:
    choices = [choice for completion in completions for choice in completion.choices]
    read = sum(completion.input_tokens for completion in completions)
    cached = sum(completion.cached_tokens for completion in completions)
    return chat_result(map(_message, choices), Tokens(read, sum(len(choice.tokens) for choice in choices), cached))


def _message(choice: Written) -> AIMessage:
    metadata = {"finish_reason": choice.finish_reason, "logprobs": {"content": choice.tokens}}
    return AIMessage("".join(choice.text), response_metadata=metadata)


T = TypeVar("T")
_MARGIN = 1.25
"""Tokens are counted by a rule of thumb here, and a prompt beyond the context ends the run."""


class GgufScorer:
    """A `TokenScorer` on a GGUF file, `gguf:PATH[?threads=N&context=N]`. Raises what `GgufEngine` raises.

    llama.cpp tells no probabilities of a prompt's tokens, but those of what it writes, as they are before a grammar
    forbids any. So the text is written under a grammar that allows it alone. It is cut into the tokens that the model
    finds likeliest at each place; of a character that is several tokens only the last one's probability is told.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._engine = load_engine(replace(parse_gguf(name), tokens=0))  # the one of `ChatGguf`: a second may not fit

    async def score(self, messages: Sequence[Message], text: str, *, top: int, meter: Meter) -> list[ScoredToken]:
        """The tokens of `text` as the reply to the messages. Raises `TooLongError` beyond the context."""
        stopped, started = threading.Event(), time.perf_counter()
        try:
            wait = self._engine.submit(_body(self._engine, messages, text, top), stopped)
            found = await asyncio.to_thread(wait)
        finally:
            stopped.set()
        written = found.choices[0].tokens
        meter.add(
            Usage(
                calls=1, input_tokens=found.input_tokens, output_tokens=len(written), cached_tokens=found.cached_tokens,
                seconds=time.perf_counter() - started,
            )
        )  # fmt: skip
        return _tokens(written, text, name=self.name)

    async def laid_out(self, lay_out: Callable[[Count, int | None], T]) -> T:
        """What `lay_out` makes of a rough count and of the context."""

        def count(messages: Sequence[Message], text: str) -> int:
            return round(_MARGIN * sum(map(rough_count, [*(m.content for m in messages), text])))

        return lay_out(count, self._engine.context)


def _body(engine: GgufEngine, messages: Sequence[Message], text: str, top: int) -> dict[str, Any]:
    literal = json.dumps(text, ensure_ascii=False)
    return {
        "messages": [{"role": m.role, "content": m.content} for m in messages],
        "grammar": f"%llguidance {{}}\nstart: {literal}" if engine.takes_llguidance else f"root ::= {literal}",
        "temperature": 0.0,
        "logprobs": True,
        "top_logprobs": max(1, top),
        "max_tokens": len(text.encode()) + 1,
        "chat_template_kwargs": {"enable_thinking": False},
    }


def _tokens(written: Sequence[dict[str, Any]], text: str, *, name: str) -> list[ScoredToken]:
    whole, at, found = text.encode(), 0, []
    for token in written:
        piece = bytes(token["bytes"])
        if not piece:  # the end
            continue
        start, end = (len(whole[:n].decode(errors="ignore")) for n in (at, at + len(piece)))
        likeliest = {other["token"]: other["logprob"] for other in token["top_logprobs"]} | {
            token["token"]: token["logprob"]
        }
        found.append(ScoredToken(start, end, float(token["logprob"]), tuple(map(float, likeliest.values()))))
        at += len(piece)
    if at != len(whole):
        raise MalformedReplyError(f"{name}: {at} of the text's {len(whole)} bytes were read")
    return found
