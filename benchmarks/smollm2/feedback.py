"""The EIR paper's feedback model (sections 4.1 and 5.1) of a real small model: does tuning teach it where to look?

    python benchmarks/smollm2/feedback.py --data DATA/haluquestqa/completeness_train.jsonl --model DIR --out OUT

Supervised fine-tuning on HaluQuestQA's training rows (the published test rows are not among them), with LoRA or, by
`--method full`, of the whole model as in the paper; a fifth of their questions are drawn by the seed and held out.
Measured on the held-out answers, before and after tuning:

- sentences: the probability of the tag Incomplete, against Complete, where the reply has it. The reply before it is
  held to be `[Complete]` throughout, so that one pass reads all places. ROC AUC over sentences and within answers, the
  first sentence named (exact, adjacent, different; named where the probability is above one half), beside place,
  length, the number of sentences and the rows that need no model. 95 % intervals by answer.
- valid samples: `--samples` critiques of each of the `--valid` shortest held-out answers are drawn as text, held to no
  grammar, at most `--new-tokens` long, and those that can be read are counted.

Longer examples than `--max-tokens` are not trained on. The same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from model import make_folder
from time_limit import time_limit

from eirene.core.critique import Tag
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.data import opened
from eirene.data.haluquestqa import TaggedAnswer, read_tagged_answers
from eirene.eval.metrics.feedback import FeedbackRow, feedback_report
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import LocalFeedback
from eirene.feedback_model.sampling import draw_samples
from eirene.feedback_model.training import train_feedback
from eirene.models.local.model import LocalModel, load_local
from eirene.models.training.recipes import FeedbackRecipe

RATES = {"lora": 5e-4, "full": 2e-5}
PUBLISHED = "EIR, table 3, LLaMA2-13B on the 51 published test rows: exact 37.3 %, adjacent 24.2 %, different 38.6 %"


def split(file: Path, folder: Path, *, share: float, seed: int) -> tuple[Path, list[TaggedAnswer]]:
    """A file with the rows to train on, and the rows of the questions that are held out."""
    lines = file.read_text("utf-8").splitlines()
    rows = read_tagged_answers(opened(str(file)))
    questions = sorted({row.question for row in rows})
    order = np.random.default_rng(seed).permutation(len(questions))
    held = {questions[i] for i in order[: round(share * len(questions))]}
    kept = [line for line, row in zip(lines, rows, strict=True) if row.question not in held]
    folder.mkdir(parents=True, exist_ok=True)
    train = folder / "train.jsonl"
    train.write_text("\n".join(kept) + "\n", "utf-8")
    return train, [row for row in rows if row.question in held]


def request_of(row: TaggedAnswer, seed: int) -> FeedbackRequest:
    return FeedbackRequest(Item(question=row.question, answer=row.answer), row.answer, row.sentences, seed=seed)


def chances(model: LocalModel, request: FeedbackRequest) -> list[float]:
    """For each sentence the probability of Incomplete, of it and Complete, at its tag's place."""
    import torch

    prompt = LocalFeedback(model).prompt_ids(request)
    reply, places = [], []
    complete, incomplete = model.encode_more("Complete")[0], model.encode_more("Incomplete")[0]
    for n in range(1, len(request.sentences) + 1):
        start = model.encode_more(("\n" if n > 1 else "") + f"{n}. [")
        reply += start
        places.append(len(reply))  # the tag's first token comes next
        reply += model.encode_more("Complete]")
    ids = torch.tensor([[*prompt, *reply]])
    with torch.inference_mode():
        logits = model.model(input_ids=ids, logits_to_keep=len(reply) + 1).logits[0]
    pairs = logits[places][:, [complete, incomplete]].double().softmax(-1)
    return [float(p) for p in pairs[:, 1]]


def figures(rows: Sequence[TaggedAnswer], scores: Sequence[Sequence[float]], *, cut: float = 0.5) -> dict[str, Any]:
    """Every figure of `eirene evaluate feedback` for sentences' scores; those above `cut` are called incomplete."""
    tagged = []
    for row, own in zip(rows, scores, strict=True):
        tags: list[Tag] = ["Incomplete" if s > cut else "Complete" for s in own]
        tagged.append(FeedbackRow(
            id=row.id, key=row.id, signature="", n_sentences=len(own), gold=row.tags, lacks="Incomplete" in row.tags,
            status="scored", shares=tuple(own), tags=tuple(tags),
        ))  # fmt: skip
    return feedback_report(tagged, draws=2000)


