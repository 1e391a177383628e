"""The command as a process: signals, exit codes, refusals, and the page in a real browser."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest

from eirene.testing.loopback import LoopbackServer
from tests.agent.server.serving import ASK, DRAFT, running
from tests.cli.run import Run, assert_error
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")
BROWSER = next((b for b in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if b), None)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGTERM, 0),
        *(pytest.param(*row, marks=pytest.mark.slow) for row in [(signal.SIGHUP, 0), (signal.SIGINT, 130)]),
    ],
)
def test_a_signal_lets_what_is_in_flight_finish(number: signal.Signals, code: int) -> None:
    replies: list[httpx.Response] = []
    grace = "inf" if number == signal.SIGTERM else "30"
    with (
        LoopbackServer(DRAFT, latency_s=1.0) as upstream,
        running("--upstream", "openai:test", "--base-url", upstream.base_url, "--grace", grace) as (process, root),
    ):
        url, body = f"{root}/v1/chat/completions", {"model": "test", "messages": ASK}
        asking = threading.Thread(target=lambda: replies.append(httpx.post(url, json=body, timeout=30)))
        asking.start()
        while not upstream.under_way:
            pass
        process.send_signal(number)
        assert process.wait(30) == code
        asking.join()
        assert process.stderr is not None
        assert "Traceback" not in process.stderr.read()
    assert replies[0].json()["choices"][0]["message"]["content"]


@each(
    "flags, environment, said",
    [
        (["--host", "0.0.0.0"], {}, "EIRENE_API_KEY"),
        (["--backend", "nothing"], {}, "unknown backend"),
        (["--timeout", "0"], {}, "timeout_s must be greater than 0"),
        (["--max-body", "inf"], {}, "max-body must be a number of MiB"),
        (["--max-body", "-1"], {}, "max-body must be a number of MiB, at least 0.001, got -1"),
        (["--grace", "nan"], {}, "grace_s must be at least 0"),
        (["--host", "192.0.2.1"], {"EIRENE_API_KEY": "k"}, "cannot listen on 192.0.2.1"),
    ],
)
def test_what_cannot_be_served_is_told_in_a_line(
    flags: list[str], environment: Mapping[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        assert_error(Run(capsys, patch)("serve", "--port", "0", *flags), said)


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_browser_finds_nothing_to_complain_of_on_the_page(tmp_path: Path) -> None:
    """No message in the console, and the script has made the two sides and asked for the list."""
    assert BROWSER is not None
    with running() as (_, root):
        command = [
            BROWSER, "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--v=0",
            *(["--no-sandbox"] if os.geteuid() == 0 else []), f"--user-data-dir={tmp_path}",
            "--virtual-time-budget=3000", "--dump-dom", root,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert "CONSOLE" not in done.stderr
    assert done.stdout.count('class="side"') == 2
    assert '<li class="hint">Runs that you start in this tab' in done.stdout
