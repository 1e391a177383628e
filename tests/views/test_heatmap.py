"""The salience picture: what it shows, and that odd words do not break it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from eirene.core.errors import InputError
from eirene.views.salience import MOST_WORDS, Heatmap, draw_heatmap, write_heatmap

HEATMAP = Heatmap(
    title="Is $wind$ power good?",
    rows=[("pro", "wind"), ("pro", "$clean$"), ("con", "bats\x1b[31m")],
    columns=["wind", "清洁"],
    values=[[0.9, 0.0], [0.1, 0.5], [0.0, 0.0]],
    row_errors=[0.1, 0.5, 1.0],
    column_errors=[0.1, 0.5],
)


def labels(heatmap: Heatmap) -> tuple[list[str], list[str]]:
    figure = draw_heatmap(heatmap)
    figure.canvas.draw()
    rows, columns = figure.axes[0].get_yticklabels(), figure.axes[2].get_xticklabels()
    return [label.get_text() for label in rows], [label.get_text() for label in columns]


@pytest.mark.filterwarnings("ignore:Glyph")
def test_every_word_has_its_label_and_control_characters_are_made_visible() -> None:
    rows, columns = labels(HEATMAP)
    assert rows[:2] == ["wind", "$clean$"]
    assert "\x1b" not in rows[2] and rows[2].startswith("bats")
    assert columns == ["wind", "清洁"]


def test_the_map_and_both_strips_show_the_given_numbers() -> None:
    drawn = [np.asarray(axes.get_images()[0].get_array()).tolist() for axes in draw_heatmap(HEATMAP).axes[:3]]
    assert drawn == [HEATMAP.values, [[0.1], [0.5], [1.0]], [[0.1, 0.5]]]


@pytest.mark.parametrize("ending", [".png", ".svg"])
def test_the_same_map_gives_the_same_file(tmp_path: Path, ending: str) -> None:
    files = [tmp_path / f"{name}{ending}" for name in "ab"]
    for file in files:
        write_heatmap(replace(HEATMAP, columns=["wind", "clean"]), file)
    contents = {file.read_bytes().split(b"<defs>")[0] if ending == ".svg" else file.read_bytes() for file in files}
    assert len(contents) == 1


def test_a_long_map_is_cut_and_says_so() -> None:
    n = MOST_WORDS + 50
    long = Heatmap("Q?", [("pro", "word")] * n, ["wind"], [[0.5]] * n, [0.5] * n, [0.5])
    figure = draw_heatmap(long)
    assert len(figure.axes[0].get_yticklabels()) == MOST_WORDS
    assert f"the first {MOST_WORDS} of {n} words of what was given" in figure.get_suptitle()


def test_a_file_of_another_kind_and_a_map_without_words_are_errors(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"ends in \.png or \.svg"):
        write_heatmap(HEATMAP, tmp_path / "map.pdf")
    with pytest.raises(InputError, match="no word to show"):
        write_heatmap(replace(HEATMAP, columns=[], values=[[], [], []]), tmp_path / "map.png")
