"""Models from disk are loaded whole or not at all, by transformers' own code alone: whoever loads them."""

from __future__ import annotations

import ast
import copy
import io
import logging
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, PromptEncoderConfig, PromptTuningConfig, TaskType, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

from eirene.core.errors import InputError
from eirene.eval.detectors.selfcheck_models import load_token_encoder
from eirene.models.local.heads import load_head
from eirene.models.local.loading import quiet_peft
from eirene.models.local.model import load_local
from eirene.models.protocols import PROTOCOLS
from eirene.retrieval.encoders import CrossEncoder
from tests.hostile_models import TRACE, change, make_hostile
from tests.retrieval.tiny_pairs import make_cross_encoder
from tests.tiny_bert import make_bert
from tests.tiny_llama import make_llama

ROOT = Path(__file__).parents[3] / "eirene"
LAYER = "model.layers.0.mlp.up_proj.weight"
Tensors = dict[str, torch.Tensor]


def nli(folder: Path) -> Any:
    return load_head(PROTOCOLS["nli"], f"hf:{folder}?entails=0", device="cpu")


def causal(folder: Path) -> Any:
    return load_local(f"hf:{folder}", device="cpu")


def token_encoder(folder: Path) -> Any:
    return load_token_encoder(str(folder))


def reranker(folder: Path) -> Any:
    return CrossEncoder(str(folder))


@pytest.fixture
def llama(tmp_path: Path) -> Path:
    return make_llama(tmp_path / "llama", context=96)


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    return make_bert(tmp_path / "bert")


@pytest.fixture
def classifier(tmp_path: Path) -> Path:
    return Path(make_cross_encoder(tmp_path / "pairs", ["a few words ."]))


def rewrite(folder: Path, alter: Callable[[Tensors], object], file: str = "model.safetensors") -> None:
    """Changes the tensors of a model on disk."""
    tensors = load_file(folder / file)
    alter(tensors)
    save_file(tensors, folder / file, metadata={"format": "pt"})


def spoilt(tensors: Tensors, name: str, value: float) -> None:
    tensors[name].view(-1)[0] = value


