"""Joining a Ray cluster that is not there ends with one error, whatever is at the address."""

from __future__ import annotations

import importlib.util
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.cli.batch.batch_runs import data

LIMIT_S = 180  # Ray by itself would go on for a quarter of an hour
pytestmark = [
    pytest.mark.usefixtures("loopback"),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs the extra 'ray'"),
    pytest.mark.timeout(LIMIT_S + 60),
]
# So that Ray takes 127.0.0.1 as it is, in place of the machine's outer address.
LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
HEAD = """
import os, sys
from eirene.agent.batch.ray import ray_session
with ray_session("local", slots=1) as ray:
    print(ray.get_runtime_context().gcs_address, os.environ["RAY_AUTH_TOKEN"], flush=True)
    sys.stdin.read()
"""
JOIN = """
import os, sys
import ray
from eirene.agent.batch.ray import ray_session
from eirene.core.errors import InputError
ray.__version__ = os.environ.get("VERSION", ray.__version__)
try:
    with ray_session(sys.argv[1]) as joined:
        print("joined", joined.cluster_resources()["CPU"])
except InputError as error:
    print(error)
"""


def error_at(address: str, folder: Path) -> str:
    """The last line on standard error of a batch there; it has made no row."""
    script, out = str(Path(sys.executable).with_name("eirene")), folder / "out.jsonl"
    done = subprocess.run(
        [script, "batch", str(data(folder, 1)), "--out", str(out), "--ray", address],
        capture_output=True, text=True, check=False, timeout=LIMIT_S,
        env={name: value for name, value in os.environ.items() if not name.startswith("RAY_")} | LOOPBACK,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert not out.exists() or out.read_text("utf-8") == ""
    return done.stderr.splitlines()[-1]


@contextmanager
def refusing() -> Iterator[int]:
    """A port at which nobody listens, held so that nobody can."""
    with closing(socket.socket()) as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@contextmanager
def no_answer() -> Iterator[int]:
    """A port whose queue is full: as from a machine behind a firewall, nothing comes back."""
    with ExitStack() as stack:
        server = stack.enter_context(closing(socket.socket()))
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        for _ in range(8):
            waiting = stack.enter_context(closing(socket.socket()))
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield server.getsockname()[1]


@contextmanager
def service(reply: bytes | None) -> Iterator[int]:
    """A service that is no head: it replies with this, or takes connections and says nothing."""
    held: list[socket.socket] = []

    def serve(server: socket.socket) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:  # closed
                return
            held.append(connection)
            if reply is not None:
                connection.recv(1)
                connection.sendall(reply)
                connection.close()

    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        thread = threading.Thread(target=serve, args=(server,), daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    for connection in held:
        connection.close()


Service = Callable[[], AbstractContextManager[int]]
HTTP = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"


@pytest.mark.slow
@pytest.mark.parametrize(("make", "why"), [(refusing, "Connection refused"), (no_answer, "no answer in 5 s")])
def test_where_nothing_listens_the_reason_is_told(make: Service, why: str, tmp_path: Path) -> None:
    with make() as port:
        said = error_at(f"127.0.0.1:{port}", tmp_path)
    assert said == (
        f"error: no Ray cluster could be reached at 127.0.0.1:{port}: {why}; "
        "name HOST:PORT as `ray start --head` shows it"
    )


@pytest.mark.slow
@pytest.mark.parametrize("reply", [HTTP, None], ids=["http", "silent"])
def test_a_service_that_is_no_head_is_asked_once(reply: bytes | None, tmp_path: Path) -> None:
    with service(reply) as port:
        said = error_at(f"127.0.0.1:{port}", tmp_path)
    assert said.startswith(f"error: no Ray cluster could be joined at '127.0.0.1:{port}': Failed to connect")
    assert "wanted is HOST:PORT of a head" in said


@pytest.mark.slow
def test_a_head_is_joined_with_its_token_and_its_version_alone() -> None:
    def joined(**more: str) -> str:
        command = [sys.executable, "-c", JOIN, address]
        env = os.environ | LOOPBACK | more
        return subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True, timeout=LIMIT_S).stdout

    head = subprocess.Popen([sys.executable, "-c", HEAD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with head:
        assert head.stdout is not None
        address, token = head.stdout.readline().split()
        auth = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token}
        found, without, other = joined(**auth), joined(), joined(**auth, VERSION="1.0")
        head.communicate("")
    assert found == "joined 1.0\n"
    refused = f"no Ray cluster could be joined at {address!r}: "
    assert without.startswith(refused) and "RAY_AUTH_TOKEN" in without
    assert other.startswith(f"{refused}Version mismatch: ") and "Ray: 1.0" in other


def test_where_no_cluster_runs_auto_says_so(tmp_path: Path) -> None:
    said = error_at("auto", tmp_path)
    assert said.startswith("error: no Ray cluster could be joined at 'auto': ")
