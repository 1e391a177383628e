"""Baseline files: what is written is read again, and what cannot be compared is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from eirene.agent.check.baseline import baseline_text, read_baseline
from eirene.core.errors import InputError

from .quality_rows import faulty, row

VERSIONS = {"eirene": "1", "alignment": "x=1"}
ROWS = [row("a", 0.25), faulty("b", "contradicted"), row("c", None)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "base.jsonl"
    path.write_text(baseline_text(ROWS, VERSIONS), encoding="utf-8")
    return path


def test_a_baseline_is_read_as_it_was_written(file: Path) -> None:
    assert list(read_baseline(str(file), VERSIONS).rows.values()) == ROWS


def test_a_baseline_measured_otherwise_is_refused(file: Path) -> None:
    for versions, said in [
        ({**VERSIONS, "alignment": "x=2"}, "alignment x=1; this run: alignment x=2"),
        ({"eirene": "1", "rouge": ""}, "without rouge; this run: rouge"),
        ({"eirene": "1"}, "alignment x=1; this run: without alignment"),
    ]:
        with pytest.raises(InputError, match="scores cannot be compared") as raised:
            read_baseline(str(file), versions)
        assert said in str(raised.value)


def test_damage_is_seen(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    for text, said in [
        ("".join(lines).replace("0.25", "0.15"), "its checksum does not fit"),
        ("".join(lines[:-1]), "its checksum does not fit"),
        ("".join([*lines, lines[-1]]), "its checksum does not fit"),
        ("".join([lines[0], lines[2], lines[1], lines[3]]), "its checksum does not fit"),
        ("".join(lines).replace('"checksum"', '"sum"'), "line 1"),
        ('{"id": "a"}\n', "is no baseline"),
        ('{"eirene_baseline": 9}\n', "of form 9"),
        ("", "is empty"),
    ]:
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=said):
            read_baseline(str(file), VERSIONS)
