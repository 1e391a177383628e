"""The scripted server itself: what it opens, it closes."""

from __future__ import annotations

import gc
import socket
import warnings

import pytest

from eirene.testing.loopback import LoopbackServer
from tests.rows import each


@pytest.mark.usefixtures("loopback")
@each("sent", [b"", b"POST /v1/chat"])
def test_a_client_that_has_only_just_connected_leaves_nothing_open(sent: bytes) -> None:
    gc.collect()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ResourceWarning)
        for _ in range(50):
            with LoopbackServer("x") as server:
                client = socket.create_connection(("127.0.0.1", server.port))
                client.sendall(sent)
            client.close()
        gc.collect()
    assert [str(w.message) for w in caught] == []
