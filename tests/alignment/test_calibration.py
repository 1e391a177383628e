"""Files of constants are read whole or not at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eirene.alignment.calibration import parse_constants, read_json
from eirene.core.errors import EncoderError
from eirene.feedback_model.embedded.calibration import parse_critic


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, True, "0.5"])
def test_a_constant_that_is_no_number_is_refused(value: object) -> None:
    """Python reads NaN from JSON; a score made with it would be none."""
    data = json.loads(json.dumps({**read_json("eirene.alignment", "constants.json"), "bearing": value}))
    with pytest.raises(EncoderError, match=r"constants\.json: 'bearing' must be a number"):
        parse_constants(data)
    critic = read_json("eirene.feedback_model.embedded", "critic.json")
    critic["operating_point"]["missing"] = value
    with pytest.raises(EncoderError, match=r"critic\.json: 'missing' must be a number"):
        parse_critic(critic)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\0\0", b"\xff", None])
def test_a_damaged_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes | None) -> None:
    package = tmp_path / "damaged_constants"
    package.mkdir()
    (package / "__init__.py").touch()
    if content is not None:
        (package / "c.json").write_bytes(content)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(EncoderError, match=r"c\.json: .*reinstall"):
        read_json("damaged_constants", "c.json")
