"""Tokenised training examples and padded batches. Nothing here loads torch before a batch is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eirene.core.errors import InputError
from eirene.models.local.layout import break_special_tokens, encode_reply

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

IGNORED = -100
"""The label of a token that has no part in the loss."""


@dataclass(frozen=True, slots=True)
class EncodedExample:
    """One example: the tokens of prompt and reply, the end token last, and how many of them are the prompt's."""

    ids: tuple[int, ...]
    n_prompt: int


def encode_example(tokenizer: PreTrainedTokenizerBase, prompt: Sequence[int], reply: str) -> EncodedExample:
    """A prompt's tokens with those of a reply to it. They are tokenised apart, as they are when the model is sampled.

    Special tokens that the reply spells out are broken up: no text ends itself early. Raises `InputError` where the
    tokenizer has no end token.
    """
    end = tokenizer.eos_token_id
    if not isinstance(end, int):
        raise InputError("the tokenizer has no end token, so a reply could never end", field="base")
    return EncodedExample((*prompt, *encode_reply(tokenizer, break_special_tokens(tokenizer, reply)), end), len(prompt))


def collate(batch: Sequence[EncodedExample], *, filler: int, only_replies: bool = False) -> dict[str, Any]:
    """Right-padded tensors (examples, longest): `input_ids`, `attention_mask`, `labels` (`IGNORED` but for replies).

    With `only_replies` the labels are those of the last columns, from where the first reply begins, and
    `logits_to_keep` is their number: the model computes no others. Of a short reply to a long prompt, the head over a
    large vocabulary is a quarter of the work. The loss is the same.
    """
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
    if not only_replies:
        return {"input_ids": ids, "attention_mask": mask, "labels": labels}
    kept = longest - max(0, min(e.n_prompt for e in batch) - 1)  # the prompt's last token predicts the reply's first
    return {"input_ids": ids, "attention_mask": mask, "labels": labels[:, -kept:], "logits_to_keep": kept}


def filler(tokenizer: PreTrainedTokenizerBase) -> int:
    """A token to pad with. Any will do: the attention mask hides it, and it has no label."""
    for value in (tokenizer.pad_token_id, tokenizer.eos_token_id):
        if isinstance(value, int):
            return value
    return 0


def check_lengths(lengths: Sequence[int], max_tokens: int, *, what: str) -> list[bool]:
    """Which examples are short enough; raises `InputError` where none is. `what` names them, such as `answers`."""
    fits = [n <= max_tokens for n in lengths]
    if lengths and not any(fits):
        raise InputError(
            f"all {len(lengths)} {what} are longer than max_tokens = {max_tokens}; the shortest has {min(lengths)} "
            "tokens with its prompt and reply",
            field="max_tokens",
        )
    return fits
