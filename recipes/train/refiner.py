"""Trains a refiner on preference pairs by DPO, and measures how it ranks the held-out ones. Needs the extra `train`.

Importing this loads no torch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from eirene.core.errors import InputError
from eirene.core.logs import get_logger
from eirene.core.records import Mode, parse_item
from eirene.core.scores import wilson
from eirene.data import RowSource, opened
from eirene.data.line_checksum import sealed_value
from eirene.models.local.layout import CarriedPrompt, as_text, encode_chat, encode_text
from eirene.models.local.spec import PROMPT_FILE, Layout
from eirene.prompts import Message, Prompt, load_prompt
from eirene.prompts.fence import break_control_tokens
from eirene.refiners.asking import PROMPTS, refine_messages
from eirene.refiners.base import RefineTask
from recipes.train.preference_pairs import PreferencePair, read_pairs, split_pairs, usable
from recipes.train.recipe import PromptName, RefinerRecipe
from recipes.train.run import (
    EncodedExample,
    RunOptions,
    Trained,
    TrainingRun,
    check_lengths,
    curve,
    encode_example,
    file_facts,
    finish_run,
    finished_run,
    logged,
    run_order,
    start_run,
    write_json,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

logger = get_logger(__name__)

QUESTION_PROMPT = "answer_question"
TOO_LONG = "longer than max_tokens"
SAME_TOKENS = "both sides are the same to the tokenizer"
_MODES: dict[PromptName, Mode] = {"improve": "improve", "generic": "generic"}
_ACCURACY = "rewards/accuracies"
_CURVES = {
    "train_loss": "loss", "train_accuracy": _ACCURACY, "train_margin": "rewards/margins",
    "held_out_loss": "eval_loss",
}  # fmt: skip


def train_refiner(
    data: str | RowSource,
    out: str | Path,
    *,
    base: str,
    recipe: RefinerRecipe | None = None,
    **options: Unpack[RunOptions],
) -> Trained:
    """Tunes the causal language model `base` on preference pairs by DPO (Rafailov et al. 2023); `hf:OUT` then refines.

    `data`, named or opened, holds rows that `recipes.train.preference_pairs` reads. The same call goes on where an
    interrupted one stopped, and returns at once when the run is finished. Raises `InputError` for data that cannot be
    read or holds no pair to learn from, a folder that holds another run, and a loss that is no longer a number.
    """
    recipe = RefinerRecipe() if recipe is None else recipe
    run = start_run(base, out, recipe, **options)
    source = opened(data)
    rows = read_pairs(source)
    pairs, dropped = usable(rows)
    if not pairs:
        raise InputError(f"none of the {len(rows)} pairs can be learnt from: {_causes(dropped)}", where=source.name)
    parts = split_pairs(pairs, recipe.held_out, seed=run.seed)
    order = run_order(run, source)
    done = finished_run(run, order)
    if done is not None:
        return done
    return _train(parts, run, recipe, order=order, facts={**file_facts(source), "rows": len(rows)}, dropped=dropped)


def _train(
    parts: tuple[list[PreferencePair], list[PreferencePair]],
    run: TrainingRun,
    recipe: RefinerRecipe,
    *,
    order: dict[str, Any],
    facts: dict[str, Any],
    dropped: Counter[str],
) -> Trained:
    from eirene.models.local.loading import load_tokenizer

    tokenizer = load_tokenizer(run.base)
    asking = pair_prompt([*parts[0], *parts[1]], recipe, tokenizer)
    encoded = [[encode_pair(pair, asking, tokenizer) for pair in part] for part in parts]
    pairs, lost = fitting(encoded[0], recipe.max_tokens, what="pairs to train on")
    held, lost_too = fitting(encoded[1], recipe.max_tokens, what="held-out pairs")
    if not pairs:
        raise InputError(f"no pair is left to train on: {_causes(lost)}", field="data")
    dropped = dropped + lost + lost_too
    if dropped:
        logger.warning("%d of %d pairs are left out: %s", dropped.total(), facts["rows"], _causes(dropped))
    figures = _fit(pairs, held, run, recipe, tokenizer)
    log = figures.pop("log")
    if asking.prompt is not None:
        carried = CarriedPrompt("refiner", asking.layout, asking.prompt)
        write_json(run.folder / PROMPT_FILE, sealed_value(carried.to_json()))
    curves = {name: curve(logged(log, key)) for name, key in _CURVES.items()}
    counts = {"dropped": dict(sorted(dropped.items())), "train": described(pairs), "held_out": described(held)}
    return finish_run(
        run, order, "A refiner for Eirene", {**facts, **counts}, prompt=asking.facts(),
        figures={"held_out": measured(log, held, figures["kept_step"]), **curves, **figures},
    )  # fmt: skip


def _fit(
    pairs: Sequence[EncodedPair],
    held: Sequence[EncodedPair],
    run: TrainingRun,
    recipe: RefinerRecipe,
    tokenizer: PreTrainedTokenizerBase,
) -> dict[str, Any]:
    """Trains and saves; figures."""
    from recipes.train.fit import pair_trainer, quiet_trl, save, train

    with quiet_trl():
        trainer = pair_trainer(
            [p.columns() for p in pairs], [p.columns() for p in held], run, recipe, tokenizer=tokenizer
        )
        figures = train(trainer, run)
        save(trainer.model, tokenizer, run.folder)
    return figures


@dataclass(frozen=True, slots=True)
class EncodedPair:
    """A pair's prompt with either reply. `key` is the same for all pairs with the same prompt."""

    chosen: EncodedExample
    rejected: EncodedExample
    key: str

    def columns(self) -> dict[str, list[int]]:
        """The pair under the names by which TRL knows its parts."""
        n = self.chosen.n_prompt
        prompt, chosen, rejected = self.chosen.ids[:n], self.chosen.ids[n:], self.rejected.ids[n:]
        return {"prompt_ids": list(prompt), "chosen_ids": list(chosen), "rejected_ids": list(rejected)}

    @property
    def longest(self) -> int:
        """Tokens of the longer of the two sequences."""
        return max(len(self.chosen.ids), len(self.rejected.ids))


