"""How well the gate's detectors find known errors: ROC AUC on NPOV answers, beside what mere counting reaches.

    python benchmarks/detectors_mixed.py DATA_DIR [--split S] [--encoder FOLDER] [--argkp DIR] [--draws N] [--json OUT]

DATA_DIR holds `mixed_<split>.jsonl`. Per sentence, those that claim something are ranked (fillers cannot be foreign;
with them: the row "all sentences"). Intervals: 95 %, bootstrap over claims (positions for ArgKP). The counts of
arguments, sentences and clauses are controls: what they reach was found without reading a word.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

from npov_cases import Labelled, Span, read_cases
from rich.console import Console
from rich.table import Table
from roc import Rows, interval, plain_auc, recall_at, rows_of

from eirene.core.scores import Scores, number
from eirene.core.usage import Meter
from eirene.eval.base import Detector
from eirene.eval.detectors.alignment import AlignmentDetector
from eirene.eval.detectors.rouge import RougeDetector
from eirene.models.encoder import Encoder, load_encoder
from eirene.text.clauses import units_of
from eirene.text.sentences import split_sentences

FALSE_ALARMS = (0.02, 0.05, 0.10)
LEVELS = (
    "coverage / argument", "coverage / answer", "hallucination / sentence", "hallucination / answer",
    "hallucination / sentence, other topic", "hallucination / sentence, same topic", "hallucination / all sentences",
)  # fmt: skip
Row = tuple[str, float, bool, int]


def main() -> None:
    """Reads the arguments, scores, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--split", default="dev")
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--argkp", type=Path)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    encoder = load_encoder(options.encoder)
    cases = read_cases(options.data / f"mixed_{options.split}.jsonl")
    tables = {
        "rouge": _tables(row for case in cases for row in detector_rows(case, RougeDetector())),
        "alignment": _tables(row for case in cases for row in detector_rows(case, AlignmentDetector(encoder))),
        **{name: _tables(row for case in cases for row in count_rows(case, name)) for name in COUNTS},
    }
    figures = summary(tables, draws=options.draws)
    figures["encoder"] = encoder.digest
    figures["answers"], figures["claims"] = len(cases), len({case.claim for case in cases})
    if options.argkp:
        pairs = argkp_rows(options.argkp / "pairs_dev.jsonl", encoder)
        figures["argkp"] = _figure(pairs, options.draws)
    show(figures)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")


def detector_rows(case: Labelled, detector: Detector) -> Iterator[Row]:
    """A detector's scores of one case with their labels. What it leaves unscored counts as no error found: 0."""
    scores = asyncio.run(detector.score(case.case, meter=Meter()))
    for argument, missing in zip(scores.arguments, case.missing, strict=True):
        yield "coverage / argument", number(argument.coverage) or 0.0, missing, case.claim
    yield "coverage / answer", number(scores.coverage) or 0.0, case.has_coverage_error, case.claim
    yield "hallucination / answer", number(scores.hallucination) or 0.0, case.has_hallucination, case.claim
    for span, score in _span_scores(case, scores):
        yield "hallucination / all sentences", score, span.unsupported, case.claim
        if not span.parts:
            continue
        yield "hallucination / sentence", score, span.unsupported, case.claim
        for kind in ("other", "same"):
            if not span.unsupported or any(part.kind == f"unsupported_{kind}_topic" for part in span.parts):
                yield f"hallucination / sentence, {kind} topic", score, span.unsupported, case.claim


def _span_scores(case: Labelled, scores: Scores) -> Iterator[tuple[Span, float]]:
    """Each sentence of the data with the worst score of our sentences that overlap it: cuts may differ either way."""
    for span in case.spans:
        found = [
            number(scored.hallucination) or 0.0
            for sentence, scored in zip(split_sentences(case.case.answer), scores.sentences, strict=True)
            if min(sentence.text_end, span.end) > max(sentence.text_start, span.start)
        ]
        yield span, max(found, default=0.0)


COUNTS = ("arguments", "sentences", "clauses")


