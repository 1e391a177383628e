"""Parses the names of local models: `hf:path-or-id[+adapter]`, with options after a `?`."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from eirene.core.errors import InputError
from eirene.data.line_checksum import DamagedError, check_value

PREFIX = "hf:"
PROMPT_FILE = "eirene_prompt.json"
"""Beside an adapter: the prompt that it was trained with."""
Layout = Literal["chat", "instruct"]
LAYOUTS: tuple[Layout, ...] = ("chat", "instruct")
DTYPES = ("float32", "bfloat16", "float16")
_OPTIONS = ("device", "dtype", "layout")
ADAPTER_CONFIG = "adapter_config.json"


@dataclass(frozen=True, slots=True)
class LocalSpec:
    """What to load and how. `model` and `adapter` are folders or hub ids; None leaves the choice to the machine."""

    model: str
    adapter: str | None = None
    device: str | None = None
    dtype: str | None = None
    layout: Layout | None = None

    @property
    def name(self) -> str:
        """What records call the model."""
        return PREFIX + self.model + (f"+{self.adapter}" if self.adapter else "")


def parse_spec(spec: str, *, device: str | None = None, dtype: str | None = None) -> LocalSpec:
    """Reads `hf:base+adapter?device=cuda&dtype=bfloat16&layout=instruct`, of which only `base` must be there.

    A folder that exists is taken whole, whatever is in its name. A folder that holds an adapter alone brings the
    base model that it names. `device` and `dtype` go before those in the text. Raises `InputError`.
    """
    text = spec.removeprefix(PREFIX)
    if text.startswith("gguf:"):
        raise InputError(
            f"what reads a model's weights or layers takes no GGUF file, got {text!r}; name one by hf:path-or-id (a "
            "GGUF file can be a backend, a judge, and the local model of gptscore, pseudo-entropy and selfcheck)",
            field="backend",
        )
    path, options = (text, {}) if Path(text).is_dir() else _split_options(text, spec)
    model, adapter = _split_adapter(path)
    if not model or adapter == "":
        raise InputError(
            f"backend {spec!r} names no model; write hf:FOLDER or hf:OWNER/NAME[+ADAPTER]", field="backend"
        )
    files = (os.path.isfile(os.path.join(model, name)) for name in (ADAPTER_CONFIG, "config.json"))
    if adapter is None and tuple(files) == (True, False):
        model, adapter = _base_of(model), model
    dtype = dtype or options.get("dtype")
    if dtype is not None and dtype not in DTYPES:
        raise InputError(f"dtype must be one of {', '.join(DTYPES)}, got {dtype!r}", field="dtype")
    layout = options.get("layout")
    if layout is not None and layout not in LAYOUTS:
        raise InputError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}", field="layout")
    return LocalSpec(model, adapter, device or options.get("device"), dtype, layout)


def read_object(file: Path, *, advice: str = "") -> dict[str, Any]:
    """The JSON object of a file beside a model's weights: the prompt that it carries, a configuration, a card.

    Raises `InputError`, which ends in `advice`, for a file that cannot be read or does not fit its checksum.
    """
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
        if isinstance(value, dict):
            return check_value(value)
        why = "must hold a JSON object"
    except DamagedError as error:
        why = str(error)
    except (OSError, ValueError, RecursionError) as error:
        why = f"cannot be read: {error}"
    raise InputError(why + advice, where=str(file))


def _split_options(text: str, spec: str) -> tuple[str, dict[str, str]]:
    path, found, rest = text.rpartition("?")
    if not found:
        return text, {}
    options: dict[str, str] = {}
    for pair in rest.split("&"):
        name, _, value = pair.partition("=")
        if name not in _OPTIONS or not value:
            raise InputError(
                f"backend {spec!r}: {pair!r} is no option; known: {', '.join(f'{o}=...' for o in _OPTIONS)}",
                field="backend",
            )
        options[name] = value
    return path, options


def _split_adapter(path: str) -> tuple[str, str | None]:
    if Path(path).is_dir():
        return path, None
    # A folder may have a `+` in its name: the first cut that leaves an existing one wins.
    cuts = [i for i, c in enumerate(path) if c == "+"]
    for at in cuts:
        if Path(path[:at]).is_dir():
            return path[:at], path[at + 1 :]
    return (path[: cuts[0]], path[cuts[0] + 1 :]) if cuts else (path, None)


def _base_of(adapter: str) -> str:
    file = Path(adapter) / ADAPTER_CONFIG
    base = read_object(file).get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise InputError("names no base model; write hf:BASE+ADAPTER", where=str(file))
    return base
