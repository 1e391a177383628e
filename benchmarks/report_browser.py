"""How long a report takes in Chromium: opened, filtered, searched, a record drawn; and what it looks like.

    python benchmarks/report_browser.py [--records 5000] [--repeats 5] [--page REPORT.html] [--shots FOLDER]

Without `--page`, a report of many records is made of the examples' own (embedded backend), each with the words of its
question and answer marked by a number, so that no two are alike. The browser is driven through its DevTools pipe; times
are the page's own, from the start of navigation until the list is drawn, and from an event until the frame after it.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from eirene.agent.run import refine
from eirene.core.records import MODES, Record
from eirene.data import read_items
from eirene.views.report import render_report

EXAMPLES = Path(__file__).parents[1] / "examples" / "npov.jsonl"
AFTER_FRAME = "new Promise(done => requestAnimationFrame(() => setTimeout(done)))"


class Browser:
    """A headless Chromium and one page in it, spoken to in JSON over two pipes."""

    def __init__(self, path: str, profile: str) -> None:
        to_read, self._out = os.pipe()
        self._in, to_write = os.pipe()
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        command = [path, "--headless", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe", *sandbox,
                   f"--user-data-dir={profile}", "--host-resolver-rules=MAP * ~NOTFOUND", "about:blank"]  # fmt: skip

        def pipes() -> None:  # the browser reads 3 and writes 4
            read, write = os.dup(to_read), os.dup(to_write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        self._process = subprocess.Popen(
            command,
            close_fds=False,
            preexec_fn=pipes,  # noqa: PLW1509  # there are no threads here
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._number, self._buffer, self._session = 0, b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            found = self._next()
            if found.get("id") == self._number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']}")
                result: dict[str, Any] = found["result"]
                return result

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            more = os.read(self._in, 1 << 20)
            if not more:
                raise RuntimeError("the browser has gone")
            self._buffer += more
        text, self._buffer = self._buffer.split(b"\0", 1)
        value: dict[str, Any] = json.loads(text)
        return value

    def run(self, script: str) -> Any:
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def open(self, page: Path) -> None:
        """Goes to the page and waits until its script has run."""
        self.call("Page.navigate", url=page.as_uri())
        deadline = time.monotonic() + 60
        while not self.run("performance.getEntriesByName('eirene-ready').length"):
            if time.monotonic() > deadline:
                raise RuntimeError("the page is not ready after a minute")
            time.sleep(0.02)

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--shots", type=Path, help="folder for screenshots at 1200 and 390 px, light and dark")
    parser.add_argument("--browser", default=next(filter(None, map(shutil.which, ("chromium", "google-chrome"))), None))
    args = parser.parse_args()
    if args.browser is None:
        raise SystemExit("no Chromium found; name one with --browser")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = args.page or made(args.records, Path(folder) / "report.html")
        print(f"page: {page.stat().st_size / 1e6:.1f} MB")
        browser = Browser(args.browser, str(Path(folder) / "profile"))
        try:
            measure(browser, page.resolve(), args.repeats)
            if args.shots:
                args.shots.mkdir(parents=True, exist_ok=True)
                shoot(browser, page.resolve(), args.shots)
        finally:
            browser.close()


def made(count: int, path: Path) -> Path:
    """A report of `count` records that are all different."""
    kinds = [refine(item, mode=mode, seed=seed) for item in read_items(str(EXAMPLES)) for mode in MODES[:3]
             for seed in range(2)]  # fmt: skip
    records = []
    for n in range(count):
        data = json.loads(kinds[n % len(kinds)].to_json())
        data["id"] = f"row-{n}"
        data["question"] += f" ({n})"
        for key in ("original", "answer"):
            data[key] += f" Number {n}."
        records.append(Record.model_validate(data))
    path.write_text(render_report(records, title=f"{count} records"), encoding="utf-8")
    return path


def measure(browser: Browser, page: Path, repeats: int) -> None:
    """Prints the median and the worst of each step over fresh loads."""
    steps = {
        "filter by status": "status.selectedIndex = 1; status.dispatchEvent(new Event('change'))",
        "show all again": "status.selectedIndex = 0; status.dispatchEvent(new Event('change'))",
        "search index alone": "haystack()",
        "first search": "search.value = 'number 12'; filter()",
        "search again": "search.value = 'children'; filter()",
        "sort by a score": "sortBy('coverage', true)",
        "open a record": "list.querySelector('button').click()",
    }
    found: dict[str, list[float]] = {"open": []} | {name: [] for name in steps}
    for _ in range(repeats):
        browser.open(page)
        browser.run(AFTER_FRAME)
        found["open"].append(browser.run("performance.now()") / 1000)
        ready = browser.run("performance.getEntriesByName('eirene-ready')[0].startTime")
        found.setdefault("of it until the list is there", []).append(ready / 1000)
        for name, script in steps.items():
            took = browser.run(f"(async () => {{ const start = performance.now(); {script}; await {AFTER_FRAME}; "
                               "return performance.now() - start; })()")  # fmt: skip
            found[name].append(took / 1000)
    for name, seconds in found.items():
        print(f"{name:32} median {statistics.median(seconds):.2f} s, worst {max(seconds):.2f} s")


def shoot(browser: Browser, page: Path, folder: Path) -> None:
    """Screenshots of the page's beginning and of an open record, at two widths, light and dark."""
    for scheme in ("light", "dark"):
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        for width in (1200, 390):
            browser.call("Emulation.setDeviceMetricsOverride", width=width, height=1600, deviceScaleFactor=1,
                         mobile=width < 600)  # fmt: skip
            browser.open(page)
            shot(browser, folder / f"{scheme}-{width}-top.png")
            browser.run("list.querySelectorAll('button')[2].click(); "
                        "document.getElementById('records').scrollIntoView()")  # fmt: skip
            wide = browser.run("document.documentElement.scrollWidth > document.documentElement.clientWidth")
            browser.run(AFTER_FRAME)
            shot(browser, folder / f"{scheme}-{width}-record.png")
            print(f"{scheme} {width}: {'WIDER THAN THE SCREEN' if wide else 'fits'}")


def shot(browser: Browser, path: Path) -> None:
    path.write_bytes(base64.b64decode(browser.call("Page.captureScreenshot", format="png")["data"]))


if __name__ == "__main__":
    main()