def count_rows(case: Labelled, what: str) -> Iterator[Row]:
    """A control: the count is the score of the answer, for missing arguments and for foreign parts alike."""
    sentences = split_sentences(case.case.answer)
    units = units_of(case.case.answer, sentences)
    whole = {unit.sentence for unit in units if unit.is_clause}
    atoms = sum(unit.is_clause or unit.sentence not in whole for unit in units)
    count = {"arguments": len(case.missing), "sentences": len(sentences), "clauses": atoms}[what]
    yield "coverage / answer", float(count), case.has_coverage_error, case.claim
    yield "hallucination / answer", float(count), case.has_hallucination, case.claim


def argkp_rows(file: Path, encoder: Encoder) -> Rows:
    """Pairs of argument and key point by cosine; the error is a pair that does not match."""
    pairs = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    arguments, points = (encoder.encode([pair[key] for pair in pairs]) for key in ("argument", "key_point"))
    topics = {topic: n for n, topic in enumerate(dict.fromkeys(pair["topic"] for pair in pairs))}
    scores = 1.0 - (arguments * points).sum(axis=1)
    return rows_of([(float(s), p["label"] == 0, topics[p["topic"]]) for s, p in zip(scores, pairs, strict=True)])


def _tables(rows: Iterator[Row]) -> dict[str, Rows]:
    grouped: dict[str, list[tuple[float, bool, int]]] = {}
    for level, score, error, claim in rows:
        grouped.setdefault(level, []).append((score, error, claim))
    return {level: rows_of(values) for level, values in grouped.items()}


def _figure(rows: Rows, draws: int) -> dict[str, object]:
    low, high = interval(rows, draws=draws)
    return {"auc": plain_auc(rows), "low": low, "high": high, "n": len(rows.score), "errors": int(rows.error.sum())}


def summary(tables: dict[str, dict[str, Rows]], *, draws: int) -> dict[str, object]:
    """All figures, as the JSON file holds them."""
    figures: dict[str, object] = {
        name: {level: _figure(rows, draws) for level, rows in table.items()} for name, table in tables.items()
    }
    gains = {}
    for level, rows in tables["alignment"].items():
        low, high = interval(rows, minus=tables["rouge"][level], draws=draws)
        gains[level] = {"gain": plain_auc(rows) - plain_auc(tables["rouge"][level]), "low": low, "high": high}
    figures["gain of alignment over rouge"] = gains
    figures["recall of missing arguments"] = {
        name: {f"{rate:.0%}": recall_at(tables[name]["coverage / argument"], rate) for rate in FALSE_ALARMS}
        for name in ("rouge", "alignment")
    }
    return figures


def show(figures: dict[str, object]) -> None:
    """Prints the figures as tables."""
    console = Console(width=150)
    console.print(f"encoder {figures['encoder']}: {figures['answers']} answers, {figures['claims']} claims")
    table = Table("ROC AUC [95 %]", "n (errors)", "rouge", "alignment", "gain", *COUNTS)
    gains = figures["gain of alignment over rouge"]
    assert isinstance(gains, dict)
    for level in LEVELS:
        cells = []
        for name in ("rouge", "alignment", *COUNTS):
            entry = figures[name]
            assert isinstance(entry, dict)
            cells.append(_cell(entry[level], "auc") if level in entry else "")
        base = figures["alignment"][level]  # type: ignore[index]
        table.add_row(level, f"{base['n']} ({base['errors']})", *cells[:2], _cell(gains[level], "gain"), *cells[2:])
    console.print(table)
    recalls = Table("recall of missing arguments at", *(f"{rate:.0%} false alarms" for rate in FALSE_ALARMS))
    for name, row in figures["recall of missing arguments"].items():  # type: ignore[attr-defined]
        recalls.add_row(name, *(f"{value:.2f}" for value in row.values()))
    console.print(recalls)
    if "argkp" in figures:
        console.print("ArgKP dev, argument against key point, encoder alone:", _cell(figures["argkp"], "auc"))


def _cell(entry: object, key: str) -> str:
    assert isinstance(entry, dict)
    return f"{entry[key]:.3f} [{entry['low']:.3f}, {entry['high']:.3f}]"


if __name__ == "__main__":
    main()
