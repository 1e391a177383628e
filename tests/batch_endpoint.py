"""A provider's batch endpoint: each request of a file is sent to a server with the script, and its reply is a line."""

from __future__ import annotations

import json
from pathlib import Path

import httpx

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import Script


def answer_requests(file: Path, script: Script) -> list[str]:
    """The lines that come back, in the requests' order; one that the script breaks never does."""
    requests, lines = [json.loads(line) for line in file.read_bytes().splitlines()], []
    assert len({asked["custom_id"] for asked in requests}) == len(requests)
    with LoopbackServer(script) as server:
        for n, asked in enumerate(requests, start=1):
            assert (asked["method"], asked["url"]) == ("POST", "/v1/chat/completions")
            try:
                reply = httpx.post(f"{server.base_url}/chat/completions", json=asked["body"])
            except httpx.TransportError:
                continue
            response = {"status_code": reply.status_code, "request_id": f"{n}", "body": reply.json()}
            lines.append(json.dumps({"custom_id": asked["custom_id"], "response": response, "error": None}))
    return lines
