"""What a command would write into and is not its own: left byte for byte, and told before anything is paid."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eirene.testing.loopback import LoopbackServer
from tests.cli.batch.batch_runs import data, flags, rewrite
from tests.cli.run import Run, assert_error

pytestmark = pytest.mark.usefixtures("loopback")

TEXTS = ["My notes\nwithout an end", "id,question,answer\na,Why?,So.\n", '{"id": "a", "question": "Why?"}\n', '{"torn']


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("flag", ["--out", "--cache", "--export-requests"])
def test_a_batch_writes_into_no_file_of_something_else(run: Run, tmp_path: Path, text: str, flag: str) -> None:
    file, mine = data(tmp_path, 2), tmp_path / "mine.txt"
    mine.write_text(text)
    with LoopbackServer(rewrite) as server:
        command = flags(server, file, tmp_path / "out.jsonl")
        if flag == "--out":
            command[command.index("--out") + 1] = str(mine)
        else:
            command += [flag, str(mine)]
        result = run(*command, *(["--samples", "3", "--mode", "fine-grained"] if flag == "--export-requests" else []))
        assert (result.code, server.calls) == (2, 0), result
    assert str(mine) in result.err
    assert mine.read_text() == text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "mine.txt"]


@pytest.mark.parametrize("how", ["itself", "symlink", "hard link"])
def test_a_batch_writes_into_no_input(run: Run, tmp_path: Path, how: str) -> None:
    file, out = data(tmp_path, 2), tmp_path / "out.jsonl"
    before = file.read_bytes()
    if how == "symlink":
        out.symlink_to(file)
    elif how == "hard link":
        os.link(file, out)
    assert_error(run("batch", file, "--out", file if how == "itself" else out), "is the input itself")
    assert file.read_bytes() == before


@pytest.mark.parametrize("place", ["/dev/null", "pipe", "folder", "none/out.jsonl"])
def test_a_batch_pays_for_nothing_that_would_not_stay(run: Run, tmp_path: Path, place: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with LoopbackServer(rewrite) as server:
        result = run(*flags(server, data(tmp_path, 2), tmp_path / place))
        assert server.calls == 0
    assert_error(result, str(tmp_path / place))


def test_an_empty_file_stays_where_nothing_comes_of_the_run(run: Run, tmp_path: Path) -> None:
    """It may be a journal, as `mktemp` makes one; it goes only if the run has made it."""
    out = tmp_path / "out.jsonl"
    out.touch()
    (tmp_path / "bad.jsonl").write_text('{"id": "a"}\n')
    assert run("batch", tmp_path / "bad.jsonl", "--out", out).code == 2
    assert out.read_bytes() == b""


@pytest.mark.parametrize("name", ["rows.jsonl", "judgements.jsonl", "summary.json", "report.html"])
def test_a_comparison_writes_over_nothing_of_the_users(run: Run, tmp_path: Path, name: str) -> None:
    """Told before the first row, the judge's file as well."""
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / name).write_text("mine")
    with LoopbackServer(rewrite) as server:
        result = run(
            "compare", data(tmp_path, 2), "--out", folder, "--modes", "improve", "--backend", "openai:test",
            "--base-url", server.base_url, "--judge", "openai:judge",
        )  # fmt: skip
        assert (result.code, server.calls) == (2, 0), result
    assert (folder / name).read_text() == "mine"


@pytest.mark.parametrize("name", ["rows.jsonl", "summary.json", "table.md", "roc.svg"])
def test_an_evaluation_writes_over_nothing_of_the_users(run: Run, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / name).write_text("mine")
    labelled = tmp_path / "in.jsonl"
    labelled.write_text(
        "".join(
            f'{{"question": "q{n}", "answer": "A{n}.", "context": ["B."], "meta": {{"hallucination": {n % 2}}}}}\n'
            for n in range(8)
        )
    )
    result = run("evaluate", "detectors", labelled, "--out", folder)
    assert result.code == 2, result
    assert (folder / name).read_text() == "mine"


@pytest.mark.parametrize("command", ["refine", "score", "report"])
def test_force_writes_over_no_input(run: Run, tmp_path: Path, command: str) -> None:
    """Not under another name either."""
    file, link = data(tmp_path, 1), tmp_path / "link.jsonl"
    os.link(file, link)
    flag = {"refine": "--html", "score": "--out", "report": "-o"}[command]
    before = file.read_bytes()
    more = ["--detectors", "rouge"] if command == "score" else []
    assert_error(run(command, file, flag, link, "--force", *more), "is the input itself")
    assert file.read_bytes() == before
