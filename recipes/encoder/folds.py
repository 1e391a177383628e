"""Trains encoders without a part of the claims each, for fitting constants on claims that an encoder has not seen.

    python -m recipes.encoder.folds DATA_DIR OUT_DIR [--folds 3]

The claims of DATA_DIR's `mixed_train.jsonl` are dealt into folds. For each, OUT_DIR/fold-<k> gets an encoder trained
by the shipped recipe on the claims of `topics_train.jsonl` that are not in it and share no text with it, and
`claims.json`, the list of those left out. They are what `fit_alignment.py --fold OUT_DIR/fold-<k>
OUT_DIR/fold-<k>/claims.json` takes.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from eirene.cli.terminal import say
from recipes.encoder.data import read_claims, without
from recipes.encoder.run import train_encoder

DEAL_SEED = 7


def main() -> None:
    """Reads the arguments, deals, trains."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--folds", type=int, default=3)
    options = parser.parse_args()
    rows = (options.data / "mixed_train.jsonl").read_text("utf-8").splitlines()
    ids = sorted({json.loads(row)["claim_id"] for row in rows if row.strip()})
    dealt = np.array_split(np.random.default_rng(DEAL_SEED).permutation(ids), options.folds)
    for k, part in enumerate(dealt):
        folder = options.out / f"fold-{k}"
        (folder / "data").mkdir(parents=True, exist_ok=True)
        held = {int(claim) for claim in part}
        (folder / "claims.json").write_text(json.dumps(sorted(held)) + "\n", "utf-8")
        left_out(options.data / "topics_train.jsonl", held, folder / "data" / "topics_train.jsonl")
        train_encoder(folder / "data", folder, progress=_tell)


def left_out(source: Path, held: set[int], target: Path) -> None:
    """Copies the topic rows whose claims are not held out and share no text with one that is."""
    claims = read_claims(source)
    kept = without([c for c in claims if c.claim_id not in held], [c for c in claims if c.claim_id in held])
    wanted = {claim.claim_id for claim in kept}
    lines = source.read_text("utf-8").splitlines(keepends=True)
    target.write_text("".join(line for line in lines if json.loads(line)["claim_id"] in wanted), "utf-8")


def _tell(seed: int, step: int, steps: int, loss: float) -> None:
    if step % 50 == 0 or step == steps:
        say(f"seed {seed}: step {step} of {steps}, loss {loss:.3f}")


if __name__ == "__main__":
    main()
