"""An address that is none is refused before any work, and no stranger is told the address of a server."""

from __future__ import annotations

import asyncio

import pytest

import eirene
from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.core.errors import AddressError, BackendError, InputError, RequestRefusedError, UnreachableError
from eirene.eval.resources import Resources
from eirene.models.address import check_address, named, private_addresses, private_fault
from eirene.models.faults import Fault
from eirene.models.resolve import resolve_chat
from tests.rows import each

NONE = [
    "", "  ", "http://a b/v1", "http://a/v1\n", "localhost:8000/v1", "127.0.0.1", "ftp://127.0.0.1/v1", "http://",
    "http:///v1", "http://:8000/v1", "http://[::1/v1", "http://a{b}/v1", "http://127.0.0.1:0/v1",
    "http://127.0.0.1:70000/v1", "http://127.0.0.1:abc/v1", "http://127.0.0.1:-1/v1",
]  # fmt: skip


def test_what_is_no_address_is_refused() -> None:
    for url in NONE:
        with pytest.raises(InputError, match="base_url must be the http:// or https:// address of a server") as found:
            check_address(url)
        assert "\n" not in str(found.value)


ADDRESSES = [
    "http://localhost:11434/v1", "https://api.openai.com/v1/", "HTTP://GPU_7.local:65535", "http://[::1]:8000/v1",
    "http://me:word@127.0.0.1/v1", "https://münchen.example/v1", "http://vllm", "http://a.de./v1?api-version=1",
]  # fmt: skip


def test_what_is_an_address_stays_as_it_came() -> None:
    assert [check_address(url) for url in ADDRESSES] == ADDRESSES


def test_a_refused_address_shows_no_password() -> None:
    with pytest.raises(InputError) as found:
        check_address("ftp://me:geheim-77@127.0.0.1/v1?key=geheim-78")
    assert "geheim" not in str(found.value)


BAD = "http://127.0.0.1:70000/v1"


def test_every_door_of_python_refuses_it() -> None:
    item = {"question": "Trams?", "answer": "Trams are quiet."}
    doors = [
        lambda: eirene.refine(item, backend="openai:m", base_url=BAD),
        lambda: eirene.build_graph(backend="openai:m", base_url=BAD),
        lambda: resolve_backend("anthropic:m", BackendOptions(base_url=BAD)),
        lambda: Resources(judge_model="openai:m", base_url=BAD),
    ]
    for door in doors:
        with pytest.raises(InputError, match="must be the http:// or https:// address of a server"):
            door()


@pytest.mark.parametrize("url", ["127.0.0.1/v1", "http://127.0.0.1:abc/v1"])
def test_the_address_of_the_environment_is_looked_at_as_well(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    monkeypatch.setenv("OPENAI_API_KEY", "x-key-for-nobody")
    with pytest.raises(
        InputError, match="the environment's OPENAI_BASE_URL must be the http:// or https:// address of a server"
    ):
        resolve_chat("openai:m")


def test_an_error_names_model_and_server_without_a_password() -> None:
    assert named("m", None) == "m"
    assert named("m", "http://me:geheim@host:8/v1/") == "m at http://host:8/v1"
    assert named("m", "localhost:11434") == "m at localhost:11434"


SERVER = "http://gpu7.internal:8000/v1"


def as_told(error: BackendError) -> tuple[BackendError, str | None]:
    with private_addresses():
        fault = private_fault(Fault(error, retryable=True), name="m", address=SERVER)
    assert fault.retryable
    return fault.error, fault.log


@each(
    "error, said",
    [
        (UnreachableError(f"m at {SERVER}: connection refused"), "m: its server cannot be reached, or failed"),
        (
            UnreachableError(f"m at {SERVER}: HTTP 503: nginx on 10.0.0.7"),
            "m: its server cannot be reached, or failed (HTTP 503)",
        ),
        (
            AddressError(f"m at {SERVER}: a web page came"),
            "m: its server has another address, or no certificate that is trusted",
        ),
        (
            RequestRefusedError(f"m at {SERVER}: HTTP 400: too long for gpu7.internal"),
            "m: HTTP 400: too long for [server]",
        ),
        (
            RequestRefusedError(f"m at {SERVER}: HTTP 404: no /v1 at GPU7.internal:8000"),
            "m: its provider refuses the request (HTTP 404)",
        ),
    ],
)
def test_a_stranger_is_told_the_kind_and_the_log_has_the_server(error: BackendError, said: str) -> None:
    public, log = as_told(error)
    assert (type(public), str(public)) == (type(error), said)
    assert log is not None and SERVER in log
    assert "nginx" not in log and "too long" not in log  # what a server says may quote what people wrote


def test_outside_a_server_an_error_is_told_whole() -> None:
    fault = Fault(UnreachableError(f"m at {SERVER}: connection refused"), retryable=True)
    assert private_fault(fault, name="m", address=SERVER) is fault


async def test_tasks_and_threads_of_the_body_are_private_as_well() -> None:
    def refused() -> str:
        fault = Fault(UnreachableError(f"m at {SERVER}: refused"), retryable=True)
        return str(private_fault(fault, name="m", address=SERVER).error)

    async def in_task() -> str:
        return refused()

    with private_addresses():
        said = [await asyncio.create_task(in_task()), await asyncio.to_thread(refused)]
    assert not any(SERVER in text for text in said)
    assert SERVER in refused()
