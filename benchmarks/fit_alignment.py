"""Fits the constants of the alignment on training data and writes `constants.json`.

    python benchmarks/fit_alignment.py DATA_DIR [--encoder FOLDER] [--fold FOLDER CLAIMS]... [--qa FILE] [--out FILE]

DATA_DIR holds `mixed_train.jsonl`; development data is never read. An encoder trained on these claims sees them too
well, so its constants are fitted on folds: each FOLDER holds an encoder of the same recipe that was trained without the
claims in CLAIMS (a JSON list), and is used on those alone; `recipes.encoder` trains them. Without folds the encoder
itself is used on all claims.
FILE is `feedback.jsonl` of QA-Feedback, for the constant on passages; one half of its questions is read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from harness import arguments, logistic, read_rows
from npov_cases import Labelled, read_cases
from numpy.typing import NDArray

from eirene.alignment import features, load_constants
from eirene.alignment.features import Blend, Features, measure
from eirene.alignment.verbatim import verbatim
from eirene.models.encoder import Encoder, load_encoder
from eirene.text.clauses import Unit, units_of
from eirene.text.sentences import split_sentences
from recipes.verifier.splits import fitted_on

Rows = list[tuple[NDArray[np.float32], bool]]
Fold = tuple[Encoder, list[Labelled]]

TEMPERATURE, WORDS = 0.1, 0.3
"""Best ranking of missing arguments on folds of the training claims; flat from 0.07 to 0.13 and from 0.2 to 0.4."""

USED_IN_GOLD = 0.7
"""Cosine with a sentence of the gold answer from which a passage's sentence counts as used there."""


def main() -> None:
    """Reads the arguments, fits, writes."""
    parser = arguments(__doc__)
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--fold", type=Path, nargs=2, action="append", default=[], metavar=("FOLDER", "CLAIMS"))
    parser.add_argument("--qa", type=Path)
    parser.add_argument("--out", type=Path, default=Path("eirene/alignment/constants.json"))
    options = parser.parse_args()
    encoder = load_encoder(options.encoder)
    cases = read_cases(options.data / "mixed_train.jsonl")
    folds: list[Fold] = []
    for folder, claims in options.fold:
        wanted = set(json.loads(claims.read_text("utf-8")))
        folds.append((load_encoder(folder), [case for case in cases if case.claim in wanted]))
    folds = folds or [(encoder, cases)]
    blend = Blend(words=WORDS, temperature=TEMPERATURE)
    constants = {
        "encoder": encoder.digest,
        "fitted_on": [{"encoder": one.digest, "claims": len({case.claim for case in part})} for one, part in folds],
        "temperature": blend.temperature,
        "words": blend.words,
        "bearing": fit_bearing(options.qa, folds[0][0]) if options.qa else load_constants().bearing,
        **fit(folds, blend),
    }
    options.out.write_text(json.dumps(constants, indent=2) + "\n", "utf-8")
    print(options.out.read_text("utf-8"))


def fit(folds: Iterable[Fold], blend: Blend) -> dict[str, object]:
    """The four logistic regressions, on answers that each fold's encoder has not been trained on."""
    says: Rows = []
    missing: Rows = []
    unsupported: Rows = []
    claimless: Rows = []
    for encoder, case in ((encoder, case) for encoder, cases in folds for case in cases):
        units, found = measured(case, encoder, blend)
        missing += zip(found.missing(), case.missing, strict=True)
        for u, labels in enumerate(atom_labels(case, units)):
            if labels is None:
                continue
            argument, is_unsupported, is_claimless = labels
            claimless.append((found.claimless()[u], is_claimless))
            if not is_claimless:
                unsupported.append((found.unsupported()[u], is_unsupported))
                says += [(found.says()[a, u], a == argument) for a in range(len(case.missing))]
    return {
        "says": logistic(says, features.SAYS, strength=100.0),
        "missing": logistic(missing, features.MISSING, strength=100.0),
        "unsupported": logistic(unsupported, features.UNSUPPORTED, strength=100.0),
        # The data has few kinds of fillers and they are told apart without fault: keep the slope moderate.
        "claimless": logistic(claimless, features.CLAIMLESS, strength=1.0),
    }


def measured(case: Labelled, encoder: Encoder, blend: Blend) -> tuple[tuple[Unit, ...], Features]:
    """Units and measures of a case's answer."""
    sentences = split_sentences(case.case.answer)
    units = units_of(case.case.answer, sentences)
    texts = [unit.text for unit in units]
    given, question = case.case.given.arguments, case.case.question
    said = verbatim(given, case.case.answer, units, sentences)
    return units, measure(given, texts, encoder, question=question, evidence=None, blend=blend, said=said)


def atom_labels(case: Labelled, units: tuple[Unit, ...]) -> list[tuple[int | None, bool, bool] | None]:
    """For each unit the argument it says, whether it is unsupported, whether it claims nothing; None where mixed."""
    cut = {unit.sentence for unit in units if unit.is_clause}
    labels: list[tuple[int | None, bool, bool] | None] = []
    for unit in units:
        parts = case.parts_at(unit.start, unit.end)
        if (unit.sentence in cut and not unit.is_clause) or parts is None or len(parts) > 1:
            labels.append(None)
        elif not parts:
            labels.append((None, False, True))
        else:
            labels.append((parts[0].argument, parts[0].unsupported, False))
    return labels


def fit_bearing(file: Path, encoder: Encoder) -> float:
    """The share of the highest similarity with the question that best tells what a gold answer used (F1)."""
    share: list[float] = []
    used: list[bool] = []
    for row in read_rows(file):
        if not fitted_on(row):
            continue
        sentences = [text for passage in row["passages"] for text in passage[1:]]
        vectors, question = encoder.encode(sentences), encoder.encode([row["question"]])[0]
        gold = encoder.encode([sentence.text for sentence in split_sentences(row["gold"])])
        similarity = vectors @ question
        share += (similarity / similarity.max()).tolist()
        used += ((vectors @ gold.T).max(axis=1) >= USED_IN_GOLD).tolist()
    values, truth = np.array(share), np.array(used)
    candidates = np.arange(0.5, 1.0, 0.01)
    f1 = [2 * (truth & (values >= c)).sum() / (truth.sum() + (values >= c).sum()) for c in candidates]
    return round(float(candidates[int(np.argmax(f1))]), 2)


if __name__ == "__main__":
    main()
