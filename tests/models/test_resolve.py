"""From a name to a chat model."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from langchain.chat_models.base import _get_chat_model_creator

from eirene.core.errors import InputError, MissingExtraError
from eirene.models.resolve import ChatOptions, is_chat_name, resolve_chat
from eirene.models.scripted import ScriptedChatModel
from tests.rows import each

NO_KEY_NEEDED = ChatOptions(base_url="http://127.0.0.1:1/v1")


@each(
    "name, is_chat",
    [("openai:gpt-4o", True), ("ollama:llama3.2:1b", True), ("embedded", False), ("openai:", False), (":x", False)],
)
def test_a_chat_model_is_named_provider_and_model(name: str, is_chat: bool) -> None:
    assert is_chat_name(name) is is_chat


def test_an_object_is_wrapped_under_its_own_name() -> None:
    assert resolve_chat(ScriptedChatModel([])).name == "ScriptedChatModel"


def test_a_server_of_ones_own_needs_no_key() -> None:
    chat = resolve_chat("openai:llama-3:8b", options=NO_KEY_NEEDED)
    assert (chat.name, chat.takes_n) == ("openai:llama-3:8b", True)


def test_without_a_key_one_line_says_which_to_set() -> None:
    with pytest.raises(InputError, match=r"^the provider 'openai' needs an API key: set OPENAI_API_KEY; .*--base-url$"):
        resolve_chat("openai:gpt-4o")


def test_an_unknown_provider_is_named_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"^unknown provider 'nonsense'; known: .*anthropic.*openai"):
        resolve_chat("nonsense:x")


def test_a_base_url_does_not_go_with_an_object() -> None:
    with pytest.raises(InputError, match="base_url goes with a name"):
        resolve_chat(ScriptedChatModel([]), options=NO_KEY_NEEDED)


def test_anything_else_is_an_error_that_says_what_came() -> None:
    model: Any = 42
    with pytest.raises(InputError, match="LangChain chat model, got int"):
        resolve_chat(model)


PROVIDERS = """
import sys, types
from typing import Any
from langchain_core.utils import secret_from_env
from pydantic import Field, SecretStr
from eirene.core.errors import InputError
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.models.scripted import ScriptedChatModel

KEY = secret_from_env("ANTHROPIC_API_KEY", default="")

class ChatAnthropic(ScriptedChatModel):
    # The shape of the real one, which is content with an empty key until the first request.
    model: str
    max_retries: int = 2
    base_url: str | None = None
    anthropic_api_key: SecretStr = Field(default_factory=KEY, alias="api_key")
    def __init__(self, **settings: Any) -> None:
        super().__init__([], **settings)
        print(type(self).__name__, settings)

class ChatOllama(ScriptedChatModel):
    model: str
    base_url: str | None = None
    def __init__(self, **settings: Any) -> None:
        super().__init__([], **settings)
        print(type(self).__name__, settings)

for kind in (ChatAnthropic, ChatOllama):
    package = types.ModuleType(f"langchain_{kind.__name__.removeprefix('Chat').lower()}")
    setattr(package, kind.__name__, kind)
    sys.modules[package.__name__] = package

for name in ("anthropic:claude-x", "ollama:llama3.2:1b"):
    for url in ("http://127.0.0.1:1", None):
        try:
            print("named", resolve_chat(name, options=ChatOptions(base_url=url)).name)
        except InputError as error:
            print(error)
"""


@each("key", [None, " ", "k"])
def test_names_become_models_by_langchains_own_resolver(key: str | None) -> None:
    """In a process of its own: the packages of the two providers are not installed here, and LangChain remembers."""
    env = {**os.environ, **({} if key is None else {"ANTHROPIC_API_KEY": key})}
    done = subprocess.run([sys.executable, "-c", PROVIDERS], capture_output=True, text=True, check=True, env=env)
    own_server = {"model": "claude-x", "base_url": "http://127.0.0.1:1"} | (
        {} if key == "k" else {"api_key": "not-needed"}
    )
    said = [
        f"ChatAnthropic {own_server}",
        f"ChatAnthropic {own_server | {'max_retries': 0}}",
        "named anthropic:claude-x",
    ]
    said += ["ChatAnthropic {'model': 'claude-x'}"]
    if key == "k":
        said += ["ChatAnthropic {'model': 'claude-x', 'max_retries': 0}", "named anthropic:claude-x"]
    else:
        said += ["the provider 'anthropic' needs an API key: set ANTHROPIC_API_KEY; a server of your own needs none: "
                 "give --base-url"]  # fmt: skip
    said += ["ChatOllama {'model': 'llama3.2:1b', 'base_url': 'http://127.0.0.1:1'}", "named ollama:llama3.2:1b"]
    said += ["ChatOllama {'model': 'llama3.2:1b'}", "named ollama:llama3.2:1b"]
    assert done.stdout.splitlines() == said


# Each provider of LangChain's resolver, and the package that its message must name. Only OpenAI's is among the tests'.
ABSENT = [
    ("anthropic", "langchain-anthropic", "'eirene[anthropic]'"),
    ("ollama", "langchain-ollama", "'eirene[ollama]'"),
    *(
        (provider, package, package)
        for provider, package in [
            ("azure_ai", "langchain-azure-ai"),
            ("baseten", "langchain-baseten"),
            ("bedrock", "langchain-aws"),
            ("bedrock_converse", "langchain-aws"),
            ("cohere", "langchain-cohere"),
            ("deepseek", "langchain-deepseek"),
            ("fireworks", "langchain-fireworks"),
            ("google_genai", "langchain-google-genai"),
            ("google_vertexai", "langchain-google-vertexai"),
            ("groq", "langchain-groq"),
            ("ibm", "langchain-ibm"),
            ("litellm", "langchain-litellm"),
            ("mistralai", "langchain-mistralai"),
            ("nvidia", "langchain-nvidia-ai-endpoints"),
            ("openrouter", "langchain-openrouter"),
            ("perplexity", "langchain-perplexity"),
            ("together", "langchain-together"),
            ("upstage", "langchain-upstage"),
            ("xai", "langchain-xai"),
        ]
    ),
]


@pytest.mark.parametrize(("provider", "package", "install"), ABSENT)
def test_an_absent_package_is_named_with_its_install_command(
    provider: str, package: str, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _get_chat_model_creator.cache_clear()  # LangChain keeps what another test had it import
    monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)  # absent even where it is installed
    with pytest.raises(MissingExtraError) as caught:
        resolve_chat(f"{provider}:model")
    assert str(caught.value).startswith(f"this needs the package '{package}': pip install {install}")


def test_without_langchain_itself_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['langchain'] = None\n"
        "from eirene.models.resolve import resolve_chat\n"
        "try: resolve_chat('openai:x')\n"
        "except Exception as error: print(f'{type(error).__name__}: {error}')"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == (
        "MissingExtraError: this needs the package 'langchain': pip install 'eirene[openai]' "
        "(in a clone: pip install -c constraints.txt -e '.[openai]')\n"
    )
