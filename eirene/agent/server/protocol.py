"""Requests in OpenAI's form, validated: fields that the server uses, passes on or ignores; the OpenAPI schema."""

from __future__ import annotations

import codecs
import json
from typing import Annotated, Any, Literal, TypeVar

from fastapi import FastAPI
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, Strict, ValidationError

from eirene.agent.server.errors import ApiError, from_input
from eirene.agent.wrappers.conversation import Given
from eirene.core.critique import Finding, HallucinationKind
from eirene.core.errors import InputError
from eirene.core.history import History
from eirene.core.json import MAX_DEPTH, TooDeepError, parse_json
from eirene.core.records import PASSAGES, SIDES, Perspective, parse_item
from eirene.core.validation import form_error
from eirene.text.unicode import Text

MAX_CHOICES = 16
MAX_GIVEN_CHARACTERS = 200_000
"""Of `context` or `perspectives` together: what the detectors read within seconds."""
MAX_EDITED = 50_000
"""Characters of a text that edits are made in."""
MAX_MESSAGES = 1000
"""The clients of model services look at each for close to a millisecond before they send it."""
MAX_PARTS = 1000
"""Of all messages' contents together, and of their tool calls."""
MAX_TOOLS = 512
MAX_PERSPECTIVES = 64
MAX_ARGUMENTS = 2000
"""Of all perspectives together."""
MAX_PASSAGES = 2000
MAX_NAME = 1000
"""Characters of what names something: a model, a user, a call."""
_GIVEN = ("perspectives", "context")
_SERVED = ("model", "n", "stream", "stream_options")
"""What the server does itself for its clients."""

Part = dict[str, JsonValue]
ServedMode = Literal["improve", "generic", "fine-grained", "edit"]


def _number(value: object) -> object:
    """Refuses what pydantic would take for a number: the schema says that true and "1" are none."""
    if isinstance(value, bool | str):
        raise ValueError(f"must be a number, got {str(value)[:50]!r}")
    return value


Whole = Annotated[int, BeforeValidator(_number)]
Number = Annotated[float, BeforeValidator(_number)]
Truth = Annotated[bool, Strict()]
Name = Annotated[str, Field(max_length=MAX_NAME)]


