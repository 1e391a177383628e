"""Every command line in the documentation is one that the program takes: its command and its flags are there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import typer.main
from typer.core import TyperGroup

from eirene.cli.app import app

from .pages import DOCS, ROOT

PAGES = [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *ROOT.glob("examples/*.md")]
PROGRAM = typer.main.get_command(app)


def command_lines(page: str) -> Iterator[str]:
    """The indented lines that begin with `eirene`, without their comments; those that end in a backslash are joined."""
    for line in re.findall(r"^(?:    |\$ )(?:\w+=\S+ )*(eirene (?:.*\\\n)*.*)$", page, re.MULTILINE):
        yield re.split(r"\s+#|\s{2,}\(", line.replace("\\\n", " "))[0]


def unknown_in(line: str) -> list[str]:
    """What the program would not take of a line: its command, or flags of it."""
    words, command, allowed = line.split()[1:], PROGRAM, {"--help", "--version", "--verbose"}
    while isinstance(command, TyperGroup) and words:
        word = words.pop(0)
        if word.startswith(("-", "[", "|")):
            continue
        name = word.split("|")[0]
        if name not in command.commands and "run" in command.commands:  # `batch IN` is `batch run IN`
            name = "run"
        if name not in command.commands:
            return [word]
        command = command.commands[name]
    allowed |= {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return [flag for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*", " ".join(words)) if flag not in allowed]


def test_the_program_takes_every_command_of_every_page() -> None:
    unknown = {
        f"{page.name}: {line}": found
        for page in PAGES
        for line in command_lines(page.read_text("utf-8"))
        if (found := unknown_in(line))
    }
    assert unknown == {}


def test_a_wrong_command_and_a_wrong_flag_are_seen() -> None:
    assert unknown_in("eirene refien rows.jsonl") == ["refien"]
    assert unknown_in("eirene evaluate critic rows.jsonl --draws 9 --no-such-flag") == ["--no-such-flag"]
    assert sum(len(list(command_lines(page.read_text("utf-8")))) for page in PAGES) > 80
