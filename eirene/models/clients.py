"""Gives each event loop a model whose client belongs to it, tries once, and is closed when the loop ends.

Three traps, all reproduced with langchain-openai 1.7:
- Clients retry by themselves (twice, for OpenAI's), unseen and uncounted. Ours are the only retries.
- langchain-openai and langchain-anthropic share one HTTP client among all models of a process. Its connections belong
  to the event loop that opened them; in the next loop (a second `asyncio.run`) they fail with "Event loop is closed".
- A loop that ends with connections open complains of each of them.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

logger = logging.getLogger(__name__)

_Prepare = Callable[["BaseChatModel"], "BaseChatModel"]


@dataclass(frozen=True, slots=True)
class _Prepared:
    model: BaseChatModel
    closer: AsyncGenerator[None, None]


class ModelPerLoop:
    """The models of a `ChatModel`, one for each event loop it is used in.

    OpenAI's and Anthropic's SDKs (and those made with the same generator) get an HTTP client of their own, unless the
    user gave one. Any other model is made anew by `rebuild` where there is one, else it is used as it is.
    """

    def __init__(self, model: BaseChatModel, *, name: str, rebuild: Callable[[], BaseChatModel] | None = None) -> None:
        self._model = model
        self._rebuild = rebuild
        self._prepared: WeakKeyDictionary[asyncio.AbstractEventLoop, _Prepared] = WeakKeyDictionary()
        if _sdk_client(model) is None and getattr(model, "max_retries", None):
            logger.warning("%s: %s keeps its own retries; build it with max_retries=0", name, type(model).__name__)

    async def here(self) -> BaseChatModel:
        """The model for the running loop."""
        loop = asyncio.get_running_loop()
        found = self._prepared.get(loop)
        if found is None:
            found = self._prepare()
            self._prepared[loop] = found
            # A loop that is shut down closes the generators that were begun in it: there the client is closed.
            await anext(found.closer)
        return found.model

    def _prepare(self) -> _Prepared:
        is_first = not self._prepared
        for loop in [known for known in self._prepared if known.is_closed()]:
            del self._prepared[loop]
        model = self._model if is_first or self._rebuild is None else self._rebuild()
        sdk = _sdk_client(model)
        if sdk is None:
            return _Prepared(model, _closing(None))
        attribute, client = sdk
        options: dict[str, Any] = {"max_retries": 0}
        own = _own_http_client(model, client)
        if own is not None:
            options["http_client"] = own
        return _Prepared(_with_client(model, attribute, client.with_options(**options)), _closing(own))


async def _closing(http_client: Any) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        if http_client is not None:
            await http_client.aclose()


def _sdk_client(model: BaseChatModel) -> tuple[str, Any] | None:
    """The attribute that holds the model's async SDK client, and the client, for the SDKs that have `with_options`."""
    for attribute in ("root_async_client", "_async_client"):
        client = getattr(model, attribute, None)
        if client is not None and hasattr(client, "with_options"):
            return attribute, client
    return None


def _own_http_client(model: BaseChatModel, client: Any) -> Any:
    """A new HTTP client as the SDK makes them; None where the user has given one, or a proxy that asks for one."""
    if getattr(model, "http_async_client", None) is not None:
        return None
    sdk = importlib.import_module(type(client).__module__.partition(".")[0])
    make = getattr(sdk, "DefaultAsyncHttpxClient", None)
    if make is None:
        return None
    more = {"proxy": proxy} if (proxy := getattr(model, "anthropic_proxy", None)) else {}
    return make(base_url=client.base_url, timeout=client.timeout, **more)


def _with_client(model: BaseChatModel, attribute: str, client: Any) -> BaseChatModel:
    copy = model.model_copy()
    if attribute == "root_async_client":
        return copy.model_copy(update={"root_async_client": client, "async_client": client.chat.completions})
    copy.__dict__[attribute] = client  # Anthropic's is a cached property, whose cache this is
    return copy
