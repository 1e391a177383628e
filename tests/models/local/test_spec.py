"""What the name of a local model may look like."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eirene.core.errors import InputError
from eirene.data.line_checksum import sealed_value
from eirene.models.local.spec import LocalSpec, parse_spec, read_object
from tests.rows import each


@each(
    "text, spec",
    [
        ("hf:owner/name", LocalSpec("owner/name")),
        ("owner/name", LocalSpec("owner/name")),
        ("hf:owner/name+owner/adapter", LocalSpec("owner/name", "owner/adapter")),
        ("hf:a/b+c/d?device=cuda:1&dtype=bfloat16", LocalSpec("a/b", "c/d", "cuda:1", "bfloat16")),
        ("hf:a/b?layout=instruct", LocalSpec("a/b", layout="instruct")),
    ],
)
def test_a_name_has_a_model_an_adapter_and_options(text: str, spec: LocalSpec) -> None:
    assert parse_spec(text) == spec


@each("text", ["hf:", "hf:+x", "hf:a/b+", "hf:a?dtype=int3", "hf:a?colour=red", "hf:a?layout=", "hf:a?layout=x"])
def test_a_name_that_says_nothing_is_an_input_error(text: str) -> None:
    with pytest.raises(InputError):
        parse_spec(text)


def test_arguments_go_before_options() -> None:
    assert parse_spec("a/b?device=cuda&dtype=float16", device="cpu", dtype="float32") == LocalSpec(
        "a/b", None, "cpu", "float32"
    )


def test_a_folder_is_taken_whole_whatever_its_name(tmp_path: Path) -> None:
    folder = tmp_path / "a+b?c=d"
    folder.mkdir()
    assert parse_spec(f"hf:{folder}") == LocalSpec(str(folder))
    plus = tmp_path / "a+b"
    plus.mkdir()
    assert parse_spec(f"hf:{plus}+x/y?device=cpu") == LocalSpec(str(plus), "x/y", "cpu")


def test_an_adapter_alone_brings_its_base(tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "owner/base"}))
    assert parse_spec(f"hf:{tmp_path}") == LocalSpec("owner/base", str(tmp_path))
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(InputError, match="names no base model"):
        parse_spec(f"hf:{tmp_path}")


def test_a_carried_prompt_is_a_json_object(tmp_path: Path) -> None:
    file = tmp_path / "eirene_prompt.json"
    file.write_text('{"layout": "chat"}')
    assert read_object(file) == {"layout": "chat"}
    for bad in ("[", "[1]"):
        file.write_text(bad)
        with pytest.raises(InputError, match=r"eirene_prompt\.json: "):
            read_object(file)


def test_a_prompt_that_was_changed_is_refused(tmp_path: Path) -> None:
    """By its checksum; one of an earlier version has none."""
    file = tmp_path / "eirene_prompt.json"
    file.write_text(json.dumps(sealed_value({"system": "Judge."}), indent=1))
    assert read_object(file) == {"system": "Judge."}
    file.write_text(file.read_text().replace("Judge", "Fudge"))
    with pytest.raises(InputError, match="does not fit its checksum"):
        read_object(file)
