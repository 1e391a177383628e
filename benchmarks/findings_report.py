"""Writes the answers of QA-Feedback and RAGTruth on which the verifier was neither trained nor fitted.

    python benchmarks/findings_report.py DATA OUT
    eirene evaluate critic OUT/feedback.jsonl --critic hallucination --draws 1000
    eirene evaluate critic OUT/responses.jsonl --critic hallucination --draws 1000

DATA holds `qa_feedback` and `ragtruth_subset`; the parts are those of `verifier_data.py`.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path

from verifier_data import ANSWERS, parts

KEYS = {"qa_feedback": "id", "ragtruth": "source_id"}


def main() -> None:
    """Filters the rows of both sets and copies RAGTruth's sources beside them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for name, key in KEYS.items():
        source = args.data / ANSWERS[name]
        report = parts(args.data, name)["report"]
        kept = {str(case.cluster if key == "source_id" else case.item.id) for case in report}
        rows = [line for line in source.read_text("utf-8").splitlines() if str(json.loads(line)[key]) in kept]
        (args.out / source.name).write_text("\n".join(rows) + "\n", encoding="utf-8")
        print(f"{name}: {len(rows)} rows")
    shutil.copy(args.data / "ragtruth_subset/sources.jsonl", args.out)


if __name__ == "__main__":
    main()
