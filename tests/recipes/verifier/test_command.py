"""`python -m recipes.verifier`: what it asks for, what it tells, and what Ctrl-C leaves."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import pytest

from eirene.models.encoder import load_encoder
from eirene.models.verifier.runtime import PremiseClaim, load_verifier
from recipes.stoppable import Stoppable
from recipes.verifier.__main__ import main
from tests.cli.run import Run, assert_error
from tests.recipes.verifier.verifier_rows import rows_of, write_data, write_rows
from tests.rows import each

pytestmark = pytest.mark.slow

QUICK = ("--max-steps", "2", "--workers", "1")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return Run(capsys, monkeypatch, main)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_data(tmp_path / "data")


def test_a_verifier_is_trained_told_of_and_read(run: Run, data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    out = tmp_path / "out"
    trained = run("--data", data, "--out", out, "--seeds", "1,0", *QUICK)
    assert trained.code == 0, trained
    assert trained.err.splitlines()[0] == "encoding, part 1 of 1"
    assert "seed 1, step 1 of 2, loss " in trained.err and "seed 0, step 2 of 2, loss " in trained.err
    assert trained.err.endswith(f"written to {out}\n")
    first, second, twins = trained.out.splitlines()
    assert first.startswith("seed 1: 2 steps, ") and second.startswith("seed 0: 2 steps, ")
    assert "loss " in first and " -> " in first and ", AUC " in first
    assert twins.startswith("  negation (human): ") and twins.endswith(" % of 4 pairs told apart")
    read = load_verifier(load_encoder(threads=1), out).read([PremiseClaim(("Rain fell.",), "It rained.")])
    assert read.sum() == pytest.approx(1.0, abs=1e-5)
    again = run("--data", data, "--out", out, "--seeds", "1,0", *QUICK)
    assert again.out == trained.out
    assert again.err == f"written to {out}\n"


def test_the_vectors_may_lie_elsewhere_and_dev_rows_may_be_missing(run: Run, data: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (data / "dev.jsonl").unlink()
    for cache in (tmp_path / "cache", tmp_path / "out" / "mine"):
        trained = run("--data", data, "--out", tmp_path / "out", "--cache", cache, *QUICK)
        assert trained.code == 0, trained
        assert trained.out.endswith("not measured (no dev file)\n")
        assert any(cache.rglob("vectors.npy"))
    assert not (tmp_path / "out" / "vectors").exists()


def test_ctrl_c_while_vectors_are_made_stops_at_once(
    run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(Stoppable, "show", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    stopped = run("--data", data, "--out", tmp_path / "out", *QUICK)
    assert (stopped.code, stopped.out) == (130, ""), stopped
    assert stopped.err.endswith("stopped\n")


@each(
    "flags, said",
    [
        (("--seeds", "0,one"), "seeds must be integers"),
        (("--seeds", "0,0"), "seeds must be distinct"),
        (("--max-steps", "-1"), "max-steps must be at least 0"),
        (("--workers", "0"), "workers must be at least 1"),
        (("--epochs", "0"), "epochs must be at least 1"),
    ],
)
def test_bad_flags_say_what_to_change(flags: tuple[str, ...], said: str, run: Run, data: Path, tmp_path: Path) -> None:
    assert_error(run("--data", data, "--out", tmp_path / "out", *flags), said)


def test_the_data_and_the_folders_must_be_usable(run: Run, data: Path, tmp_path: Path) -> None:
    command = ("--data", data)
    (tmp_path / "file").write_text("")
    assert_error(run("--data", tmp_path, "--out", tmp_path), "no file train.jsonl")
    assert_error(run(*command, "--out", tmp_path / "file"), "is a file; name a folder")
    assert_error(run(*command, "--out", "/proc/nix"), "cannot be used as a folder")
    assert_error(run(*command, "--out", data), "holds something else; name a new folder")
    assert_error(run(*command, "--out", tmp_path / "out", "--cache", tmp_path / "file"), "cannot be used as a folder")
    assert_error(run("--out", tmp_path), "missing option '--data'")


def test_bad_rows_and_leaks_are_named(run: Run, data: Path, tmp_path: Path) -> None:
    command = ("--data", data, "--out", tmp_path / "out")
    write_rows(data / "dev.jsonl", rows_of()[:1])
    leaking = run(*command)
    assert (leaking.code, leaking.out) == (1, "")
    assert leaking.err.startswith("error: 1 training pairs stand in dev.jsonl too")
    with (data / "train.jsonl").open("a") as file:
        file.write('{"premise": "Rain fell.", "claim": "It rained.", "label": "yes"}\n')
    assert_error(run(*command), "train.jsonl, line 17")


def test_a_missing_extra_names_its_install_command(
    run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)  # what Python itself keeps for a module that is not to be had
    assert_error(run("--data", data, "--out", tmp_path / "out"), "pip install 'eirene[train]'")
