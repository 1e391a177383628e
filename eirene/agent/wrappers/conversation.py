"""From a chat to an item and back: what is asked, which replies are refined, where the new text and its usage go.

A wrapped model's reply carries the usage of everything that was spent on it. So `run_isolated` keeps the calls inside
from the caller's callbacks: each token would be counted twice, and drafts would be streamed as if they were the answer.
"""

from __future__ import annotations

import asyncio
import contextvars
import hashlib
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence, Sized
from typing import Any, TypeVar

from langchain_core.callbacks import (
    AsyncCallbackManager,
    AsyncCallbackManagerForLLMRun,
    CallbackManager,
    CallbackManagerForLLMRun,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.messages.ai import UsageMetadata, add_usage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers import context as tracing

from eirene.core.errors import EireneError, InputError
from eirene.core.grounding import NOTHING_GIVEN, lacks_grounding
from eirene.core.history import HistoryTurn, as_turns, newest
from eirene.core.logs import get_logger
from eirene.core.records import Item, Record, parse_item
from eirene.core.usage import Usage
from eirene.text.refusals import is_refusal
from eirene.text.thinking import without_thinking

Given = Mapping[str, Any]
"""What the answer is to be compared with: `perspectives` or `context`, as in an input row."""
GivenFor = Callable[[Sequence[BaseMessage]], Given | None]
When = Callable[[Sequence[BaseMessage], str], bool]
"""Which replies to refine, by the messages before them and their text."""

logger = get_logger(__name__)

_KEEPS = frozenset({"reasoning", "thinking", "redacted_thinking"})  # blocks that stand beside the text and stay
GIVEN_KEYS = ("perspectives", "context")


def refinable_text(message: BaseMessage) -> str | None:
    """The text of a final reply; None for everything that must stay as it is.

    That is a tool call, a refusal, text with citations (their places would no longer be right), and anything that is
    not text. A model's reasoning stays beside the text. `why_untouched` says which it is.
    """
    if not isinstance(message, AIMessage) or _calls_tools(message) or _refuses(message):
        return None
    told = message.additional_kwargs
    text = None if told.get("audio") or told.get("annotations") else _only_text(message)
    return text if text is not None and text.strip() else None


def why_untouched(message: BaseMessage) -> str:
    """Why a reply without a `refinable_text` is passed on as it is."""
    if isinstance(message, AIMessage) and _calls_tools(message):
        what = "calls tools"
    elif _refuses(message):
        what = "is a refusal"
    elif not str(message.text).strip() and _only_text(message) is not None:
        what = "is empty"
    else:
        what = "is not text alone"
    return f"the reply {what}, so it is passed on as it is"


def _calls_tools(message: AIMessage) -> bool:
    more = message.additional_kwargs
    called = message.tool_calls or message.invalid_tool_calls or more.get("function_call") or more.get("tool_calls")
    return bool(called)


def _refuses(message: BaseMessage) -> bool:
    return bool(message.additional_kwargs.get("refusal")) or is_refusal(without_thinking(str(message.text)))


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
    """The item of a reply: the last question, with the conversation before it as its history. Raises `InputError`.

    Instructions from the system come first. What tools returned for the last question is no part of it: see `given`.
    """
    question, history = _asked(messages)
    data: dict[str, Any] = {"question": question, "answer": answer}
    if history:
        data["history"] = history
    for key in GIVEN_KEYS:
        value = None if given is None else given.get(key)
        if value is not None and (not isinstance(value, Sized) or len(value)):
            data[key] = value
    return parse_item(data)


def reply_item(
    messages: Sequence[BaseMessage], reply: BaseMessage, *, when: When | None = None, given: GivenFor | None = None
) -> Item | None:
    """The item of a reply to the messages; None where it stays as it is.

    That is where it has no `refinable_text`, where `when` does not choose it, and where it makes no item.
    """
    text = refinable_text(reply)
    try:
        if text is None or (when is not None and not when(messages, text)):
            return None
        return conversation_item(messages, text, given=None if given is None else given(messages))
    except EireneError as error:  # a reply with half a surrogate pair, say: it is passed on, not lost
        logger.warning("a reply is passed on unrefined: %s", error)
        return None


def refined_reply(reply: AIMessage, record: Record) -> AIMessage:
    """The reply with the text to show, and with the usage of everything that was spent on it."""
    message = with_text(reply, record.answer) if record.status == "accepted" else reply
    return message.model_copy(update={"usage_metadata": total_usage(reply.usage_metadata, record.usage)})


def total_usage(draft: UsageMetadata | None, spent: Usage) -> UsageMetadata | None:
    """The draft's tokens and those spent on refining it; None where neither is known."""
    if spent.input_tokens == spent.output_tokens == 0:
        return draft
    more = UsageMetadata(
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        total_tokens=spent.input_tokens + spent.output_tokens,
    )
    return add_usage(draft, more)


class NothingGivenNotice:
    """One wrapper's warning. `how` says what to change there; the record of each reply says the rest."""

    def __init__(self, how: str) -> None:
        self._how = how
        self._has_warned = False

    def check(self, record: Record) -> Record:
        """The record, unchanged; the first that abstained for want of anything given is logged as a warning."""
        if not self._has_warned and lacks_grounding(record):
            self._has_warned = True
            logger.warning("replies pass without being judged: %s; here: %s (said once)", NOTHING_GIVEN, self._how)
        return record


def tool_results(messages: Sequence[BaseMessage]) -> Given | None:
    """The texts that tools have returned since the last question, as `context`: to be passed as `given`."""
    since = [n for n, message in enumerate(messages) if isinstance(message, HumanMessage)]
    later = messages[since[-1] + 1 :] if since else messages
    texts = [
        text for m in later if isinstance(m, ToolMessage) and m.status != "error" and (text := str(m.text)).strip()
    ]
    return {"context": texts} if texts else None


def _asked(messages: Sequence[BaseMessage]) -> tuple[str, list[HistoryTurn]]:
    """The last question, "" for none, and the turns before it, as many of the last as a history has room for."""
    asked = [n for n, m in enumerate(messages) if isinstance(m, HumanMessage) and str(m.text).strip()]
    last = asked[-1] if asked else len(messages)
    told = [m for m in messages if isinstance(m, SystemMessage)]
    before = [m for m in messages[:last] if isinstance(m, HumanMessage | AIMessage | ToolMessage)]
    said = [turn for turn in as_turns([*told, *before]) or () if turn["content"] and turn["content"].strip()]
    turns = [HistoryTurn.model_validate(turn) for turn in said]
    return str(messages[last].text).strip() if asked else "", newest(turns)


T = TypeVar("T")


def run_isolated(work: Callable[[], T], *, keep_callbacks: bool = False) -> T:
    """Calls `work` apart from the caller's run: without its graph's state and, by default, without its callbacks."""
    return _context(keep_callbacks).run(work)


async def arun_isolated(work: Coroutine[Any, Any, T], *, keep_callbacks: bool = False) -> T:
    """Waits for `work` apart from the caller's run; a cancelled wait cancels it."""
    return await asyncio.create_task(work, context=_context(keep_callbacks))


def _context(keep_callbacks: bool) -> contextvars.Context:
    """The caller's context without what hands a run down: the parent's configuration, and counters such as LangChain's
    `get_usage_metadata_callback`, which enter every call by variables of their own."""
    context = contextvars.copy_context()
    if keep_callbacks:
        parent = var_child_runnable_config.get() or {}
        kept: RunnableConfig = {"callbacks": parent.get("callbacks"), "tags": parent.get("tags") or []}
        context.run(var_child_runnable_config.set, kept)
        return context
    context.run(var_child_runnable_config.set, None)
    for variable, *_ in getattr(tracing, "_configure_hooks", ()):
        if context.get(variable) is not None:
            context.run(variable.set, None)
    return context


def child_manager(
    run: CallbackManagerForLLMRun | AsyncCallbackManagerForLLMRun,
) -> CallbackManager | AsyncCallbackManager:
    """The callbacks of a model's run for what runs inside it, which LangChain has for the runs of chains alone."""
    kind = AsyncCallbackManager if isinstance(run, AsyncCallbackManagerForLLMRun) else CallbackManager
    manager = kind(handlers=[], parent_run_id=run.run_id)
    manager.set_handlers(run.inheritable_handlers)
    manager.add_tags(run.inheritable_tags)
    manager.add_metadata(run.inheritable_metadata)
    return manager


def mentions(*topics: str) -> When:
    """Conversations in which one of the words or phrases occurs, in a message or in the reply, in any case."""
    if not topics or not all(topic.strip() for topic in topics):
        raise InputError(f"mentions wants words or phrases, got {topics!r}", field="when")
    pattern = re.compile(
        r"(?<!\w)(?:" + "|".join(re.escape(topic.strip()) for topic in topics) + r")(?!\w)", re.IGNORECASE
    )
    return lambda messages, reply: any(pattern.search(text) for text in (reply, *(str(m.text) for m in messages)))


def share(part: float, *, seed: int = 0) -> When:
    """A share of all replies in [0, 1], drawn by the reply's text: the same reply is always treated alike."""
    if not 0 <= part <= 1:
        raise InputError(f"a share lies between 0 and 1, got {part}", field="when")

    def drawn(messages: Sequence[BaseMessage], reply: str) -> bool:
        hashed = hashlib.sha256(f"{seed}\n{reply}".encode(errors="backslashreplace")).digest()
        return int.from_bytes(hashed[:8], "big") / 2**64 < part

    return drawn
