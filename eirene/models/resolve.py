"""Resolves backend names: `provider:model` to a chat model by LangChain's resolver, `hf:` to a local model.

Loads LangChain or torch when it is called, not before.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from eirene.core.errors import InputError
from eirene.core.extras import EXTRAS, importing, missing
from eirene.core.loop_settings import Structured
from eirene.models.address import check_address
from eirene.models.cache import CallCache
from eirene.models.chat import ChatModel
from eirene.models.clients import server_address
from eirene.models.costs import Price
from eirene.models.faults import diagnose
from eirene.models.gguf.spec import PREFIX as GGUF
from eirene.models.limits import DEFAULT_CONCURRENCY, Limiter, RetryPolicy
from eirene.models.local.model import load_local
from eirene.models.local.spec import PREFIX
from eirene.models.redaction import NO_KEY, redacted, secrets_in_url, secrets_of

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_NAME = re.compile(r"([A-Za-z][\w-]*):(.+)", re.DOTALL)
_KEYS = {
    "openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "mistralai": "MISTRAL_API_KEY",
    "google_genai": "GOOGLE_API_KEY", "groq": "GROQ_API_KEY", "deepseek": "DEEPSEEK_API_KEY", "xai": "XAI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY", "together": "TOGETHER_API_KEY", "cohere": "COHERE_API_KEY",
}  # fmt: skip
_OWN_SERVERS = frozenset({"openai", "anthropic"})  # whose protocols other servers speak, too
NO_SERVER = "base_url goes with a chat model; the backend {!r} calls no server"


@dataclass(frozen=True, slots=True)
class ChatOptions:
    """How a chat model is reached: the server (None: the provider's), limits, retries and prices.

    `concurrency`: calls under way at most, or `limiter`, one that is shared; `timeout_s`: seconds for one attempt;
    `price` None leaves costs unknown; replies that `cache` knows are not asked for again. `offline`: the model is
    looked at and never called, so that no key is missed. `structured`: whether replies are asked for by JSON schema.
    """

    base_url: str | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    limiter: Limiter | None = None
    timeout_s: float = 60.0
    retry: RetryPolicy | None = None
    price: Price | None = None
    cache: CallCache | None = None
    offline: bool = False
    structured: Structured = "auto"

    @classmethod
    def of(cls, told: Any, **given: Any) -> ChatOptions:
        """What another object's fields of these names say, but for what is `given`."""
        shared = {field.name for field in fields(cls)} & {field.name for field in fields(told)}
        return cls(**{name: getattr(told, name) for name in shared} | given)


def is_chat_name(name: str) -> bool:
    """Whether `name` has the form `provider:model`."""
    return _NAME.fullmatch(name) is not None


def resolve_chat(model: str | BaseChatModel, *, options: ChatOptions | None = None) -> ChatModel:
    """The call layer around a LangChain chat model, or around the one that `provider:model` or `hf:path-or-id` names.

    Keys come from the environment, under the provider's own name; a server of one's own (`base_url`) needs none.
    Raises `MissingExtraError` with the install command when the provider's package is not there, `InputError` for an
    unknown provider, a missing key, or settings that the provider's class refuses.
    """
    options = ChatOptions() if options is None else options
    if isinstance(model, str) and model.startswith(PREFIX):
        return _local_chat(model, options)
    rebuild: Callable[[], BaseChatModel] | None = None
    name = None
    if isinstance(model, str) and model.startswith(GGUF):
        # It runs here: it costs nothing, and what takes it long would take the next attempt as long.
        options = replace(options, timeout_s=math.inf, price=options.price or Price(0.0, 0.0))
    if isinstance(model, str):
        rebuild = chat_builder(model, options)
        name, model = model, rebuild()
    else:
        _check_object(model)
        if options.base_url is not None:
            raise InputError(
                "base_url goes with a name such as 'openai:NAME'; a model object has its own", field="base_url"
            )
    return ChatModel(
        model,
        name=name,
        limiter=Limiter(options.concurrency) if options.limiter is None else options.limiter,
        retry=options.retry,
        timeout_s=options.timeout_s,
        price=options.price,
        rebuild=rebuild,
        cache=options.cache,
        structured=options.structured,
    )


def _local_chat(name: str, options: ChatOptions) -> ChatModel:
    if options.base_url is not None:
        raise InputError(NO_SERVER.format(name), field="base_url")
    local = load_local(name)
    from eirene.models.local.chat import chat_of

    return chat_of(local, structured=options.structured)


def chat_builder(name: str, options: ChatOptions) -> Callable[[], BaseChatModel]:
    """A function that makes the named model anew each time; the first problem shows when it is called.

    Of the options, `base_url` and `offline` alone belong to the model. Raises `InputError` for a name of another form,
    and for a `base_url` that is no address.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        raise InputError(
            f"unknown backend {name!r}: a chat model is named provider:model, such as openai:gpt-4o, and a model on "
            "this machine hf:path-or-id[+adapter] or gguf:FILE", field="backend",
        )  # fmt: skip
    if options.base_url is not None:
        check_address(options.base_url)
    provider, model = found[1].replace("-", "_").lower(), found[2]
    if provider == "gguf" and options.base_url is not None:
        raise InputError(NO_SERVER.format(name), field="base_url")
    arguments: dict[str, Any] = {} if options.base_url is None else {"base_url": options.base_url}
    needs_none = options.base_url is not None and provider in _OWN_SERVERS
    if (options.offline or needs_none) and provider in _KEYS and not os.environ.get(_KEYS[provider], "").strip():
        arguments["api_key"] = NO_KEY

    def build() -> BaseChatModel:
        built = _init(provider, model, arguments)
        # The client's own retries would be made unseen and uncounted; not every class has the field.
        has_retries = "max_retries" in type(built).model_fields and getattr(built, "max_retries", None) != 0
        return _init(provider, model, {**arguments, "max_retries": 0}) if has_retries else built

    return build


def _init(provider: str, model: str, arguments: Mapping[str, Any]) -> BaseChatModel:
    if provider == "gguf":
        from eirene.models.gguf.chat import ChatGguf

        return ChatGguf(model=model)
    with importing("langchain", extra=EXTRAS.get(f"langchain_{provider}", "")):
        from langchain.chat_models import init_chat_model
    try:
        built: BaseChatModel = init_chat_model(model, model_provider=provider, **arguments)
    except ImportError as error:
        raise missing(_package(error)) from None
    # Pydantic's ValidationError is a ValueError; a missing key is one, too, but for OpenAI's and Google's own kinds.
    except ValueError as error:
        raise InputError(_problem(provider, _shown(error, arguments)), field="backend") from None
    except Exception as error:
        if diagnose(error) is not None:  # by the environment: a client reads its address when it is made
            raise InputError(
                f"{_address_name(provider)} must be the http:// or https:// address of a server, such as "
                f"http://HOST:PORT/v1: {_shown(error, arguments)}",
                field="base_url",
            ) from None
        if not _speaks_of_key(str(error)):
            raise
        raise InputError(_problem(provider, _shown(error, arguments)), field="backend") from None
    if _lacks_key(built, provider):
        raise InputError(_needs_key(provider), field="backend")
    if provider in _OWN_SERVERS and (address := server_address(built)) is not None:
        check_address(address, name=_address_name(provider))  # which may be that of the environment
    return built


def _shown(error: Exception, arguments: Mapping[str, Any]) -> str:
    return redacted(str(error), secrets_in_url(str(arguments.get("base_url", ""))) | secrets_of(None))


def _lacks_key(model: BaseChatModel, provider: str) -> bool:
    """Whether the provider's key is an empty text: some clients are content with that until the first request."""
    keys = [getattr(model, name, None) for name in ("api_key", f"{provider}_api_key")]
    return any(isinstance(key, SecretStr) and not key.get_secret_value().strip() for key in keys)


def _package(error: ImportError) -> str:
    """The import name of the package that is missing; LangChain's message names it as pip knows it."""
    named = re.search(r"pip install (?:-U )?[`'\"]?([\w\[\]-]+)", str(error))
    return named[1].replace("-", "_") if named else (error.name or str(error)).partition(".")[0]


def _problem(provider: str, message: str) -> str:
    if _speaks_of_key(message):
        return _needs_key(provider)
    if message.startswith("Unsupported"):
        known = message.partition("are: ")[2]
        return f"unknown provider {provider!r}; known: {known}"
    return f"the provider {provider!r} does not take these settings: {' '.join(message.split())}"


def _address_name(provider: str) -> str:
    """What an address is called that a provider's client has found in the environment."""
    return f"the environment's {provider.upper()}_BASE_URL"


def _needs_key(provider: str) -> str:
    key = _KEYS.get(provider, f"{provider.upper()}_API_KEY")
    hint = "; a server of your own needs none: give --base-url" if provider in _OWN_SERVERS else ""
    return f"the provider {provider!r} needs an API key: set {key}{hint}"


def _speaks_of_key(message: str) -> bool:
    return re.search(r"api[_ -]?key|credentials", message, re.IGNORECASE) is not None


def _check_object(model: object) -> None:
    from langchain_core.language_models import BaseChatModel

    if not isinstance(model, BaseChatModel):
        raise InputError(
            f"a backend is a name, Parts, or a LangChain chat model, got {type(model).__name__}", field="backend"
        )
