"""SmolLM2-135M-Instruct in the papers' places: what it learns in minutes of a core, and what it is worth there.

    python benchmarks/smollm2/run.py critic     DATA --model DIR --out OUT                   # EIR's feedback model
    python benchmarks/smollm2/run.py loop       DATA --critic OUT/critic --out OUT           # and in the loop
    python benchmarks/smollm2/run.py classifier DATA --model DIR --out OUT                   # NPOV's classifiers
    python benchmarks/smollm2/run.py fava       DATA --model DIR --out OUT                   # FAVA's editing model

DATA is the folder of data sets; DIR is made by `model.py` if need be. Figures are printed and stand in OUT/METHOD.json.
A training stops after `--minutes`; the same command goes on where it was stopped. Nothing is chosen on what is
measured. Salience, GPTScore, pseudo-entropy and SelfCheck are `eirene evaluate detectors --local-model hf:DIR`.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import classifier
import critic
import fava
import loop
from harness import arguments, write_json

METHODS = {"critic": critic.measure, "loop": loop.measure, "classifier": classifier.measure, "fava": fava.measure}


def main() -> None:
    """Trains, measures, prints."""
    parser = arguments(__doc__, data=None)
    parser.add_argument("what", choices=METHODS)
    parser.add_argument("data", type=Path, help="the folder of data sets")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--model", type=Path, help="the folder of the untuned model; it is made if need be")
    parser.add_argument("--critic", type=Path, help="what `critic` trained, for `loop`")
    parser.add_argument("--tuning", choices=("lora", "full", "prompt"), default="lora")
    parser.add_argument("--rows", type=int, help="train on so many rows, drawn by the seed (default: all)")
    parser.add_argument("--most", type=int, help="measure so many answers, drawn by the seed (default: all)")
    parser.add_argument("--small", type=int, default=20, help="of them the small critic of `loop` judges so many")
    parser.add_argument("--samples", type=int, default=20, help="critiques of an answer in `loop`")
    parser.add_argument("--max-tokens", type=int, default=512, help="longer examples are not trained on")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if (options.critic if options.what == "loop" else options.model) is None:
        parser.error("loop takes --critic, all others --model")
    found = METHODS[options.what](options)
    write_json(options.json or options.out / f"{options.what}.json", found)


if __name__ == "__main__":
    main()
