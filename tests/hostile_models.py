"""Model folders that bring code to run (`trust_remote_code`): code that does run leaves a file behind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

TRACE = "the-code-ran"
_CODE = """
from pathlib import Path
Path(__file__).with_name({trace!r}).touch()
Path({folder!r}, {trace!r}).touch()
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
class Config(LlamaConfig): model_type = "hostile"
class Model(LlamaForCausalLM): config_class = Config
class Tokens(PreTrainedTokenizerFast): pass
def generate(model, *args, **kwargs): return None
"""


def make_hostile(folder: Path, model: Path, *, kind: str) -> Path:
    """A copy of a model's folder that brings code: for its `tokenizer`, its `model`, or its way to `generate`."""
    shutil.copytree(model, folder)
    code = _CODE.format(trace=TRACE, folder=str(folder))
    if kind == "tokenizer":
        change(
            folder / "tokenizer_config.json", tokenizer_class="Tokens", auto_map={"AutoTokenizer": ["own.Tokens", None]}
        )
    elif kind == "model":
        classes = {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model", "AutoModel": "own.Model",
                   "AutoModelForSequenceClassification": "own.Model"}  # fmt: skip
        change(folder / "config.json", model_type="hostile", auto_map=classes)
    elif kind == "kernel":
        change(folder / "config.json", attn_implementation="somebody/kernels")
    else:
        (folder / "custom_generate").mkdir()
        (folder / "custom_generate" / "generate.py").write_text(code, encoding="utf-8")
    (folder / "own.py").write_text(code, encoding="utf-8")
    return folder


def change(file: Path, **values: Any) -> None:
    """Writes values into a JSON file's object."""
    file.write_text(json.dumps({**json.loads(file.read_text("utf-8")), **values}), encoding="utf-8")
