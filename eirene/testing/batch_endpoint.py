"""Fake batch endpoint of a provider, on files: requests in, scripted replies out.

It answers as `eirene.testing.loopback.LoopbackServer` does over HTTP: a run on its files and a live run on that server
get the same replies from the same script.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from eirene.testing.openai_wire import completion_body, error_body
from eirene.testing.script import BrokenReply, HttpError, RawReply, Script, ScriptedRequest, TextReply

FILE_LIMITS = (50_000, 200 * 10**6)
"""Requests and bytes that a file may have at most; one beyond them is refused, as the real endpoint refuses it."""


def answer_requests(files: Iterable[str | Path], script: Script) -> list[str]:
    """The lines that the endpoint gives back for the requests in the files, in the requests' order.

    An `HttpError` of the script is a request that failed; a `BrokenReply` or `RawReply` one never comes back. Raises
    `ValueError` for files that the real endpoint would refuse: too large, an id twice, two models, another method or
    address.
    """
    lines, seen, models = [], set(), set()
    for file in files:
        data = Path(file).read_bytes()
        requests = [json.loads(line) for line in data.splitlines()]
        if len(requests) > FILE_LIMITS[0] or len(data) > FILE_LIMITS[1]:
            raise ValueError(f"{file} is too large: {len(requests)} requests, {len(data)} bytes")
        for request in requests:
            if set(request) != {"custom_id", "method", "url", "body"} or len(request["custom_id"]) > 64:
                raise ValueError(f"not a request: {sorted(request)}")
            if (request["method"], request["url"]) != ("POST", "/v1/chat/completions"):
                raise ValueError(f"another endpoint: {request['method']} {request['url']}")
            if request["custom_id"] in seen:
                raise ValueError(f"the id {request['custom_id']} occurs twice")
            seen.add(request["custom_id"])
            models.add(request["body"]["model"])
            line = _answer(request, len(seen), script)
            lines += [] if line is None else [json.dumps(line)]
    if len(models) > 1:
        raise ValueError(f"more than one model: {sorted(models)}")
    return lines


def _answer(asked: dict[str, Any], number: int, script: Script) -> dict[str, Any] | None:
    request = ScriptedRequest(number, 1, asked["body"], {})
    choices: list[TextReply] = []
    status, body = 200, None
    for index in range(request.n):
        outcome = script(request, index)
        if isinstance(outcome, BrokenReply | RawReply):
            return None
        if isinstance(outcome, HttpError):
            status, body = outcome.status, error_body(outcome)
            break
        choices.append(TextReply(outcome) if isinstance(outcome, str) else outcome)
    response = {
        "status_code": status,
        "request_id": f"fake-{number}",
        "body": body or completion_body(request, choices),
    }
    return {"id": f"batch_req_{number}", "custom_id": asked["custom_id"], "response": response, "error": None}
