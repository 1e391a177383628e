"""Prompt templates: loads prompt files and fills them in.

A file has sections in a fixed order: `# about` (for the reader, never sent), `# system` (optional) and `# user`.
Placeholders are `{{name}}`. Values are untrusted text, inserted once and not expanded again: a placeholder, a heading
or a fence in a value has no effect. `eirene.prompts.fence` has the word that separates them from the prompt's own text.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Literal

from eirene.core.errors import PromptError

_SECTIONS = ("about", "system", "user")
_HEADING = re.compile(r"^# (\w+)[ \t]*$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message, ready to be sent."""

    role: Literal["system", "user"]
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A loaded prompt. `digest` is 8 hex digits of the file's SHA-256 and goes into the run's signature."""

    name: str
    system: str
    user: str
    digest: str

    @property
    def placeholders(self) -> frozenset[str]:
        """The names that must be given a value."""
        return frozenset(_PLACEHOLDER.findall(self.system) + _PLACEHOLDER.findall(self.user))

    def fill(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The messages, placeholders replaced. Raises `PromptError` that lists every missing and unused name."""
        missing, unused = sorted(self.placeholders - set(values)), sorted(set(values) - self.placeholders)
        problems = [
            f"{what}: {', '.join(names)}" for what, names in (("missing", missing), ("unused", unused)) if names
        ]
        if problems:
            raise PromptError(f"prompt {self.name!r} and the values given for it differ ({'; '.join(problems)})")
        texts = (("system", self.system), ("user", self.user))
        return tuple(
            Message(role, _PLACEHOLDER.sub(lambda found: values[found.group(1)], text))  # type: ignore[arg-type]  # the two roles above
            for role, text in texts
            if text
        )


def load_prompt(name: str, *, folder: Path | None = None) -> Prompt:
    """The prompt `name` that ships with the package, or the file `name.md` in a folder.

    Raises `PromptError` when there is no such file or its sections are wrong.
    """
    return _shipped(name) if folder is None else _read(name, folder)


@functools.cache  # read for every request; a user's own folder may be edited meanwhile
def _shipped(name: str) -> Prompt:
    return _read(name, resources.files("eirene.prompts"))


def shipped_names() -> list[str]:
    """The names of the prompts that ship with the package, sorted."""
    return _names(resources.files("eirene.prompts"))


def shipped_text(name: str) -> str:
    """The file of a shipped prompt as it is. Raises `PromptError` where there is none."""
    return _text(name, resources.files("eirene.prompts"))


def _names(home: Traversable | Path) -> list[str]:
    return sorted(f.name.removesuffix(".md") for f in home.iterdir() if f.name.endswith(".md"))


def _read(name: str, home: Traversable | Path) -> Prompt:
    return parse_prompt(name, _text(name, home))


def _text(name: str, home: Traversable | Path) -> str:
    file = home / f"{name}.md"
    if not file.is_file():
        known = _names(home)
        raise PromptError(f"no prompt {name!r}; known: {', '.join(known) or 'none'}")
    return file.read_text(encoding="utf-8")


def parse_prompt(name: str, text: str) -> Prompt:
    """Parses a prompt file's text: its sections in order, each once, and nothing before the first."""
    parts = _HEADING.split(text)
    found, bodies = parts[1::2], [body.strip() for body in parts[2::2]]
    if parts[0].strip():
        raise PromptError(f"prompt {name!r} begins with text before its first section; begin with '# about'")
    wanted = [s for s in _SECTIONS if s in found]
    if found != wanted or "user" not in found or "about" not in found:
        raise PromptError(
            f"prompt {name!r} has the sections {found}; wanted in this order: 'about', 'system' (optional), 'user'"
        )
    sections = dict(zip(found, bodies, strict=True))
    if not sections["user"]:
        raise PromptError(f"prompt {name!r} has an empty section 'user'")
    digest = hashlib.sha256(text.encode("utf-8")).hexdigest()[:8]
    return Prompt(name=name, system=sections.get("system", ""), user=sections["user"], digest=digest)


# What tokenizers and chat templates read as control: <|...|>, <s>, [INST], <<SYS>>, turns, thinking.
_CONTROL = re.compile(
    r"<(?=[|｜][^<>\s]{1,60}>|/?s>|/?(?:bos|eos|pad|unk)>|(?:start|end)_of_turn>|/?think(?:ing)?>|<?/?SYS>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])",
    re.IGNORECASE,
)


def break_control_tokens(text: str) -> str:
    """The text with a space inside each chat control token; anything else is unchanged."""
    return _CONTROL.sub(lambda found: found.group() + " ", text)
