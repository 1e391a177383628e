"""Trial of a GGUF model: loads it and fills in its chat template, in a process that may hang, crash or eat memory.

A file and a template come from outside, and llama.cpp trusts them: a template may run for ever, and one that is nested
without end, or a damaged file, ends the process. So another process tries first what this one is to do.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.request import ProxyHandler, Request, build_opener

from eirene.core.errors import InputError
from eirene.models.gguf.spec import memory_of_machine

SLOTS = 32
"""Replies that are written side by side at most; a request for more is split."""
CACHE_MIB = 1024
"""Memory for prompts that were read before: a row's prompts begin alike, and those of other rows are not asked again.
llama.cpp would fill 8 GiB in a long batch."""
CPU_S = 20
"""Seconds of computing that loading and a template may take, beside those that go with the file's size."""

_BYTES_A_CPU_S, _BYTES_A_S = 50e6, 5e6
_QUIET = -1
_SENTINELS = {"system": "EIRENE-INSTRUCTIONS", "user": "EIRENE-QUESTION"}
_NO_SERVER = 3


def server_of(settings: Mapping[str, Any], key: str, *, warmup: bool = True) -> Any:
    """A llama.cpp server with a model; raises `RuntimeError` or `ValueError` where it cannot be loaded.

    `settings`: its `path`, `context` in tokens, `threads`, and `template`, the text of one or None for its own.
    """
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.n_ctx = settings["context"]
    params.n_parallel = SLOTS
    params.kv_unified = True
    params.cache_ram_mib = CACHE_MIB
    params.verbosity = _QUIET
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.api_keys = [key]
    params.ui = False
    params.endpoint_metrics = True
    params.warmup = warmup
    if settings["template"] is not None:
        params.chat_template = settings["template"]
    server = xllamacpp.Server(params)
    # Its loop begins after that, and one that is told to end before it has begun never ends, nor does whoever drops the
    # server. What the loop answers is told once it runs.
    server.handle_metrics()
    return server


def try_model(settings: Mapping[str, Any], *, template: str, cpu_s: float = CPU_S) -> None:
    """Loads a model and fills in its template, elsewhere. Raises `InputError` that says what came of it.

    `settings` are those of `server_of`; `template` is what messages call the template.
    """
    path = settings["path"]
    size = os.path.getsize(path)
    memory = memory_of_machine()
    limits = {"cpu_s": int(cpu_s + size / _BYTES_A_CPU_S), "memory": None if memory is None else memory + size}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "eirene.models.gguf.trial"],
            input=json.dumps({**settings, **limits}),
            env={**os.environ, "GGML_NO_BACKTRACE": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True, text=True, errors="replace", check=False,
            timeout=10 * cpu_s + size / _BYTES_A_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise _bad(path, f"was not loaded in time, or {template} never ends") from None
    if done.returncode == _NO_SERVER:
        raise InputError(
            f"llama.cpp cannot load {path!r}: it is cut off or damaged, has no weights or is of a kind not "
            f"known, {template} is none, or there is too little memory for context={settings['context']}",
            field="backend",
        )
    if done.returncode:
        said = done.stderr.strip().splitlines()
        how = f"exit code {done.returncode}" + (f", {said[-1][:200]}" if said else "")
        raise _bad(path, f"makes llama.cpp crash or run for ever: it is damaged, or {template} is ({how})")
    lost = [role for role, text in _SENTINELS.items() if text not in json.loads(done.stdout)["prompt"]]
    if lost:
        raise _bad(
            path,
            f"would not be shown what is asked: {template} leaves the {' and the '.join(lost)} message out. Name a "
            "file with a Jinja template, or one that llama.cpp knows, such as #chatml",
        )


def _bad(path: str, why: str) -> InputError:
    return InputError(f"the model file {path!r} {why}", field="backend")


def main() -> NoReturn:
    """Tries the settings on standard input, writes the prompt that the template makes of two messages, and exits."""
    given = json.load(sys.stdin)
    _limit(given["cpu_s"], given["memory"])
    key = secrets.token_urlsafe()
    try:
        server = server_of({**given, "threads": 1}, key, warmup=False)  # nothing is computed
    except (RuntimeError, ValueError) as error:
        sys.stderr.write(str(error))
        sys.exit(_NO_SERVER)
    body = {"messages": [{"role": role, "content": text} for role, text in _SENTINELS.items()]}
    request = Request(
        f"{server.listening_address}/apply-template", json.dumps(body).encode(), {"Authorization": f"Bearer {key}"}
    )
    with build_opener(ProxyHandler({})).open(request) as reply:
        sys.stdout.write(reply.read().decode("utf-8"))
    sys.stdout.flush()
    os._exit(0)  # a server that is taken down waits for its threads


def _limit(cpu_s: int, memory: int | None) -> None:
    """Bounds what this process may take, where the system has such limits."""
    try:
        import resource
    except ImportError:  # pragma: no cover  # Windows: the limit of time holds there
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    if memory is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))


if __name__ == "__main__":
    main()
