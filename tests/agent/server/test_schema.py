"""Requests made from the OpenAPI schema: no answer is a mistake of ours, and each is one that the schema names."""

from __future__ import annotations

import subprocess
import sys

import pytest

from eirene.testing.loopback import LoopbackServer
from tests.agent.server.serving import DRAFT, embedded_engine, served
from tests.rows import each

pytest.importorskip("schemathesis", reason="schemathesis is not installed")

CHECKS = (
    "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,"
    "response_schema_conformance,negative_data_rejection,unsupported_method,ignored_auth"
)


@pytest.mark.slow
@pytest.mark.usefixtures("loopback")
@each("key", [None, "secret"])
def test_requests_made_from_the_schema_are_answered_as_it_says(key: str | None) -> None:
    """Schemathesis, as its own process: every operation but the endless stream, good and bad values, with a key too."""
    with (
        LoopbackServer(DRAFT) as up,
        served(embedded_engine(up, samples=3), timeout_s=20, key=key) as server,
    ):
        key_flags = [] if key is None else [f"--header=Authorization: Bearer {key}"]
        command = [
            sys.executable, "-m", "schemathesis.cli", "run", f"{server.root}/openapi.json", f"--checks={CHECKS}",
            "--max-examples=8", "--seed=1", "--phases=coverage,fuzzing", "--suppress-health-check=all",
            "--exclude-path-regex=/events$", *key_flags,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "0 passed" not in done.stdout
