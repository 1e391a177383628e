"""RealHall, the benchmark of ChainPoll (Friel and Sanyal 2023, section 3.1), made of local copies of its four sources.

python -m recipes.realhall DIR --model openai:gpt-3.5-turbo --annotator openai:gpt-4 --out realhall.jsonl
eirene evaluate detectors realhall.jsonl --detectors chainpoll,chainpoll-plain --judge openai:gpt-4o-mini

The paper's answers and labels are not published: `--model` answers anew. DROP's answers are labelled as the paper's are
(appendix A.3: without a word or number of a reference they are hallucinated), the others by `--annotator`.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import re
import string
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eirene.core.errors import InputError
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.records import Item, parse_item
from eirene.core.scores import number
from eirene.core.usage import Meter
from eirene.data import open_source
from eirene.data.output import line_writer
from eirene.eval.base import Case, case_of
from eirene.eval.detectors.chainpoll import ChainPoll
from eirene.eval.detectors.samples import sample_messages
from eirene.eval.scoring import in_order
from eirene.models.chat import ChatModel, Sampling
from eirene.models.encoder.runtime import shipped_encoder
from eirene.models.resolve import resolve_chat
from eirene.retrieval import Retriever, open_index
from eirene.text.thinking import without_thinking

PASSAGES = 4
"""Retrieved for a question of COVID-QA (section 3.1.1)."""
POLLS = 3
_WORKERS = 8


@dataclass(frozen=True)
class Question:
    """A question of one of the sources: what is shown with it, and the references, of which the first is the `gold`."""

    id: str
    text: str
    context: tuple[str, ...] = ()
    references: tuple[str, ...] = ()


def covid_qa(data: Any) -> Iterator[Question]:
    """SQuAD's form as published (`200423_covidQA.json`), or rows with question, answer and context."""
    if "question" in data:
        yield Question(str(data["id"]), data["question"], (data["context"],), (data["answer"],))
        return
    for paragraph in (p for document in data["data"] for p in document["paragraphs"]):
        for qa in paragraph["qas"]:
            texts = tuple(answer["text"] for answer in qa["answers"])
            yield Question(str(qa["id"]), qa["question"], (paragraph["context"],), texts)


def drop(data: Any) -> Iterator[Question]:
    """`drop_dataset_dev.json`: passages by their ids, each with its questions."""
    for passage in data.values():
        for qa in passage["qa_pairs"]:
            told = (_drop_answer(answer) for answer in (qa["answer"], *qa.get("validated_answers", ())))
            references = tuple(dict.fromkeys(text for text in told if text))
            yield Question(qa["query_id"], qa["question"], (passage["passage"],), references)


def _drop_answer(answer: Any) -> str:
    """A number, or spans, or a date."""
    date = answer.get("date") or {}
    parts = [answer.get("number"), *answer.get("spans", ()), *(date.get(part) for part in ("day", "month", "year"))]
    return " ".join(str(part) for part in parts if part)


def open_assistant(data: Any) -> Iterator[Question]:
    """The first turn of each English tree, of the file of trees or of that of messages."""
    first = data.get("prompt", data)
    if first.get("parent_id") is None and first.get("role") == "prompter" and first.get("lang") == "en":
        yield Question(str(first["message_id"]), first["text"])


def trivia_qa(data: Any) -> Iterator[Question]:
    """`unfiltered-web-dev.json` or `wikipedia-dev.json`, without the documents (section 3.1.2)."""
    for row in data["Data"]:
        answer = row["Answer"]
        yield Question(row["QuestionId"], row["Question"], (), (answer["Value"], *answer.get("Aliases", ())))


SOURCES: dict[str, tuple[str, Callable[[Any], Iterator[Question]]]] = {
    "COVID-QA": (r".*covid.*\.jsonl?(\.gz)?", covid_qa),
    "DROP": (r".*drop.*\.json", drop),
    "Open Assistant": (r".*oasst.*\.jsonl?(\.gz)?", open_assistant),
    "TriviaQA": (r".*(unfiltered-web|wikipedia|trivia).*\.json", trivia_qa),
}
_EXPECTED = {
    "COVID-QA": "200423_covidQA.json", "DROP": "drop_dataset_dev.json",
    "Open Assistant": "2023-04-12_oasst_ready.trees.jsonl.gz", "TriviaQA": "unfiltered-web-dev.json",
}  # fmt: skip


def sources_of(folder: Path) -> dict[str, list[Question]]:
    """The questions of all four sources. Raises `InputError` that names every source that the folder lacks."""
    files = sorted(p for p in folder.rglob("*") if p.is_file()) if folder.is_dir() else []
    found = {
        name: [p for p in files if re.fullmatch(pattern, p.relative_to(folder).as_posix().lower())]
        for name, (pattern, _) in SOURCES.items()
    }
    absent = [f"{name} ({_EXPECTED[name]})" for name, own in found.items() if not own]
    if absent:
        raise InputError(f"lacks {', '.join(absent)}; put the published files there", where=str(folder))
    return {name: read_source(own[0], SOURCES[name][1], name=name) for name, own in found.items()}


def read_source(file: Path, read: Callable[[Any], Iterator[Question]], *, name: str) -> list[Question]:
    """The questions of a file, each text once. Raises `InputError` for a file of another form."""
    is_whole = file.suffix == ".json"
    try:
        rows = (
            [json.loads(file.read_text("utf-8"))] if is_whole else [row.data for row in open_source(str(file)).rows()]
        )
        by_text = {question.text: question for row in rows for question in read(row)}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"is no file of {name} as published: {error!r}", where=str(file)) from error
    if not by_text:
        raise InputError(f"has no question of {name}", where=str(file))
    return list(by_text.values())