def floors(rows: Sequence[TaggedAnswer]) -> dict[str, dict[str, Any]]:
    """What counting gives: an earlier place, a longer sentence, an answer of fewer sentences."""
    counts: dict[str, Callable[[TaggedAnswer, int], float]] = {
        "earlier place": lambda row, n: -n,
        "longer": lambda row, n: len(row.statements[n]),
        "fewer sentences": lambda row, n: -len(row.statements),
    }
    found = {}
    for name, count in counts.items():
        values = [[count(row, n) for n in range(len(row.statements))] for row in rows]
        low, high = (of(v for own in values for v in own) for of in (min, max))
        found[name] = figures(rows, [[(v - low) / (high - low) for v in own] for own in values])
    return found


async def valid_share(
    model: LocalModel, rows: Sequence[TaggedAnswer], *, samples: int, new_tokens: int, seed: int
) -> dict[str, Any]:
    """How many of the drawn critiques can be read."""
    from eirene.models.local.sampling import LocalSampling

    critic = LocalFeedback(model, sampling=LocalSampling(max_new_tokens=new_tokens), structured="text")
    valid, causes = [], []
    for row in rows:
        found = await draw_samples(critic, request_of(row, seed), n=samples, stop="none", meter=Meter())
        valid.append(sum(s.is_valid for s in found.samples))
        causes += [s.invalid for s in found.samples if not s.is_valid]
    return {
        "answers": len(rows), "samples": samples * len(rows), "valid": sum(valid),
        "answers_with_a_valid_one": sum(v > 0 for v in valid), "causes": sorted(set(map(str, causes)))[:8],
    }  # fmt: skip


def measure(name: str, spec: str, held: Sequence[TaggedAnswer], options: argparse.Namespace) -> dict[str, Any]:
    model = load_local(spec + "?layout=instruct" if name == "before" else spec)
    started = time.perf_counter()
    found: dict[str, Any] = {"sentences": figures(held, [chances(model, request_of(row, 0)) for row in held])}
    found["seconds"] = round(time.perf_counter() - started)
    show(name, found["sentences"])
    short = sorted(held, key=lambda row: len(row.answer))[: options.valid]
    found["valid"] = asyncio.run(
        valid_share(model, short, samples=options.samples, new_tokens=options.new_tokens, seed=options.seed)
    )
    print(json.dumps(found["valid"]), flush=True)
    return found


def show(name: str, report: dict[str, Any]) -> None:
    parts = {"overall": report["sentences"]["model"]["overall"], "within": report["sentences"]["model"]["within"]}
    for part, values in parts.items():
        print(f"{name:12s} {part:8s} " + "  ".join(f"{k} {_cell(values[k])}" for k in ("auc", "ap", "f1")), flush=True)
    print(f"{name:12s} " + "  ".join(f"{k} {_cell(v)}" for k, v in report["paper"]["model"].items()), flush=True)


def _cell(value: dict[str, Any]) -> str:
    return f"{value['value']:.3f} [{value['low']:.3f}, {value['high']:.3f}] n={value['n']}" if "value" in value else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="the folder of the model; it is made if need be")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--held-out", type=float, default=0.2, help="share of the questions")
    parser.add_argument("--method", choices=("lora", "full"), default="lora")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--rate", type=float, help="default: 5e-4, in full the paper's 2e-5")
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--minutes", type=float, default=60, help="a training stops after so many and can go on")
    parser.add_argument("--valid", type=int, default=30, help="so many of the shortest held-out answers are sampled")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--new-tokens", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    base = make_folder(options.model)
    train, held = split(options.data, options.out, share=options.held_out, seed=options.seed)
    found: dict[str, Any] = {
        "answers": len(held), "questions": len({r.question for r in held}), "published": PUBLISHED,
        "floors": floors(held),
    }  # fmt: skip
    for name, report in found["floors"].items():
        show(name, report)
    for name in ("always first", "always last", "random at base rate"):
        print(name, {k: _cell(v) for k, v in found["floors"]["earlier place"]["paper"][name].items()}, flush=True)
    recipe = FeedbackRecipe(
        method=options.method, epochs=options.epochs, batch_size=4, micro_batch=1, max_tokens=options.max_tokens,
        learning_rate=options.rate or RATES[options.method], lora_dropout=0.0, checkpoint_steps=10,
    )  # fmt: skip
    with time_limit(options.minutes) as is_over:
        trained = train_feedback(
            str(train), options.out / "critic", base=base, recipe=recipe, seed=options.seed,
            progress=lambda s: print(f"step {s.step}/{s.steps} loss {s.loss:.3f}", flush=True),
            should_stop=is_over,
        )  # fmt: skip
    found["training"] = {**trained.card["data"], **trained.card["figures"]}
    for name, spec in (("after", f"hf:{options.out / 'critic'}"), ("before", base)):
        found[name] = measure(name, spec, held, options)
        (options.out / "summary.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
