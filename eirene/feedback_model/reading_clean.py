"""Takes away what stands around a reply: thinking, end marks, the headings of the instruct layout."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice

from eirene.texts import INVISIBLE

_NAMES = r"(?:think|thinking|thought|thoughts|reasoning|scratchpad|analysis|reflection|seed:think)"
_TAGS = re.compile(rf"(^[ \t]*)?(?:<(/)?{_NAMES}>|◁(/)?think▷|\[(/)?THINK\])", re.IGNORECASE | re.MULTILINE)
_FINAL = "<|channel|>final<|message|>"
_END = re.compile(
    r"<\|(?:im_end|eot_id|endoftext|end|end_of_text|return|eom_id)\|>|</s>|<eos>|<end_of_turn>|<｜end▁of▁sentence｜>"
)
_HEADED = re.compile(r"\A\s*#{2,4} ?Response:?[ \t]*", re.IGNORECASE)
_NEXT = re.compile(r"^#{2,4} ?(?:Instruction|Input)\b", re.IGNORECASE | re.MULTILINE)
_INVISIBLE = re.compile(f"[{INVISIBLE}]+")
_BREAK = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")


class UnreadableError(Exception):
    """Why a reply cannot be used, in few words; its readers turn it into an invalid sample."""


def headings_in(text: str) -> int:
    """How many lines of a text begin as the parts of the instruct layout do: a model that copies it copies them."""
    return sum(1 for _ in _NEXT.finditer(text))


def without_frame(text: str, sentences: Iterable[str], *, own_headings: int = 0) -> str:
    """What a reply says, without its thinking and what a chat format or a run-on model put around it.

    `sentences` are those of the answer that the reply is about. A heading of the instruct layout ends the reply,
    after as many as it holds by right (`own_headings`).
    Raises `UnreadableError` where the answer itself ends a thinking block and so the reply's thinking cannot be told
    from what was thought about.
    """
    text = _INVISIBLE.sub("", _BREAK.sub("\n", text))
    if _FINAL in text:
        text = text.rpartition(_FINAL)[2]
    text = _without_thinking(text, sentences)
    ended = _END.search(text)
    text = text[: ended.start()] if ended else text
    headed = _HEADED.match(text)
    text = text[headed.end() :] if headed else text
    further = next(islice(_NEXT.finditer(text), own_headings, None), None)
    return text[: further.start()] if further and text[: further.start()].strip() else text


def _without_thinking(text: str, sentences: Iterable[str]) -> str:
    """Drops thinking: from an opening tag at a line's start to the next closing one, and all before a stray closing."""
    kept: list[str] = []
    at, inside = 0, False
    if not any(mark in text for mark in (">", "▷", "THINK]", "think]")):
        return text
    is_held = any("</" in s and _TAGS.search(s) for s in sentences)
    for found in _TAGS.finditer(text):
        is_end = any(found.group(2, 3, 4))
        if not is_end and (inside or found.group(1) is None):  # an opening tag inside a line is spoken of, not meant
            continue
        if is_end and is_held:
            raise UnreadableError("ambiguous: the answer holds thinking tags, and so does the reply")
        if not is_end:
            kept.append(text[at : found.start()])
        elif not inside:
            kept.clear()
        inside, at = not is_end, found.end()
    return "".join(kept) if inside else "".join([*kept, text[at:]])
