"""Structured replies: a JSON schema goes with the request, and the server (or this process) holds the reply to it.

Servers differ. OpenAI, vLLM, llama.cpp and LM Studio take the schema as `response_format`, Ollama as `format`,
Anthropic as the one tool that the model must call; others take none, and some say nothing and ignore it. Which it is
shows with the first requests, and is remembered for the life of the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from eirene.core.errors import InputError, MalformedReplyError
from eirene.core.json import parse_json
from eirene.core.logs import get_logger
from eirene.core.loop_settings import Structured
from eirene.models.faults import Fault
from eirene.models.replies import Reply, read_completion
from eirene.models.reply_text import inside_fence
from eirene.prompts import Message
from eirene.text.thinking import without_thinking

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.outputs import LLMResult

logger = get_logger(__name__)

STRUCTURED: tuple[Structured, ...] = get_args(Structured)
_UNBOUNDED = 768
_LONGEST_TEXT = 200  # tokens of a bounded text in a reply
_BOUND = re.compile(r"\{(?:\d+,)?(\d+)\}")
_LONGEST_REPEAT = 128
"""Of a pattern in one go: xgrammar, by which vLLM holds replies, fails on more (0.2.8)."""
_REASONING = ("reasoning_content", "reasoning")
PARAMETER = "response_format"
"""What a refused schema is called, whatever field it was sent in."""


@dataclass(frozen=True, slots=True)
class ReplyForm:
    """The JSON that a reply is to be: `schema` in the part of JSON Schema that all servers share, as JSON text.

    `messages` are the prompt that asks for it; they take the place of those that ask for text. `name` is for servers
    that want one.
    """

    name: str
    schema: str
    messages: tuple[Message, ...] = ()

    @classmethod
    def of(cls, name: str, schema: Mapping[str, Any], messages: Sequence[Message] = ()) -> ReplyForm:
        """The form of a schema that is given as an object."""
        return cls(name, json.dumps(schema, separators=(",", ":")), tuple(messages))

    @property
    def response_format(self) -> dict[str, Any]:
        """The schema as OpenAI's field of that name has it."""
        held = {"name": self.name, "strict": True, "schema": json.loads(self.schema)}
        return {"type": "json_schema", "json_schema": held}

    @property
    def grammar(self) -> str:
        """The schema as a grammar of llguidance, for models that run in this process. No space between the parts.

        A model that may put any white space there puts some there for a long time.
        """
        held = {**json.loads(self.schema), "x-guidance": {"whitespace_flexible": False}}
        return f"%llguidance {{}}\nstart: %json {json.dumps(held, separators=(',', ':'))}"


def check_structured(value: str) -> Structured:
    """The setting; raises `InputError` for an unknown one."""
    if value not in STRUCTURED:
        raise InputError(f"structured must be one of {', '.join(STRUCTURED)}, got {value!r}", field="structured")
    return value


@dataclass(frozen=True, slots=True)
class SchemaRequest:
    """What is added to a request for a schema: `fields` of the client's class, and arguments of the call itself."""

    fields: Mapping[str, Any]
    arguments: Mapping[str, Any]

    @property
    def is_empty(self) -> bool:
        """Whether text is asked for."""
        return not self.fields and not self.arguments


class SchemaSupport:
    """Whether one model's server takes a schema: guessed from its class, found out by requests, and remembered.

    Raises `InputError` where a schema is wanted of a class that has no place for one.
    """

    def __init__(self, model: BaseChatModel, mode: Structured, *, name: str) -> None:
        self._mode = check_structured(mode)
        self._name = name
        self._is_refused = False
        self._is_proven = False  # a reply has shown that the server holds to schemas
        self._has_place = _place(model) is not None
        if mode == "schema" and not self._has_place:
            raise InputError(
                f"structured 'schema' was asked for, and {type(model).__name__} has no field for a JSON schema; "
                "use 'auto' or 'text'",
                field="structured",
            )

    @property
    def is_usable(self) -> bool:
        """Whether the next request is to carry a schema."""
        return self._has_place and self._mode != "text" and not self._is_refused

    @property
    def may_fall_back(self) -> bool:
        """Whether text is asked for where a schema is not taken."""
        return self._mode == "auto"

    def request(self, model: BaseChatModel, form: ReplyForm) -> SchemaRequest:
        """What to add to a request to `model`, whose class must have a place for it."""
        place = _place(model)
        schema = json.loads(form.schema)
        if place == "format":
            return SchemaRequest({"format": schema}, {})
        if place == "tool":
            tool = {"name": form.name, "description": "Gives the reply.", "input_schema": schema}
            return SchemaRequest({}, {"tools": [tool], "tool_choice": {"type": "tool", "name": form.name}})
        if place == PARAMETER:
            return SchemaRequest({PARAMETER: form.response_format}, {})
        # As an argument of the call langchain-openai would hand it to the SDK's parser, which raises for a reply cut
        # off, and with it drops the others of the request.
        return SchemaRequest(
            {"extra_body": {**(getattr(model, "extra_body", None) or {}), PARAMETER: form.response_format}}, {}
        )

    def refused(self, error: Exception) -> None:
        """Notes that the server said no."""
        if not self._is_refused:
            self._is_refused = True
            logger.info("%s takes no JSON schema, replies are asked for as text: %s", self._name, error)

    def is_suspect(self, fault: Fault) -> bool:
        """Whether a server's internal error may be the schema's doing: text is then worth a try.

        Servers that compile a schema fail in many ways, and some say no more than "internal server error".
        """
        return fault.is_internal and self.may_fall_back and not self._is_proven

    def look_at(self, replies: Sequence[Reply]) -> None:
        """Learns from the replies to a request with a schema: text says that the server has ignored it.

        One JSON object settles it. Nothing is said by replies that are blank, cut off or filtered. What came stands:
        it was asked for as JSON by the prompt as well, and its reader takes both. Raises `MalformedReplyError` for
        text where a schema is insisted on.
        """
        if self._is_proven:
            return
        told = [r for r in replies if r.text.strip() and not r.is_cut_off and not r.is_filtered]
        self._is_proven = any(json_object(r.text) is not None for r in told)
        if self._is_proven or not told:
            return
        if not self.may_fall_back:
            raise MalformedReplyError(
                f"{self._name}: the server was sent a JSON schema and replied with text "
                f"({' '.join(told[0].text.split())[:60]!r}); use --structured auto or text"
            )
        if not self._is_refused:
            self._is_refused = True
            logger.info("%s ignores the JSON schema that it is sent; it is asked for text from now on", self._name)


