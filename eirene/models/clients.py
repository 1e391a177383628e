"""HTTP clients of chat models by event loop: without retries of their own, and closed when the loop ends.

Three traps, all reproduced with langchain-openai 1.7:
- Clients retry by themselves (twice, for OpenAI's), unseen and uncounted. Ours are the only retries.
- langchain-openai and langchain-anthropic share one HTTP client among all models of a process. Its connections belong
  to the event loop that opened them; in the next loop (a second `asyncio.run`) they fail with "Event loop is closed".
- A loop that ends with connections open complains of each of them.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pydantic import BaseModel, SecretStr

from eirene.core.logs import get_logger
from eirene.models.http_guard import guard_clients

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

logger = get_logger(__name__)

_Close = Callable[[], Awaitable[None]]
_Closer = AsyncGenerator[None, None]
_PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class _Held:
    """Something that is open in a loop, and the generator that closes it when the loop is shut down."""

    value: Any
    closer: _Closer


# HTTP clients by loop, SDK and server: models that are made one after the other share connections, as they would
# without us. Not a setting: which loop is running is a fact of the process.
_http_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Hashable, _Held]] = WeakKeyDictionary()


class ModelPerLoop:
    """The models of a `ChatModel`, one for each event loop it is used in.

    OpenAI's and Anthropic's SDKs (and those made with the same generator) get an HTTP client of the loop, unless the
    user gave one. Any other model is made anew by `rebuild` where there is one, else it is used as it is.
    """

    def __init__(self, model: BaseChatModel, *, name: str, rebuild: Callable[[], BaseChatModel] | None = None) -> None:
        self.given = model
        self._rebuild = rebuild
        self._prepared: WeakKeyDictionary[asyncio.AbstractEventLoop, _Held] = WeakKeyDictionary()
        if _sdk_client(model) is None and getattr(model, "max_retries", None):
            logger.warning("%s: %s keeps its own retries; build it with max_retries=0", name, type(model).__name__)

    def here(self) -> BaseChatModel:
        """The model for the running loop; to be called inside one."""
        loop = asyncio.get_running_loop()
        found = self._prepared.get(loop)
        if found is None:
            is_first = not self._prepared
            for ended in [known for known in self._prepared if known.is_closed()]:
                del self._prepared[ended]
            model = self.given if is_first or self._rebuild is None else self._rebuild()
            found = self._prepared[loop] = _prepared(model, loop, is_ours=self._rebuild is not None)
            # LangChain describes a model to callbacks once for each object, which takes longer than copying one a
            # hundred times. The copies made for each call inherit the description, where it is there before them.
            getattr(found.value, "_serialized", None)
            _begin(found.closer)
        model_here: BaseChatModel = found.value
        return model_here


def _prepared(model: BaseChatModel, loop: asyncio.AbstractEventLoop, *, is_ours: bool) -> _Held:
    """The model with a client for this loop; a client that is in a model of our own making is ours to close."""
    sdk = _sdk_client(model)
    if sdk is None:
        guard_clients(model)
        return _Held(model, _closing(_close_of(model) if is_ours else None))
    attribute, client = sdk
    options: dict[str, Any] = {"max_retries": 0}
    http_client = _http_client(model, client, loop)
    if http_client is not None:
        options["http_client"] = http_client
    with_client = _with_client(model, attribute, client.with_options(**options))
    guard_clients(with_client)
    return _Held(with_client, _closing(None))


async def _closing(close: _Close | None) -> _Closer:
    try:
        yield
    finally:
        if close is not None:
            await close()


def _close_of(model: BaseChatModel) -> _Close | None:
    """What closes the async client of a model, in the places where Ollama, Mistral, Groq and Google keep theirs."""
    for attribute in ("async_client", "_async_client", "client"):
        holder = getattr(model, attribute, None)
        for owner in (holder, getattr(holder, "_client", None), getattr(holder, "aio", None)):
            for name in ("aclose", "close"):
                close: _Close | None = getattr(owner, name, None)
                if inspect.iscoroutinefunction(close):
                    return close
    return None


def _sdk_client(model: object) -> tuple[str, Any] | None:
    """The attribute that holds the model's async SDK client, and the client, for the SDKs that have `with_options`."""
    for attribute in ("root_async_client", "_async_client"):
        client = getattr(model, attribute, None)
        if client is not None and hasattr(client, "with_options"):
            return attribute, client
    return None


def _http_client(model: BaseChatModel, client: Any, loop: asyncio.AbstractEventLoop) -> Any:
    """The loop's HTTP client for the SDK and server; None where the user has given one, or the SDK does not tell."""
    if getattr(model, "http_async_client", None) is not None or getattr(model, "openai_proxy", None):
        return None
    sdk = importlib.import_module(type(client).__module__.partition(".")[0])
    make = getattr(sdk, "DefaultAsyncHttpxClient", None)
    if make is None:
        return None
    proxy = getattr(model, "anthropic_proxy", None)
    key = (sdk.__name__, str(client.base_url), str(client.timeout), proxy)
    held = _http_clients.setdefault(loop, {})
    if key not in held:
        made = make(base_url=client.base_url, timeout=client.timeout, **({"proxy": proxy} if proxy else {}))

        async def close() -> None:
            held.pop(key, None)
            await made.aclose()

        held[key] = _Held(made, _closing(close))
        _begin(held[key].closer)
    return held[key].value


def _begin(closer: _Closer) -> None:
    """Runs the generator up to its `yield`, where nothing waits; a loop that is shut down closes those begun in it."""
    try:
        anext(closer).__await__().__next__()
    except StopIteration:
        return
    raise AssertionError("the generator waited before its first yield")


def server_address(model: object) -> str | None:
    """The address that a model's requests go to, as far as its class tells."""
    sdk = _sdk_client(model)
    address = getattr(model, "base_url", None) if sdk is None else getattr(sdk[1], "base_url", None)
    return None if address is None else str(address)


def _with_client(model: BaseChatModel, attribute: str, client: Any) -> BaseChatModel:
    copy = model.model_copy()
    if attribute == "root_async_client":
        return copy.model_copy(update={"root_async_client": client, "async_client": client.chat.completions})
    copy.__dict__[attribute] = client  # Anthropic's is a cached property, whose cache this is
    return copy


def identity_of(model: BaseChatModel, name: str | None) -> str:
    """One text for the model: the name that it was made from and its server, or a model object's class and settings.

    Keys, clients and callbacks are left out. A setting that is neither plain nor a model of its own counts as what it
    prints as: in doubt two models are two.
    """
    if name is not None:
        return f"{name} {server_address(model)}"
    return f"{server_address(model)} {_shown(model)}"


def _shown(value: object) -> str:
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, SecretStr):
        return "secret"
    if isinstance(value, BaseModel):
        kind = type(value)
        fields = [name for name, field in kind.model_fields.items() if not field.exclude]
        inner = ", ".join(f"{name}={_shown(getattr(value, name, None))}" for name in fields)
        return f"{kind.__module__}.{kind.__qualname__}({inner})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_shown(key)}: {_shown(value[key])}" for key in value) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return repr(value)
