"""A small language model, trained from scratch on made NPOV responses, as salience detector and as classifier.

    python benchmarks/tiny_npov.py --data ../shared/data/npov_perspectrum [--seeds 0,1,2] [--out FILE] [--keep DIR]
    python benchmarks/tiny_npov.py --data ../shared/data/npov_perspectrum --models DIR    # those kept, without training

For each seed: a Llama of random weights is trained in full on responses that the embedded writer composes from
`topics_train.jsonl` (arguments drawn anew for each), which teaches it to write from given arguments. Its gradients then
score answers on held-out topics: `salience`. Trained on in full on labelled answers with errors by the NPOV paper's
recipe (an unused argument given as well; a used one taken away), it is the `classifier` of each error. Measured on
topics of `topics_dev.jsonl`, which share nothing with training: on answers made by the same recipe, and on
`mixed_dev.jsonl` (crowd-written paraphrases, balanced so that counting gives nothing away). `rouge` on the same answers
stands beside.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from eirene.core.scores import number
from eirene.core.usage import Meter
from eirene.data.topics import Side, Topic, read_topics
from eirene.eval.base import Detector, case_of
from eirene.eval.datasets import Labelled, read_labelled
from eirene.eval.detectors.classifier import ClassifierDetector, ClassifierTask
from eirene.eval.detectors.classifier.training import ClassifierRecipe, train_classifier
from eirene.eval.detectors.rouge import RougeDetector
from eirene.eval.detectors.salience import SalienceDetector, WordMaps
from eirene.models.local.model import load_local
from eirene.npov import compose
from eirene.npov.training import GeneratorRecipe, train_generator

ERRORS = ("hallucination", "coverage")
DRAWS = 1000


def drawn(topic: Topic, rng: np.random.Generator, *, most: int) -> Topic:
    """The topic with one to `most` of its arguments a side, as many on each."""
    n = int(rng.integers(1, min(most, *(len(s.arguments) for s in topic.sides)) + 1))
    sides = [
        Side(s.name, tuple(s.arguments[i] for i in sorted(rng.choice(len(s.arguments), n, replace=False))), s.speakers)
        for s in topic.sides
    ]
    return Topic(topic.id, topic.question, tuple(sides))


def row(topic: Topic, given: Topic, answer: str, key: str, labels: dict[str, bool]) -> dict[str, Any]:
    sides = [{"name": s.name, "arguments": [a.text for a in s.arguments]} for s in given.sides]
    meta = {"labels": {**labels, "cluster": topic.id}}
    return {"id": key, "question": topic.question, "answer": answer, "perspectives": sides, "meta": meta}


def clean_rows(topics: Sequence[Topic], n: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    for k in range(n):
        topic = topics[int(rng.integers(len(topics)))]
        given = drawn(topic, rng, most=2)
        yield row(topic, given, compose(given, seed=k).main, f"clean-{k}", {"hallucination": False, "coverage": False})


def faulty_rows(topics: Sequence[Topic], n: int, rng: np.random.Generator) -> Iterator[dict[str, Any]]:
    """The paper's recipe: the response stays, and the given arguments change. Every fourth row each: none, coverage,
    hallucination, both."""
    for k in range(n):
        topic = topics[int(rng.integers(len(topics)))]
        said = drawn(topic, rng, most=2)
        coverage, hallucination = bool(k & 1), bool(k & 2)
        sides = [list(s.arguments) for s in said.sides]
        side = int(rng.integers(len(sides)))
        hallucination = hallucination and len(sides[side]) > 1
        if hallucination:
            sides[side].pop(int(rng.integers(len(sides[side]))))
        unused = [a for a in topic.sides[side].arguments if a not in said.sides[side].arguments]
        if coverage and unused:
            place = int(rng.integers(len(sides[side]) + 1))
            sides[side].insert(place, unused[int(rng.integers(len(unused)))])
        coverage = coverage and bool(unused)
        given = Topic(topic.id, topic.question, tuple(
            Side(s.name, tuple(arguments), s.speakers) for s, arguments in zip(said.sides, sides, strict=True)
        ))  # fmt: skip
        labels = {"hallucination": hallucination, "coverage": coverage}
        yield row(topic, given, compose(said, seed=k).main, f"made-{k}", labels)


def write(path: Path, rows: Iterable[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")
    return str(path)


def make_base(folder: Path, texts: Iterable[str], *, seed: int, hidden: int, layers: int, vocabulary: int) -> str:
    """A Llama of random weights, with a byte-pair vocabulary of the training texts."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<s>", "</s>"]
    bpe.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=vocabulary, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    ))  # fmt: skip
    tokenizer: Any = PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<s>", eos_token="</s>")
    torch.manual_seed(seed)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=hidden, intermediate_size=3 * hidden, num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=1024, tie_word_embeddings=True,
        bos_token_id=0, eos_token_id=1,
    ))  # fmt: skip
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


async def score(detectors: dict[str, Detector], cases: Sequence[Labelled]) -> dict[str, dict[str, list[float | None]]]:
    """Answer by answer, so that detectors on the same maps share the passes."""
    found: dict[str, dict[str, list[float | None]]] = {name: {error: [] for error in ERRORS} for name in detectors}
    for labelled in cases:
        case = case_of(labelled.item)
        for name, detector in detectors.items():
            scores = await detector.score(case, meter=Meter())
            for error in ERRORS:
                found[name][error].append(number(getattr(scores, error)))
    return found


