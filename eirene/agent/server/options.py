"""Options of the server: its address, its API key, and its limits."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from eirene.core.errors import InputError

DEFAULT_PORT = 8400


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """How the server listens and what it takes.

    - `key`: what clients must bring as `Authorization: Bearer KEY`; None: anyone who reaches the address.
    - `max_body`: bytes of a request; `timeout_s`: seconds for a whole answer, the wait in the queue included.
    - `concurrency`: chats under way at most; `queue`: chats that wait beyond these; all others get a 429.
    - `keep_alive_s`: seconds between comments in a stream that waits; until the first, an error is still a status.
    - `connections`: open at most; requests on those beyond them get a 503.
    - `grace_s`: seconds for what is in flight when the server is told to stop; infinity waits for its end.
    - `keep_runs`, `keep_bytes`: how many recent runs, and how much of them, stay in memory; `runs`: a file for all.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    key: str | None = None
    max_body: int = 4 * 2**20
    timeout_s: float = 300.0
    concurrency: int = 64
    queue: int = 256
    keep_alive_s: float = 3.0
    connections: int = 512
    grace_s: float = 30.0
    keep_runs: int = 200
    keep_bytes: int = 64 * 2**20
    runs: str | None = None

    def __post_init__(self) -> None:
        _check(self, "port", least=0, most=65535)
        _check(self, "max_body", least=1024)
        _check(self, "concurrency", least=1)
        _check(self, "queue", least=0)
        _check(self, "connections", least=1)
        _check(self, "grace_s", least=0)
        _check(self, "keep_runs", least=1)
        for name in ("timeout_s", "keep_alive_s"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be greater than 0, got {getattr(self, name):g}", field=name)
        if self.key is not None and not (self.key.isascii() and self.key.isprintable() and self.key.strip()):
            raise InputError("the API key must be printable ASCII and not blank", field="api_key")
        if not self.host.strip():
            raise InputError(
                f"host must be an address or a name of this machine such as 127.0.0.1, got {self.host!r}; "
                "0.0.0.0 listens on all of its addresses",
                field="host",
            )
        if self.key is None and not is_loopback(self.host):
            raise InputError(
                f"{self.host} can be reached from other machines, and without a key so can the server; "
                "give --api-key or set EIRENE_API_KEY, or listen on 127.0.0.1",
                field="host",
            )


def is_loopback(host: str) -> bool:
    """Whether an address or name can be reached from this machine alone; a name other than localhost may not."""
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _check(options: ServeOptions, name: str, *, least: int, most: int | None = None) -> None:
    value = getattr(options, name)
    if not value >= least or (most is not None and value > most):  # NaN is neither
        rule = f"at least {least}" if most is None else f"from {least} to {most}"
        raise InputError(f"{name} must be {rule}, got {value:g}", field=name)
