"""The EIR paper's refiner (section 4.2, appendix C) of a real small model: does DPO teach it what people prefer?

    python benchmarks/smollm2/refiner.py --data DATA/haluquestqa/preference.jsonl --model DIR --out OUT

Trains by `train_refiner` on HaluQuestQA's preference pairs; a share of the questions (`--held-out`) is drawn by the
seed and kept apart with all of its pairs. A pair counts, in training and held out, where question and either answer are
at most `--max-tokens` long together; the others are counted. The prompt is the question alone, as the authors have it:
the loop's own prompt (`--prompt improve`) shows the worse answer as well, and takes twice the tokens.

Measured on the held-out pairs, with 95 % intervals by question: how often tuning raised the preferred answer more than
the other (the implicit reward margin is above 0), and how often it is the likelier one before and after, whole and per
token; beside them how often it is the longer one, the shorter one and, by `annotations.jsonl` beside the pairs, GPT-4's
rather than a person's, which needs no reading. Ties count one half.
The training stops after `--minutes`, and the same command goes on there; pairs that were ranked are kept in OUT.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from journal import Journal
from model import make_folder
from shares import cell, mean
from time_limit import time_limit

from eirene.core.signature import rng_for
from eirene.data import opened
from eirene.models.local.loading import load_tokenizer
from eirene.models.local.model import load_local
from eirene.models.training.recipes import RefinerRecipe
from eirene.refiners.preference_pairs import PreferencePair, read_pairs, split_pairs, usable
from eirene.refiners.training import EncodedPair, RankedPair, encode_pair, fitting, pair_prompt, rank, train_refiner


def training_file(pairs: Sequence[PreferencePair], folder: Path) -> Path:
    """The pairs to train on, in HaluQuestQA's form."""
    rows = ({"question": p.prompt, "preferred_response": p.chosen, "rejected_response": p.rejected} for p in pairs)
    file = folder / "train.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return file


def train(file: Path, options: argparse.Namespace, base: str, recipe: RefinerRecipe) -> dict[str, Any]:
    """The card of the refiner in OUT, trained or found there."""
    with time_limit(options.minutes) as is_over:
        trained = train_refiner(
            str(file), options.out / "refiner", base=base, recipe=recipe, seed=options.seed,
            progress=lambda s: print(f"step {s.step}/{s.steps} loss {s.loss:.3f} accuracy {s.accuracy}", flush=True),
            should_stop=is_over,
        )  # fmt: skip
    return trained.card


def ranked(held: Sequence[EncodedPair], options: argparse.Namespace, base: str) -> list[RankedPair]:
    """The held-out pairs, each ranked by the tuned model and by the one it started from."""
    journal = Journal(options.out / "ranked.jsonl")
    left = [(n, pair) for n, pair in enumerate(held) if str(n) not in journal.rows]
    if left:
        tuned, first = load_local(f"hf:{options.out / 'refiner'}"), load_local(base)
        for n, pair in left:
            (row,) = rank(tuned.model, [pair], reference=first.model)
            journal.add(str(n), row=asdict(row))
    return [RankedPair(**journal.rows[str(n)]["row"]) for n in range(len(held))]


def written_by(file: Path) -> dict[str, str]:
    """Who wrote an answer, `human` or `model`, where the annotations beside the pairs say it."""
    annotations = file.with_name("annotations.jsonl")
    if not annotations.exists():
        return {}
    rows = [json.loads(line) for line in annotations.read_text("utf-8").splitlines()]
    return {" ".join(r[f"answer{n}"].split()): r[f"answer{n}_source"] for r in rows for n in (1, 2)}


def model_won(pair: PreferencePair, sources: dict[str, str]) -> float:
    """1 where the preferred answer is the language model's and the other a person's, 0 the other way round."""
    chosen, rejected = (sources.get(" ".join(text.split())) == "model" for text in (pair.chosen, pair.rejected))
    return won(chosen - rejected)


def won(margin: float) -> float:
    """1 for a preferred answer that is ahead, 1/2 for a tie."""
    return 1.0 if margin > 0 else 0.5 if margin == 0 else 0.0


