"""A BERT of a few thousand weights and a data set of four claims, made on the spot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CLAIMS = [
    (
        "Homework should be banned",
        "pupils need rest",
        "pupils need time to rest",
        "practice helps",
        "practice makes it stick",
    ),
    (
        "Zoos should close",
        "animals suffer in cages",
        "cages hurt animals",
        "zoos save species",
        "species survive in zoos",
    ),
    (
        "Cars should be electric",
        "the air gets cleaner",
        "cleaner air for cities",
        "batteries cost much",
        "a battery is dear",
    ),
    (
        "Art should be free",
        "all can see it",
        "everyone gets to see it",
        "museums need money",
        "money keeps museums open",
    ),
]


def topic(number: int) -> dict[str, object]:
    """One row as in `topics_*.jsonl`, with one argument of two wordings on each side."""
    claim, *texts = CLAIMS[number]

    def argument(side: int) -> dict[str, object]:
        return {
            "id": f"{number}-{side}",
            "text": texts[2 * side],
            "paraphrases": [{"pid": 1, "text": texts[2 * side + 1]}],
        }

    return {"claim_id": number, "claim": claim, "pro": [argument(0)], "con": [argument(1)]}


@pytest.fixture
def topics_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    train = [topic(number) for number in range(3)]
    (folder / "topics_train.jsonl").write_text("\n".join(map(json.dumps, train)) + "\n", encoding="utf-8")
    (folder / "topics_dev.jsonl").write_text(json.dumps(topic(3)) + "\n", encoding="utf-8")
    pairs = [
        {"argument": CLAIMS[3][1], "other": CLAIMS[3][2], "equivalent": 1},
        {"argument": CLAIMS[3][1], "other": CLAIMS[3][3], "equivalent": 0},
    ]
    (folder / "equivalence_dev.jsonl").write_text("\n".join(map(json.dumps, pairs)) + "\n", encoding="utf-8")
    return folder