def sampled(questions: Sequence[Question], count: int, *, seed: int) -> list[Question]:
    """So many of them by the order of a hash, or all where that is 0."""
    order = sorted(questions, key=lambda q: hashlib.sha256(f"{seed}:{q.id}:{q.text}".encode()).digest())
    return order[:count] if count else list(questions)


def retrieved(questions: Sequence[Question], documents: Sequence[Question], corpus: str | None) -> list[Question]:
    """The questions with passages by cosine from the corpus, or where none is named from COVID-QA's own documents."""
    encoder = shipped_encoder()
    with tempfile.TemporaryDirectory() as scratch:
        own = Path(scratch) / "covid.jsonl"
        texts = dict.fromkeys(text for question in documents for text in question.context)
        own.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
        index = open_index(corpus or str(own), encoder, folder=Path(scratch))
        retriever = Retriever(index, encoder, top=PASSAGES, names="none")
        found = [tuple(hit.passage.shown for hit in retriever.find(question.text)[::-1]) for question in questions]
    return [Question(q.id, q.text, own, q.references) for q, own in zip(questions, found, strict=True)]


_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def _bag(text: str) -> set[str]:
    """DROP's bag of words: lower case, without articles and punctuation; numbers by their value."""
    return set(filter(None, (_token(part) for part in re.split(r"[\s-]+", text.lower()))))


def _token(part: str) -> str:
    try:
        return str(float(part.strip(string.punctuation.replace(".", "")).rstrip(".").replace(",", "")))
    except ValueError:
        return _ARTICLES.sub("", part.translate(_PUNCTUATION)).strip()


def has_f1(answer: str, references: Sequence[str]) -> bool:
    """Whether DROP's F1 with a reference is above 0: a word in common, and a number where the reference has one."""
    said = _bag(answer)
    for wanted in map(_bag, references):
        numbers = {token for token in wanted if re.fullmatch(r"-?\d+\.\d+", token)}
        if said & wanted and (not numbers or said & numbers):
            return True
    return False


async def answered(name: str, question: Question, model: ChatModel, annotator: ChatModel | None) -> Item | None:
    """The row of a question, with the model's answer and a label; None where the answer is blank."""
    given = Grounding("context", (ArgumentGroup("context", question.context),)) if question.context else None
    messages = sample_messages(Case(question.text, "", given or Grounding("derived", ())))
    reply = await model.ask(messages, sampling=Sampling(temperature=0.0), meter=Meter())
    text = without_thinking(reply.text)
    if not text.strip() or reply.is_cut_off or reply.is_filtered:
        return None
    row: dict[str, Any] = {"id": f"{name}:{question.id}", "question": question.text, "answer": text}
    row |= {"context": list(question.context)} if question.context else {}
    row |= {"gold": question.references[0]} if question.references else {}
    item = parse_item({**row, "meta": {"source": name}})
    if name == "DROP":
        error: bool | None = not has_f1(text, question.references)
    else:
        error = None if annotator is None else await _annotated(item, annotator)
    labels = {} if error is None else {"labels": {"hallucination": error, "cluster": item.id}}
    return item.model_copy(update={"meta": {**item.meta, **labels}})


async def _annotated(item: Item, annotator: ChatModel) -> bool | None:
    """Most of a few polls; None where they cannot be read."""
    score = number((await ChainPoll(annotator, polls=POLLS).score(case_of(item), meter=Meter())).hallucination)
    return None if score is None else score > 0.5


async def make(
    folder: Path, write: Callable[[str], None], *, model: ChatModel, annotator: ChatModel | None = None,
    corpus: str | None = None, limit: int = 0, seed: int = 0,
) -> dict[str, str]:  # fmt: skip
    """Writes a row for each question, and gives for each source what was made of it."""
    told = {}
    for name, every in sources_of(folder).items():
        chosen = sampled(every, limit, seed=seed)
        chosen = retrieved(chosen, every, corpus) if name == "COVID-QA" else chosen
        rows = labelled = faulty = 0

        async def do(question: Question, name: str = name) -> Item | None:
            return await answered(name, question, model, annotator)

        async for _, item in in_order(chosen, do, workers=_WORKERS):
            if item is not None:
                write(json.dumps(item.model_dump(mode="json", exclude_none=True), ensure_ascii=False))
                labels: Any = item.meta.get("labels", {})
                rows, labelled, faulty = rows + 1, labelled + bool(labels), faulty + labels.get("hallucination", False)
        told[name] = f"{rows} of {len(chosen)} questions answered, {labelled} labelled, {faulty} of them hallucinated"
    return told


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the rows that `eirene evaluate detectors` reads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", metavar="DIR", type=Path)
    parser.add_argument("--model", required=True, help="answers the questions")
    parser.add_argument("--annotator", help="labels the answers but DROP's; without one they have no label")
    parser.add_argument("--corpus", help="where passages for COVID-QA are found (default: its own documents)")
    parser.add_argument("--out", required=True, help="a file that is not there yet, or - for standard output")
    parser.add_argument("--limit", type=int, default=0, help="so many questions of each source (0: all)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    annotator = None if given.annotator is None else resolve_chat(given.annotator)
    sources_of(given.folder)  # before a model is loaded and a file begun
    model = resolve_chat(given.model)
    with line_writer(given.out) as write:
        told = asyncio.run(
            make(given.folder, write, model=model, annotator=annotator, corpus=given.corpus, limit=given.limit,
                 seed=given.seed)
        )  # fmt: skip
    sys.stderr.write("".join(f"{name}: {what}\n" for name, what in told.items()))


if __name__ == "__main__":
    main()
