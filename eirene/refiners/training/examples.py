"""Training examples and recipe of refiners: preference pairs to tokens, in the refiner's own prompt."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from eirene.core.errors import InputError
from eirene.core.records import Mode, parse_item
from eirene.models.local.layout import CarriedPrompt, as_text, encode_chat, encode_text
from eirene.models.local.spec import LAYOUTS, Layout
from eirene.models.training.examples import IGNORED, EncodedExample, check_lengths, collate, encode_example
from eirene.models.training.recipe import Method, Schedule, TrainingRecipe, check_known
from eirene.prompts import Message, Prompt, load_prompt
from eirene.prompts.fence import break_control_tokens
from eirene.refiners.base import RefineTask
from eirene.refiners.model import PROMPTS, refine_messages
from eirene.refiners.training.pairs import ChatTurn, PreferencePair

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

PromptName = Literal["improve", "generic", "question", "given"]
PROMPT_NAMES: tuple[PromptName, ...] = ("improve", "generic", "question", "given")
QUESTION_PROMPT = "answer_question"
TOO_LONG = "longer than max_tokens"
SAME_TOKENS = "both sides are the same to the tokenizer"
_MODES: dict[PromptName, Mode] = {"improve": "improve", "generic": "generic"}


@dataclass(frozen=True, slots=True)
class RefinerRecipe(TrainingRecipe):
    """Everything that decides a run besides data, base model and seed.

    Sachdeva et al. 2024 tune LLaMA2-13B-chat by DPO with LoRA (section 4.2, appendix D) and print no settings; those
    of the training command that they publish with their code are the defaults: beta 0.1, learning rate 5e-5 with cosine
    decay after a warm-up of a tenth, 5 epochs, batches of 16, 1,024 tokens, rank 256, alpha 128, adapters on queries,
    keys and values. Dropout is off (TRL switches it off for DPO). In full, without an adapter, the rate is 5e-7.

    - `prompt`: what the pairs answer. `improve` and `generic` are the refiner's own prompts of these modes with the
      rejected answer as the answer so far; `question` is the question alone, as the authors have it; `given` is the
      row's own prompt. None is `improve` for rows with a question, `given` for rows with a prompt.
    - `layout`: None is the tokenizer's chat template where there is one; for given prompts it is their own form.
    - `held_out`: the share of questions in [0, 1) that are measured and not trained on.
    """

    RATES: ClassVar[Mapping[Method, float]] = {"full": 5e-7, "lora": 5e-5}

    batch_size: int = 16
    schedule: Schedule = "cosine"
    warmup: float = 0.1
    lora_rank: int = 256
    lora_alpha: int = 128
    lora_dropout: float = 0.0
    lora_targets: tuple[str, ...] | None = ("q_proj", "k_proj", "v_proj")
    beta: float = 0.1
    prompt: PromptName | None = None
    layout: Layout | None = None
    held_out: float = 0.1

    def __post_init__(self) -> None:
        TrainingRecipe.__post_init__(self)
        if not (math.isfinite(self.beta) and self.beta > 0):
            raise InputError(f"beta must be a number above 0, got {self.beta}", field="beta")
        if not 0 <= self.held_out < 1:
            raise InputError(f"held_out must be at least 0 and below 1, got {self.held_out}", field="held_out")
        if self.prompt is not None:
            check_known("prompt", self.prompt, PROMPT_NAMES)
        if self.layout is not None:
            check_known("layout", self.layout, LAYOUTS)


@dataclass(frozen=True, slots=True)
class EncodedPair:
    """A pair's prompt with either reply. `key` is the same for all pairs with the same prompt."""

    chosen: EncodedExample
    rejected: EncodedExample
    key: str

    @property
    def longest(self) -> int:
        """Tokens of the longer of the two sequences."""
        return max(len(self.chosen.ids), len(self.rejected.ids))

    @property
    def tokens(self) -> int:
        """Tokens of both sequences."""
        return len(self.chosen.ids) + len(self.rejected.ids)


