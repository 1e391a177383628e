"""Who may come in: keys, addresses, pages of other sites; and what is told to nobody."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest

from eirene.agent.server.access import ServeOptions, is_loopback
from eirene.core.errors import InputError
from eirene.testing.loopback import LoopbackServer
from tests.agent.server.serving import ASK, DRAFT, GIVEN, MODEL, Served, embedded_engine, served
from tests.rows import each


@each("host", ["0.0.0.0", "::", "192.168.0.4", "example.org"])
def test_a_public_address_wants_a_key(host: str) -> None:
    with pytest.raises(InputError, match="EIRENE_API_KEY"):
        ServeOptions(host=host)
    assert ServeOptions(host=host, key="k").host == host


@each("host", ["", " ", "\t"])
@each("key", [None, "k"])
def test_a_blank_address_is_refused_with_and_without_a_key(host: str, key: str | None) -> None:
    """It would listen somewhere, or nowhere with a message that names nothing."""
    with pytest.raises(InputError, match=r"^host must be an address or a name of this machine"):
        ServeOptions(host=host, key=key)


@each("host, expected", [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("LOCALHOST", True),
     ("localhost.evil.org", False), ("0.0.0.0", False)])  # fmt: skip
def test_what_counts_as_this_machine(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected


@each("options", [{"port": 70_000}, {"timeout_s": 0}, {"concurrency": 0}, {"queue": -1}, {"key": " "}, {"key": "é"}])
def test_options_that_cannot_be_used_name_themselves(options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        ServeOptions(**options)


@pytest.mark.usefixtures("loopback")
def test_with_a_key_nothing_of_anybodys_is_open_without_it() -> None:
    with LoopbackServer(DRAFT) as up, served(embedded_engine(up), key="secret-key") as server:
        assert server.client("secret-key").models.list().data
        for key in ("wrong", "secret-ke", "secret-keyy"):
            with pytest.raises(openai.AuthenticationError) as found:
                server.client(key).chat.completions.create(model=MODEL, messages=ASK)
            assert found.value.code == "invalid_api_key"
        paths = ["/v1/models", "/v1/runs", "/v1/runs/x", "/v1/runs/x/events", "/metrics", "/v1/nothing", "/v1/models/"]
        assert [httpx.get(server.root + path).status_code for path in paths] == [401] * len(paths)
        assert httpx.get(f"{server.root}/v1/models", headers={"Authorization": "Basic c2VjcmV0"}).status_code == 401
        assert [httpx.get(server.root + path).status_code for path in ("/", "/healthz", "/openapi.json")] == [200] * 3
        assert up.calls == 0


@pytest.mark.usefixtures("loopback")
def test_a_runs_page_opens_with_its_token_alone() -> None:
    with LoopbackServer(DRAFT) as up, served(embedded_engine(up), key="k") as server:
        reply = server.client("k").chat.completions.create(model=MODEL, messages=ASK, extra_body=GIVEN)
        run = reply.eirene["run_id"]  # type: ignore[attr-defined]
        assert httpx.get(f"{server.root}/runs/{run}").status_code == 401
        listed = httpx.get(f"{server.root}/v1/runs", headers={"Authorization": "Bearer k"}).json()["data"][0]
        assert httpx.get(server.root + listed["page"]).status_code == 200
        assert httpx.get(server.root + listed["page"] + "0").status_code == 401


@pytest.mark.usefixtures("loopback")
def test_pages_of_other_sites_are_turned_away() -> None:
    """Also where they have made their own name point to this machine."""
    with LoopbackServer(DRAFT) as up, served(embedded_engine(up)) as server:
        url, body = f"{server.root}/v1/chat/completions", json.dumps({"model": MODEL, "messages": ASK})
        for origin in ("https://evil.example", "null", "", "http://[", f"https://127.0.0.1:{server.port + 1}"):
            reply = httpx.post(url, content=body, headers={"Origin": origin, "Content-Type": "text/plain"})
            assert (reply.status_code, reply.json()["error"]["code"]) == (403, "cross_origin")
        assert httpx.post(url, content=body, headers={"Host": "evil.example"}).json()["error"]["code"] == "bad_host"
        assert up.calls == 0
        assert httpx.post(url, content=body, headers={"Origin": server.root}).status_code == 200
        allowed = httpx.options(url, headers={"Origin": server.root, "Access-Control-Request-Method": "POST"})
        assert "access-control-allow-origin" not in allowed.headers


@pytest.mark.usefixtures("loopback")
def test_the_log_has_no_text_of_anybody(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="eirene.agent.server")
    with LoopbackServer("Quokkas xylograph.") as up, served(embedded_engine(up), key="hushhush") as server:
        turns: list[Any] = [{"role": "user", "content": "Do zebras xylograph?"}]
        server.client("hushhush").chat.completions.create(model=MODEL, messages=turns)
        httpx.get(f"{server.root}/xylograph?xylograph=1")
    lines = [record.getMessage() for record in caplog.records]
    assert any(line.startswith("POST /v1/chat/completions 200") for line in lines)
    assert not any(word in line for line in lines for word in ("xylograph", "hushhush"))


def raw(server: Served, *lines: str) -> str:
    """What comes back for a head that no well-behaved client would send."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as line:
        line.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode("latin-1"))
        return b"".join(iter(lambda: line.recv(65536), b"")).decode("latin-1")


