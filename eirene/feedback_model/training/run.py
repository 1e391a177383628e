"""Trains critics: `train_feedback` on annotated answers, `train_critic` on answers with marked errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from eirene.core.critique import HALLUCINATIONS, Finding, findings_in
from eirene.core.errors import InputError
from eirene.core.findings.tags import write_tagged
from eirene.core.logs import get_logger
from eirene.core.records import Item
from eirene.data import Dataset, RowSource, Shape, opened
from eirene.data.haluquestqa import TaggedAnswer, published_split, read_tagged_answers
from eirene.data.line_checksum import sealed_value
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.hallucination import TUNED_PROMPT, hallucination_messages
from eirene.feedback_model.training.examples import CriticRecipe, FeedbackRecipe, describe_rows, markdown
from eirene.models.local.layout import CarriedPrompt, as_text
from eirene.models.local.spec import PROMPT_FILE, Layout
from eirene.models.training.examples import check_lengths
from eirene.models.training.folder import (
    Trained,
    TrainingRun,
    file_facts,
    finish_run,
    finished_run,
    refuse_leaks,
    run_order,
    start_run,
)
from eirene.models.training.recipe import Progress, epoch_means, logged, versions, write_json
from eirene.models.training.replies import Exchange, TrainingTask, train_replies
from eirene.prompts import load_prompt
from eirene.text.sentences import split_sentences

if TYPE_CHECKING:
    from eirene.models.training.examples import EncodedExample

logger = get_logger(__name__)

Split = Literal["all", "train", "test"]


def train_feedback(
    data: str | RowSource,
    out: str | Path,
    *,
    base: str,
    recipe: FeedbackRecipe | None = None,
    split: Split = "all",
    dev: str | RowSource | None = None,
    seed: int = 0,
    device: str | None = None,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Trained:
    """Fine-tunes the causal language model `base` on annotated answers; `hf:OUT` is then a feedback model.

    `data` and `dev`, named or opened, hold rows that `eirene.data.haluquestqa` reads; `split` takes a part of the
    published file. The same call goes on where an interrupted one stopped, and returns at once when the run is
    finished. `progress` is called after each step, and so is `should_stop`; see
    `eirene.models.training.folder.TrainingRun`. Raises `InputError` for data that cannot be read, a dev set that shares
    questions with the training set, a folder that holds another run, and a loss that is no longer a number.
    """
    run = start_run(base, out, seed=seed, device=device, progress=progress, should_stop=should_stop)
    recipe = FeedbackRecipe() if recipe is None else recipe
    source = opened(data)
    rows = _part(read_tagged_answers(source), split)
    dev_source = None if dev is None else opened(dev)
    held = [] if dev_source is None else read_tagged_answers(dev_source)
    refuse_leaks([r.question for r in rows], [r.question for r in held])
    order = run_order(run, recipe, source, split=split, dev=dev_source)
    done = finished_run(run, order)
    if done is not None:
        return done
    file_card = {**file_facts(source), "split": split}
    return _train(rows, held, run, order=order, recipe=recipe, file_card=file_card)


def _train(
    rows: list[TaggedAnswer],
    held: list[TaggedAnswer],
    run: TrainingRun,
    *,
    order: dict[str, Any],
    recipe: FeedbackRecipe,
    file_card: dict[str, Any],
) -> Trained:
    from eirene.feedback_model.training.examples import encode, prompt_for
    from eirene.models.local.checkpoint import load_tokenizer
    from eirene.models.training.trainer import fit

    tokenizer = load_tokenizer(run.base)
    prompt = prompt_for(rows, recipe.layout)
    kept, examples = _fitting(rows, [encode(r, prompt, tokenizer) for r in rows], recipe.max_tokens)
    _, dev_examples = _fitting(held, [encode(r, prompt, tokenizer) for r in held], recipe.max_tokens)
    figures = fit(examples, dev_examples, run, recipe=recipe, tokenizer=tokenizer)
    log = figures.pop("log")
    write_json(run.folder / PROMPT_FILE, sealed_value(prompt.to_json()))
    curves = {"train_loss": epoch_means(log), "dev_loss": logged(log, "eval_loss")}
    card = {
        "run": order,
        "data": {**file_card, "train": describe_rows(kept), "left_out": len(rows) - len(kept)},
        "prompt": {"layout": prompt.layout, "name": prompt.prompt.name, "digest": prompt.prompt.digest},
        "figures": {**curves, **figures},
        "versions": versions(),
    }
    return finish_run(run, card, markdown(card))


def _part(rows: list[TaggedAnswer], split: Split) -> list[TaggedAnswer]:
    if split == "all":
        return rows
    train, test = published_split(rows)
    return train if split == "train" else test


def _fitting(
    rows: list[TaggedAnswer], examples: list[EncodedExample], max_tokens: int
) -> tuple[list[TaggedAnswer], list[EncodedExample]]:
    fits = check_lengths([len(e.ids) for e in examples], max_tokens, what="answers")
    if not all(fits):
        logger.warning(
            "%d of %d answers are longer than %d tokens and left out", fits.count(False), len(fits), max_tokens
        )
    return [r for r, ok in zip(rows, fits, strict=True) if ok], [e for e, ok in zip(examples, fits, strict=True) if ok]


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
    seed: int = 0,
    device: str | None = None,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> Trained:
    """Fine-tunes the causal language model `base` to tag errors; `hf:OUT` is then a critic of hallucinations.

    `data` and `dev`, named or opened, hold rows with `meta.findings`, as `eirene synth fava` writes them (FAVA, section
    5.2: references and faulty text in, tagged text out). The same call goes on where an interrupted one stopped, and
    returns at once when the run is finished. Raises `InputError` for rows that cannot be used, a dev set that shares
    texts with the training set, a folder that holds another run, and a loss that is no longer a number.
    """
    run = start_run(base, out, seed=seed, device=device, progress=progress, should_stop=should_stop)
    recipe = CriticRecipe() if recipe is None else recipe
    source, dev_source = opened(data), None if dev is None else opened(dev)
    rows = read_marked(source, shape)
    held = [] if dev_source is None else read_marked(dev_source, shape)
    refuse_leaks(_right_texts(rows), _right_texts(held), what="texts")
    layout = recipe.layout or _layout_of(run.base)
    carried = CarriedPrompt("hallucination", layout, load_prompt(TUNED_PROMPT))
    order = run_order(run, recipe, source, dev=dev_source, shape=shape, layout=layout, prompt=carried.prompt.digest)
    done = finished_run(run, order)
    if done is not None:
        return done
    facts = {**file_facts(source), "train": _described(rows), "dev_rows": len(held)}
    task = TrainingTask("A critic of hallucinations for Eirene", carried.to_json(), facts, list(_lines(facts)))
    return train_replies(
        [exchange_of(row, carried) for row in rows], [exchange_of(row, carried) for row in held], run, recipe=recipe,
        order=order, task=task,
    )  # fmt: skip


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


def exchange_of(row: MarkedItem, carried: CarriedPrompt) -> Exchange:
    """The prompt as sampling will show it, and the tagged answer as the reply."""
    item = row.item
    request = FeedbackRequest(item, item.answer, split_sentences(item.answer), seed=0)
    messages = hallucination_messages(request, prompt=carried.prompt)
    return Exchange(
        messages if carried.layout == "chat" else as_text(messages), write_tagged(item.answer, row.findings)
    )


def _layout_of(base: str) -> Layout:
    from eirene.models.local.checkpoint import load_tokenizer

    return "chat" if load_tokenizer(base).chat_template else "instruct"


def _right_texts(rows: Sequence[MarkedItem]) -> list[str]:
    return [" ".join((row.item.gold or row.item.answer).split()) for row in rows]


def _described(rows: Sequence[MarkedItem]) -> dict[str, Any]:
    kinds = Counter(f.kind for row in rows for f in row.findings)
    return {
        "rows": len(rows),
        "rows_without_an_error": sum(not row.findings for row in rows),
        "errors": {kind: kinds[kind] for kind in HALLUCINATIONS if kinds[kind]},
        "rows_with_references": sum(bool(row.item.context or row.item.perspectives) for row in rows),
    }


def _lines(facts: dict[str, Any]) -> list[str]:
    train = facts["train"]
    errors = ", ".join(f"{n} {kind}" for kind, n in train["errors"].items()) or "none"
    return [
        f"`{facts['file']}`, SHA-256 `{facts['sha256']}`",
        f"{train['rows']} rows, {train['rows_without_an_error']} of them without an error, "
        f"{train['rows_with_references']} with references; errors: {errors}",
        *([] if train["rows_without_an_error"] else ["no row is without an error: it was never taught to find none"]),
    ]
