"""Perspectrum's claims as we laid them out (`topics_*.jsonl`), as topics that the package reads.

python -m recipes.topics DATA/npov_perspectrum/topics_dev.jsonl topics.jsonl
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from eirene.data import open_source
from eirene.data.topics import Topic, parse_topic


def topic_row(claim: Mapping[str, Any]) -> dict[str, Any]:
    """A claim with `query`, `pro` and `con` as a row with `question` and `perspectives`; the claim is an alias."""
    return {
        "id": str(claim["claim_id"]),
        "question": claim["query"],
        "aliases": [claim["claim"]],
        "sources": [claim["source"]] if claim.get("source") else [],
        "perspectives": [{"name": side, "arguments": list(map(_argument, claim[side]))} for side in ("pro", "con")],
    }


def _argument(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "text": row["text"],
        "paraphrases": [paraphrase["text"] for paraphrase in row["paraphrases"]],
        "source": row.get("text_source"),
    }


def read_claims(path: str) -> list[Topic]:
    """The topics of a file of claims."""
    return [
        parse_topic(topic_row(cast("dict[str, Any]", row.data)), where=row.where) for row in open_source(path).rows()
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claims", metavar="IN")
    parser.add_argument("topics", metavar="OUT", type=Path)
    asked = parser.parse_args()
    lines = (
        json.dumps(topic_row(cast("dict[str, Any]", row.data)), ensure_ascii=False) + "\n"
        for row in open_source(asked.claims).rows()
    )
    asked.topics.write_text("".join(lines), encoding="utf-8")
