"""A Llama of a few thousand weights and a tokenizer, both made on the spot: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

CHAT_TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
_TEXT = (
    "### Instruction: ### Input: ### Response: Question: Answer: 1. 2. 3. [Complete] [Incomplete] Reasons: "
    "when given a question and answer statements, the reasons are not enough information missing more detail"
)


def make_llama(
    folder: Path,
    *,
    texts: Iterable[str] = (),
    chat: bool = False,
    hidden: int = 32,
    layers: int = 2,
    vocabulary: int = 400,
    context: int = 2048,
    seed: int = 0,
) -> Path:
    """Writes a random Llama with its tokenizer, trained on `texts`, to `folder`, as `save_pretrained` does."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    from eirene.models.local.loading import no_progress_bar

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    special = ["<s>", "</s>", "<|system|>", "<|user|>", "<|assistant|>"]
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator([_TEXT, *texts], trainer)
    tokenizer: Any = cast(Any, PreTrainedTokenizerFast)(
        tokenizer_object=bpe, bos_token="<s>", eos_token="</s>", additional_special_tokens=special[2:]
    )
    if chat:
        tokenizer.chat_template = CHAT_TEMPLATE
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=len(tokenizer),
                hidden_size=hidden,
                intermediate_size=2 * hidden,
                num_hidden_layers=layers,
                num_attention_heads=4,
                num_key_value_heads=2,
                max_position_embeddings=context,
                bos_token_id=tokenizer.bos_token_id,
                eos_token_id=tokenizer.eos_token_id,
                tie_word_embeddings=True,
                initializer_range=0.2,
            )
        )
    with no_progress_bar():
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
