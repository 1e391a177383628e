"""From a chat to an item and back: what is asked, what may be refined, and where the new text goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Sized
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from eirene.records import Item, parse_item
from eirene.refusals import is_refusal

Given = Mapping[str, Any]
"""What the answer is to be held against: `perspectives` or `context`, as in an input row."""
GivenFor = Callable[[Sequence[BaseMessage]], Given | None]

_KEEPS = frozenset({"reasoning", "thinking", "redacted_thinking"})  # blocks that stand beside the text and stay
_GIVEN_KEYS = ("perspectives", "context")


def refinable_text(message: BaseMessage) -> str | None:
    """The text of a final reply; None for everything that must stay as it is.

    That is a tool call, a refusal, text with citations (their places would no longer be right), and anything that is
    not text. A model's reasoning stays beside the text. `why_untouched` says which it is.
    """
    if not isinstance(message, AIMessage) or _calls_tools(message) or _refuses(message):
        return None
    text = None if message.additional_kwargs.get("audio") else _only_text(message)
    return text if text is not None and text.strip() else None


def why_untouched(message: BaseMessage) -> str:
    """Why a reply without a `refinable_text` is passed on as it is."""
    if isinstance(message, AIMessage) and _calls_tools(message):
        what = "calls tools"
    elif _refuses(message):
        what = "is a refusal"
    elif not message.content or _only_text(message) is not None:
        what = "is empty"
    else:
        what = "is not text alone"
    return f"the reply {what}, so it is passed on as it is"


def _calls_tools(message: AIMessage) -> bool:
    more = message.additional_kwargs
    called = message.tool_calls or message.invalid_tool_calls or more.get("function_call") or more.get("tool_calls")
    return bool(called)


def _refuses(message: BaseMessage) -> bool:
    return bool(message.additional_kwargs.get("refusal")) or is_refusal(str(message.text))


def _only_text(message: BaseMessage) -> str | None:
    """The text of a message that has no other content; None for one that has."""
    if isinstance(message.content, str):
        return message.content
    texts = []
    for block in message.content:
        if isinstance(block, str):
            texts.append(block)
        elif block.get("type") == "text" and not block.get("annotations") and not block.get("citations"):
            texts.append(str(block.get("text", "")))
        elif block.get("type") not in _KEEPS:
            return None
    return "".join(texts)


def with_text(message: AIMessage, text: str) -> AIMessage:
    """The message with another text; its reasoning and all else stay."""
    if isinstance(message.content, str):
        return message.model_copy(update={"content": text})
    kept = [block for block in message.content if isinstance(block, dict) and block.get("type") in _KEEPS]
    return message.model_copy(update={"content": [*kept, {"type": "text", "text": text}]})


def conversation_item(messages: Sequence[BaseMessage], answer: str, *, given: Given | None = None) -> Item:
    """The item of a reply: the last question, in the conversation that it stands in. Raises `InputError`.

    Of the messages, texts alone are taken; instructions from the system come first.
    """
    data: dict[str, Any] = {"question": _question(messages), "answer": answer}
    for key in _GIVEN_KEYS:
        value = None if given is None else given.get(key)
        if value is not None and (not isinstance(value, Sized) or len(value)):
            data[key] = value
    return parse_item(data)


def tool_results(messages: Sequence[BaseMessage]) -> Given | None:
    """The texts that tools have returned since the last question, as `context`: to be passed as `given`."""
    since = [n for n, message in enumerate(messages) if isinstance(message, HumanMessage)]
    later = messages[since[-1] + 1 :] if since else messages
    texts = [
        text for m in later if isinstance(m, ToolMessage) and m.status != "error" and (text := str(m.text)).strip()
    ]
    return {"context": texts} if texts else None


def _question(messages: Sequence[BaseMessage]) -> str:
    told = [str(m.text).strip() for m in messages if isinstance(m, SystemMessage)]
    turns = [
        ("User" if isinstance(m, HumanMessage) else "Assistant", str(m.text).strip())
        for m in messages
        if isinstance(m, HumanMessage | AIMessage) and str(m.text).strip()
    ]
    asked = [n for n, (who, _) in enumerate(turns) if who == "User"]
    last = turns[asked[-1]][1] if asked else ""
    before = turns[: asked[-1]] if asked else []
    parts = [f"Instructions to the assistant: {text}" for text in told if text]
    if before:
        parts.append("Earlier in the conversation:\n" + "\n".join(f"{who}: {text}" for who, text in before))
    return "\n\n".join([*parts, f"The question: {last}"]) if parts else last
