"""A tiny BERT that scores pairs of texts, made on the spot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def make_cross_encoder(folder: Path, texts: Sequence[str]) -> str:
    """A folder with an untrained sequence classifier and a word vocabulary of the texts."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    words = sorted({w.lower() for text in texts for w in text.replace(".", " .").split()})
    folder.mkdir()
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]), encoding="utf-8")
    tokenizer = BertTokenizerFast(vocab=str(vocabulary), model_max_length=64)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words) + 5, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64, num_labels=1,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
