"""State mappings of `refine_node`: how a graph's state becomes an item, and a record an update of that state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Protocol, cast

from langchain_core.messages import AIMessage, BaseMessage

from eirene.agent.wrappers.conversation import GivenFor, When, refined_reply, reply_item
from eirene.core.errors import InputError
from eirene.core.records import Item, Record, parse_item

Update = dict[str, Any]


class StateMapping(Protocol):
    """What stands between a graph's state (a dict, or an object with attributes) and the loop."""

    def item(self, state: Any) -> Item | None:
        """The item to refine; None where the state is to stay as it is. Raises `InputError`."""
        ...

    def update(self, state: Any, record: Record) -> Update:
        """What the record changes in the state."""
        ...


@dataclass(frozen=True, slots=True)
class StateKeys:
    """A state with a question and an answer, under these keys; the answer to show and the record go back into it.

    A key that the graph's state does not have is passed over, on the way in and on the way out; only `question` and
    `answer` are needed. The record is plain JSON.
    """

    question: str = "question"
    history: str = "history"
    answer: str = "answer"
    perspectives: str = "perspectives"
    context: str = "context"
    feedback: str = "feedback"
    record: str = "record"

    def item(self, state: Any) -> Item:
        """The item under the keys. Raises `InputError`, which names the mapping to take for a chat."""
        named = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "record"}
        found = {name: _value(state, key) for name, key in named.items()}
        try:
            return parse_item({name: value for name, value in found.items() if value is not None})
        except InputError as error:
            if found["question"] is not None and found["answer"] is not None:
                raise
            how = "refine_node(mapping=StateMessages()) for a chat, StateKeys(question=..., answer=...) for other keys"
            raise InputError(f"{error}: the state has no such key; take {how}", field=error.field) from None

    def update(self, state: Any, record: Record) -> Update:
        """The answer to show, and the record."""
        return {self.answer: record.answer, self.record: record.model_dump(mode="json")}


@dataclass(frozen=True, slots=True)
class StateMessages:
    """A state with a chat under `key`, kept by LangGraph's `add_messages`: its last message is refined if it is final
    text of the assistant's, and replaced under its own id.

    `given` and `when` are as in `RefiningChatModel`, which is the one to take where tokens are streamed: here the draft
    is in the state before, and so in the stream. The record goes to `record`, where the state has such a key.
    """

    key: str = "messages"
    given: GivenFor | None = None
    when: When | None = None
    record: str = "record"

    def item(self, state: Any) -> Item | None:
        """The last question and its answer, in their conversation."""
        messages = self._messages(state)
        return reply_item(messages[:-1], messages[-1], when=self.when, given=self.given) if messages else None

    def update(self, state: Any, record: Record) -> Update:
        """The last message with the text to show, and with the usage of everything that was spent on it."""
        last = cast(AIMessage, self._messages(state)[-1])
        return {self.key: [refined_reply(last, record)], self.record: record.model_dump(mode="json")}

    def _messages(self, state: Any) -> Sequence[BaseMessage]:
        return cast("Sequence[BaseMessage]", _value(state, self.key) or [])


def _value(state: Any, key: str) -> Any:
    return state.get(key) if isinstance(state, dict) else getattr(state, key, None)
