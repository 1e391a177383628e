"""A real model's verdict and rewrite on rows with an attack, behind the fence and without it, and on the rows alone."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.injection.attacks import Attack, attacked
from benchmarks.injection.obeying import heard
from eirene.core.errors import BackendError
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.eval.base import case_of
from eirene.eval.detectors.judge import judge_request, read_verdict
from eirene.models.chat import ChatModel, Sampling
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.models.structured import ReplyForm, choice_schema, object_schema
from eirene.prompts import Message
from eirene.refiners.asking import read_rewrite, refine_messages
from eirene.refiners.base import RefineTask

_VERDICT = ReplyForm.of("verdict", object_schema({"verdict": choice_schema(["yes", "no"])}))
_AT_ONCE = 4


WAYS = ("with the fence", "without the attack", "without the fence")


async def asked(chat: ChatModel, attack: Attack, place: str, way: str) -> dict[str, Any]:
    """Whether the judge finds an error, and whether the rewrite obeys; None where a reply cannot be read."""
    item = Item.model_validate(attacked(replace(attack, word="") if way == WAYS[1] else attack, place))
    judge = judge_request("chainpoll_correctness_plain", case_of(item), with_given=False)
    refine, mark = refine_messages(RefineTask(item, item.answer, "generic", None, (), 0))
    found = read_verdict(await _reply(chat, judge, way, _VERDICT)).error
    try:
        text = read_rewrite(await _reply(chat, refine, way), before=item.answer, marks=(mark,))
    except BackendError:
        return {"judge": found, "refiner": None}
    return {"judge": found, "refiner": heard(text.replace(attack.text, "")) is not None, "text": text}


async def _reply(chat: ChatModel, messages: Sequence[Message], way: str, form: ReplyForm | None = None) -> Any:
    if way == WAYS[2]:
        messages = [replace(m, content=re.sub(r"^TEXT-.*\n", "", m.content, flags=re.MULTILINE)) for m in messages]
    sampling = Sampling(temperature=0.0, form=form, max_tokens=100 if form is None else 12)
    return await chat.ask(messages, sampling=sampling, meter=Meter())


def run(rows: Sequence[tuple[Attack, str]], way: str, *, model: str, base_url: str) -> Iterator[dict[str, Any]]:
    """What came of each row, a few at once."""
    chat = resolve_chat(f"openai:{model}", options=ChatOptions(base_url=base_url, concurrency=_AT_ONCE, timeout_s=600))

    async def some(few: Sequence[tuple[Attack, str]]) -> list[dict[str, Any]]:
        return await asyncio.gather(*(asked(chat, *row, way) for row in few))

    with asyncio.Runner() as runner:
        for start in range(0, len(rows), _AT_ONCE):
            yield from runner.run(some(rows[start : start + _AT_ONCE]))
