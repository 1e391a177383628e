"""Annotated answers to tokens: the prompt that sampling will use, then the reply, and loss on the reply alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eirene.errors import InputError
from eirene.feedback_model.asking import (
    CHAT_PROMPT,
    INSTRUCT_PROMPT,
    feedback_instruct,
    feedback_messages,
    render_reply,
)
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.local import CarriedPrompt
from eirene.haluquestqa import TaggedAnswer
from eirene.models.local_layout import encode_chat, encode_reply, encode_text
from eirene.models.local_spec import Layout
from eirene.prompts import load_prompt
from eirene.records import Item

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

IGNORED = -100
"""The label of a token that has no part in the loss."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """One example: the tokens of prompt and reply, the end token last, and how many of them are the prompt's."""

    ids: tuple[int, ...]
    n_prompt: int


def prompt_for(rows: Sequence[TaggedAnswer], layout: Layout) -> CarriedPrompt:
    """The prompt that a model trained on `rows` carries: the layout's, with the instruction that the rows have.

    Raises `InputError` where rows differ in their instruction: the model can carry one.
    """
    if layout == "chat":
        return CarriedPrompt("chat", load_prompt(CHAT_PROMPT), None)
    found = Counter(row.instruction for row in rows)
    if len(found) > 1:
        rare = found.most_common()[-1][0]
        where = next(row.where for row in rows if row.instruction == rare)
        raise InputError(
            f"the rows have {len(found)} different instructions, and a model carries one; the rarest is here",
            field="instruction",
            where=where,
        )
    return CarriedPrompt("instruct", load_prompt(INSTRUCT_PROMPT), next(iter(found), None))


def encode(row: TaggedAnswer, prompt: CarriedPrompt, tokenizer: PreTrainedTokenizerBase) -> Encoded:
    """One example. Prompt and reply are tokenised apart, as they are when the model is sampled."""
    item = Item(question=row.question, answer=row.answer)
    request = FeedbackRequest(item, row.answer, row.sentences, seed=0)
    if prompt.layout == "chat":
        ids = encode_chat(tokenizer, feedback_messages(request, prompt=prompt.prompt))
    else:
        text = feedback_instruct(request, instruction=prompt.instruction, prompt=prompt.prompt)
        ids = encode_text(tokenizer, text)
    reply = encode_reply(tokenizer, render_reply(row.tags, row.reasons))
    end = tokenizer.eos_token_id
    if not isinstance(end, int):
        raise InputError("the tokenizer has no end token, so a reply could never end", field="base")
    return Encoded((*ids, *reply, end), len(ids))


def collate(batch: Sequence[Encoded], *, filler: int) -> dict[str, torch.Tensor]:
    """Right-padded tensors (examples, longest): `input_ids`, `attention_mask`, `labels` (`IGNORED` but for replies)."""
    import torch

    longest = max(len(e.ids) for e in batch)
    ids = torch.full((len(batch), longest), filler)
    mask = torch.zeros_like(ids)
    labels = torch.full_like(ids, IGNORED)
    for row, example in enumerate(batch):
        n = len(example.ids)
        ids[row, :n] = torch.tensor(example.ids)
        mask[row, :n] = 1
        labels[row, example.n_prompt : n] = ids[row, example.n_prompt : n]
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}
