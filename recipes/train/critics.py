"""Trains critics by supervised fine-tuning: of completeness on annotated answers, of hallucinations on marked errors.

Importing this loads no torch. Needs the extra `train`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Unpack

from eirene.core.critique import HALLUCINATIONS, Finding, Tag, findings_in
from eirene.core.errors import InputError
from eirene.core.findings.tags import write_tagged
from eirene.core.records import Item
from eirene.data import Dataset, RowSource, Shape, opened
from eirene.data.haluquestqa import TaggedAnswer, published_split, read_tagged_answers
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.hallucination import hallucination_messages
from eirene.feedback_model.request import CHAT_PROMPT, INSTRUCT_PROMPT, feedback_instruct, feedback_messages
from eirene.models.local.layout import CarriedPrompt, as_text
from eirene.models.local.spec import Layout
from eirene.prompts import load_prompt
from eirene.prompts.fence import one_line
from eirene.text.sentences import split_sentences
from recipes.train.recipe import CriticRecipe, FeedbackRecipe
from recipes.train.replies import Exchange, TrainingTask, train_replies
from recipes.train.run import RunOptions, Trained, file_facts, refuse_leaks, run_order, start_run

Split = Literal["all", "train", "test"]
TUNED_PROMPT = "hallucination_tuned"
"""What a critic of hallucinations is tuned on; the model carries it."""


def train_feedback(
    data: str | RowSource,
    out: str | Path,
    *,
    base: str,
    recipe: FeedbackRecipe | None = None,
    split: Split = "all",
    dev: str | RowSource | None = None,
    **options: Unpack[RunOptions],
) -> Trained:
    """Fine-tunes the causal language model `base` on annotated answers; `hf:OUT` is then a feedback model.

    `data` and `dev`, named or opened, hold rows that `eirene.data.haluquestqa` reads; `split` takes a part of the
    published file. The same call goes on where an interrupted one stopped, and returns at once when the run is
    finished. Raises `InputError` for data that cannot be read, a dev set that shares questions with the training set,
    a folder that holds another run, and a loss that is no longer a number.
    """
    recipe = FeedbackRecipe() if recipe is None else recipe
    run = start_run(base, out, recipe, **options)
    source, dev_source = opened(data), None if dev is None else opened(dev)
    rows = read_tagged_answers(source)
    if split != "all":
        rows = published_split(rows)[split == "test"]
    held = [] if dev_source is None else read_tagged_answers(dev_source)
    refuse_leaks([r.question for r in rows], [r.question for r in held])
    order = run_order(run, source, split=split, dev=dev_source)

    def task() -> TrainingTask:
        prompt = prompt_for(rows, recipe.layout)
        return TrainingTask(
            "A feedback model for Eirene", prompt.to_json(), {**file_facts(source), "split": split, **described(rows)},
            [feedback_exchange(r, prompt) for r in rows], [feedback_exchange(r, prompt) for r in held],
        )  # fmt: skip

    return train_replies(run, order, task)


def prompt_for(rows: Sequence[TaggedAnswer], layout: Layout) -> CarriedPrompt:
    """The prompt that a model trained on `rows` carries: the layout's, with the instruction that the rows have.

    Raises `InputError` where rows differ in their instruction: the model can carry one.
    """
    if layout == "chat":
        return CarriedPrompt("feedback", "chat", load_prompt(CHAT_PROMPT))
    found = Counter(row.instruction for row in rows)
    if len(found) > 1:
        rare = found.most_common()[-1][0]
        where = next(row.where for row in rows if row.instruction == rare)
        raise InputError(
            f"the rows have {len(found)} different instructions, and a model carries one; the rarest is here",
            field="instruction",
            where=where,
        )
    return CarriedPrompt("feedback", "instruct", load_prompt(INSTRUCT_PROMPT), next(iter(found), None))


def feedback_exchange(row: TaggedAnswer, prompt: CarriedPrompt) -> Exchange:
    """The prompt as sampling will show it, and the annotators' critique as the reply."""
    item = Item(question=row.question, answer=row.answer)
    request = FeedbackRequest(item, row.answer, row.sentences, seed=0)
    reply = render_reply(row.tags, row.reasons)
    if prompt.layout == "chat":
        return Exchange(feedback_messages(request, prompt=prompt.prompt), reply)
    return Exchange(feedback_instruct(request, instruction=prompt.instruction, prompt=prompt.prompt), reply)


