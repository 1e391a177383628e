"""`--prompts FOLDER` and `eirene prompts`: what is asked over the wire, and what signatures and resumes make of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from eirene.prompts.loader import shipped_text
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedReply, ScriptedRequest
from tests.cli.run import GIVEN, Run, assert_error, write

OURS = "WORDS OF OUR OWN"


def own(home: Path, *names: str) -> Path:
    """A folder with these prompts, each with a line of our own at its end."""
    home.mkdir()
    for name in names:
        (home / f"{name}.md").write_text(f"{shipped_text(name)}\n{OURS} {name}\n", "utf-8")
    return home


def test_prompts_are_listed_and_written_to_begin_from(run: Run, tmp_path: Path) -> None:
    listed = run("prompts")
    assert listed.code == 0 and "refine_fine_grained" in listed.out and "synth_genre" not in listed.out
    out = tmp_path / "new" / "prompts"
    assert run("prompts", "--out", out).code == 0
    checked = run("prompts", "--prompts", out)
    assert checked.code == 0 and len(list(out.iterdir())) == checked.out.count(" own ")
    (out / "feedback.md").write_text("mine", "utf-8")
    (out / "refine_human.md").unlink()
    assert_error(run("prompts", "--out", out), "exists already")
    assert not (out / "refine_human.md").exists() and (out / "feedback.md").read_text("utf-8") == "mine"
    assert run("prompts", "--out", out, "--force").code == 0 and (out / "refine_human.md").exists()


def test_single_prompts_are_written_by_name(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "prompts"
    assert run("prompts", "--out", out, "--names", "feedback,pairwise").code == 0
    assert sorted(file.name for file in out.iterdir()) == ["feedback.md", "pairwise.md"]
    assert_error(run("prompts", "--out", out, "--names", "fedback"), "no prompt 'fedback'")
    assert_error(run("prompts", "--names", "feedback"), "--names goes with --out")


def test_a_folder_that_cannot_be_used_stops_every_command_before_it_begins(run: Run, tmp_path: Path) -> None:
    bad = own(tmp_path / "bad", "feedback")
    (bad / "feedback.md").rename(bad / "feedbak.md")
    row = write(tmp_path / "row.json", GIVEN)
    out = tmp_path / "out.jsonl"
    for command in (("refine", row), ("batch", row, "--out", out), ("score", row, "--out", out)):
        assert_error(run(*command, "--prompts", bad), "did you mean feedback.md?")
    assert not out.exists()


def writer(request: ScriptedRequest, index: int) -> ScriptedReply:
    if "examine" in request.text.lower():
        return "1. [Incomplete] Reasons: It says nothing of the cost."
    return "Supporters of zoos say that zoos teach children about animals. Cages make animals suffer."


@pytest.mark.usefixtures("loopback")
def test_a_batch_asks_in_them_and_is_not_resumed_with_others(run: Run, tmp_path: Path) -> None:
    rows, out = write(tmp_path / "rows.jsonl", GIVEN), tmp_path / "out.jsonl"
    home = own(tmp_path / "own", "refine_improve")
    with LoopbackServer(writer) as server:
        flags = ("--backend", "openai:m", "--base-url", server.base_url, "--mode", "improve", "--cache", tmp_path / "c")
        command = ("batch", rows, "--out", out, *flags)
        assert run(*command, "--prompts", home).code == 0
        first = [r.text for r in server.requests]
        assert first and all(f"{OURS} refine_improve" in text for text in first)
        assert run(*command, "--prompts", home).code == 0 and server.calls == len(first)  # resumed, and nothing asked
        refused = run(*command)
        assert refused.code == 2 and "--replace-changed" in refused.err and server.calls == len(first)
        assert run(*command, "--replace-changed").code == 0
        later = [r.text for r in server.requests][len(first) :]
        assert later and not any(OURS in text for text in later)


def judge(request: ScriptedRequest, index: int) -> ScriptedReply:
    return "Looked at it.\n\nVerdict: no"


@pytest.mark.usefixtures("loopback")
def test_judges_are_asked_in_them(run: Run, tmp_path: Path) -> None:
    home = own(tmp_path / "own", "chainpoll_adherence", "verdict_json")
    rows = write(tmp_path / "rows.jsonl", GIVEN)
    with LoopbackServer(judge) as server:
        done = run("score", rows, "--out", tmp_path / "s.jsonl", "--detectors", "chainpoll", "--judge", "openai:j",
                   "--base-url", server.base_url, "--prompts", home)  # fmt: skip
        assert done.code == 0 and all(f"{OURS} chainpoll_adherence" in r.text for r in server.requests)
        refined = run("refine", rows, "--judge", "openai:j", "--judge-base-url", server.base_url, "--prompts", home,
                      "--json")  # fmt: skip
        plain = run("refine", rows, "--judge", "openai:j", "--judge-base-url", server.base_url, "--json")
    assert refined.record["signature"] != plain.record["signature"]


def test_prompts_that_nobody_is_asked_in_are_warned_of(run: Run, tmp_path: Path) -> None:
    home, row = own(tmp_path / "own", "feedback"), write(tmp_path / "row.json", GIVEN)
    assert "--prompts is not used" in run("refine", row, "--json", "--prompts", home).err
    assert "--prompts is not used" in run("score", row, "--out", "-", "--prompts", home).err