def auc(labels: Sequence[bool], scores: Sequence[float]) -> float:
    from eirene.eval.statistics.ranking import roc_auc

    return roc_auc(labels, scores)


def with_interval(cases: Sequence[Labelled], error: str, scores: Sequence[float | None]) -> dict[str, Any]:
    """ROC AUC with a 95 % bootstrap interval by topic; the unscored are counted."""
    known = [(c.cluster, bool(getattr(c, error)), s) for c, s in zip(cases, scores, strict=True) if s is not None]
    clusters = sorted({c for c, _, _ in known})
    members = {c: [n for n, k in enumerate(known) if k[0] == c] for c in clusters}
    labels, values = np.array([k[1] for k in known]), np.array([k[2] for k in known])
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(DRAWS):
        picked = [n for c in rng.choice(len(clusters), len(clusters)) for n in members[clusters[c]]]
        if len(set(labels[picked])) == 2:
            draws.append(auc(labels[picked].tolist(), values[picked].tolist()))
    low, high = np.percentile(draws, [2.5, 97.5])
    return {
        "auc": round(auc(labels.tolist(), values.tolist()), 3),
        "low": round(float(low), 3),
        "high": round(float(high), 3),
        "n": len(known),
        "unscored": len(cases) - len(known),
    }


def train(seed: int, options: argparse.Namespace, folder: Path) -> None:
    """Leaves the generator and a classifier for each error in the folder."""
    rng = np.random.default_rng(seed)
    train = [t for t in read_topics(str(options.data / "topics_train.jsonl")) if len(t.sides) == 2]
    clean = write(folder / "clean.jsonl", clean_rows(train, options.responses, rng))
    texts = [json.loads(line)["answer"] for line in Path(clean).read_text("utf-8").splitlines()]
    base = make_base(folder / "base", texts, seed=seed, hidden=options.hidden, layers=options.layers, vocabulary=4000)
    started = time.perf_counter()
    trained = train_generator(
        clean, folder / "generator", base=base, seed=seed,
        recipe=GeneratorRecipe(method="full", learning_rate=1e-3, max_steps=options.steps, warmup=100, max_tokens=400),
        progress=lambda s: print(f"\r  generator {s.step}/{s.steps} loss {s.loss:.3f}", end="", flush=True),
    )  # fmt: skip
    print(f"\n  generator: loss {trained.card['figures']['train_loss'][-1]}, {time.perf_counter() - started:.0f} s")
    made = write(folder / "made.jsonl", faulty_rows(train, options.labelled, rng))
    for error in ERRORS:
        train_classifier(
            made, folder / error, base=str(folder / "generator"), task=ClassifierTask(error), seed=seed,
            recipe=ClassifierRecipe(
                method="full", learning_rate=5e-4, max_steps=options.tuning, warmup=50, max_tokens=400
            ),
            progress=lambda s: print(f"\r  classifier {s.step}/{s.steps} loss {s.loss:.3f}", end="", flush=True),
        )  # fmt: skip
    print()


def measure(folder: Path, sets: dict[str, list[Labelled]]) -> dict[str, Any]:
    """The areas of the folder's models on each set, and of `rouge` beside them."""
    maps = WordMaps(load_local(f"hf:{folder / 'generator'}"))
    detectors: dict[str, Detector] = {"rouge": RougeDetector(), "salience": SalienceDetector(maps)}
    detectors["salience-sum"] = SalienceDetector(maps, aggregate="sum", name="salience-sum")
    detectors["classifier"] = ClassifierDetector([load_local(f"hf:{folder / error}") for error in ERRORS])
    found: dict[str, Any] = {}
    for name, cases in sets.items():
        for detector_name, scores in asyncio.run(score(detectors, cases)).items():
            found[f"{name}/{detector_name}"] = {e: with_interval(cases, e, scores[e]) for e in ERRORS}
            print(f"  {name:8s} {detector_name:13s} " + "  ".join(
                f"{e} {found[f'{name}/{detector_name}'][e]}" for e in ERRORS), flush=True)  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", type=Path, help="a folder that the trained models stay in")
    parser.add_argument(
        "--models", type=Path, help="a folder that --keep left: its models are measured, none is trained"
    )
    parser.add_argument("--responses", type=int, default=6000)
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--labelled", type=int, default=3000)
    parser.add_argument("--tuning", type=int, default=300)
    parser.add_argument("--hidden", type=int, default=96)
    parser.add_argument("--layers", type=int, default=2)
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dev = [t for t in read_topics(str(options.data / "topics_dev.jsonl")) if len(t.sides) == 2]
        recipe = write(folder / "dev.jsonl", faulty_rows(dev, 200, np.random.default_rng(99)))
        sets = {
            "recipe": list(read_labelled(recipe).cases),
            "mixed": list(read_labelled(str(options.data / "mixed_dev.jsonl")).cases),
        }
        for seed in map(int, options.seeds.split(",")):
            print(f"seed {seed}")
            own = (options.models or options.keep or folder) / str(seed)
            if options.models is None:
                own.mkdir(parents=True)
                train(seed, options, own)
            results[seed] = measure(own, sets)
    if options.out is not None:
        options.out.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
