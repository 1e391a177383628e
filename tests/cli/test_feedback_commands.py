"""`python -m recipes.train feedback` and `eirene evaluate feedback`, from the data to the figures."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.run import Run, assert_error, write
from tests.rows import each
from tests.tiny_llama import make_llama

ROWS: list[dict[str, Any]] = [
    {
        "question": f"is it {n}?",
        "sentences": [
            {"text": "this is good.", "tag": "Complete"},
            {"text": "this is bad.", "tag": "Incomplete", "reason": "detail"},
        ][:: 1 if n % 2 else -1],
    }
    for n in range(4)
]


def test_a_model_is_trained_and_then_measured(run: Run, train: Run, tmp_path: Path) -> None:
    base, data = make_llama(tmp_path / "base", texts=map(str, ROWS)), write(tmp_path / "rows.jsonl", *ROWS * 2)
    trained = train(
        "feedback", data, "--base", base, "--out", tmp_path / "out", "--epochs", "30", "--max-tokens", "400",
        "--learning-rate", "0.01", "--device", "cpu", "--checkpoint-steps", "100",
    )  # fmt: skip
    assert (trained.code, trained.out) == (0, ""), trained
    assert "step 60 of 60" in trained.err
    evaluate: tuple[str | Path, ...] = (
        "evaluate", "feedback", data, "--backend", f"hf:{tmp_path / 'out'}?device=cpu", "--samples", "5",
        "--draws", "50", "--out", tmp_path / "journal.jsonl",
    )  # fmt: skip
    shown = run(*evaluate)
    assert shown.code == 0, shown
    assert "8 answers: " in shown.out
    assert "always first" in shown.out
    again = run(*evaluate, "--json")
    assert "8 of 8 rows were in" in again.err
    report = json.loads(again.out)
    assert report["counts"]["scored"] >= 6
    assert report["sentences"]["model"]["overall"]["auc"]["value"] > 0.8
    assert report["sentences"]["always first"]["overall"]["auc"]["value"] == 0.5
    assert report["signature"].startswith("n:5|")
    item = write(tmp_path / "item.json", {"question": "is it 1?", "answer": "this is bad. this is good."})
    refined = run(
        "refine",
        item,
        "--backend",
        f"hf:{tmp_path / 'out'}?device=cpu",
        "--max-rounds",
        "1",
        "--judge-risk",
        "0",
        "--json",
    )
    record = refined.record
    critique = record["rounds"][0]["critique"]
    assert (critique["n_drawn"], critique["n_requested"]) == (5, 20)
    assert critique["n_valid"] >= 4
    assert [s["tag"] for s in critique["sentences"]] == ["Incomplete", "Complete"]
    assert critique["sentences"][0]["reason"] == "detail"
    assert (refined.code, record["error"]) == (0, None)
    assert record["usage"]["calls"] == 2  # all samples from one reading of the prompt, and a rewrite


def test_the_embedded_default_says_that_it_scored_nothing(run: Run, tmp_path: Path) -> None:
    """HaluQuestQA gives it nothing to compare with; the answers are counted, and no figure is made up."""
    data = write(tmp_path / "rows.jsonl", *ROWS)
    report = json.loads(run("evaluate", "feedback", data, "--draws", "10", "--json").out)
    assert (report["counts"]["answers"], report["counts"]["abstained"]) == (4, 4)
    assert "unscored" in report["sentences"]
    shown = run("evaluate", "feedback", data, "--draws", "10").out
    assert "0 scored, 4 abstained, 0 failed" in shown
    assert "not measured" in shown


@each(
    "flags, said",
    [
        (("--split", "train"), "one of 509 rows, the file has 4"),
        (("--split", "dev"), "split must be one of all, train, test"),
        (("--limit", "-1"), "limit must be at least 0"),
        (("--draws", "0"), "draws must be at least 1"),
        (("--samples", "0"), "samples must be"),
        (("--concurrency", "0"), "concurrency must be at least 1"),
        (("--backend", "hf:/nowhere"), "there is no folder '/nowhere'"),
    ],
)
def test_bad_flags_of_evaluate_say_what_to_change(flags: tuple[str, ...], said: str, run: Run, tmp_path: Path) -> None:
    assert_error(run("evaluate", "feedback", write(tmp_path / "rows.jsonl", *ROWS), *flags), said)


@each(
    "flags, said",
    [
        (("--epochs", "0"), "epochs must be at least 1"),
        (("--learning-rate", "0"), "learning_rate must be a number above 0"),
        (("--base", "/nowhere"), "there is no folder"),
        (("--split", "test"), "one of 509 rows, the file has 4"),
        (("--device", "cuda:77"), "device 'cuda:77' cannot be used"),
    ],
)
def test_bad_flags_of_train_say_what_to_change(flags: tuple[str, ...], said: str, train: Run, tmp_path: Path) -> None:
    base, data = make_llama(tmp_path / "base"), write(tmp_path / "rows.jsonl", *ROWS)
    result = train("feedback", data, "--base", base, "--out", tmp_path / flags[0], *flags)
    assert_error(result, said)


def test_a_missing_extra_names_its_install_command(
    run: Run, train: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "peft", None)
    data = write(tmp_path / "rows.jsonl", *ROWS)
    trained = train("feedback", data, "--base", tmp_path, "--out", tmp_path / "out")
    assert_error(trained, "pip install 'eirene[train]'")
    assert_error(run("evaluate", "feedback", data, "--backend", f"hf:{tmp_path}"), "pip install 'eirene[local]'")
