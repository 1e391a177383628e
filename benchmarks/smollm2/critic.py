"""The EIR paper's feedback model (sections 4.1 and 5.1) of a small model: does tuning teach it where to look?

Supervised fine-tuning on HaluQuestQA's training rows (the published test rows are not among them), with LoRA or, by
`--tuning full`, of the whole model as in the paper; a fifth of their questions are drawn by the seed and held out. On
these, before and after tuning: the probability of the tag Incomplete, against Complete, where the reply has it. The
reply before it is held to be `[Complete]` throughout, so that one pass reads all places. ROC AUC over sentences and
within answers, and the first sentence named, beside what counting gives; 95 % intervals by answer.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness import drawn, read_rows, shown, write_rows
from model import make_folder, training

from eirene.core.critique import Tag
from eirene.core.records import Item
from eirene.data import opened
from eirene.data.haluquestqa import TaggedAnswer, read_tagged_answers
from eirene.eval.metrics.feedback import FeedbackRow, feedback_report
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.model import LocalFeedback
from eirene.feedback_model.training import train_feedback
from eirene.models.local.model import LocalModel, load_local
from eirene.models.training.recipes import FeedbackRecipe

RATES = {"lora": 5e-4, "full": 2e-5}
HELD_OUT = 0.2
COUNTS: dict[str, Callable[[TaggedAnswer, int], float]] = {
    "earlier place": lambda row, n: -n,
    "longer sentence": lambda row, n: len(row.statements[n]),
    "fewer sentences": lambda row, n: -len(row.statements),
}


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Trains, and the figures before and after."""
    base = make_folder(options.model)
    train, held = split(options)
    recipe = FeedbackRecipe(
        method=options.tuning, epochs=1, batch_size=4, micro_batch=1, max_tokens=options.max_tokens,
        learning_rate=RATES[options.tuning], lora_dropout=0.0, checkpoint_steps=10,
    )  # fmt: skip
    with training(options.minutes) as limits:
        trained = train_feedback(
            str(train), options.out / "critic", base=base, recipe=recipe, seed=options.seed, **limits
        )
    held = held[: options.most]
    found: dict[str, Any] = {"answers": len(held), "training": {**trained.card["data"], **trained.card["figures"]}}
    found |= {name: counted(held, count) for name, count in COUNTS.items()}
    for name, spec in (("tuned", f"hf:{options.out / 'critic'}"), ("untuned", f"{base}?layout=instruct")):
        model = load_local(spec)
        found[name] = figures(held, [chances(model, request_of(row)) for row in held])
    for name in (*COUNTS, "tuned", "untuned"):
        over, within = (shown(found[name]["sentences"]["model"][part]["auc"]) for part in ("overall", "within"))
        first = ", ".join(f"{k} {shown(v)}" for k, v in found[name]["paper"]["model"].items())
        print(f"{name:16s} ROC AUC over all {over}, within {within}; first named: {first}", flush=True)
    return found


def split(options: argparse.Namespace) -> tuple[Path, list[TaggedAnswer]]:
    """A file with the rows to train on, and the rows of the questions that are held out."""
    file = options.data / "haluquestqa/completeness_train.jsonl"
    rows = read_tagged_answers(opened(str(file)))
    questions = sorted({row.question for row in rows})
    held = set(drawn(questions, round(HELD_OUT * len(questions)), options.seed))
    kept = [raw for raw, row in zip(read_rows(file), rows, strict=True) if row.question not in held]
    train = options.out / "train.jsonl"
    write_rows(train, drawn(kept, options.rows, options.seed) if options.rows else kept)
    return train, [row for row in rows if row.question in held]


def request_of(row: TaggedAnswer) -> FeedbackRequest:
    """What the critic is asked."""
    return FeedbackRequest(Item(question=row.question, answer=row.answer), row.answer, row.sentences, seed=0)


def chances(model: LocalModel, request: FeedbackRequest) -> list[float]:
    """For each sentence the probability of Incomplete, of it and Complete, at its tag's place."""
    import torch

    prompt = LocalFeedback(model).prompt_ids(request)
    reply, places = [], []
    complete, incomplete = model.encode_more("Complete")[0], model.encode_more("Incomplete")[0]
    for n in range(1, len(request.sentences) + 1):
        reply += model.encode_more(("\n" if n > 1 else "") + f"{n}. [")
        places.append(len(reply))  # the tag's first token comes next
        reply += model.encode_more("Complete]")
    ids = torch.tensor([[*prompt, *reply]])
    with torch.inference_mode():
        logits = model.model(input_ids=ids, logits_to_keep=len(reply) + 1).logits[0]
    pairs = logits[places][:, [complete, incomplete]].double().softmax(-1)
    return [float(p) for p in pairs[:, 1]]


def figures(rows: Sequence[TaggedAnswer], scores: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Every figure of `eirene evaluate feedback` for sentences' scores; those above one half are called incomplete."""
    tagged = []
    for row, own in zip(rows, scores, strict=True):
        tags: list[Tag] = ["Incomplete" if s > 0.5 else "Complete" for s in own]
        tagged.append(FeedbackRow(
            id=row.id, key=row.id, signature="", n_sentences=len(own), gold=row.tags, lacks="Incomplete" in row.tags,
            status="scored", shares=tuple(own), tags=tuple(tags),
        ))  # fmt: skip
    return feedback_report(tagged, draws=2000)


def counted(rows: Sequence[TaggedAnswer], count: Callable[[TaggedAnswer, int], float]) -> dict[str, Any]:
    """What counting gives."""
    values = [[count(row, n) for n in range(len(row.statements))] for row in rows]
    low, high = (of(v for own in values for v in own) for of in (min, max))
    return figures(rows, [[(v - low) / ((high - low) or 1) for v in own] for own in values])
