"""The schema at `/openapi.json`: the bodies, which the routes read themselves, and the errors."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from eirene.agent.server.protocol import ChatRequest, EditsRequest, RunRequest

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
    "400": "The request cannot be used.",
    "401": "The key is missing or wrong.",
    "403": "The request comes from another site's page.",
    "404": "There is no such model, run or path.",
    "408": "The body did not arrive in time.",
    "413": "The body is too large.",
    "429": "The server or the model behind it is busy.",
    "500": "The server made a mistake.",
    "502": "The model behind the server failed.",
    "504": "There was no draft in time.",
}


_OTHER_TYPES = {"/metrics": "text/plain", "/v1/runs/{run_id}/events": "text/event-stream"}


def _body(name: str) -> dict[str, Any]:
    schema = {"$ref": _REF.format(model=name)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


CHAT = _body("ChatRequest")
RUN = _body("RunRequest")
EDITS = _body("EditsRequest")


def describe(app: FastAPI) -> None:
    """Adds bodies and errors to what FastAPI knows of the routes."""
    schema = app.openapi()
    schemas = schema.setdefault("components", {}).setdefault("schemas", {})
    models: tuple[type[BaseModel], ...] = (ChatRequest, EditsRequest, RunRequest)
    for model in models:
        own = model.model_json_schema(ref_template=_REF)
        schemas |= own.pop("$defs", {})
        schemas[model.__name__] = own
    schemas["Error"] = _ERROR
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    error = {"application/json": {"schema": {"$ref": _REF.format(model="Error")}}}
    for name, path in schema["paths"].items():
        for operation in path.values():
            operation["responses"].pop("422", None)
            if name in _OTHER_TYPES:
                operation["responses"]["200"]["content"] = {_OTHER_TYPES[name]: {"schema": {"type": "string"}}}
            for status, said in _STATUSES.items():
                operation["responses"][status] = {"description": said, "content": error}
    schema["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    schema["security"] = [{}, {"key": []}]
