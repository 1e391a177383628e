"""The guards in `conftest.py` hold: no network, no keys, strict checkpoints; and loopback where a test asks for it."""

from __future__ import annotations

import os
import socket

import pytest
import pytest_socket

pytestmark = pytest.mark.filterwarnings("ignore:A test tried to use socket")  # the guard warns before it refuses


def test_a_socket_is_an_error() -> None:
    with pytest.raises(pytest_socket.SocketBlockedError):
        socket.socket(socket.AF_INET, socket.SOCK_STREAM)


@pytest.mark.usefixtures("loopback")
def test_loopback_is_open_to_a_test_that_asks_and_nothing_beyond_it() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as client:
        assert client.getpeername() == server.getsockname()
    with pytest.raises(pytest_socket.SocketConnectBlockedError), socket.socket() as other:
        other.connect(("192.0.2.1", 80))  # an address reserved for documentation


def test_the_guard_is_back_after_a_test_with_loopback() -> None:
    with pytest.raises(pytest_socket.SocketBlockedError):
        socket.socket(socket.AF_INET, socket.SOCK_STREAM)


def test_no_key_is_in_reach_and_checkpoints_are_strict() -> None:
    assert not [name for name in os.environ if name.endswith("_API_KEY")]
    assert os.environ["LANGGRAPH_STRICT_MSGPACK"] == "true" and os.environ["HF_HUB_OFFLINE"] == "1"


def test_torch_works_on_one_thread() -> None:
    """Several test processes share the cores; the setting must come before torch is imported."""
    torch = pytest.importorskip("torch")
    assert torch.get_num_threads() == 1
