"""From a name to a chat model."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from eirene.errors import InputError, MissingExtraError
from eirene.models.resolve import ChatOptions, is_chat_name, resolve_chat
from eirene.models.scripted import ScriptedChatModel

NO_KEY_NEEDED = ChatOptions(base_url="http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    ("name", "is_chat"),
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
    monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)  # absent even where it is installed
    with pytest.raises(MissingExtraError) as caught:
        resolve_chat(f"{provider}:model")
    assert str(caught.value) == f"this needs the package '{package}': pip install {install}"


def test_without_langchain_itself_the_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['langchain'] = None\n"
        "from eirene.models.resolve import resolve_chat\n"
        "try: resolve_chat('openai:x')\n"
        "except Exception as error: print(f'{type(error).__name__}: {error}')"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "MissingExtraError: this needs the package 'langchain': pip install 'eirene[openai]'\n"