class _RequestPart(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class AskedMessage(_RequestPart):
    """One turn; `content` is a text or a list of parts. Fields that are not named here are passed on."""

    model_config = ConfigDict(extra="allow", frozen=True)

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None
    name: Name | None = None
    tool_calls: list[Part] | None = None
    tool_call_id: Name | None = None
    refusal: str | None = None


class StreamOptions(_RequestPart):
    """How a stream ends."""

    include_usage: Truth | None = None


def _few_parts(messages: list[AskedMessage]) -> list[AskedMessage]:
    parts = sum(len(m.content) for m in messages if isinstance(m.content, list))
    _check_few("parts", max(parts, sum(len(m.tool_calls or ()) for m in messages)), MAX_PARTS)
    return messages


def _few_arguments(perspectives: list[Perspective]) -> list[Perspective]:
    _check_few("arguments", sum(len(side.arguments) for side in perspectives), MAX_ARGUMENTS)
    _check_few("characters of a name", max((len(side.name) for side in perspectives), default=0), MAX_NAME)
    return perspectives


def _check_few(what: str, found: int, most: int) -> None:
    if found > most:
        raise ValueError(f"must have at most {most} {what}, got {found}")


class _WithGiven(_RequestPart):
    context: Annotated[
        Annotated[list[Text], PASSAGES, Field(max_length=MAX_PASSAGES)] | None,
        Field(
            description="Eirene: passages that the answer is checked against: a text, or a list of texts or of objects "
            "with a `text` and perhaps a `title`."
        ),
    ] = None
    perspectives: Annotated[
        Annotated[list[Perspective], SIDES, Field(max_length=MAX_PERSPECTIVES), AfterValidator(_few_arguments)] | None,
        Field(
            description="Eirene: sides with their arguments that the answer is checked against: a list of them, or an "
            "object of each side's name and its argument or arguments."
        ),
    ] = None

    @property
    def given(self) -> Given | None:
        """What the answer is to be compared with; None without either. Raises `ApiError`."""
        found: dict[str, Any] = self.model_dump(include=set(_GIVEN), exclude_none=True)
        found = {key: value for key, value in found.items() if value}
        if not found:
            return None
        try:
            parse_item({"question": "?", "answer": "?", **found})
        except InputError as error:
            raise from_input(error) from None
        characters = len(json.dumps(found, ensure_ascii=False))
        if characters > MAX_GIVEN_CHARACTERS:
            raise ApiError(
                400,
                f"perspectives and context hold {characters} characters; give at most {MAX_GIVEN_CHARACTERS}",
                param=next(iter(found)),
                code="too_long",
            )
        return found


class ChatRequest(_WithGiven):
    """The body of `/v1/chat/completions`. Other fields are passed on, but for some (`drafts`)."""

    model_config = ConfigDict(extra="allow", frozen=True)

    model: Name
    messages: Annotated[list[AskedMessage], Field(min_length=1, max_length=MAX_MESSAGES), AfterValidator(_few_parts)]
    n: Annotated[Whole | None, Field(ge=1, le=MAX_CHOICES)] = None
    stream: Truth | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[Number | None, Field(ge=0, le=2)] = None
    top_p: Annotated[Number | None, Field(ge=0, le=1)] = None
    seed: Annotated[Whole | None, Field(ge=-(2**63), lt=2**63)] = None
    max_tokens: Annotated[Whole | None, Field(ge=1)] = None
    max_completion_tokens: Annotated[Whole | None, Field(ge=1)] = None
    stop: str | Annotated[list[str], Field(max_length=16)] | None = None
    presence_penalty: Annotated[Number | None, Field(ge=-2, le=2)] = None
    frequency_penalty: Annotated[Number | None, Field(ge=-2, le=2)] = None
    tools: Annotated[list[Part], Field(max_length=MAX_TOOLS)] | None = None
    tool_choice: str | Part | None = None
    parallel_tool_calls: Truth | None = None
    response_format: Part | None = None
    reasoning_effort: Name | None = None
    user: Name | None = None
    eirene_trace: Annotated[
        Literal["short", "full"], Field(description="Eirene: `full` adds every round to the trace.")
    ] = "short"

    @property
    def passed_on(self) -> dict[str, Any]:
        """What the model is asked, as the client said it: all fields but the server's own."""
        asked = self.model_dump(exclude={*_GIVEN, *_SERVED, "eirene_trace"}, exclude_unset=True)
        return {name: value for name, value in asked.items() if value is not None}

    @property
    def wants_object(self) -> bool:
        """Whether the reply is to be JSON, which is no answer to be refined."""
        return self.response_format is not None and self.response_format.get("type") not in (None, "text")


class RunRequest(_WithGiven):
    """The body of `POST /v1/runs`: a question (after a chat), and the answer unless the server is to write it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: Text
    history: History = Field(default=None, description="The conversation before the question: chat messages.")
    answer: Text | None = None
    mode: ServedMode | None = None
    seed: Annotated[Whole | None, Field(ge=0, lt=2**63)] = None


class AskedEdit(_RequestPart):
    """One edit, as a critique names it: what `text[start:end]` should become ("" takes it out). In characters."""

    kind: HallucinationKind
    start: Annotated[Whole, Field(ge=0)]
    end: Annotated[Whole, Field(ge=0)]
    edit: Annotated[str, Field(max_length=MAX_EDITED)]

    @property
    def finding(self) -> Finding:
        """As the rules of editing take it."""
        return Finding(kind=self.kind, start=self.start, end=self.end, reason="", edit=self.edit)


class EditsRequest(_RequestPart):
    """The body of `POST /v1/edits`: a text, and the edits to make in it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Annotated[Text, Field(max_length=MAX_EDITED)]
    findings: Annotated[list[AskedEdit], Field(max_length=1000)] = []


B = TypeVar("B", bound=BaseModel)


def parse_body(data: bytes, kind: type[B]) -> B:
    """The checked request of this kind; raises `ApiError` that names the first field at fault, and for what is no JSON
    object (NaN, a key given twice, half surrogate pairs).
    """
    try:
        value = parse_json(data.removeprefix(codecs.BOM_UTF8), where="the body")
        if not isinstance(value, dict):
            raise InputError(f"the body must be a JSON object, got {type(value).__name__}")
        return kind.model_validate(value)
    except TooDeepError:
        raise ApiError(400, f"the body is nested too deeply: more than {MAX_DEPTH} levels", code="too_deep") from None
    except InputError as error:
        raise ApiError(400, str(error), code="invalid_json") from None
    except ValidationError as error:
        fault = form_error(error, kind, value)
        code = "missing_field" if error.errors()[0]["type"] == "missing" else "invalid_value"
        param = (fault.field or "").replace("[", ".").replace("]", "")
        raise ApiError(400, str(fault), param=param or None, code=code) from None


_REF = "#/components/schemas/{model}"
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}
_STATUSES = {
    400: "The request cannot be used.",
    401: "The key is missing or wrong.",
    403: "The request comes from another site's page.",
    404: "There is no such model, run or path.",
    408: "The body did not arrive in time.",
    409: "The run cannot be cancelled.",
    413: "The body is too large.",
    415: "The body is packed.",
    422: "The model behind the server does not take the request.",
    429: "The server or the model behind it is busy.",
    500: "The server made a mistake.",
    502: "The model behind the server failed.",
    504: "There was no draft in time.",
}
RESPONSES: dict[int | str, dict[str, Any]] = {
    status: {"description": said, "content": {"application/json": {"schema": {"$ref": _REF.format(model="Error")}}}}
    for status, said in _STATUSES.items()
}
"""What FastAPI is told of every route's errors."""


def body_of(kind: type[BaseModel]) -> dict[str, Any]:
    """What FastAPI is told of a route whose body is read by hand."""
    schema = {"$ref": _REF.format(model=kind.__name__)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def describe(app: FastAPI) -> None:
    """Adds the bodies that are read by hand to what FastAPI knows of the routes."""
    schema = app.openapi()
    schemas = schema.setdefault("components", {}).setdefault("schemas", {})
    models: tuple[type[BaseModel], ...] = (ChatRequest, EditsRequest, RunRequest)
    for model in models:
        own = model.model_json_schema(ref_template=_REF)
        schemas |= own.pop("$defs", {})
        schemas[model.__name__] = own
    schemas["Error"] = _ERROR
    schema["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    schema["security"] = [{}, {"key": []}]
