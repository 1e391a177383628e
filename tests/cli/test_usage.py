"""A command line that cannot be used is one sentence: the flag, what came, what is wanted; and nothing is done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.run import EXAMPLES, GIVEN, Run, assert_error, write
from tests.tiny_llama import make_llama

VALUES = {
    ("--seed", "x"): "'--seed' must be an integer, got 'x'",
    ("--seed", "1.5"): "'--seed' must be an integer, got '1.5'",
    ("--seed", ""): "'--seed' must be an integer, got ''",
    ("--tolerance", "half"): "'--tolerance' must be a number, got 'half'",
    ("--workers", "0"): "'--workers' must be greater than or equal to 1, got '0'",
    ("--timeout", "-1"): "'--timeout' must be greater than or equal to 0.1, got '-1'",
    ("--grace", "-1"): "'--grace' must be greater than or equal to 0, got '-1'",
    ("--fail-on-error", "nan"): "'--fail-on-error' must be less than or equal to 1, got 'nan'",
    ("--fail-on-error", "-1"): "'--fail-on-error' must be greater than or equal to 0, got '-1'",
    ("--mode", "best"): "invalid value for '--mode': 'best' is not one of 'improve', 'generic',",
    ("--mode", "edit"): "mode edit carries out the edits of hallucinations; take critic hallucination or both",
    ("--stop", "Value error, x"): "invalid value for '--stop': 'Value error, x' is not one of",
    ("--polls", "0"): "polls must be at least 1, got 0",
    ("--passages", "-1"): "passages must be at least 1, got -1",
    ("--price", "nobody.toml"): "nobody.toml: no such file",
    ("--out", ""): "--out is empty; name a file or folder",
    ("--config", ""): "the name of a file is empty; name one",
    (
        "--base-url",
        "http://127.0.0.1:70000/v1",
    ): "--base-url must be the http:// or https:// address of a server, such as",
    (
        "--judge-base-url",
        "localhost:8000",
    ): "--judge-base-url must be the http:// or https:// address of a server, such as",
}


def test_a_value_is_refused_with_its_flag_and_the_rule(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    for given, said in VALUES.items():
        result = run("batch", EXAMPLES / "dropped-argument.json", "--out", out, *given)
        assert_error(result, said)
        assert "error: Value error" not in result.err and ": Value error" not in result.err
        assert not out.exists()


def test_a_config_file_is_held_to_the_same_rules(run: Run, tmp_path: Path) -> None:
    config = tmp_path / "eirene.toml"
    command = ["batch", EXAMPLES / "dropped-argument.json", "--out", tmp_path / "o.jsonl", "--config", config]
    for line, said in (
        ('mode = "best"', "invalid value for '--mode': 'best' is not one of"),
        (
            'base-url = "ftp://x"',
            "--base-url must be the http:// or https:// address of a server, such as http://HOST:PORT/v1, got 'ftp://x'",
        ),
        ("fail-on-error = 2", "'--fail-on-error' must be less than or equal to 1, got '2'"),
        ('seed = "x"', "'seed' must be an integer, got str 'x'"),
        ("help-all = true", "unknown key 'help-all'"),  # which would end the command with 0
        ("graph = true", "unknown key 'graph'"),
    ):
        config.write_text(line, encoding="utf-8")
        assert_error(run(*command), said)


COMMANDS = [
    ("refine", "ROW", "--backend", "openai:m"),
    ("score", "ROW", "--out", "OUT"),
    ("batch", "ROW", "--out", "OUT"),
    ("compare", "ROW", "--out", "OUT"),
    ("npov", "--query", "x", "--topics", "ROW"),
    ("serve",),
    ("evaluate", "critic", "ROW"),
    ("evaluate", "detectors", "ROW", "--out", "OUT"),
    ("evaluate", "feedback", "ROW"),
    ("synth", "fava", "ROW", "--out", "OUT"),
]


def test_no_command_begins_with_an_address_that_is_none(run: Run, tmp_path: Path) -> None:
    places = {"ROW": EXAMPLES / "dropped-argument.json", "OUT": tmp_path / "out"}
    said = (
        "--base-url must be the http:// or https:// address of a server, such as http://HOST:PORT/v1, got 'http:///v1'"
    )
    for command in COMMANDS:
        assert_error(run(*(places.get(word, word) for word in command), "--base-url", "http:///v1"), said)
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "command", [("score", "", "--out", "OUT"), ("refine", ""), ("report", "", "-o", "OUT")], ids=str
)
def test_an_empty_name_is_no_file(command: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    assert_error(
        run(*(tmp_path / "o.html" if word == "OUT" else word for word in command)), "the name of a file is empty"
    )


def test_an_empty_name_is_no_folder(run: Run) -> None:
    assert_error(
        run("compare", EXAMPLES / "dropped-argument.json", "--out", ""), "--out is empty; name a file or folder"
    )


def test_more_workers_than_rows_are_not_started(run: Run, tmp_path: Path) -> None:
    command = ["batch", EXAMPLES / "dropped-argument.json", "--out", tmp_path / "o.jsonl"]
    result = run(*command, "--workers", "99999999999999999999")
    assert (result.code, "made 1 rows" in result.err) == (0, True)


def test_a_limit_below_none_is_refused(run: Run, tmp_path: Path) -> None:
    command = ["synth", "fava", EXAMPLES / "corpus", "--backend", "openai:x", "--out", tmp_path / "o.jsonl"]
    assert_error(run(*command, "--limit", "-1"), "limit must be at least 0, got -1")


def test_what_is_no_record_names_the_field(run: Run, tmp_path: Path) -> None:
    file = write(tmp_path / "run.jsonl", {"id": "1"})
    assert_error(run("report", file, "-o", tmp_path / "o.html"), "is no record of a run: 'question' is missing")


IDLE = "is not used: none of the detectors needs it (see --detectors)"


@pytest.mark.parametrize(
    ("more", "idle"),
    [
        (("--local-model", "hf:x", "--detector-model", "hf:y"), ["detector-model", "local-model"]),
        (("--classifier", "hf:x"), ["classifier"]),
        (("--detectors", "rouge", "--judge", "openai:m"), ["judge"]),
        (("--detectors", "selfcheck-ngram", "--local-model", "LLAMA"), []),
        ((), []),
    ],
    ids=str,
)
def test_a_model_that_nothing_uses_is_told(more: tuple[str, ...], idle: list[str], run: Run, tmp_path: Path) -> None:
    llama = f"hf:{make_llama(tmp_path / 'llama', texts=[GIVEN['answer']])}" if "LLAMA" in more else ""
    words = [llama if word == "LLAMA" else word for word in more]
    result = run("refine", EXAMPLES / "dropped-argument.json", "--samples", "3", *words)
    assert result.code == 0
    assert [line for line in result.err.splitlines() if "is not used" in line] == [
        f"warning: --{name} {IDLE}" for name in idle
    ]


def test_score_tells_it_as_well(run: Run, tmp_path: Path) -> None:
    command = ["score", EXAMPLES / "dropped-argument.json", "--out", tmp_path / "o.jsonl", "--detectors", "rouge"]
    result = run(*command, "--judge", "openai:m")
    assert (result.code, f"warning: --judge {IDLE}" in result.err) == (0, True)
