"""A pytest plugin: the fixture `eirene_loop`, configured by ini options and flags.

Pytest imports it in every project beside which Eirene is installed: nothing is loaded before the fixture is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from eirene.agent.loop import Loop

_ABOUT = {
    "backend": "who critiques and rewrites, such as openai:gpt-4o-mini (default: embedded, without a key)",
    "base_url": "the server of a chat model backend",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options of the fixture `eirene_loop`."""
    group = parser.getgroup("eirene", "eirene: the fixture eirene_loop")
    for name, about in _ABOUT.items():
        group.addoption(
            f"--eirene-{name.replace('_', '-')}", metavar="NAME" if name == "backend" else "URL", help=about
        )
        parser.addini(f"eirene_{name}", about, default="")
    said = "a setting of the loop as KEY=VALUE, such as samples=10"
    group.addoption("--eirene-setting", action="append", default=[], metavar="KEY=VALUE", help=f"{said}; repeatable")
    parser.addini("eirene_settings", f"{said}, one a line", type="linelist", default=[])


@pytest.fixture(scope="session")
def eirene_loop(pytestconfig: pytest.Config) -> Loop:
    """The loop that the ini options `eirene_backend`, `eirene_base_url` and `eirene_settings` describe.

    The flags `--eirene-backend`, `--eirene-base-url` and `--eirene-setting` win over them. The default is the embedded
    backend, which needs no key and no network.
    """
    from eirene.agent.backends import BackendOptions, resolve_backend
    from eirene.agent.loop import Loop
    from eirene.agent.settings import Settings
    from eirene.core.errors import EireneError

    said = {name: pytestconfig.getoption(f"eirene_{name}") or pytestconfig.getini(f"eirene_{name}") for name in _ABOUT}
    lines = [*pytestconfig.getini("eirene_settings"), *pytestconfig.getoption("eirene_setting")]
    try:
        parts = resolve_backend(said["backend"] or "embedded", BackendOptions(base_url=said["base_url"] or None))
        return Loop(parts, Settings.of(**dict(_setting(line) for line in lines)))
    except EireneError as error:
        raise pytest.UsageError(f"eirene: {error}") from None


def _setting(line: str) -> tuple[str, str]:
    name, equals, value = (part.strip() for part in line.partition("="))
    if not equals or not name:
        raise pytest.UsageError(f"eirene: a setting must be KEY=VALUE, such as samples=10, got {line!r}")
    return name.replace("-", "_"), value
