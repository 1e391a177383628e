"""A real browser on a pipe: pages opened, keys pressed, what is on the screen read. No driver, no download, no port."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BROWSER = next((b for b in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if b), None)
_FLAGS = (
    "--headless", "--remote-debugging-pipe", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--hide-scrollbars", "about:blank",
)  # fmt: skip
# Chromium reads commands from descriptor 3 and answers on 4.
_ON_PIPES = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)
_KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}
_WAIT_S = 60.0


class Browser:
    """One tab, spoken to by the DevTools protocol. `complaints` has errors and warnings, `asked_for` every address."""

    def __init__(self, process: subprocess.Popen[bytes], to: int, back: int) -> None:
        self._process = process
        self._to = to
        self._back = back
        self._rest = b""
        self._number = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.asked_for: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """One command and its result; events that come meanwhile are noted."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            found = self._read()
            if found.get("id") == self._number:
                assert "error" not in found, (method, found["error"])
                result: dict[str, Any] = found["result"]
                return result

    def screen(self, *, width: int, height: int, dark: bool) -> None:
        """The size of the window, and which colours its user likes."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        """Opens a page and waits until it is there."""
        self.call("Page.navigate", url=address)
        self.wait_for(f"location.href === {json.dumps(address)} && document.readyState === 'complete'")

    def read(self, expression: str) -> Any:
        """The value of an expression in the page; a promise is waited for."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, (expression, found["exceptionDetails"])
        return found["result"].get("value")

    def wait_for(self, condition: str) -> None:
        """Waits until an expression holds; fails with what is on the page if it never does."""
        until = time.monotonic() + _WAIT_S
        while not self.read(f"Boolean({condition})"):
            assert time.monotonic() < until, (condition, self.read("document.body.innerText"))
            time.sleep(0.02)

    def press(self, key: str, *, shift: bool = False) -> None:
        """One key, down and up."""
        code, text = _KEYS[key], {"Enter": "\r", " ": " "}.get(key)
        common: dict[str, Any] = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": code,
                                  "modifiers": 8 if shift else 0}  # fmt: skip
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def type(self, text: str) -> None:
        """Text into what has the focus."""
        self.call("Input.insertText", text=text)

    def tab_to(self, condition: str, *, shift: bool = False) -> None:
        """Presses Tab until the condition holds of `document.activeElement`, here `it`."""
        for _ in range(60):
            self.press("Tab", shift=shift)
            if self.read(f"(it => Boolean({condition}))(document.activeElement)"):
                return
        raise AssertionError(f"Tab never reaches what has {condition}")

    def picture(self, path: Path) -> None:
        """The whole page as a PNG file."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def named(self) -> list[tuple[str, str]]:
        """Role and name of everything on the page, as a screen reader is told."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        shown = [node for node in nodes if not node["ignored"]]
        return [(node["role"]["value"], str(node.get("name", {}).get("value", ""))) for node in shown]

    def _read(self) -> dict[str, Any]:
        until = time.monotonic() + _WAIT_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._back], [], [], max(0.0, until - time.monotonic()))
            data = os.read(self._back, 1 << 16) if ready else b""
            assert data, "the browser does not answer"
            self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        self._note(found)
        return found

    def _note(self, message: dict[str, Any]) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.asked_for.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(str(params["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning"):
                self.complaints.append(str(params["args"]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.complaints.append(str(params["entry"]))


@contextlib.contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile, which knows no name but this machine's."""
    assert BROWSER is not None
    commands, answers = os.pipe(), os.pipe()
    sandbox = ("--no-sandbox",) if os.geteuid() == 0 else ()
    flags = [
        f"--user-data-dir={profile}",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        *sandbox,
        *_FLAGS,
    ]
    # From 10 on, so that putting the one in its place does not close the other.
    here = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (commands[0], answers[1])]
    with subprocess.Popen(
        [sys.executable, "-c", _ON_PIPES, *map(str, here), BROWSER, *flags],
        pass_fds=here, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        for end in (commands[0], answers[1], *here):
            os.close(end)
        try:
            yield Browser(process, commands[1], answers[0])
        finally:
            process.kill()
            os.close(commands[1])
            os.close(answers[0])
