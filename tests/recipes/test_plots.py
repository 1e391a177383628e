"""Plots of a folder of results: curves of detectors, differences of modes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recipes.plots import draw
from tests.views.test_comparison import NONE, summary


def draw_of(folder: Path, figures: Any, curves: Any = None) -> list[str]:
    (folder / "summary.json").write_text(json.dumps(figures))
    (folder / "curves.json").write_text(json.dumps(curves))
    files = draw(folder)
    assert all(file.stat().st_size > 3000 for file in files)
    return [file.name for file in files]


def test_what_a_folder_has_figures_of_is_drawn(tmp_path: Path) -> None:
    assert draw_of(tmp_path, summary()) == ["differences.png", "differences.svg"]
    assert draw_of(tmp_path, summary(difference=NONE)) == []
    points = {"fpr": [0, 0.5, 1], "tpr": [0, 0.9, 1], "recall": [0.9, 1], "precision": [0.8, 0.5]}
    level = {"error": "coverage", "level": "answer", "rate": 0.5, "detectors": {"x": points, "y": points}}
    made = ["roc.png", "roc.svg", "precision-recall.png", "precision-recall.svg"]
    assert draw_of(tmp_path, {"levels": []}, [level, level]) == made
    assert draw_of(tmp_path, {"levels": []}, [{**level, "detectors": {}}]) == []