def test_no_code_of_a_folder_runs_and_nobody_is_asked(
    tmp_path: Path, llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever loads the model: one line says what would have run, and no answer is read from standard input."""
    asked = io.StringIO("y\n" * 9)
    monkeypatch.setattr(sys, "stdin", asked)
    for kind, load in (("tokenizer", causal), ("model", causal), ("generate", causal), ("kernel", causal),
                       ("tokenizer", nli), ("model", token_encoder), ("kernel", reranker)):  # fmt: skip
        folder = make_hostile(tmp_path / f"{kind}-{load.__name__}", llama, kind=kind)
        with pytest.raises(InputError, match=r"wants to run code of its own") as caught:
            load(folder)
        assert "\n" not in str(caught.value)
    assert (asked.tell(), list(tmp_path.rglob(TRACE))) == (0, [])


def test_code_that_is_not_needed_is_passed_over(tmp_path: Path, llama: Path) -> None:
    """Where transformers has code of its own for the model, that is used, and the folder's is not."""
    folder = make_hostile(tmp_path / "hostile", llama, kind="tokenizer")
    change(folder / "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")
    change(folder / "config.json", auto_map={"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"})
    assert type(causal(folder).model).__name__ == "LlamaForCausalLM"
    assert not list(tmp_path.rglob(TRACE))


@pytest.mark.slow
def test_the_command_line_neither_asks_nor_reads_standard_input(tmp_path: Path, llama: Path) -> None:
    """With a `y` on standard input: exit code 2, one line, nothing on standard output, and the `y` is still there."""
    folder = make_hostile(tmp_path / "hostile", llama, kind="tokenizer")
    (tmp_path / "yes").write_text("y\n", encoding="utf-8")
    words = ["refine", "--question", "Q?", "--answer", "A.", "--backend", f"hf:{folder}"]
    with (tmp_path / "yes").open("rb") as given:
        done = subprocess.run(
            [sys.executable, "-m", "eirene", *words], stdin=given, capture_output=True, text=True, check=False
        )
        left = os.lseek(given.fileno(), 0, os.SEEK_CUR)
    assert (done.returncode, done.stdout, left) == (2, "", 0)
    assert done.stderr.count("\n") == 1
    assert "wants to run code of its own" in done.stderr
    assert not list(tmp_path.rglob(TRACE))


def loaders(source: str) -> list[ast.Call]:
    """The calls of a source that load what a stranger may have made, and would run its code where they are told to."""
    named = {"SentenceTransformer", "pipeline"}
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    by_name = [c for c in calls if isinstance(c.func, ast.Name) and c.func.id in named]
    by_class = [
        c for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr in {"from_pretrained", "from_config"}
    ]
    # peft has no such switch: it runs no code of an adapter, but for the module that `loading` looks for.
    return by_name + [c for c in by_class if not ast.unparse(c.func).startswith("Peft")]


def trusts(call: ast.Call) -> bool:
    given = {k.arg: ast.unparse(k.value) for k in call.keywords}
    return given.get("trust_remote_code") != "False"


def test_every_loader_says_that_no_code_is_trusted() -> None:
    """Left out, the switch is a question on standard input."""
    found = {path: loaders(path.read_text("utf-8")) for path in ROOT.rglob("*.py")}
    assert sum(map(len, found.values())) >= 3
    assert [str(path) for path, calls in found.items() if any(map(trusts, calls))] == []
    assert trusts(loaders("AutoModel.from_pretrained(path)")[0])


def test_nothing_unpickles() -> None:
    """`torch.load`, `pickle` and NumPy's `allow_pickle=True` read what may run code."""
    sources = {path.name: path.read_text("utf-8") for path in ROOT.rglob("*.py")}
    words = ("torch.load(", "import pickle", "allow_pickle=True", "joblib.load", "trust_remote_code=True")
    assert [(name, word) for name, text in sources.items() for word in words if word in text] == []


def test_weights_that_are_no_numbers_are_refused(llama: Path) -> None:
    """Also what is a number on disk and infinite in half precision."""
    rewrite(llama, lambda tensors: spoilt(tensors, LAYER, 1e30))
    causal(llama)
    with pytest.raises(InputError, match="NaN or infinity"):
        load_local(f"hf:{llama}?dtype=float16", device="cpu")
    for value in (math.nan, -math.inf):
        rewrite(llama, lambda tensors, value=value: spoilt(tensors, LAYER, value))  # type: ignore[misc]
        with pytest.raises(InputError, match=rf"NaN or infinity in 1 tensor \({LAYER}\)"):
            causal(llama)


def test_missing_tensors_are_counted_and_named(llama: Path) -> None:
    rewrite(llama, lambda tensors: [tensors.pop(name) for name in list(tensors) if "layers.1" in name])
    with pytest.raises(InputError, match=r"lacks 9 tensors \(model\.layers\.1\.\w+.*, \.\.\.\), which would be random"):
        causal(llama)


def test_a_tensor_of_another_shape_is_named_with_both_shapes(llama: Path) -> None:
    rewrite(llama, lambda tensors: tensors.update({LAYER: torch.zeros(3, 5)}))
    with pytest.raises(InputError, match=rf"another shape .* 1 tensor \({LAYER}: 3x5 for 64x32\)"):
        causal(llama)


def test_surplus_tensors_are_named_and_left_out(llama: Path, caplog: pytest.LogCaptureFixture) -> None:
    rewrite(llama, lambda tensors: tensors.update({"stray.weight": torch.zeros(2)}))
    with caplog.at_level(logging.WARNING, "eirene"):
        causal(llama)
    assert "1 tensor (stray.weight) that this use has no place for" in caplog.text


def test_tied_weights_and_counted_buffers_are_not_missing(llama: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The output layer that is the input's, and what is computed at loading, stand in no file."""
    assert "lm_head.weight" not in load_file(llama / "model.safetensors")
    with caplog.at_level(logging.WARNING, "eirene"):
        causal(llama)
    assert caplog.text == ""


def test_an_output_layer_that_is_not_tied_has_to_be_there(llama: Path) -> None:
    change(llama / "config.json", tie_word_embeddings=False)
    with pytest.raises(InputError, match=r"lacks 1 tensor \(lm_head\.weight\)"):
        causal(llama)


@pytest.mark.parametrize("load", [nli, reranker])
def test_a_classifier_without_its_head_is_refused(bert: Path, load: Callable[[Path], Any]) -> None:
    """A model of plain text would get a random head, and scores as good as drawn."""
    with pytest.raises(InputError, match=r"lacks 2 tensors \(classifier\.bias, classifier\.weight\)"):
        load(bert)


@pytest.mark.parametrize("load", [nli, reranker])
def test_a_classifiers_head_may_not_hold_nan(classifier: Path, load: Callable[[Path], Any]) -> None:
    rewrite(classifier, lambda tensors: spoilt(tensors, "classifier.weight", math.nan))
    with pytest.raises(InputError, match=r"NaN or infinity in 1 tensor \(classifier\.weight\)"):
        load(classifier)


def test_an_encoder_may_lack_its_pooler_and_nothing_else(bert: Path) -> None:
    """The pooler is never asked; every layer is."""
    rewrite(bert, lambda tensors: [tensors.pop(name) for name in list(tensors) if name.startswith("pooler.")])
    token_encoder(bert)
    rewrite(bert, lambda tensors: tensors.pop("encoder.layer.0.output.dense.weight"))
    with pytest.raises(InputError, match=r"lacks 1 tensor \(encoder\.layer\.0"):
        token_encoder(bert)


def test_pickled_weights_are_never_read(llama: Path) -> None:
    """A pickle beside safetensors is left alone; without them nothing is loaded."""
    (llama / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'touch ran'\ntR.")
    causal(llama)
    (llama / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"no file named model\.safetensors"):
        causal(llama)


ADAPTERS = [
    LoraConfig(task_type=TaskType.CAUSAL_LM, r=4, target_modules="all-linear"),
    LoraConfig(task_type=TaskType.CAUSAL_LM, r=4, target_modules=["q_proj"], modules_to_save=["norm"]),
    PromptTuningConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=5),
    PromptEncoderConfig(task_type=TaskType.CAUSAL_LM, num_virtual_tokens=5, encoder_hidden_size=8),
]


@pytest.fixture(params=ADAPTERS, ids=["lora", "lora-and-norm", "prompt-tuning", "p-tuning"])
def adapter(request: pytest.FixtureRequest, tmp_path: Path, llama: Path) -> Path:
    """An adapter of each kind that is known."""
    with quiet_peft():
        adapted = get_peft_model(AutoModelForCausalLM.from_pretrained(llama), copy.deepcopy(request.param))
        adapted.save_pretrained(tmp_path / "adapter")
    return tmp_path / "adapter"


WEIGHTS = "adapter_model.safetensors"


def test_an_adapter_that_is_whole_loads_without_a_word(
    llama: Path, adapter: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "eirene"):
        load_local(f"hf:{llama}+{adapter}", device="cpu")
    assert caplog.text == ""


def test_an_adapter_that_is_not_whole_is_refused(llama: Path, adapter: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Surplus tensors are named in the log; NaN, a missing tensor and a pickle are errors."""
    rewrite(adapter, lambda tensors: tensors.update({"stray.weight": torch.zeros(2)}), WEIGHTS)
    with caplog.at_level(logging.WARNING, "eirene"):
        load_local(f"hf:{llama}+{adapter}", device="cpu")
    assert "1 tensor (stray.weight)" in caplog.text
    rewrite(adapter, lambda tensors: spoilt(tensors, sorted(tensors)[0], math.nan), WEIGHTS)
    with pytest.raises(InputError, match=r"the adapter .* NaN or infinity in 1 tensor"):
        load_local(f"hf:{llama}+{adapter}", device="cpu")
    rewrite(
        adapter,
        lambda tensors: [t.nan_to_num_() for t in tensors.values()] and tensors.pop(sorted(tensors)[0]),
        WEIGHTS,
    )
    with pytest.raises(InputError, match=r"the adapter .* lacks 1 tensor"):
        load_local(f"hf:{llama}+{adapter}", device="cpu")
    (adapter / WEIGHTS).rename(adapter / "adapter_model.bin")
    with pytest.raises(InputError, match=r"it has no adapter_model\.safetensors"):
        load_local(f"hf:{llama}+{adapter}", device="cpu")


@pytest.mark.parametrize("adapter", ADAPTERS[:1], indirect=True)
def test_a_model_and_an_adapter_in_one_folder_are_refused(llama: Path, adapter: Path) -> None:
    """The adapter would be put on unasked, and what the model lacks would be random without a word."""
    for file in adapter.glob("adapter_*"):
        file.rename(llama / file.name)
    with pytest.raises(InputError, match="holds a model and an adapter"):
        causal(llama)


@pytest.mark.parametrize("adapter", ADAPTERS[:1], indirect=True)
def test_an_adapter_names_no_module_to_import(llama: Path, adapter: Path) -> None:
    change(adapter / "adapter_config.json", megatron_config={"a": 1}, megatron_core="antigravity")
    with pytest.raises(InputError, match="wants to run code of its own"):
        load_local(f"hf:{llama}+{adapter}", device="cpu")
