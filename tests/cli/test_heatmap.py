"""`eirene score --heatmap`: the picture and the line beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import EXAMPLES, GIVEN, Run, write
from tests.tiny_llama import make_llama


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"hf:{make_llama(tmp_path_factory.mktemp('llama'), texts=[GIVEN['answer']])}"


def test_a_page_is_written_and_the_scores_are_said(run: Run, tmp_path: Path, llama: str) -> None:
    file = write(tmp_path / "row.jsonl", GIVEN)
    result = run("score", file, "--local-model", llama, "--heatmap", tmp_path / "map.html")
    assert (result.code, result.out) == (0, "")
    assert result.err.startswith("hallucination 0.")
    assert (tmp_path / "map.html").read_bytes().lstrip().startswith(b"<!DOCTYPE html>")


def test_the_scores_are_those_of_the_detector_with_the_same_options(run: Run, tmp_path: Path, llama: str) -> None:
    """Another aggregate or measure changes what is said."""
    file = write(tmp_path / "row.jsonl", GIVEN)
    said = {
        run("score", file, "--local-model", llama, "--heatmap", tmp_path / f"{n}.html", *more).err.split(" (")[0]
        for n, more in enumerate([(), ("--detectors", "salience-sum"), ("--measure", "l2"), ("--mean", "arithmetic")])
    }
    assert len(said) == 4


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--heatmap", "map.pdf"), "the name of a map ends in .html, got 'map.pdf'"),
        (
            ("--heatmap", "map.html", "--detectors", "rouge"),
            "draws one of salience, salience-sum,",
        ),
        (("--heatmap", "map.html", "--measure", "l1"), "must be one of dot, l2, got 'l1'"),
        (("--heatmap", "map.html", "--id", "nobody"), "no row has the id 'nobody'; ids: zoo"),
    ],
)
def test_bad_options_are_one_line_and_exit_2(
    run: Run, tmp_path: Path, llama: str, more: tuple[str, ...], why: str
) -> None:
    result = run("score", write(tmp_path / "row.jsonl", {"id": "zoo", **GIVEN}), "--local-model", llama, *more)
    assert result.code == 2
    assert why in result.err
    assert result.err.count("\n") == 1


def test_one_of_many_rows_is_to_be_picked(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "rows.jsonl", *({"id": f"row-{n}", **GIVEN} for n in range(12)))
    command = ["score", file, "--local-model", "hf:nothing", "--heatmap", tmp_path / "map.html"]
    assert "one row is drawn at a time, and 12 are there; pick one with --id" in run(*command).err
    result = run(*command, "--id", "row-12")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "no row has the id 'row-12'; ids: row-0, row-1, row-2" in result.err
    assert result.err.endswith("row-9, ...\n")


def test_a_model_that_is_not_local_and_a_row_with_nothing_given_say_so(run: Run, tmp_path: Path, llama: str) -> None:
    file = write(tmp_path / "row.jsonl", GIVEN)
    assert "hf:path-or-id" in run("score", file, "--local-model", "openai:gpt-4o", "--heatmap", "m.html").err
    result = run("score", EXAMPLES / "open-question.json", "--local-model", llama, "--heatmap", tmp_path / "map.html")
    assert result.code == 2
    assert "open-question.json: row 'open-question' gives no 'perspectives' and no 'context'" in result.err
