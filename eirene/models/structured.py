"""Structured replies: a JSON schema goes with the request, and the server (or this process) holds the reply to it.

Servers differ. OpenAI, vLLM, llama.cpp and LM Studio take the schema as `response_format`, Ollama as `format`,
Anthropic as the one tool that the model must call; others take none, and some say nothing and ignore it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from eirene.core.errors import InputError
from eirene.core.json import parse_json
from eirene.core.loop_settings import Structured
from eirene.models.faults import RESPONSE_FORMAT
from eirene.models.replies import Reply, read_completion
from eirene.models.reply_text import inside_fence
from eirene.prompts import Message
from eirene.text.thinking import without_thinking

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.outputs import LLMResult

STRUCTURED: tuple[Structured, ...] = get_args(Structured)
_UNBOUNDED = 768
_LONGEST_TEXT = 200  # tokens of a bounded text in a reply
_BOUND = re.compile(r"\{(?:\d+,)?(\d+)\}")
_LONGEST_REPEAT = 128
"""Of a pattern in one go: xgrammar, by which vLLM holds replies, fails on more (0.2.8)."""
_REASONING = ("reasoning_content", "reasoning")


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


def asks_for_schemas(model: BaseChatModel, mode: Structured) -> bool:
    """Whether replies of a model are asked for by schema in this mode.

    Raises `InputError` for an unknown mode, and where schemas are insisted on and the model's class has no place for
    one.
    """
    has_place = _place(model) is not None
    if check_structured(mode) == "schema" and not has_place:
        said = f"structured 'schema' was asked for, and {type(model).__name__} has no field for a JSON schema"
        raise InputError(f"{said}; use 'auto' or 'text'", field="structured")
    return has_place and mode != "text"


def schema_fields(model: BaseChatModel, form: ReplyForm) -> tuple[dict[str, Any], dict[str, Any]]:
    """What asks `model` for a reply of this form: fields of its class, and arguments of the call itself."""
    place, schema = _place(model), json.loads(form.schema)
    if place == "format":
        return {"format": schema}, {}
    if place == "tool":
        tool = {"name": form.name, "description": "Gives the reply.", "input_schema": schema}
        return {}, {"tools": [tool], "tool_choice": {"type": "tool", "name": form.name}}
    if place == RESPONSE_FORMAT:
        return {RESPONSE_FORMAT: form.response_format}, {}
    # As an argument of the call langchain-openai would hand it to the SDK's parser, which raises for a reply cut off,
    # and with it drops the others of the request.
    return {"extra_body": {**(getattr(model, "extra_body", None) or {}), RESPONSE_FORMAT: form.response_format}}, {}


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
    if RESPONSE_FORMAT in fields:
        return "response_format"
    if "extra_body" in fields and not getattr(model, "use_responses_api", None):
        return "extra_body"
    if "format" in fields:
        return "format"
    return "tool" if "anthropic_api_key" in fields else None
