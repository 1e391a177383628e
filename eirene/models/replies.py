"""Reads what LangChain hands back: texts, why they ended, and the tokens that they cost.

Takes off what models like to put around a text that they were asked for: thinking, preambles, fences, quotes.

Takes away what stands around a reply: thinking, end marks, the headings of the instruct layout.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from eirene.text.unicode import INVISIBLE, mend_surrogates, mend_values

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_core.outputs import Generation, LLMResult

# What the providers call the same three endings.
_ENDINGS = {
    "length": "length", "max_tokens": "length", "max_output_tokens": "length", "model_length": "length",
    "model_context_window_exceeded": "length", "incomplete": "length",
    "stop": "stop", "end_turn": "stop", "stop_sequence": "stop", "eos": "stop", "complete": "stop", "completed": "stop",
    "content_filter": "content_filter", "safety": "content_filter", "refusal": "content_filter",
    "prohibited_content": "content_filter", "blocklist": "content_filter", "guardrail_intervened": "content_filter",
}  # fmt: skip
_ENDING_KEYS = ("finish_reason", "stop_reason", "done_reason", "status")
_MESSAGE_TEXTS = (
    "content", "additional_kwargs", "response_metadata", "name", "id", "tool_calls", "invalid_tool_calls"
)  # fmt: skip
_MOST_TOKENS = 10**9  # of one request; a count beyond it is none


@dataclass(frozen=True, slots=True)
class ReplyToken:
    """One token of a reply, and the likeliest in its place with their log-probabilities, as far as they were sent."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", mend_surrogates(self.text))
        object.__setattr__(self, "top", tuple((mend_surrogates(text), logprob) for text, logprob in self.top))


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply, whole. `finish_reason` is `stop`, `length`, `content_filter`, the provider's own word, or None.

    `tokens` are there where log-probabilities were asked for and sent. Half a surrogate pair is legal in JSON, and not
    in a file, a request or a tokenizer: no text here has one, wherever the reply comes from.
    """

    text: str
    finish_reason: str | None = None
    tokens: tuple[ReplyToken, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", mend_surrogates(self.text))
        object.__setattr__(
            self, "finish_reason", None if self.finish_reason is None else mend_surrogates(self.finish_reason)
        )

    @property
    def is_cut_off(self) -> bool:
        """Whether the provider says that the reply ended at a token limit."""
        return self.finish_reason == "length"


@dataclass(frozen=True, slots=True)
class Tokens:
    """Token counts of one request; `cached` are among `input`. `is_unknown` when the provider reported none."""

    input: int = 0
    output: int = 0
    cached: int = 0
    is_unknown: bool = False


def replies_of(result: LLMResult) -> tuple[Reply, ...]:
    """The choices of a one-prompt result, in order. Thinking that comes apart from the text is left out."""
    return tuple(Reply(_text(g), _finish_reason(g), _reply_tokens(g)) for g in result.generations[0])


def tokens_of(result: LLMResult) -> Tokens:
    """The tokens of a one-prompt request, counted once.

    Clients put the request's total on each of its choices; where the choices differ, each has its own part.
    """
    found = [u for g in result.generations[0] if (u := getattr(getattr(g, "message", None), "usage_metadata", None))]
    if not found:
        return Tokens(is_unknown=True)
    shared = len(found) == len(result.generations[0]) and all(u == found[0] for u in found)
    parts = [_tokens(u) for u in (found[:1] if shared else found)]
    return Tokens(
        sum(p.input for p in parts),
        sum(p.output for p in parts),
        sum(p.cached for p in parts),
        is_unknown=all(p.is_unknown for p in parts),
    )


def whole_message(message: BaseMessage) -> BaseMessage:
    """The message with whole texts, those of tool calls and metadata among them. Raises `ValueError` if too deep."""
    names = [name for name in _MESSAGE_TEXTS if hasattr(message, name)]
    return message.model_copy(update={name: mend_values(getattr(message, name)) for name in names})


def token_count(value: object) -> int | None:
    """A number of tokens as a provider reports it; None for what can be none: a text, a negative or absurd number."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= _MOST_TOKENS else None


def _tokens(usage: Mapping[str, Any]) -> Tokens:
    details = usage.get("input_token_details")
    cached = token_count(details.get("cache_read")) if isinstance(details, Mapping) else None
    read, written = token_count(usage.get("input_tokens")), token_count(usage.get("output_tokens"))
    return Tokens(read or 0, written or 0, min(cached or 0, read or 0), is_unknown=read is None and written is None)


def _text(generation: Generation) -> str:
    message = getattr(generation, "message", None)
    # `message.text` joins the text blocks of a content list; `generation.text` has the first of them only.
    return generation.text if message is None else str(message.text)