MEASURES: dict[str, Callable[[RankedPair], float]] = {
    "raised more (reward accuracy)": lambda r: won(r.log_ratio),
    "likelier, whole, before": lambda r: won(r.chosen_before - r.rejected_before),
    "likelier, whole, after": lambda r: won(r.chosen - r.rejected),
    "likelier per token, before": lambda r: won(r.chosen_before / r.n_chosen - r.rejected_before / r.n_rejected),
    "likelier per token, after": lambda r: won(r.chosen / r.n_chosen - r.rejected / r.n_rejected),
    "longer": lambda r: won(r.n_chosen - r.n_rejected),
    "shorter": lambda r: won(r.n_rejected - r.n_chosen),
    "raised more, less longer (paired)": lambda r: won(r.log_ratio) - won(r.n_chosen - r.n_rejected),
}


def report(rows: Sequence[RankedPair], by_model: Sequence[float], beta: float) -> dict[str, Any]:
    """Prints the table and returns the figures; `by_model` says of each pair whether GPT-4 wrote what is preferred."""
    longer = [r for r in rows if r.n_chosen > r.n_rejected]
    shorter = [r for r in rows if r.n_chosen < r.n_rejected]
    found = {name: mean((r.key, measure(r)) for r in rows) for name, measure in MEASURES.items()}
    pairs = list(zip(rows, by_model, strict=True))
    found["GPT-4's"] = mean((r.key, m) for r, m in pairs)
    found["raised more, less GPT-4's (paired)"] = mean((r.key, won(r.log_ratio) - m) for r, m in pairs)
    found["raised more, less likelier before (paired)"] = mean(
        (r.key, won(r.log_ratio) - won(r.chosen_before - r.rejected_before)) for r in rows
    )
    found["raised more, of pairs whose preferred answer is longer"] = mean((r.key, won(r.log_ratio)) for r in longer)
    found["raised more, of pairs whose preferred answer is shorter"] = mean((r.key, won(r.log_ratio)) for r in shorter)
    found["reward margin"] = mean((r.key, beta * r.log_ratio) for r in rows)
    for name, estimate in found.items():
        print(f"| {name} | {estimate.n} | {cell(estimate)} |", flush=True)
    return {name: estimate.to_json() for name, estimate in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="the folder of the model; it is made if need be")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--prompt", choices=("question", "improve", "generic"), default="question")
    parser.add_argument("--held-out", type=float, default=0.33, help="share of the questions")
    parser.add_argument("--pairs", type=int, default=100_000, help="train on so many at most, drawn by the seed")
    parser.add_argument("--max-tokens", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--minutes", type=float, default=60, help="a training stops after so many and can go on")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    base = make_folder(options.model)
    recipe = RefinerRecipe(
        prompt=options.prompt, epochs=options.epochs, batch_size=options.batch, micro_batch=1, held_out=0.0,
        max_tokens=options.max_tokens, learning_rate=options.rate, checkpoint_steps=10,
    )  # fmt: skip
    every, dropped = usable(read_pairs(opened(str(options.data))))
    pairs, held = split_pairs(every, options.held_out, seed=options.seed)
    tokenizer = load_tokenizer(base.removeprefix("hf:"))
    asking = pair_prompt(every, recipe, tokenizer)
    short = [p for p in pairs if encode_pair(p, asking, tokenizer).longest <= recipe.max_tokens]
    drawn = sorted(rng_for(options.seed, "pairs").permutation(len(short))[: options.pairs])
    measured, lost = fitting(
        [encode_pair(p, asking, tokenizer) for p in held], recipe.max_tokens, what="held-out pairs"
    )
    sources = written_by(options.data)
    fits = [p for p in held if encode_pair(p, asking, tokenizer).longest <= recipe.max_tokens]
    by_model = [model_won(p, sources) for p in fits]
    card = train(training_file([short[i] for i in drawn], options.out), options, base, recipe)
    found: dict[str, Any] = {
        "left_out": dict(dropped), "training": {"pairs_that_fit": len(short), "of": len(pairs), **card["data"]},
        "figures_of_training": card["figures"],
        "held_out": {"pairs": len(measured), "questions": len({p.key for p in measured}), "left_out": dict(lost)},
    }  # fmt: skip
    print(json.dumps(found), flush=True)
    found["figures"] = report(ranked(measured, options, base), by_model, recipe.beta)
    (options.out / "summary.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
