"""A BERT of a few thousand weights and a tokenizer, both made on the spot: nothing is downloaded."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, cast

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers


def make_bert(folder: Path, *, texts: Iterable[str] = (), layers: int = 3, context: int = 64, seed: int = 0) -> Path:
    """Writes a random BERT with its tokenizer, trained on `texts`, to `folder`, as `save_pretrained` does."""
    import torch
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    from eirene.models.local.loading import no_progress_bar

    pieces = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    pieces.normalizer = normalizers.BertNormalizer(lowercase=True)
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=special, show_progress=False)
    pieces.train_from_iterator(["the quick brown fox jumps over a lazy dog 0123456789 .,!?", *texts], trainer)
    pieces.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer: Any = cast(Any, PreTrainedTokenizerFast)(
        tokenizer_object=pieces, unk_token="[UNK]", pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", model_max_length=context,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = BertModel(
            BertConfig(
                vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=layers, num_attention_heads=4,
                intermediate_size=64, max_position_embeddings=context, initializer_range=0.3,
            )
        )  # fmt: skip
    with no_progress_bar():
        model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