def render_reply(tags: Sequence[Tag], reasons: Sequence[str | None]) -> str:
    """A critique as the reply that both layouts ask for, one line a statement: what a model is trained to write."""
    lines = []
    for n, (tag, reason) in enumerate(zip(tags, reasons, strict=True), start=1):
        lines.append(f"{n}. [{tag}]" + (f" Reasons: {one_line(reason or '')}" if tag == "Incomplete" else ""))
    return "\n".join(lines)


def described(rows: Sequence[TaggedAnswer]) -> dict[str, Any]:
    """Counts of a data set: answers, sentences, and how many of each are incomplete."""
    return {
        "answers": len(rows),
        "questions": len({r.question for r in rows}),
        "sentences": sum(len(r.tags) for r in rows),
        "incomplete_sentences": sum(tag == "Incomplete" for r in rows for tag in r.tags),
        "answers_with_an_incomplete_sentence": sum("Incomplete" in r.tags for r in rows),
    }


class MarkedItem(NamedTuple):
    """A row, and the errors that are marked in its answer (none: it has none)."""

    item: Item
    findings: tuple[Finding, ...]


def train_critic(
    data: str | RowSource,
    out: str | Path,
    *,
    base: str,
    recipe: CriticRecipe | None = None,
    dev: str | RowSource | None = None,
    shape: Shape | None = None,
    **options: Unpack[RunOptions],
) -> Trained:
    """Fine-tunes the causal language model `base` to tag errors; `hf:OUT` is then a critic of hallucinations.

    `data` and `dev`, named or opened, hold rows with `meta.findings`, as `eirene synth fava` writes them (FAVA, section
    5.2: references and faulty text in, tagged text out). Resume and errors are those of `train_feedback`; the dev set
    may share no right text with the training set.
    """
    recipe = CriticRecipe() if recipe is None else recipe
    run = start_run(base, out, recipe, **options)
    source, dev_source = opened(data), None if dev is None else opened(dev)
    rows = read_marked(source, shape)
    held = [] if dev_source is None else read_marked(dev_source, shape)
    refuse_leaks(_right_texts(rows), _right_texts(held), what="texts")
    carried = CarriedPrompt("hallucination", recipe.layout or _layout_of(run.base), load_prompt(TUNED_PROMPT))
    order = run_order(run, source, dev=dev_source, shape=shape, layout=carried.layout, prompt=carried.prompt.digest)
    kinds = Counter(f.kind for row in rows for f in row.findings)
    facts = {
        **file_facts(source),
        "rows": len(rows),
        "rows_without_an_error": sum(not row.findings for row in rows),
        "errors": {kind: kinds[kind] for kind in HALLUCINATIONS if kinds[kind]},
        "rows_with_references": sum(bool(row.item.context or row.item.perspectives) for row in rows),
        "dev_rows": len(held),
    }
    return train_replies(run, order, lambda: TrainingTask(
        "A critic of hallucinations for Eirene", carried.to_json(), facts,
        [critic_exchange(row, carried) for row in rows], [critic_exchange(row, carried) for row in held],
    ))  # fmt: skip


def read_marked(data: str | RowSource, shape: Shape | None = None) -> list[MarkedItem]:
    """The rows of a source with the errors marked in them; raises `InputError` that names a row without any such list,
    or with errors that tags cannot say."""
    source = opened(data)
    rows = []
    for item in Dataset(source, Shape() if shape is None else shape).items():
        where = f"{source.name}, row {item.id!r}"
        if "findings" not in item.meta:
            raise InputError(
                "has no meta.findings; rows as `eirene synth fava` writes them are wanted (an empty list where there "
                "is no error)", field="meta", where=where,
            )  # fmt: skip
        try:
            findings = findings_in(item.meta["findings"])
            write_tagged(item.answer, findings)
        except (ValueError, InputError) as error:
            raise InputError(f"meta.findings: {error}", field="meta", where=where) from None
        rows.append(MarkedItem(item, findings))
    if not rows:
        raise InputError("holds no row to learn from", where=source.name)
    return rows


def critic_exchange(row: MarkedItem, carried: CarriedPrompt) -> Exchange:
    """The prompt as sampling will show it, and the tagged answer as the reply."""
    item = row.item
    request = FeedbackRequest(item, item.answer, split_sentences(item.answer), seed=0)
    messages = hallucination_messages(request, prompt=carried.prompt)
    return Exchange(
        messages if carried.layout == "chat" else as_text(messages), write_tagged(item.answer, row.findings)
    )


def _layout_of(base: str) -> Layout:
    from eirene.models.local.loading import load_tokenizer

    return "chat" if load_tokenizer(base).chat_template else "instruct"


def _right_texts(rows: Sequence[MarkedItem]) -> list[str]:
    return [" ".join((row.item.gold or row.item.answer).split()) for row in rows]