def guided_replies(replies: Sequence[Reply], result: LLMResult, body: bytes | bytearray) -> tuple[Reply, ...]:
    """The replies to a request with a schema; in place of a blank one the JSON object that came as its reasoning.

    vLLM puts it there where its parser waits for an end of thinking, which the schema does not let the model write.
    LangChain's class may have it, or only the `body` of the response.
    """
    try:
        sent: Sequence[Mapping[str, Any]] = [c.message for c in read_completion(body).choices]
    except ValueError:
        sent = [getattr(getattr(g, "message", None), "additional_kwargs", None) or {} for g in result.generations[0]]
    found = zip(replies, sent, strict=False)
    return tuple(r if r.text.strip() else replace(r, text=guided_text(told) or r.text) for r, told in found)


def guided_text(told: Mapping[str, Any]) -> str | None:
    """The JSON object among a message's fields of reasoning; None for none."""
    texts = (told.get(name) for name in _REASONING)
    return next((text for text in texts if isinstance(text, str) and json_object(text) is not None), None)


def json_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a whole reply is, thinking and a code fence around it aside; None for anything else.

    A key that stands there twice makes it none: which value was meant cannot be told.
    """
    held = inside_fence(without_thinking(text).strip()).strip()
    if not (held.startswith("{") and held.endswith("}")):
        return None
    try:
        value = parse_json(held.encode("utf-8", "replace"), where="the reply")
    except InputError:
        return None
    return value if isinstance(value, dict) else None


def most_tokens(schema: Mapping[str, Any]) -> int:
    """About how many tokens the longest reply to a schema of ours has; a text or list without bounds counts as 768."""
    entry = (schema.get("$defs") or {}).get("entry", {})

    def longest(part: Mapping[str, Any]) -> int:
        if "$ref" in part:
            return longest(entry)
        if "anyOf" in part:
            return max(map(longest, part["anyOf"]))
        if "properties" in part:
            return 4 + sum(8 + longest(inner) for inner in part["properties"].values())
        if "pattern" in part:
            # English has four characters a token; a small model that goes on for ever does so in digits and the like.
            return min(_LONGEST_TEXT, sum(map(int, _BOUND.findall(part["pattern"].rpartition("|")[2]))))
        return 8 if "enum" in part or part.get("type") == "number" else _UNBOUNDED

    return longest(schema)


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object with exactly these properties, in this order: what strict servers take."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def text_schema(longest: int, *, after: str = "") -> dict[str, Any]:
    """A text of 3 to `longest` characters that begins with a letter: neither blank nor endless; behind `after`, plain
    words.

    As a pattern, which OpenAI's strict mode takes where it refuses `maxLength`. Quotation marks, backslashes and line
    breaks are left out: what a server's grammar makes of an escaped one differs.
    """
    first, rest = r"[^\x00-\x40\x5B-\x60\x7B-\x7F]", r"[^\"\\\x00-\x1F\x7F]"
    return {"type": "string", "pattern": f"^{after}{first}({'|'.join(_repeats(rest, 2, longest - 1))})$"}


def _repeats(what: str, least: int, most: int) -> list[str]:
    """`what{least,most}` as alternatives in which no repeat is too long; no text is of two of them."""
    found, full = [], 0
    while _LONGEST_REPEAT * full < most:
        up_to = min(_LONGEST_REPEAT, most - _LONGEST_REPEAT * full)
        found.append(f"{what}{{{_LONGEST_REPEAT}}}" * full + f"{what}{{{least if full == 0 else 1},{up_to}}}")
        full += 1
    return found


def choice_schema(values: Sequence[str]) -> dict[str, Any]:
    """One of a few texts."""
    return {"type": "string", "enum": list(values)}


def _place(model: BaseChatModel) -> Literal["response_format", "extra_body", "format", "tool"] | None:
    """Where a class of models has room for a schema; None where it has none."""
    fields = type(model).model_fields
    if PARAMETER in fields:
        return "response_format"
    if "extra_body" in fields and not getattr(model, "use_responses_api", None):
        return "extra_body"
    if "format" in fields:
        return "format"
    return "tool" if "anthropic_api_key" in fields else None
