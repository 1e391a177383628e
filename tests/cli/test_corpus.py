"""`--corpus`: passages for rows without given text, in every command that reads rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import Run, assert_error, write

ROW = {"id": "r", "question": "What is the capital of Norway?", "answer": "Oslo is the capital of Norway."}
PASSAGES = [
    {"id": "oslo", "text": "Oslo is the capital of Norway."},
    {"id": "paris", "text": "Paris is the capital of France."},
    {"id": "bread", "text": "Bread is baked from flour and water."},
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EIRENE_CACHE", str(tmp_path / "cache"))


def test_refine_compares_with_what_was_found_and_names_it(run: Run, tmp_path: Path) -> None:
    """A row without given text is compared with passages, whose ids stand in the record, the best last."""
    corpus = write(tmp_path / "c.jsonl", *PASSAGES)
    for command in ((write(tmp_path / "row.jsonl", ROW),), ("--question", ROW["question"], "--answer", ROW["answer"])):
        result = run("refine", *command, "--corpus", corpus, "--passages", "2", "--json")
        assert result.code == 0, result
        assert result.record["passages"] == ["paris", "oslo"]
        assert result.record["status"] != "not_checked"
    assert run("refine", tmp_path / "row.jsonl", "--json").record["status"] == "not_checked"


def test_score_uses_what_was_found(run: Run, tmp_path: Path) -> None:
    """Detectors that need given text have it."""
    data, corpus = write(tmp_path / "row.jsonl", ROW), write(tmp_path / "c.jsonl", *PASSAGES)
    result = run("score", data, "--out", "-", "--corpus", corpus, "--detectors", "rouge")
    assert json.loads(result.out)["scores"]["rouge"]["hallucination"] == 0.0


def test_batch_keeps_the_ids_and_goes_on(run: Run, tmp_path: Path) -> None:
    """A batch's records name the passages, and a rerun finds the same and does nothing again."""
    data, corpus = write(tmp_path / "row.jsonl", ROW), write(tmp_path / "c.jsonl", *PASSAGES)
    command = ("batch", data, "--out", tmp_path / "out.jsonl", "--corpus", corpus)
    assert run(*command).code == 0
    kept = (tmp_path / "out.jsonl").read_bytes()
    assert json.loads(kept.splitlines()[-1])["passages"][-1] == "oslo"
    assert run(*command).code == 0
    assert (tmp_path / "out.jsonl").read_bytes() == kept


def test_a_row_with_given_text_keeps_it(run: Run, tmp_path: Path) -> None:
    """What a row brings is not added to, and a list of its own that it calls passages is not taken for found ones."""
    data = write(tmp_path / "row.jsonl", {**ROW, "context": ["Oslo is large."], "meta": {"passages": ["mine"]}})
    result = run("refine", data, "--corpus", write(tmp_path / "c.jsonl", *PASSAGES), "--json")
    assert result.record["passages"] == []


def test_what_cannot_be_used_is_one_line(run: Run, tmp_path: Path) -> None:
    """A corpus that is not there, a bad row, and flags without a corpus are usage errors."""
    data = write(tmp_path / "row.jsonl", ROW)
    assert_error(run("refine", data, "--corpus", tmp_path / "none"), "no such file")
    assert_error(run("refine", data, "--corpus", write(tmp_path / "c.jsonl", {"x": 1})), "needs a text")
    assert_error(run("refine", data, "--rerank", "x"), "go with --corpus")
    assert_error(
        run("refine", data, "--corpus", write(tmp_path / "c.jsonl", *PASSAGES), "--passages", "0"), "passages must be"
    )


def test_a_damaged_index_is_made_again_and_said(run: Run, tmp_path: Path) -> None:
    data, corpus = write(tmp_path / "row.jsonl", ROW), write(tmp_path / "c.jsonl", *PASSAGES)
    command = ("refine", data, "--corpus", corpus, "--json")
    first = run(*command).record["passages"]
    (home,) = (tmp_path / "cache").glob("corpus-*")
    for name in ("passages.jsonl", "vectors.f16"):
        file = home / "view" / name
        file.write_bytes(bytes(file.stat().st_size))
        again = run(*command)
        assert (again.code, again.record["passages"]) == (0, first)
        assert again.err.startswith(f"warning: {file} is damaged; the index is made again")
