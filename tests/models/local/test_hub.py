"""Models by their name on the hub, from the hub's cache: nothing is downloaded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from peft import LoraConfig, TaskType, get_peft_model
from transformers import AutoModelForCausalLM

from eirene.models.local.loading import file_beside, quiet_peft
from tests.rows import each
from tests.tiny_llama import make_llama

PROMPT = {"layout": "instruct", "name": "own", "system": "Judge.", "user": "{{instruction}} {{material}}",
          "digest": "0" * 8, "instruction": None}  # fmt: skip


def snapshot(cache: Path, name: str, commit: str) -> Path:
    """The folder in which the hub's client keeps a commit of a repository, made on the spot."""
    home = cache / f"models--{name.replace('/', '--')}"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text(commit)
    folder = home / "snapshots" / commit
    folder.mkdir(parents=True)
    return folder


LOADED_TWICE = """
import json, sys
from pathlib import Path
from eirene.models.local.model import load_local

for prompt in (None, sys.argv[2]):
    if prompt is not None:
        Path(sys.argv[1], "eirene_prompt.json").write_text(prompt)
    m = load_local("hf:owner/base+owner/adapter", device="cpu")
    print(json.dumps({"name": m.name, "prompt": m.prompt, "version": m.version}))
"""


@pytest.mark.slow
def test_a_base_and_an_adapter_of_the_hub_bring_their_prompt_and_their_version(tmp_path: Path) -> None:
    base = make_llama(snapshot(tmp_path, "owner/base", "a" * 40))
    adapter = snapshot(tmp_path, "owner/adapter", "b" * 40)
    with torch.random.fork_rng(devices=[]), quiet_peft():
        lora = LoraConfig(task_type=TaskType.CAUSAL_LM, r=2, target_modules=["q_proj"])
        get_peft_model(AutoModelForCausalLM.from_pretrained(base), lora).save_pretrained(str(adapter))
    # In a process of its own: the hub's client looks up where its cache is when it is imported.
    env = {**os.environ, "HF_HUB_CACHE": str(tmp_path), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", LOADED_TWICE, str(adapter), json.dumps(PROMPT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    assert done.returncode == 0, done.stderr
    plain, carried = map(json.loads, done.stdout.splitlines())
    assert (plain["name"], plain["prompt"]) == ("hf:owner/base+owner/adapter", None)
    assert carried["prompt"] == PROMPT
    assert carried["version"] != plain["version"]


@each("path", ["owner/nowhere", "/nowhere", "no name: at all"])
def test_beside_what_is_not_there_lies_nothing(path: str) -> None:
    assert file_beside(path, "eirene_prompt.json") is None
