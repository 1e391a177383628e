"""`RefiningChatModel` in LangChain's own standard suites, around a scripted model with tools and structured output."""

from __future__ import annotations

import re
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_tests.integration_tests import ChatModelIntegrationTests
from langchain_tests.unit_tests import ChatModelUnitTests

from eirene.agent.settings import Settings
from eirene.agent.wrappers.chat_model import RefiningChatModel
from eirene.models.scripted import ScriptedChatModel


class Obedient(ScriptedChatModel):
    """A scripted model that calls the first tool it is given, until a tool has answered."""

    model_name: str = "scripted-1"

    def _replies(self, messages: list[BaseMessage], kwargs: dict[str, Any]) -> list[AIMessage]:
        metadata = {"finish_reason": "stop", "model_name": kwargs.get("model", self.model_name)}
        tools = kwargs.get("tools") or []
        answered = isinstance(messages[-1], ToolMessage)
        if tools and not answered and kwargs.get("tool_choice") != "none":
            wanted = _wanted(tools, kwargs.get("tool_choice"))
            call = {"name": wanted["name"], "args": _arguments(wanted["parameters"], messages), "id": "call-1"}
            return [AIMessage(content="", tool_calls=[call], response_metadata=metadata)]
        text = "The answer is that cages make animals suffer."
        if kwargs.get("stop"):
            text = text.split(kwargs["stop"][0], maxsplit=1)[0]
        return [AIMessage(content=text, response_metadata=metadata)]


def _wanted(tools: list[dict[str, Any]], choice: Any) -> dict[str, Any]:
    named = choice.get("function", {}).get("name") if isinstance(choice, dict) else choice
    functions: list[dict[str, Any]] = [tool["function"] for tool in tools]
    return next((f for f in functions if f["name"] == named), functions[0])


def _arguments(schema: dict[str, Any], messages: list[BaseMessage]) -> dict[str, Any]:
    """A value of the right kind for each parameter, taken from the request where it holds one."""
    asked = " ".join(str(m.text) for m in messages if isinstance(m, HumanMessage))
    numbers = iter([*map(int, re.findall(r"\d+", asked)), *[1] * 9])
    quoted = re.findall(r"['\"‘“](.+?)['\"’”]", asked)
    text = quoted[0] if quoted else asked
    return {
        name: next(numbers) if part.get("type") in ("integer", "number") else text
        for name, part in schema.get("properties", {}).items()
    }


class _Shared:
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return RefiningChatModel

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {
            "inner": Obedient(lambda messages: ""),
            "backend": ScriptedChatModel(lambda messages: "1. [Complete]"),
            "settings": Settings(samples=3, rewrite="whole"),
            "trace": "short",
        }

    @property
    def has_tool_calling(self) -> bool:
        return True

    @property
    def has_structured_output(self) -> bool:
        return True

    @property
    def model_override_value(self) -> str:
        return "scripted-2"

    @property
    def supports_json_mode(self) -> bool:
        return False


class TestStandardUnit(_Shared, ChatModelUnitTests):
    """The unit suite."""


@pytest.mark.filterwarnings("ignore::pytest.PytestWarning")
class TestStandardIntegration(_Shared, ChatModelIntegrationTests):
    """The integration suite; nothing leaves the process."""
