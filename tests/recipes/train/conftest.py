"""The commands as the tests of the command line have them."""

from __future__ import annotations

from tests.cli.conftest import run, train

__all__ = ["run", "train"]
