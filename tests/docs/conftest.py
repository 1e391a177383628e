"""The command line as a fixture, for the pages' shell lines."""

from tests.cli.conftest import run

__all__ = ["run"]
