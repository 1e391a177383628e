"""`--config FILE`: any flag from a TOML file."""

from __future__ import annotations

from pathlib import Path

from tests.cli.run import EXAMPLES, Run, assert_error
from tests.rows import each

ROW = EXAMPLES / "no-error.json"


def config(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "eirene.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_may_hold_flags_and_given_flags_win(run: Run, tmp_path: Path) -> None:
    path = config(tmp_path, 'samples = 6\nmax-rounds = 3\ngate_risk = 0.3\nstop = "exact"\njson = true\nseed = 1')
    record = run("refine", ROW, "--seed", "2", "--config", path).record
    assert {"n:6", "rounds:3", "stop:exact", "seed:2", "gate:0.3/0.02/0.02/keep"} <= set(record["signature"].split("|"))


def test_eir_stands_for_the_papers_settings(run: Run) -> None:
    """20 samples whatever the first ones say; a flag given beside it wins."""
    record = run("refine", ROW, "--seed", "2", "--config", "eir", "--json").record
    assert {"n:20", "rounds:1", "stop:none", "seed:2"} <= set(record["signature"].split("|"))
    assert len(record["rounds"][0]["samples"]) == 20
    assert "|n:4|" in run("refine", ROW, "--config", "eir", "--samples", "4", "--json").record["signature"]


def test_flags_of_other_commands_are_passed_over(run: Run, tmp_path: Path) -> None:
    """One file serves all commands."""
    path = config(tmp_path, 'samples = 6\ndetectors = "rouge"')
    assert run("refine", ROW, "--json", "--config", path).code == 0
    assert '"alignment"' not in run("score", ROW, "--out", "-", "--config", path).out


@each(
    "text, said",
    [
        ("sampels = 3", "unknown key 'sampels'; did you mean 'samples'?"),
        ("colour = 3", "unknown key 'colour'; known keys: "),
        ("[loop]\nsamples = 3", "unknown key 'loop'"),
        ('config = "x"', "unknown key 'config'"),
        ('samples = "20"', "'samples' must be an integer, got str '20'"),
        ("samples = 2.5", "'samples' must be an integer, got float 2.5"),
        ("samples = true", "'samples' must be an integer, got bool True"),
        ("json = 1", "'json' must be true or false, got int 1"),
        ("mode = 1", "'mode' must be a string, got int 1"),
        ('mode = "best"', "best"),
        ("samples = 0", "samples must be"),
        ("samples =", "is not TOML"),
        ("samples = 1\nsamples = 2", "is not TOML"),
    ],
)
def test_a_bad_file_says_what_to_change(text: str, said: str, run: Run, tmp_path: Path) -> None:
    assert_error(run("refine", ROW, "--config", config(tmp_path, text)), said)


def test_a_file_that_is_not_there_or_not_utf8_is_an_error(run: Run, tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'mode = "\xe9"')
    assert_error(run("refine", ROW, "--config", tmp_path / "missing.toml"), "no such file")
    assert_error(run("refine", ROW, "--config", tmp_path / "latin.toml"), "is not UTF-8")
