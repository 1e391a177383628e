"""What encoders are worth for alignment: ROC AUC with intervals, recall at fixed false alarms, spread over runs.

    python benchmarks/encoder_auc.py DATA [--encoder FOLDER ...] [--split dev] [--argkp FOLDER] [--json OUT]

DATA holds `mixed_*.jsonl`. The scores are the design's definitions (section 7) in the plainest form, with no constants
but the temperature, so that encoders are compared and nothing else: coverage by mutual alignment, hallucination by the
highest cosine. `detectors_mixed.py` measures the detector that ships. Sentences that claim nothing are left out.
Intervals: 95 %, by drawing claims (positions for ArgKP). With several encoders each figure ends in mean and range.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from roc import Rows, interval, plain_auc, recall_at, rows_of

TEMPERATURE = 0.05
FALSE_ALARMS = (0.02, 0.05, 0.10)
Cut = Callable[[str], Sequence[str]]
Encode = Callable[[Sequence[str]], NDArray[np.float32]]
Row = dict[str, Any]


def read_rows(file: Path) -> list[Row]:
    """The rows of a JSONL file."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def unit_texts(sentence: str) -> list[str]:
    """The sentence and its clauses as the detector reads them, openings taken off."""
    from eirene.text.clauses import clause_spans, core_text

    spans = list(clause_spans(sentence))
    clauses = [core_text(sentence[start:end]) for start, end in spans] if len(spans) > 1 else []
    return list(dict.fromkeys([core_text(sentence), *clauses]))


def score_mixed(rows: Sequence[Row], encode: Encode, cut: Cut = unit_texts) -> dict[str, Rows]:
    """Error scores for coverage per argument and answer and for hallucination per sentence and answer."""
    out: dict[str, list[tuple[float, bool, int]]] = {}
    for row in rows:
        claim = int(row["claim_id"])
        for name, score, error in score_answer(row, encode, cut):
            out.setdefault(name, []).append((score, error, claim))
    return {name: rows_of(values) for name, values in out.items()}


def score_answer(row: Row, encode: Encode, cut: Cut) -> list[tuple[str, float, bool]]:
    """The (table, error score, error) rows of one answer."""
    given = [*row["pro_arguments"], *row["con_arguments"]]
    sentences = [sentence for sentence in row["sentences"] if sentence["parts"]]
    units = [list(cut(sentence["text"])) for sentence in sentences]
    arguments = encode([argument["text"] for argument in given])
    cosines = (arguments @ encode([text for texts in units for text in texts]).T).astype(np.float64)
    owner = np.repeat(np.arange(len(units)), [len(texts) for texts in units])
    odds = np.exp((cosines - cosines.max(0)) / TEMPERATURE)
    missing = 1 - (cosines * odds / odds.sum(0)).max(1)
    loosest = 1 - cosines.max(1)
    foreign = [float((1 - cosines[:, owner == index].max(0)).max()) for index in range(len(units))]
    out: list[tuple[str, float, bool]] = []
    for index, argument in enumerate(given):
        error = argument["id"] in row["missing_argument_ids"]
        out.append(("coverage/argument", missing[index], error))
        out.append(("coverage/argument (max cosine)", loosest[index], error))
    out.append(("coverage/answer", missing.max(), row["has_coverage_error"]))
    out.append(("coverage/answer (max cosine)", loosest.max(), row["has_coverage_error"]))
    for score, sentence in zip(foreign, sentences, strict=True):
        kinds = {part["kind"] for part in sentence["parts"] if part["kind"].startswith("unsupported")}
        out.append(("hallucination/sentence", score, bool(kinds)))
        for kind in ("other_topic", "same_topic"):
            if not kinds or f"unsupported_{kind}" in kinds:
                out.append((f"hallucination/sentence ({kind})", score, bool(kinds)))
    out.append(("hallucination/answer", max(foreign), row["has_hallucination"]))
    return out


def score_pairs(rows: Sequence[Row], encode: Encode) -> Rows:
    """ArgKP: one minus the cosine of an argument and a key point; the "error" is a pair that does not match."""
    topics = {topic: number for number, topic in enumerate(sorted({row["topic"] for row in rows}))}
    scores = 1 - (encode([row["argument"] for row in rows]) * encode([row["key_point"] for row in rows])).sum(1)
    return rows_of(
        [(float(score), row["label"] == 0, topics[row["topic"]]) for score, row in zip(scores, rows, strict=True)]
    )


def summary(tables: dict[str, Rows], *, draws: int = 1000) -> dict[str, dict[str, Any]]:
    """Each table's AUC with its interval, and for arguments the recall at fixed false alarms."""
    out: dict[str, dict[str, Any]] = {}
    for name, table in tables.items():
        low, high = interval(table, draws=draws)
        out[name] = {"auc": plain_auc(table), "low": low, "high": high, "rows": len(table.score)}
        out[name]["errors"] = int(table.error.sum())
        if name == "coverage/argument":
            out[name]["recall"] = {str(rate): recall_at(table, rate) for rate in FALSE_ALARMS}
    return out


def main() -> None:
    """Reads the arguments, scores, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--encoder", type=Path, nargs="*", default=[None], help="default: the shipped one")
    parser.add_argument("--split", default="dev")
    parser.add_argument("--argkp", type=Path)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    from eirene.models.encoder import load_encoder

    found: dict[str, dict[str, dict[str, Any]]] = {}
    for folder in options.encoder:
        encoder = load_encoder(folder)
        tables = score_mixed(read_rows(options.data / f"mixed_{options.split}.jsonl"), encoder.encode)
        if options.argkp:
            tables["argkp pairs"] = score_pairs(read_rows(options.argkp / "pairs_dev.jsonl"), encoder.encode)
        found[f"{folder.name if folder else 'shipped'} {encoder.digest}"] = summary(tables, draws=options.draws)
    show(found)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def show(found: dict[str, dict[str, dict[str, Any]]]) -> None:
    """One block per figure, one line per encoder, and the spread where there are several."""
    for name in next(iter(found.values())):
        print(name)
        for encoder, figures in found.items():
            row = figures[name]
            recall = " ".join(f"{rate}: {value:.2f}" for rate, value in row.get("recall", {}).items())
            print(f"  {encoder:30} {row['auc']:.3f} [{row['low']:.3f}, {row['high']:.3f}]  {recall}")
        if len(found) > 1:
            values = [figures[name]["auc"] for figures in found.values()]
            print(f"  {'mean and range':30} {np.mean(values):.3f} ({min(values):.3f} to {max(values):.3f})")


if __name__ == "__main__":
    main()