@dataclass(frozen=True, slots=True)
class PairPrompt:
    """How pairs are asked. `prompt` is the file with the words; None where the rows bring their own."""

    name: PromptName
    layout: Layout
    prompt: Prompt | None

    def facts(self) -> dict[str, Any]:
        """By name and digest; `given`, without a digest, where it is each row's own."""
        known = self.prompt
        name, digest = (self.name, None) if known is None else (known.name, known.digest)
        return {"name": name, "digest": digest, "layout": self.layout}

    def ids(self, pair: PreferencePair, tokenizer: PreTrainedTokenizerBase) -> list[int]:
        """The tokens of the pair's prompt, as the refiner shows them."""
        if self.prompt is not None:
            messages = _messages(self.name, self.prompt, pair)
            return (
                encode_chat(tokenizer, messages) if self.layout == "chat" else encode_text(tokenizer, as_text(messages))
            )
        given = pair.prompt
        if self.layout == "chat":
            return encode_chat(tokenizer, (Message("user", given),) if isinstance(given, str) else given)
        if isinstance(given, str):
            return encode_text(tokenizer, given)
        raise InputError("the prompt is a conversation, which needs layout chat", field="layout", where=pair.where)


def pair_prompt(
    pairs: Sequence[PreferencePair], recipe: RefinerRecipe, tokenizer: PreTrainedTokenizerBase
) -> PairPrompt:
    """How these pairs are asked; raises `InputError` where recipe, rows and tokenizer do not fit together."""
    kinds = {pair.is_question for pair in pairs}
    if recipe.prompt is None and len(kinds) > 1:
        raise InputError(
            "some rows have a question, some a prompt of their own; split the file, or set a prompt for all of them",
            field="prompt",
        )
    name: PromptName = recipe.prompt or ("improve" if True in kinds else "given")
    templated = any(isinstance(p.prompt, tuple) for p in pairs) if name == "given" else bool(tokenizer.chat_template)
    layout: Layout = recipe.layout or ("chat" if templated else "instruct")
    if layout == "chat" and not tokenizer.chat_template:
        raise InputError("the model's tokenizer has no chat template; use layout instruct", field="layout")
    if name == "given":
        return PairPrompt(name, layout, None)
    return PairPrompt(name, layout, load_prompt(QUESTION_PROMPT if name == "question" else PROMPTS[_MODES[name]]))


