"""Guards for every test: strict checkpoints, no network but the loopback, few threads, repeatable examples."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path

# Read by langgraph when it is imported: checkpoints then refuse every type that they were not told of.
os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
# A hub must never be asked, whatever a test builds; libraries read these when they are imported.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
# Torch reads it when it is imported, here and in the processes that tests start: on models of a few thousand weights
# more threads only wait for each other, for most of the time where several test processes share the cores.
os.environ["OMP_NUM_THREADS"] = "1"
# Each client of a model reads the authorities that it trusts, a twentieth of a second long; no test has one to trust.
os.environ["SSL_CERT_DIR"] = os.path.dirname(__file__)
# Tests start hundreds of processes of ours: without bytecode each compiles 300 modules, for nearly half a second. And
# collecting compiles the tests too: a third of its time, once a process and not once a checkout.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

import pytest
import pytest_socket
from hypothesis import HealthCheck, settings

from eirene.core.errors import MissingExtraError

sys.dont_write_bytecode = False
# What is imported while tests are collected stays to the end: nothing of it is garbage.
gc.disable()

settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("local"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


# A shell starts background jobs with SIGINT ignored, and `nohup` any with SIGHUP ignored. Processes started by the
# tests would inherit that: Ctrl-C and a closed terminal would not reach them. A handler of any kind here gives them the
# default again.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_finish() -> None:
    """Garbage is collected from here on, without a look at what the imports have made."""
    gc.freeze()
    gc.enable()


IS_LIGHT = find_spec("torch") is None
"""Whether the extra `test-light` alone is installed: what wants a package that is not there is then skipped."""


class _Module(pytest.Module):
    """A test file that is skipped where a package that it imports is not installed."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        try:
            return list(super().collect())
        except self.CollectError as error:
            if isinstance(error.__cause__, ModuleNotFoundError):
                pytest.skip(f"{error.__cause__}", allow_module_level=True)
            raise


if IS_LIGHT:

    def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
        """See `_Module`."""
        module: pytest.Module = _Module.from_parent(parent, path=module_path)
        return module

    @pytest.hookimpl(wrapper=True)
    def pytest_pyfunc_call() -> Iterator[None]:
        """Skips a test that comes upon such a package as it runs."""
        try:
            return (yield)
        except* (ModuleNotFoundError, MissingExtraError) as group:
            pytest.skip(str(group.exceptions[0]))

    pytest_runtest_setup = pytest_pyfunc_call


@pytest.fixture(autouse=True)
def _no_real_model(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hides every key, so that a real model call fails before a socket is opened; `--disable-socket` fails the rest."""
    if request.node.get_closest_marker("live") is None:
        for name in [n for n in os.environ if n.endswith("_API_KEY") or n in {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}]:
            monkeypatch.delenv(name)


@pytest.fixture
def loopback() -> Iterator[None]:
    """Sockets to 127.0.0.1 and ::1 alone, for tests that start a server of their own."""
    pytest_socket.enable_socket()
    pytest_socket.socket_allow_hosts(["127.0.0.1", "::1"])
    yield
    pytest_socket.disable_socket(allow_unix_socket=True)
