"""Texts that were made to be long in the reading: the run ends, and the server answers others meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.agent.server.serving import GIVEN, QUESTION, running
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")
ANSWERS = {
    "spaces": "Cats sleep" + " " * 48_000 + "at night.",
    "line breaks": "Cats sleep, and" + "\n" * 48_000 + "that is that.",
    "opening": "Critics say" + " " * 48_000 + ", that cats sleep.",
    "quotation marks": "“" * 2_000,
    "stops": ". " * 1_000,
}


@pytest.fixture(scope="module")
def root() -> Iterator[str]:
    with running() as (_, address):
        yield address


@each("answer", ANSWERS.values())
def test_a_run_over_such_a_text_ends_and_holds_nobody_up(root: str, answer: str) -> None:
    body: dict[str, Any] = {"question": QUESTION, "answer": answer, **GIVEN}
    run = httpx.post(f"{root}/v1/runs", json=body, timeout=60).json()["id"]
    assert httpx.get(f"{root}/healthz", timeout=60).json()["status"] == "ok"
    told = httpx.get(f"{root}/v1/runs/{run}/events", timeout=200).text.splitlines()
    assert [json.loads(line[6:])["kind"] for line in told if line.startswith("data: ")][-1] == "ended"
    assert httpx.get(f"{root}/v1/runs/{run}", timeout=60).json()["state"] == "done"