def _reply_tokens(generation: Generation) -> tuple[ReplyToken, ...]:
    """The tokens in OpenAI's form; none where anything in them is not as it should be."""
    sent = (getattr(getattr(generation, "message", None), "response_metadata", None) or {}).get("logprobs")
    content = sent.get("content") if isinstance(sent, Mapping) else None
    try:
        return tuple(
            ReplyToken(
                str(token["token"]),
                float(token["logprob"]),
                tuple((str(other["token"]), float(other["logprob"])) for other in token.get("top_logprobs") or ()),
            )
            for token in content or ()
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()


def _finish_reason(generation: Generation) -> str | None:
    message = getattr(generation, "message", None)
    for source in (getattr(message, "response_metadata", None), generation.generation_info):
        for key in _ENDING_KEYS:
            value = (source or {}).get(key)
            if isinstance(value, str) and value:
                return ending(value)
    return None


def ending(word: str) -> str:
    """Why a reply ended, in our words, from the provider's."""
    return _ENDINGS.get(word.lower(), word.lower())


# Thinking stands first, in a block of its own. Some servers swallow the opening tag with the chat template.
_THINKING = re.compile(r"\A\s*<(think|thinking|reasoning)>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_THINKING_END = re.compile(r"\A(?:(?!<think(?:ing)?>).)*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)

_SUBJECT = r"(?:answer|response|version|text|rewrite|revision|reply)"
_ADJECTIVE = (
    r"(?:improved|revised|refined|rewritten|updated|corrected|enhanced|better|new|final|complete|more[ ]complete)"
)
_YES = (
    r"(?:sure(?:[ ]thing)?|certainly|of[ ]course|absolutely|okay|ok|yes|got[ ]it|understood|great|gladly|"
    r"happy[ ]to[ ]help)"
)
_THANKS = r"(?:thank(?:s|[ ]you)[^.!:\n]{0,60})"
# "Sure, here is the improved answer:" and its kind: one line at most, and it must end in a colon.
_PREAMBLE = re.compile(
    rf"""\A\s*(?:\*\*|\#{{1,6}}\s*|_)?(?:
        (?:(?:{_YES}|{_THANKS})[\s,.!:;—–-]+)?
        (?:here(?:['’]s|\s+is|\s+are|\s+you\s+go)|below\s+is|this\s+is|the\s+following\s+is|i(?:['’]ve|\s+have)\s+(?:improved|revised|rewritten))
        (?=[^:\n]{{0,160}}\b{_SUBJECT}\b)[^:\n]{{0,200}}:
      | (?:(?:my|the|your)\s+)?{_ADJECTIVE}\s+{_SUBJECT}\s*:
      | (?:{_YES})\s*[!.:,]\s*$
    )(?:\*\*|_)?[ \t]*""",
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r"(?P<fence>`{3,}+|~{3,}+)[^\n`]*+\n")
_QUOTES = {'"': '"', "“": "”", "„": "“", "«": "»", "'": "'", "‘": "’"}


def unwrapped(text: str, *, before: str = "", marks: tuple[str, ...] = ()) -> str:
    """The text that a reply holds; empty when nothing is left beside thinking and preamble.

    Thinking, a preamble, a code fence or quotation marks around the whole, and lines that hold nothing but one of the
    prompt's `marks` are taken off, unless the text `before` has the like. Nothing else is: blank lines, lists and
    closing remarks stay.
    """
    text = without_thinking(text)
    for mark in marks:
        text = re.sub(rf"^[ \t]*{re.escape(mark)}[ \t]*(?:\n|\Z)", "", text, flags=re.MULTILINE)
    text = text.strip()
    for _ in range(3):  # a preamble may stand before a fence, in which there may be quotation marks
        shorter = _unquoted(_unfenced(_without_preamble(text, before), before), before)
        if shorter == text:
            break
        text = shorter
    return text


def without_thinking(text: str) -> str:
    """The text after a model's `<think>` block, if it begins with one; nothing when the block never ends."""
    shorter = _THINKING.sub("", text)
    return shorter if shorter != text else _THINKING_END.sub("", text)


def _without_preamble(text: str, before: str) -> str:
    if _PREAMBLE.match(before.strip()):
        return text
    rest = text
    for _ in range(2):  # "Certainly!" on a line of its own, then "Here is the improved answer:"
        rest = _PREAMBLE.sub("", rest, count=1).strip()
    return rest


def _unfenced(text: str, before: str) -> str:
    found = _fenced(text)
    if found is None or found[0] in found[1] or _fenced(before.strip()):
        return text
    return found[1].strip()


def _fenced(text: str) -> tuple[str, str] | None:
    """The fence that stands around a whole text, and what it holds; None where there is none.

    A fence ends with as many marks as it begins with. Of tildes it may end with fewer, three at least.
    """
    opened, body = _FENCE.match(text), text.rstrip(" \t")
    if opened is None:
        return None
    fence, inside = opened["fence"], body[opened.end() :]
    closing = len(inside) - len(inside.rstrip(fence[0]))
    if fence[0] == "~":
        fence = fence[:closing]
    if not 3 <= len(fence) <= closing:
        return None
    return fence, inside[: -len(fence)].removesuffix("\n")


def _unquoted(text: str, before: str) -> str:
    start = before.strip()
    closing = _QUOTES.get(text[:1])
    if closing is None or len(text) < 3 or not text.endswith(closing) or start.startswith(text[0]):
        return text
    inside = text[1:-1]
    # '"Yes," he said. "No."' begins and ends with quotation marks that do not belong together.
    return text if text[0] in inside or closing in inside else inside.strip()


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