def _messages(name: PromptName, prompt: Prompt, pair: PreferencePair) -> Sequence[Message]:
    question = pair.prompt
    if not isinstance(question, str):
        if [turn.role for turn in question] != ["user"]:
            raise InputError(
                f"the prompt has {len(question)} messages, and a refiner's is made of one question; use prompt 'given'",
                field="prompt",
                where=pair.where,
            )
        question = question[0].content
    if name == "question":
        return prompt.fill({"question": break_control_tokens(question)})
    item = parse_item({"question": question, "answer": pair.rejected}, where=pair.where)
    return refine_messages(RefineTask(item, item.answer, _MODES[name], None, (), seed=0), prompt=prompt)[0]


def encode_pair(pair: PreferencePair, asking: PairPrompt, tokenizer: PreTrainedTokenizerBase) -> EncodedPair:
    """Both sides of a pair behind the same prompt. What a row's own prompt is followed by is taken to the letter."""
    ids = asking.ids(pair, tokenizer)
    sides = (pair.chosen, pair.rejected) if asking.prompt is None else (pair.chosen.strip(), pair.rejected.strip())
    chosen, rejected = (encode_example(tokenizer, ids, text) for text in sides)
    return EncodedPair(chosen, rejected, pair.key)


def fitting(pairs: Sequence[EncodedPair], max_tokens: int, *, what: str) -> tuple[list[EncodedPair], Counter[str]]:
    """The pairs that can be trained on, and how many others there are, by the cause; `what` names them in errors."""
    fits = check_lengths([pair.longest for pair in pairs], max_tokens, what=what)
    short = [pair for pair, is_short in zip(pairs, fits, strict=True) if is_short]
    kept = [pair for pair in short if pair.chosen.ids != pair.rejected.ids]
    return kept, +Counter({TOO_LONG: len(pairs) - len(short), SAME_TOKENS: len(short) - len(kept)})


def _causes(dropped: Counter[str]) -> str:
    return ", ".join(f"{n} because {cause}" for cause, n in sorted(dropped.items()))


def described(pairs: Sequence[EncodedPair]) -> dict[str, Any]:
    """Counts of a part of the data: pairs, distinct prompts, and how often the preferred reply is the longer one."""
    longer = sum(len(p.chosen.ids) > len(p.rejected.ids) for p in pairs)
    return {"pairs": len(pairs), "questions": len({pair.key for pair in pairs}), "longer_preferred": longer}


def measured(
    log: Sequence[Mapping[str, Any]], held: Sequence[EncodedPair], kept_step: int | None = None
) -> dict[str, Any] | None:
    """DPO's figures of the held-out pairs at the step whose weights are kept (None: the last), None without any pair;
    before training, loss and margin are ln 2 and 0.

    `reward_accuracy`: how often the training raised the preferred reply more than the other, with a 95 % Wilson
    interval in which a prompt counts once.
    """
    if not held:
        return None
    found = [entry for entry in log if "eval_loss" in entry and kept_step in (None, entry["step"])]
    loss, margin, accuracy = (logged(found, f"eval_{key}")[-1] for key in ("loss", "rewards/margins", _ACCURACY))
    low, high = wilson(accuracy, len({pair.key for pair in held}))
    return {
        "pairs": len(held),
        "loss": round(loss, 4),
        "reward_margin": round(margin, 4),
        "reward_accuracy": {"value": round(accuracy, 4), "low": round(low, 4), "high": round(high, 4)},
    }
