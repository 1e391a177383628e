"""What is shown of an evaluation of detectors: tables that name what is missing."""

from __future__ import annotations

from typing import Any

from eirene.views.detectors import evaluation_table, floor_name
from eirene.views.tables import figure, p_value

AREA = {"value": 0.75, "low": 0.5, "high": 0.9, "n": 8}
COST = {"version": "encoder=1", "answers": 8, "failed": 0, "failures": {}, "calls": 0, "retries": 0,
        "seconds": {"total": 1.0, "median": 0.1, "p95": 0.2}, "input_tokens": 0, "output_tokens": 0,
        "cost_usd": None}  # fmt: skip


def summary() -> dict[str, Any]:
    scored = {"scored": 8, "unscored": {}, "auc": AREA, "ap": AREA, "f1": AREA, "threshold": 0.25}
    silent = {"scored": 0, "unscored": {"needs | a\njudge": 6, **{f"why {n}": 1 for n in range(8)}}}
    pair = {
        "a": "x",
        "b": "y",
        "n": 8,
        "errors": 4,
        "difference": {**AREA, "low": -0.1},
        "p": 0.01,
        "holm": 0.02,
    }
    level = {
        "error": "coverage", "level": "answer", "n": 8, "errors": 4, "clusters": 3,
        "detectors": {"x": scored, "silent": silent},
        "floors": {"all": {"auc": {"value": 0.5}, "ap": {"value": 0.5}, "f1": {"value": 0.6}},
                   "position": {"direction": "fewer", "auc": AREA, "ap": AREA, "f1": {"unscored": "no dev"}}},
        "pairs": [pair, {"a": "x", "b": "z", "n": 1, "errors": 1, "unscored": "too few"}],
    }  # fmt: skip
    return {
        "data": {"name": "d.jsonl", "form": "FRANK", "drawn": 8, "of": 9, "left_out": {"Generic": 2}}, "dev": None,
        "signature": "n:8|seed:0|v:1", "answers": 8, "clusters": 3, "development_clusters": 1, "levels": [level],
        "costs": {"x": COST},
        "graded": {"x": {
            "spearman": AREA, "kendall": {"unscored": "no scipy"}, "given_length": AREA, "within_systems": AREA
        }},
    }  # fmt: skip


def test_the_tables_show_figures_floors_pairs_costs_and_what_is_unscored() -> None:
    text = evaluation_table(summary())
    interval = "0.750 [0.500, 0.900]"
    assert f"| x | {interval} | {interval} | {interval} | 8 of 8 | `n:8\\|seed:0\\|v:1\\|t:0.25` |" in text
    assert "| *everything* | 0.500 | 0.500 | 0.600 |  |" in text
    assert "| *earlier* |" in text and "| no dev |" in text
    assert "| x minus y | +0.750 [-0.100, +0.900] | 8 | 0.01 / 0.02 |" in text
    assert f"| x | {interval} | no scipy | {interval} | {interval} | `n:8" in text
    assert "| x minus z | too few | 1 |" in text
    assert "| x | 8 | 0 | 1.0 | 0.1000 | 0.2000 | 0 | 0 | 0 | unknown |" in text
    assert "- Coverage, per answer, silent: 6 of 8 unscored: needs \\| a judge" in text
    assert "- Coverage, per answer, silent: 4 of 8 unscored: other reasons" in text
    assert "Left out: 2 rows (Generic)." in text and "Drawn: 8 of 9 labelled answers." in text


def test_a_few_clusters_are_said_to_be_too_few() -> None:
    few, enough = summary(), summary()
    enough["levels"][0]["clusters"] = 10
    assert "4 errors, 3 clusters; intervals over so few clusters are too narrow" in evaluation_table(few)
    assert "too narrow" not in evaluation_table(enough)


def test_figures_floors_and_p_values_in_words() -> None:
    assert (figure({"value": 0.5}), figure({"unscored": "why"}), figure({})) == ("0.500", "why", "undefined")
    assert [floor_name("words", {"direction": d}) for d in ("more", "fewer")] == ["more words", "fewer words"]
    assert p_value(0.0123) == "0.012"