@dataclass(frozen=True, slots=True)
class PairPrompt:
    """How pairs are asked. `prompt` is the file with the words; None where the rows bring their own."""

    name: PromptName
    layout: Layout
    prompt: Prompt | None

    @property
    def carried(self) -> CarriedPrompt | None:
        """What the model keeps of it beside its weights."""
        return None if self.prompt is None else CarriedPrompt("refiner", self.layout, self.prompt)

    def ids(self, pair: PreferencePair, tokenizer: PreTrainedTokenizerBase) -> list[int]:
        """The tokens of the pair's prompt, as the refiner shows them."""
        if self.prompt is None:
            return _as_given(pair, self.layout, tokenizer)
        messages = _messages(self.name, self.prompt, pair)
        if self.layout == "chat":
            return encode_chat(tokenizer, messages)
        return encode_text(tokenizer, as_text(messages))


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
    if name == "given":
        layout = recipe.layout or ("chat" if any(isinstance(p.prompt, tuple) for p in pairs) else "instruct")
        asking = PairPrompt(name, layout, None)
    else:
        layout = recipe.layout or ("chat" if tokenizer.chat_template else "instruct")
        asking = PairPrompt(name, layout, load_prompt(QUESTION_PROMPT if name == "question" else PROMPTS[_MODES[name]]))
    if layout == "chat" and not tokenizer.chat_template:
        raise InputError("the model's tokenizer has no chat template; use layout instruct", field="layout")
    return asking


def encode_pair(pair: PreferencePair, asking: PairPrompt, tokenizer: PreTrainedTokenizerBase) -> EncodedPair:
    """Both sides of a pair behind the same prompt. What a row's own prompt is followed by is taken to the letter."""
    ids = asking.ids(pair, tokenizer)
    sides = (pair.chosen, pair.rejected) if asking.prompt is None else (pair.chosen.strip(), pair.rejected.strip())
    chosen, rejected = (encode_example(tokenizer, ids, text) for text in sides)
    return EncodedPair(chosen, rejected, pair.key)


def fitting(pairs: Sequence[EncodedPair], max_tokens: int, *, what: str) -> tuple[list[EncodedPair], Counter[str]]:
    """The pairs that can be trained on, and how many others there are, by the cause; `what` names them in errors."""
    fits = check_lengths([pair.longest for pair in pairs], max_tokens, what=what)
    kept: list[EncodedPair] = []
    dropped: Counter[str] = Counter()
    for pair, is_short in zip(pairs, fits, strict=True):
        if not is_short:
            dropped[TOO_LONG] += 1
        elif pair.chosen.ids == pair.rejected.ids:
            dropped[SAME_TOKENS] += 1
        else:
            kept.append(pair)
    return kept, dropped


def columns(pair: EncodedPair) -> dict[str, list[int]]:
    """The pair under the names by which TRL knows its parts."""
    n = pair.chosen.n_prompt
    ids = pair.chosen.ids
    return {"prompt_ids": list(ids[:n]), "chosen_ids": list(ids[n:]), "rejected_ids": list(pair.rejected.ids[n:])}


def collate_pairs(rows: Sequence[Mapping[str, Any]], *, filler: int) -> dict[str, torch.Tensor]:
    """A batch as TRL's trainer takes it: all chosen sequences, then all rejected ones, right-padded.

    `completion_mask` is 1 on the tokens of a reply, its end token included, and 0 elsewhere.
    """
    examples = [
        EncodedExample((*row["prompt_ids"], *row[side]), len(row["prompt_ids"]))
        for side in ("chosen_ids", "rejected_ids")
        for row in rows
    ]
    batch = collate(examples, filler=filler)
    batch["completion_mask"] = (batch.pop("labels") != IGNORED).long()
    return batch


def _messages(name: PromptName, prompt: Prompt, pair: PreferencePair) -> Sequence[Message]:
    question = _question(pair)
    if name == "question":
        return prompt.fill({"question": break_control_tokens(question)})
    item = parse_item({"question": question, "answer": pair.rejected}, where=pair.where)
    task = RefineTask(item, item.answer, _MODES[name], None, (), seed=0)
    return refine_messages(task, prompt=prompt)[0]


def _question(pair: PreferencePair) -> str:
    if isinstance(pair.prompt, str):
        return pair.prompt
    if [turn.role for turn in pair.prompt] == ["user"]:
        return pair.prompt[0].content
    raise InputError(
        f"the prompt has {len(pair.prompt)} messages, and a refiner's is made of one question; use prompt 'given'",
        field="prompt",
        where=pair.where,
    )


def _as_given(pair: PreferencePair, layout: Layout, tokenizer: PreTrainedTokenizerBase) -> list[int]:
    if layout == "chat":
        turns = (ChatTurn("user", pair.prompt),) if isinstance(pair.prompt, str) else pair.prompt
        return encode_chat(tokenizer, turns)
    if isinstance(pair.prompt, str):
        return encode_text(tokenizer, pair.prompt)
    raise InputError("the prompt is a conversation, which needs layout chat", field="layout", where=pair.where)