@pytest.mark.usefixtures("loopback")
@each(
    "lines, status",
    [
        (["GET /v1/models HTTP/1.1"], 400),
        (["GET /v1/models HTTP/1.1", "Host: localhost", "Host: evil.example"], 400),
        (["GET /v1/models HTTP/1.1", "Host: localhost@evil.example"], 403),
        (["GET /v1/models HTTP/1.1", "Host: ["], 403),
        (["GET /v1/models HTTP/1.1", "Host: 2130706433"], 403),
        (["GET /v1/models HTTP/1.1", "Host: evil.example", "X-Forwarded-Host: localhost"], 403),
        (["GET /v1/models HTTP/1.1", "Host: localhost", "Origin: http://localhost", "Origin: http://evil"], 403),
        (["GET http://evil.example/v1/models HTTP/1.1", "Host: localhost"], 404),
        (["GET /v1/runs/..%2f..%2fetc%2fpasswd HTTP/1.1", "Host: localhost"], 404),
        (["GET /runs/../../etc/passwd HTTP/1.1", "Host: localhost"], 404),
        (["GET /runs/x?choice=" + "9" * 5000 + " HTTP/1.1", "Host: localhost"], 400),
        (["POST /v1/chat/completions HTTP/1.1", "Host: localhost", "Content-Length: -5"], 400),
    ],
)
def test_heads_made_by_an_attacker_are_refused(lines: list[str], status: int) -> None:
    """Two hosts or origins, names in disguise, paths that climb, lengths that are none: no 200, no 500."""
    with served(embedded_engine()) as server:
        assert raw(server, *lines).startswith(f"HTTP/1.1 {status} ")


@pytest.mark.usefixtures("loopback")
def test_a_line_break_in_a_model_name_makes_no_header_and_no_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """The name is quoted where it is told, and told nowhere else."""
    caplog.set_level(logging.DEBUG, logger="eirene")
    with served(embedded_engine()) as server:
        body = {"model": "test\r\nSet-Cookie: a=b\x1b[31m", "messages": ASK}
        reply = httpx.post(f"{server.root}/v1/chat/completions", json=body)
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "model_not_found")
    assert "set-cookie" not in reply.headers
    assert "\r" not in reply.json()["error"]["message"]
    assert "Set-Cookie" not in caplog.text


def _polled(condition: Callable[[], bool], within_s: float = 20.0) -> bool:
    until = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.usefixtures("loopback")
def test_a_connection_too_many_is_told_so() -> None:
    """Beyond the limit a request gets a 503; those who were there are served, and room comes."""
    with served(embedded_engine(), connections=2) as server:
        held = [httpx.Client(base_url=server.root) for _ in range(2)]
        assert [client.get("/healthz").status_code for client in held] == [200, 200]
        refused = httpx.get(f"{server.root}/healthz")
        assert refused.status_code == 503
        assert refused.headers["connection"] == "close"
        assert held[0].get("/healthz").status_code == 200
        for client in held:
            client.close()
        assert _polled(lambda: httpx.get(f"{server.root}/healthz").status_code == 200)
