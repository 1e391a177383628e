"""Attribution by gradients of logits: what each earlier token, and word, contributes to each of the answer.

Needs the extra `local`. One forward pass for the whole text; the gradients of several answer tokens then go back
through it together. Reference: NPOV, section 3.2 and appendix C.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from eirene.core.errors import BackendError

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from transformers import PreTrainedModel

    Array = NDArray[np.float64]

Measure = Literal["dot", "l2"]
"""Gradient times input embedding (Denil et al. 2014), or the L2 norm of the gradient."""
Span = tuple[int, int]
CHUNK = 16
"""Answer tokens whose gradients go back at once; memory grows with it."""

_plain_heads: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()


def attribute_tokens(
    model: PreTrainedModel,
    ids: Sequence[int],
    n_answer: int,
    *,
    soft_prompt: torch.Tensor | None = None,
    measure: Measure = "dot",
    chunk: int = CHUNK,
) -> Array:
    """The attribution of each token (row) to each of the last `n_answer` of them (column): (len(ids), n_answer).

    The entry is the gradient of the answer token's logit, before the softmax and given all tokens before it, with
    respect to the row's input embedding, times that embedding (`dot`, signed) or as its L2 norm (`l2`). A token that
    does not stand before the column's has 0. A prompt-tuned model's virtual tokens (1, n, width) take part in the
    forward pass and have no row.

    Raises `ValueError` if no token stands before the answer, `BackendError` when memory runs out.
    Reference: NPOV, section 3.2.
    """
    import torch

    if not 0 < n_answer < len(ids) + (soft_prompt is not None):
        raise ValueError(f"n_answer must leave a token before the answer, got {n_answer} of {len(ids)} tokens")
    embed: Any = model.get_input_embeddings()
    tokens = torch.tensor([list(ids)], device=embed.weight.device)
    try:
        with torch.enable_grad(), _eager_attention(model), _frozen(model):
            embedded = embed(tokens).detach().requires_grad_()
            logits = _answer_logits(model, embedded, tokens[0, -n_answer:], soft_prompt)
            columns = [
                _pulled(gradients, embedded, measure)
                for gradients in _gradients(logits, embedded, chunk=max(1, min(chunk, n_answer)))
            ]
    except torch.OutOfMemoryError as error:
        raise BackendError(
            f"out of memory: the gradients of {chunk} answer tokens over {len(ids)} tokens; lower chunk"
        ) from error
    return np.concatenate(columns).T


def _gradients(logits: torch.Tensor, embedded: torch.Tensor, *, chunk: int) -> Iterator[torch.Tensor]:
    """The gradients of the logits, `chunk` at a time: each (at most chunk, 1, tokens, width)."""
    import torch

    which = torch.eye(len(logits), device=logits.device, dtype=logits.dtype)
    for start in range(0, len(logits), chunk):
        (found,) = torch.autograd.grad(
            logits,
            embedded,
            grad_outputs=which[start : start + chunk],
            is_grads_batched=True,
            retain_graph=start + chunk < len(logits),
        )
        yield found


def _pulled(gradients: torch.Tensor, embedded: torch.Tensor, measure: Measure) -> Array:
    """(answer tokens, tokens) of a chunk of gradients."""
    gradients = gradients[:, 0].double()
    found = gradients.norm(dim=-1) if measure == "l2" else (gradients * embedded[0].detach().double()).sum(-1)
    return cast("Array", found.cpu().numpy())


def _answer_logits(
    model: PreTrainedModel, embedded: torch.Tensor, answer: torch.Tensor, soft_prompt: torch.Tensor | None
) -> torch.Tensor:
    """The logit of each answer token where it was predicted, that is one place before it."""
    import torch

    inputs = embedded
    if soft_prompt is not None:  # a clone: what was made in inference mode can take no part in a gradient
        inputs = torch.cat([soft_prompt.clone().to(embedded.dtype), embedded], dim=1)
    places = slice(inputs.shape[1] - len(answer) - 1, inputs.shape[1] - 1)
    if _has_plain_head(model):
        # Only the rows of the head that are asked for: the whole vocabulary would be most of the work.
        states = _decoder(model)(inputs_embeds=inputs, use_cache=False).last_hidden_state[0, places]
        head: Any = cast(Any, model).get_output_embeddings()
        return cast("torch.Tensor", (states * head.weight[answer]).sum(-1))
    logits = cast(Any, model)(inputs_embeds=inputs, use_cache=False).logits[0, places]
    return cast("torch.Tensor", logits.gather(1, answer[:, None])[:, 0])


def _has_plain_head(model: PreTrainedModel) -> bool:
    """Whether logits are the head's weights times the decoder's states, and nothing after: found out by trying."""
    if model not in _plain_heads:
        _plain_heads[model] = _is_plain(model)
    return _plain_heads[model]


def _is_plain(model: PreTrainedModel) -> bool:
    import torch

    head: Any = cast(Any, model).get_output_embeddings()
    decoder = _decoder(model)
    if head is None or decoder is None or not hasattr(head, "weight"):
        return False
    embed: Any = model.get_input_embeddings()
    count = min(embed.weight.shape[0], 8)
    with torch.no_grad():
        inputs = embed(torch.arange(count, device=embed.weight.device)[None])
        states = decoder(inputs_embeds=inputs, use_cache=False).last_hidden_state
        wanted = cast(Any, model)(inputs_embeds=inputs, use_cache=False).logits
        if head.weight.shape != (wanted.shape[-1], states.shape[-1]):
            return False
        found = states @ head.weight.T
    rtol, atol = (1e-4, 1e-5) if found.dtype == torch.float32 else (0.05, 0.05)
    return bool(torch.allclose(found.float(), wanted.float(), rtol=rtol, atol=atol))


def _decoder(model: PreTrainedModel) -> Any:
    decoder = cast(Any, model).base_model
    return None if decoder is model else decoder


@contextlib.contextmanager
def _frozen(model: PreTrainedModel) -> Iterator[None]:
    """No gradient is kept for the weights: nobody asks for it."""
    wanted = [p for p in model.parameters() if p.requires_grad]
    for parameter in wanted:
        parameter.requires_grad_(False)
    try:
        yield
    finally:
        for parameter in wanted:
            parameter.requires_grad_(True)


@contextlib.contextmanager
def _eager_attention(model: PreTrainedModel) -> Iterator[None]:
    """Attention in plain matrix products: the fused kinds have no batched backward pass."""
    config: Any = model.config.get_text_config()
    configs = {id(c): c for c in (model.config, config)}.values()
    before = [(c, c._attn_implementation) for c in configs]
    for c in configs:
        c._attn_implementation = "eager"
    try:
        yield
    finally:
        for c, was in before:
            c._attn_implementation = was


def normalised(attributions: Array) -> Array:
    """Squares the token map and makes each column sum to 1; a column of zeros stays one."""
    # Scaled first: squares of very small numbers would all be 0.
    largest = np.abs(attributions).max(axis=0, keepdims=True, initial=0.0)
    squares = np.square(np.divide(attributions, largest, out=np.zeros_like(attributions), where=largest > 0))
    sums = squares.sum(axis=0, keepdims=True)
    return np.asarray(np.divide(squares, sums, out=np.zeros_like(squares), where=sums > 0))


def tokens_of(words: Sequence[Span], tokens: Sequence[Span]) -> list[list[int]]:
    """The tokens that each word shares a character with; both lists are in the order of the text.

    A token that reaches over two words belongs to both.
    """
    found: list[list[int]] = []
    first = 0
    for start, end in words:
        while first < len(tokens) and tokens[first][1] <= start:
            first += 1
        n = first
        own = []
        while n < len(tokens) and tokens[n][0] < end:
            if tokens[n][1] > start:
                own.append(n)
            n += 1
        found.append(own)
    return found


def word_map(tokens: Array, rows: Sequence[Sequence[int]], columns: Sequence[Sequence[int]]) -> Array:
    """The word-to-word map: the largest entry between any token of the row's word and any of the column's."""
    by_row = np.array([tokens[list(r)].max(axis=0) if r else np.zeros(tokens.shape[1]) for r in rows])
    by_row = by_row.reshape(len(rows), tokens.shape[1])
    both = [by_row[:, list(c)].max(axis=1) if c else np.zeros(len(rows)) for c in columns]
    return np.array(both).reshape(len(columns), len(rows)).T
