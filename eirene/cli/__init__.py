"""The command line: one file per command. Parses flags, calls the library, prints results."""

from eirene.cli.app import main

__all__ = ["main"]
