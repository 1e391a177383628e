"""The interface of writers of NPOV responses, and the prompt for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from eirene.core.usage import Meter
from eirene.data.topics import Side, Topic
from eirene.prompts import Message, load_prompt
from eirene.prompts.fence import break_control_tokens, fence_word

PROMPT = "npov_response"


@dataclass(frozen=True, slots=True)
class WriteTask:
    """One response to be written: every argument of `topic`, and nothing else. `seed` is derived for this response."""

    query: str
    topic: Topic
    seed: int


@dataclass(frozen=True, slots=True)
class Draft:
    """What was written. `introduction` leads from the question to the `main` response; a model may leave it out."""

    introduction: str
    main: str


@runtime_checkable
class Writer(Protocol):
    """Writes responses in which every side has its say."""

    @property
    def name(self) -> str:
        """What the response calls its backend."""
        ...

    @property
    def version(self) -> str:
        """What its texts hang on beside the task and the name: prompts' digests, settings; empty where nothing does."""
        ...

    async def write(self, task: WriteTask, *, meter: Meter) -> Draft:
        """The response. Raises `BackendError` when a model cannot be reached or gives nothing usable."""
        ...


def response_messages(task: WriteTask) -> tuple[tuple[Message, ...], str]:
    """The chat messages that ask for a response, and the word that marks the untrusted texts in them."""
    values = {
        "query": break_control_tokens(task.query),
        "question": break_control_tokens(task.topic.question),
        "arguments": break_control_tokens("\n\n".join(_side(side) for side in task.topic.sides)),
    }
    mark = fence_word(*values.values())
    return load_prompt(PROMPT).fill({**values, "mark": mark}), mark


def _side(side: Side) -> str:
    who = [f"(taken by: {_line(side.speakers)})"] if side.speakers else []
    return "\n".join([" ".join([_line(side.name), *who]), *(f"- {_line(a.text)}" for a in side.arguments)])


def _line(text: str) -> str:
    return " ".join(text.split())
