"""Baseline files: what is written is read again, and what cannot be compared is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eirene.agent.check import baseline_text, read_baseline
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


@pytest.mark.parametrize(
    ("versions", "said"),
    [
        ({**VERSIONS, "alignment": "x=2"}, "alignment x=1; this run: alignment x=2"),
        ({**VERSIONS, "eirene": "2"}, "eirene 1; this run: eirene 2"),
        ({"eirene": "1", "rouge": ""}, "without rouge; this run: rouge"),
        ({"eirene": "1"}, "alignment x=1; this run: without alignment"),
    ],
)
def test_a_baseline_measured_otherwise_is_refused(file: Path, versions: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match="scores cannot be compared") as raised:
        read_baseline(str(file), versions)
    assert said in str(raised.value)


def test_damage_is_seen(file: Path) -> None:
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    for text, said in [
        ("".join(lines).replace("0.25", "0.15"), "does not fit its checksum"),
        ("".join(lines[:-1]), "has 2 rows of the 3"),
        ("".join([*lines, lines[-1]]), "has the id 'c' twice"),
        (re.sub(r',"line_crc32":"\w+"', "", "".join(lines)), "line 1: has no checksum, .* --write-baseline"),
        ("".join([*lines[:-1], re.sub(r',"line_crc32":"\w+"', "", lines[-1])]), "line 4: has no checksum"),
        ("".join(lines).replace(',"line_crc32":', ', "line_crc32": '), "line 1: has no checksum"),
        ("".join(lines).replace('"id":"c"', '"id":"c","id":"c"'), "does not fit its checksum"),
        ('{"id": "a"}\n', "is no baseline"),
        ('{"eirene_baseline": 9}\n', "of form 9"),
        ("", "is empty"),
    ]:
        file.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=said):
            read_baseline(str(file), VERSIONS)
