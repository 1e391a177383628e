"""Preference tuning on HaluQuestQA's pairs with a Llama made on the spot: what an untrained model can learn from them.

    python benchmarks/refiner_training.py preference.jsonl [--prompt question] [--epochs 3] [--rate 0.001] [--seeds 0,1]

The base is random and knows no word (its tokenizer was made from the pairs' texts), so that a held-out accuracy near
chance is what to expect: the run shows speed, curves and the figures' spread, not what a real refiner gains. Beside the
reward accuracy stands how often the preferred answer is the longer one, which can be learnt without reading.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from eirene.data.json_rows import read_source
from eirene.refiners.training import RefinerRecipe, train_refiner
from eirene.refiners.training.pairs import read_pairs
from eirene.refiners.training.run import shown
from tests.tiny_llama import make_llama


def main() -> None:
    """Makes the base, tunes it once a seed, prints the held-out figures."""
    options = arguments()
    torch.set_num_threads(1)
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    pairs = read_pairs(read_source(options.data))
    texts = [text for pair in pairs for text in (str(pair.prompt), pair.chosen, pair.rejected)]
    with tempfile.TemporaryDirectory() as folder:
        base = make_llama(
            Path(folder) / "base", texts=texts, hidden=options.hidden, layers=options.layers, vocabulary=2000
        )
        recipe = RefinerRecipe(
            prompt=options.prompt, epochs=options.epochs, learning_rate=options.rate, lora_rank=options.rank,
            lora_alpha=2 * options.rank, lora_targets=None, held_out=options.held_out, micro_batch=4,
        )  # fmt: skip
        for seed in map(int, options.seeds.split(",")):
            run = train_refiner(
                options.data, Path(folder) / f"seed{seed}", base=str(base), recipe=recipe, seed=seed, device="cpu"
            )
            report(seed, run.card)


def report(seed: int, card: dict[str, Any]) -> None:
    """One seed's figures."""
    figures, data = card["figures"], card["data"]
    held = figures["held_out"]
    before, after = held["before"], held["after"]
    print(
        f"seed {seed}: {data['train']['pairs']} pairs trained on, {held['pairs']} held out, "
        f"{sum(data['dropped'].values())} left out; {figures['steps']} steps, {figures['seconds']:.0f} s, "
        f"{figures['tokens_per_second']:.0f} tokens/s"
    )
    print(f"  train: loss {figures['train_loss']}, accuracy {figures['train_accuracy']}")
    print(f"  held out: loss {before['loss']} -> {figures['held_out_loss']}, margin {after['reward_margin']}")
    print(f"  reward accuracy {shown(after['reward_accuracy'])}; longer preferred {shown(held['longer_preferred'])}")
    for name in ("preference_accuracy", "preference_accuracy_per_token"):
        print(f"  {name} {shown(before[name])} -> {shown(after[name])}")


def arguments() -> argparse.Namespace:
    """What may be set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data")
    parser.add_argument("--prompt", default="improve", choices=["improve", "generic", "question"])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--held-out", type=float, default=0.2)
    parser.add_argument("--seeds", default="0")
    return parser.parse_args()


if __name__ == "__main__":
    main()
