"""The command line: one file per command. Reads arguments, calls the library, shows what came; decides nothing."""

from eirene.cli.app import main

__all__ = ["main"]
