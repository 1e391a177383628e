"""Files of constants are read whole or not at all."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import pytest

from eirene.alignment.align import parse_constants, read_json
from eirene.core.errors import EncoderError
from eirene.feedback_model.embedded.evidence import parse_critic


def test_a_constant_that_is_no_number_is_refused() -> None:
    """Python reads NaN from JSON; a score made with it would be none."""
    for value in (float("nan"), float("inf"), None, True, "0.5"):
        data = json.loads(json.dumps({**read_json("eirene.alignment", "constants.json"), "bearing": value}))
        with pytest.raises(EncoderError, match=r"constants\.json: 'bearing' must be a number"):
            parse_constants(data)
        critic = read_json("eirene.feedback_model.embedded", "critic.json")
        critic["operating_point"]["missing"] = value
        with pytest.raises(EncoderError, match=r"critic\.json: 'missing' must be a number"):
            parse_critic(critic)


SHIPPED = [
    ("eirene.alignment", "constants.json"), ("eirene.feedback_model.embedded", "critic.json"),
    ("eirene.gate", "passages.json"), ("eirene.verification", "unsaid.json"),
    ("eirene.verification", "checkworthiness.json"),
]  # fmt: skip


def test_a_damaged_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "damaged_constants"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    for content in (None, b"", b"{", b"[]", b"\0\0", b"\xff"):
        if content is not None:
            (package / "c.json").write_bytes(content)
        with pytest.raises(EncoderError, match=r"c\.json: .*reinstall"):
            read_json("damaged_constants", "c.json")
    for home, name in SHIPPED:
        whole = files(home).joinpath(name).read_text("utf-8")
        (package / name).write_text(whole, "utf-8", newline="\r\n")  # a checkout on Windows
        assert read_json("damaged_constants", name) == read_json(home, name)
        at = whole.rindex("0")
        (package / name).write_text(f"{whole[:at]}1{whole[at + 1 :]}", "utf-8")
        with pytest.raises(EncoderError, match=rf"{name}: cannot be read .it is not the one that ships.*reinstall"):
            read_json("damaged_constants", name)
