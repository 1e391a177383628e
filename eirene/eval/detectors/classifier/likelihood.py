"""Log-likelihoods of several continuations of one prompt. Needs the extra `local`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import torch

from eirene.models.local.sampling import prefill

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
    """The natural-log likelihood of each continuation (its tokens' sum) after the prompt, which is read once.

    Raises `ValueError` for an empty prompt or continuation, `InputError` for a model whose memory of the prompt the
    continuations cannot share.
    """
    if not prompt or not all(continuations):
        raise ValueError("the prompt and every continuation must have a token")
    read = prefill(model, prompt, soft_prompt)
    first = read.logits[0].double().log_softmax(-1)
    found = []
    for tokens in continuations:
        total = float(first[tokens[0]])
        if len(tokens) > 1:
            ids = torch.tensor([list(tokens)], device=first.device)
            out = cast(Any, model)(input_ids=ids[:, :-1], past_key_values=copy.deepcopy(read.cache), use_cache=True)
            logits = out.logits[0].double().log_softmax(-1)
            total += float(logits.gather(1, ids[0, 1:, None]).sum())
        found.append(total)
    return found
