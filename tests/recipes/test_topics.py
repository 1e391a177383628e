"""Perspectrum's claims in our layout become topics."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recipes.topics import read_claims

CLAIM: dict[str, Any] = {
    "claim_id": 7,
    "claim": "Zoos should be closed",
    "query": "What speaks for closing zoos?",
    "source": "somewhere",
    "split": "dev",
    "topics": ["animals"],
    "pro": [{"id": "7-0", "text": "Cages are cruel.", "text_source": "s", "pid": 1, "stance_5": "SUPPORT",
             "votes": [1, 0], "paraphrases": [{"pid": 2, "text": "It is cruel.", "source": "paraphrase"}]}],
    "con": [],
}  # fmt: skip


def test_a_claim_is_a_topic_and_a_side_without_arguments_is_none(tmp_path: Path) -> None:
    path = tmp_path / "claims.jsonl"
    path.write_text(json.dumps(CLAIM) + "\n")
    (topic,) = read_claims(str(path))
    assert (topic.id, topic.question, topic.aliases) == ("7", CLAIM["query"], [CLAIM["claim"]])
    assert [side.name for side in topic.sides] == ["pro"] and topic.sources == ["somewhere"]
    argument = topic.sides[0].arguments[0]
    assert (argument.id, argument.wordings, argument.source) == ("7-0", ("Cages are cruel.", "It is cruel."), "s")
