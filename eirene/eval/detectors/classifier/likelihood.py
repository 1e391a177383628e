"""Log-likelihoods of several continuations of one prompt. Needs the extra `local`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@torch.inference_mode()
def log_likelihoods(
    model: PreTrainedModel,
    prompt: Sequence[int],
    continuations: Sequence[Sequence[int]],
    *,
    soft_prompt: torch.Tensor | None = None,
) -> list[float]:
    """The natural-log likelihood of each continuation (its tokens' sum) after the prompt, from one forward pass.

    Shorter continuations are padded behind their end, where causal attention cannot see it. Raises `ValueError` for an
    empty prompt or continuation.
    """
    if not prompt or not all(continuations):
        raise ValueError("the prompt and every continuation must have a token")
    longest = max(len(c) for c in continuations)
    embed: Any = model.get_input_embeddings()
    device = embed.weight.device
    rows = [[*prompt, *c, *[c[-1]] * (longest - len(c))] for c in continuations]
    ids = torch.tensor(rows, device=device)
    inputs = embed(ids)
    virtual = 0
    if soft_prompt is not None:
        virtual = soft_prompt.shape[1]
        inputs = torch.cat([soft_prompt.to(inputs.dtype).expand(len(rows), -1, -1), inputs], dim=1)
    start = virtual + len(prompt) - 1
    # Of the prompt only the last state is needed for a logit; models that know this save the rest of the head's work.
    out = cast(Any, model)(inputs_embeds=inputs, use_cache=False, logits_to_keep=longest + 1).logits
    logits = out[:, -(longest + 1) : -1] if out.shape[1] < inputs.shape[1] else out[:, start : start + longest]
    found = logits.double().log_softmax(-1).gather(2, ids[:, len(prompt) :, None])[..., 0]
    return [float(found[n, : len(c)].sum()) for n, c in enumerate(continuations)]
