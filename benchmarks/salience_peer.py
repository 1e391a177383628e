"""Salience against inseq on the same model, and against one backward pass a token: values and time, in one run.

    pip install inseq
    python benchmarks/salience_peer.py [--prompt 100 --answer 48 --runs 5]

The model is a Llama of 6 layers made on the spot, with random weights and a vocabulary of 32,000: gradients take as
long whatever the weights are.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils.logging import disable_progress_bar

from eirene.eval.detectors.gradients import attribute_tokens

WORDS = 32_000


def make_model(folder: Path) -> Any:
    torch.manual_seed(0)
    vocabulary = {f"w{n}": n for n in range(WORDS - 2)} | {"</s>": WORDS - 2, "<unk>": WORDS - 1}
    plain = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain, eos_token="</s>", unk_token="<unk>", pad_token="</s>", bos_token="</s>"
    )
    config = LlamaConfig(
        vocab_size=WORDS, hidden_size=512, intermediate_size=1024, num_hidden_layers=6, num_attention_heads=8,
        num_key_value_heads=4, bos_token_id=WORDS - 2, eos_token_id=WORDS - 2, pad_token_id=WORDS - 2,
    )  # fmt: skip
    model = LlamaForCausalLM(config).eval()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


def one_by_one(model: Any, ids: list[int], n_answer: int) -> np.ndarray:
    """One forward and one backward pass a token."""
    columns = []
    for at in range(len(ids) - n_answer, len(ids)):
        embedded = model.get_input_embeddings()(torch.tensor([ids[:at]])).detach().requires_grad_()
        logit = model(inputs_embeds=embedded).logits[0, -1, ids[at]]
        (gradient,) = torch.autograd.grad(logit, embedded)
        column = np.zeros(len(ids))
        column[:at] = (gradient[0].double() * embedded[0].double()).sum(-1).detach().numpy()
        columns.append(column)
    return np.array(columns).T


def by_inseq(folder: Path) -> Callable[[str, str], np.ndarray]:
    import inseq

    model = inseq.load_model(str(folder), "input_x_gradient")

    def attribute(prompt: str, answer: str) -> np.ndarray:
        found = model.attribute(prompt, f"{prompt} {answer}", attributed_fn="logit", show_progress=False)
        return found.sequence_attributions[0].target_attributions.sum(-1).double().numpy()

    return attribute


def timed(runs: int, ways: dict[str, Callable[[], np.ndarray]]) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Median seconds a way, the ways taking turns, and what each found."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    found = {name: way() for name, way in ways.items()}  # the first of each is a warm-up
    for _ in range(runs):
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            seconds[name].append(time.perf_counter() - started)
    return {name: statistics.median(s) for name, s in seconds.items()}, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompt", type=int, default=100)
    parser.add_argument("--answer", type=int, default=48)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    disable_progress_bar()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = make_model(folder)
        rng = np.random.default_rng(0)
        prompt, answer = (rng.integers(0, WORDS - 2, n).tolist() for n in (options.prompt, options.answer))
        ids = [*prompt, *answer]
        texts = [" ".join(f"w{n}" for n in part) for part in (prompt, answer)]
        ways: dict[str, Callable[[], np.ndarray]] = {
            "eirene": lambda: attribute_tokens(model, ids, len(answer)),
            "one pass a token": lambda: one_by_one(model, ids, len(answer)),
        }
        try:
            inseq = by_inseq(folder)
            ways["inseq"] = lambda: inseq(*texts)
        except ImportError:
            print("inseq is not installed: compared with one pass a token alone")
        seconds, found = timed(options.runs, ways)
    ours = found["eirene"]
    for way, took in seconds.items():
        theirs = found[way]
        theirs = theirs[-ours.shape[0] :, -ours.shape[1] :]
        off = np.nanmax(np.abs(np.nan_to_num(theirs) - ours))
        print(f"{way:18s} {took:6.2f} s  {took / seconds['eirene']:5.2f} x ours  largest difference {off:.1e}")
    print(f"({options.prompt} prompt and {options.answer} answer tokens, {torch.get_num_threads()} threads, "
          f"median of {options.runs})")  # fmt: skip


if __name__ == "__main__":
    main()
