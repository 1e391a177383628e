"""The benchmark with a real model, here with a scripted one: rows are made once, failed ones have no figure."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError, ScriptedRequest

from .pages import ROOT

SENTENCES = ["Trams are quiet.", "Tracks cost a lot."]
ITEM = {"question": "Should the city build trams?", "answer": " ".join(SENTENCES)}
KNOWN = {"sentences": [{"n": n, "text": t, "tag": "Complete", "reason": ""} for n, t in enumerate(SENTENCES, 1)]}
CORRECTED = {"corrected": "Trams are quiet. Tracks are paid by the state.", "missing": []}
SPANS = [{"kind": "Unverifiable", "text": "cost a lot"}]
REFUSED = {**ITEM, "question": "Refused?"}
GIVEN = {**ITEM, "context": ["Tracks are paid by the state."]}
NOTES = [{"sentence": 2, "reason": "It is not so."}]
CASES = [
    {"set": "open", "id": "o1", "group": "trams", "item": ITEM, "notes": [], "known": KNOWN},
    {"set": "open", "id": "o2", "group": "trains", "item": REFUSED, "notes": [], "known": KNOWN},
    {"set": "qa", "id": "q1", "group": "trams", "item": GIVEN, "notes": NOTES, "known": {**CORRECTED, "spans": SPANS}},
]


def reply(request: ScriptedRequest, index: int) -> str | HttpError:
    if "Refused?" in request.text:
        return HttpError(400, "no")
    return CORRECTED["corrected"]


def run(name: str, *words: str) -> str:
    command = [sys.executable, "-m", f"benchmarks.real_model.{name}", *words]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout


@pytest.mark.slow
@pytest.mark.usefixtures("loopback")
def test_modes_and_another_framework_stand_in_one_table_by_what_people_said(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
    with LoopbackServer(reply) as server:
        asked = ["--base-url", server.base_url, "--out", str(tmp_path), "--concurrency", "2"]
        run("compare", *asked, "--modes", "human", "--option", "max_rounds=1")
        run("peers", *asked, "--only", "one-shot")
        calls = server.calls
        assert run("peers", *asked, "--only", "one-shot").count("0 rows") == 3  # it goes on from its journals
        assert server.calls == calls
    page = run("page", str(tmp_path), "--markdown", str(tmp_path / "page.md"), "--title", "Scripted.")
    lines = [line for line in page.partition("What a row took")[0].splitlines() if "|" in line]
    by_name = {line.split("|")[1].strip(): line for line in lines}
    assert "| 1 (0) | 100.0 %" in by_name["one-shot"] and "| 1 : 0 |" in by_name["one-shot"]
    assert "| 1 : 0 | 0.500 (one item) | 100.0 (one item) of 1 |" in by_name["people"]
    assert "| one-shot | 2 (1) |" in page and "- open, one-shot, o2: " in page  # listed, and not scored
    assert "human" in by_name
