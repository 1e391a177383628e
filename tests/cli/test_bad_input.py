"""Bad input: exit code 2, one clear line that names the place, nothing on standard output, nothing written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.run import GIVEN, Run, assert_error, write
from tests.rows import each

BAD_ROWS = {
    "question": ({"question": "", "answer": "a"}, "'question' must not be blank"),
    "blank answer": ({"question": "q", "answer": " \n\t"}, "'answer' must not be blank"),
    "no answer": ({"question": "q"}, "there is no column 'answer'; columns: question; "),
    "unknown key": ({**GIVEN, "anwser": "a"}, "unknown key 'anwser'"),
    "empty perspective": ({**GIVEN, "perspectives": [{"name": "pro", "arguments": []}]}, "'perspectives[0].arguments'"),
    "no perspectives": ({**GIVEN, "perspectives": []}, "'perspectives' must have at least 1 item"),
    "blank argument": (
        {**GIVEN, "perspectives": [{"name": "p", "arguments": [" "]}]},
        "'perspectives[0].arguments[0]'",
    ),
    "empty context": ({"question": "q", "answer": "a", "context": []}, "'context' must have at least 1 item"),
    "number": ({"question": 5, "answer": "a"}, "'question'"),
    "null": ({"question": None, "answer": "a"}, "'question'"),
    "not an object": ("text", "a row must be a JSON object"),
    "NUL": ({"question": "q", "answer": "a\0b"}, "'answer' contains a NUL character"),
    "NUL id": ({**GIVEN, "id": "a\0"}, "'id' contains a NUL character"),
}
BAD_BYTES = {
    "not JSON": (b"question: why", "is not JSON"),
    "cut off": (b'{"question": "q", "answer": "a', "is not JSON"),
    "no end": (b'{"question": "q", "answer": "a"\n', "is not JSON: Expecting ',' delimiter (at its end)"),
    "rows under a key": (b'{"data": [{"question": "q", "answer": "a"}]}', "for the rows in 'data' name "),
    "not UTF-8": (b'{"question": "q", "answer": "caf\xe9"}', "is not UTF-8"),
    "UTF-16": ('{"question": "q"}'.encode("utf-16"), "is UTF-16"),
    "raw NUL": (b'{"question": "q", "answer": "a\x00"}', "is not JSON"),
    "NaN": (b'{"question": "q", "answer": "a", "meta": {"x": NaN}}', "holds NaN"),
    "Infinity": (b'{"question": "q", "answer": "a", "meta": {"x": -Infinity}}', "holds -Infinity"),
    "key twice": (b'{"question": "q", "question": "r", "answer": "a"}', "'question' twice"),
    "deep": (b'{"meta": ' + b"[" * 100_000, "levels"),
    "huge number": (b'{"question": "q", "answer": "a", "meta": {"x": ' + b"1" * 10_000 + b"}}", "too large"),
    "half a surrogate": (b'{"question": "q", "answer": "a", "meta": {"\\ud800": 1}}', "surrogate"),
    "empty": (b"", "is empty"),
    "escape sequence": (b'{"question": "q", "answer": "a", "\\u001b[31m": 1}', "unknown key"),
}


def test_a_bad_row_is_named_with_its_field_and_line(run: Run, tmp_path: Path) -> None:
    wrong = []
    for name, (row, said) in BAD_ROWS.items():
        path = write(tmp_path / "rows.jsonl", GIVEN, row)
        for command in (("refine", path, "--json"), ("score", path, "--out", tmp_path / "out")):
            result = run(*command)
            assert_error(result, f"{path}, line 2: ")
            wrong += [(name, result.err)] if said not in result.err else []
        assert not (tmp_path / "out").exists()
    assert wrong == []


def test_bad_bytes_are_named_with_their_place(run: Run, tmp_path: Path) -> None:
    wrong = []
    for name, (data, said) in BAD_BYTES.items():
        (tmp_path / "row.json").write_bytes(data)
        assert_error(run("refine", "-", stdin=data), "standard input")
        result = run("score", tmp_path / "row.json", "--out", tmp_path / "out")
        assert_error(result, "row.json")
        wrong += [(name, result.err)] if said not in result.err else []
        assert not (tmp_path / "out").exists()
    assert wrong == []


def test_a_byte_order_mark_does_no_harm(run: Run) -> None:
    assert run("refine", "-", "--json", stdin=b"\xef\xbb\xbf" + json.dumps(GIVEN).encode()).code == 0


def test_two_rows_with_one_id_are_an_error(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", {**GIVEN, "id": "zoo"}, {**GIVEN, "id": "zoo", "answer": "Other."})
    assert_error(run("refine", path), "line 2: the id 'zoo' is taken by")


@each("path, said", [("missing.json", "no such file"), (".", "cannot be loaded"), ("/proc/self/mem", "")])
def test_a_file_that_cannot_be_read_is_an_error(
    path: str, said: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a folder is searched as a whole
    assert_error(run("refine", path), f"{path}: {said}")


@pytest.mark.parametrize(
    ("out", "said"), [("no/folder/x", "no folder"), (".", "is a directory"), ("/proc/nix", "written")]
)
def test_a_file_that_cannot_be_written_is_an_error(out: str, said: str, run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "row.json", GIVEN)
    assert_error(run("score", path, "--out", out), said)
    assert_error(run("refine", path, "--html", out), said)


def test_a_file_that_exists_is_not_written_over(run: Run, tmp_path: Path) -> None:
    path, out = write(tmp_path / "row.json", GIVEN), tmp_path / "out"
    out.write_text("dear")
    assert_error(run("score", path, "--out", out), "exists already")
    assert_error(run("refine", path, "--html", out), "exists already")
    assert out.read_text() == "dear"
    assert run("score", path, "--detectors", "rouge", "--out", out, "--force").code == 0


def test_the_input_is_not_taken_for_the_output(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "row.json", GIVEN)
    assert_error(run("score", path, "--out", path, "--force"), "is the input itself")
    assert json.loads(path.read_text()) == GIVEN


BAD_USAGE: list[tuple[tuple[str, ...], str]] = [
    ((), "nothing to read"),
    (("--question", "q"), "--answer is missing"),
    (("--answer", "a"), "--question is missing"),
    (("--question", "q", "--answer", " "), "'answer' must not be blank"),
    (("x.json", "--question", "q", "--answer", "a"), "not both"),
    (("--question", "q", "--answer", "a", "--context", "notes.txt"), "there is no file 'notes.txt'"),
    (("--question", "q", "--answer", "notes.txt"), "there is no file 'notes.txt'"),
    (("--question", "q", "--answer", "a", "--side", "pro"), "--side wants SIDE=TEXT"),
    (("--sampels", "3"), "no such option: --sampels"),
    (("--samples", "many"), "'--samples' must be an integer, got 'many'"),
    (("--samples", "0", "--question", "q", "--answer", "a"), "samples must be"),
    (("--seed", "-1", "--question", "q", "--answer", "a"), "seed must be"),
    (("--seed", "9" * 30, "--question", "q", "--answer", "a"), "seed must be"),
    (("--min-consistency", "1.5", "--question", "q", "--answer", "a"), "--min-consistency must be"),
    (("--tolerance", "nan", "--question", "q", "--answer", "a"), "tolerance must be"),
    (("--mode", "best"), "'best' is not one of"),
    (("--mode", "human", "--question", "q", "--answer", "a"), "feedback"),
    (("--backend", "nix", "--question", "q", "--answer", "a"), "unknown backend 'nix'"),
    (("--base-url", "http://x", "--question", "q", "--answer", "a"), "goes with a chat model"),
    (("--json", "--html", "-", "--question", "q", "--answer", "a"), "standard output"),
]


def test_bad_usage_says_what_to_change(run: Run) -> None:
    for arguments, said in BAD_USAGE:
        assert_error(run("refine", *arguments), said)


def test_an_unknown_id_names_the_known_ones(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", {**GIVEN, "id": "a"}, {**GIVEN, "id": "b"})
    assert_error(run("refine", path, "--id", "c"), "no row has the id 'c'; ids: a, b")


def test_a_page_shows_one_answer(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", {**GIVEN, "id": "a"}, {**GIVEN, "id": "b"})
    assert_error(run("refine", path, "--html", tmp_path / "x.html"), "pick one with --id")


def test_a_row_without_notes_stops_mode_human_before_the_first_row_is_refined(run: Run, tmp_path: Path) -> None:
    notes = [{"sentence": 1, "reason": "Too short."}]
    path = write(tmp_path / "rows.jsonl", {**GIVEN, "id": "a", "feedback": notes}, {**GIVEN, "id": "b"})
    assert_error(run("refine", path, "--mode", "human", "--json"), "feedback")


@pytest.mark.parametrize(("names", "said"), [("rouge,magic", "unknown detector 'magic'"), (" , ", "no detector named")])
def test_unknown_detectors_are_named(names: str, said: str, run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "row.json", GIVEN)
    assert_error(run("score", path, "--detectors", names, "--out", "-"), said)


def test_an_unknown_command_is_named(run: Run) -> None:
    assert_error(run("refin"), "no such command 'refin'")
