"""Prompt templates: loads prompt files, shipped ones and own ones in their place, and fills them in.

A file has sections in a fixed order: `# about` (for the reader, never sent), `# system` (optional) and `# user`.
Placeholders are `{{name}}`. Values are untrusted text, inserted once and not expanded again: a placeholder, a heading
or a fence in a value has no effect. `eirene.prompts.fence` has the word that separates them from the prompt's own text.

A `PromptSet` is a value: whoever asks a model is given one, so that two loops in one process do not meet.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Literal

from eirene.core.errors import InputError, PromptError

MAX_CHARACTERS = 40_000
"""A prompt file of one's own may have so many; the longest that ships has under 5,000."""

_SECTIONS = ("about", "system", "user")
_HEADING = re.compile(r"^# (\w+)[ \t]*$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_BRACES = re.compile(r"\{\{[^{}\n]*\}\}")
_FIXED = re.compile(r"synth_\w+|trained_\w+|npov_response|hallucination_tuned|answer_question")
"""What makes data and NPOV responses, and what models are tuned in: own prompts have no part in these."""
SPARED = frozenset(
    {"drop", "fault", "first", "instruction", "kinds", "last", "mark", "n", "question", "rejected", "why"}
)
"""Fields that an own prompt may leave out, and a rewriter's also `given`. What is judged or rewritten, and what it is
held against, stays: without it any reply would be a guess."""
_HOME = resources.files("eirene.prompts")


@dataclass(frozen=True, slots=True)
class Message:
    """One chat message, ready to be sent."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """A loaded prompt. `digest` is 8 hex digits of the file's SHA-256 and goes into the run's signature. `left_out`:
    fields of the shipped prompt that an own one does without."""

    name: str
    system: str
    user: str
    digest: str
    left_out: frozenset[str] = frozenset()

    @property
    def placeholders(self) -> frozenset[str]:
        """The names that must be given a value."""
        return frozenset(_PLACEHOLDER.findall(self.system) + _PLACEHOLDER.findall(self.user))

    def fill(self, values: Mapping[str, str]) -> tuple[Message, ...]:
        """The messages, placeholders replaced. Raises `PromptError` that lists every missing and unused name."""
        missing = sorted(self.placeholders - set(values))
        unused = sorted(set(values) - self.placeholders - self.left_out)
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


@functools.cache  # read for every request
def load_prompt(name: str) -> Prompt:
    """The prompt `name` that ships with the package. Raises `PromptError` when there is none."""
    return parse_prompt(name, shipped_text(name))


def shipped_names() -> list[str]:
    """The names of the prompts that ship with the package, sorted."""
    return sorted(f.name.removesuffix(".md") for f in _HOME.iterdir() if f.name.endswith(".md"))


def replaceable_names() -> list[str]:
    """The names of the prompts that own ones can take the place of, sorted."""
    return [name for name in shipped_names() if not _FIXED.fullmatch(name)]


def shipped_text(name: str) -> str:
    """The file of a shipped prompt as it is. Raises `PromptError` where there is none."""
    file = _HOME / f"{name}.md"
    if not file.is_file():
        raise PromptError(f"no prompt {name!r}; known: {', '.join(shipped_names())}")
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


@dataclass(frozen=True, slots=True)
class PromptSet:
    """The shipped prompts with `own` ones in the place of those of the same name. Hashable; can be pickled."""

    own: tuple[Prompt, ...] = ()

    def load(self, name: str) -> Prompt:
        """The prompt of that name, the own one where there is one. Raises `PromptError` for an unknown name."""
        return next((prompt for prompt in self.own if prompt.name == name), None) or load_prompt(name)

    def has_own(self, name: str) -> bool:
        """Whether the prompt of that name is not the shipped one."""
        return any(prompt.name == name for prompt in self.own)

    def digests(self, names: Iterable[str]) -> str:
        """The digests of these prompts, in their order, with `+` between."""
        return "+".join(self.load(name).digest for name in names)

    def digest_of(self, names: Iterable[str]) -> str:
        """8 hex digits that stand for the wording of all these prompts together, in whichever order."""
        known = "\n".join(f"{name} {self.load(name).digest}" for name in sorted(names))
        return hashlib.sha256(known.encode("utf-8")).hexdigest()[:8]

    def not_carried(self, names: Iterable[str], *, model: str) -> None:
        """Raises `InputError` for an own prompt among these, which a tuned model would be asked in its own place."""
        taken = next((name for name in names if self.has_own(name)), None)
        if taken is not None:
            said = f"{model} carries the prompt that it was tuned in; leave {taken}.md out of the folder of prompts"
            raise InputError(said, field="prompts")


SHIPPED = PromptSet()
"""The shipped prompts alone."""


def prompt_set(given: PromptSet | str | os.PathLike[str] | None) -> PromptSet:
    """A set as it is, the prompts of a folder, or for None the shipped ones. Raises what `read_prompts` raises."""
    if given is None:
        return SHIPPED
    return given if isinstance(given, PromptSet) else read_prompts(given)


def read_prompts(folder: str | os.PathLike[str]) -> PromptSet:
    """The prompts of a folder: one or more files that are named as shipped ones, with their fields but for `SPARED`.

    Raises `InputError` that names the file: for an unknown name (with the nearest one), for a field that is missing
    or unknown, for sections out of order, and for a file that is no regular one, cannot be read, is empty, too long, no
    UTF-8, or holds a NUL character. Hidden files are passed over.

    Examples:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "sample_answer.md")
        ...     _ = file.write_text("# about\\nOurs.\\n\\n# user\\nBriefly: {{question}}\\n")
        ...     read_prompts(folder).load("sample_answer").user
        'Briefly: {{question}}'
    """
    home = Path(folder)
    try:
        files = sorted(file for file in home.iterdir() if not file.name.startswith("."))
    except FileNotFoundError:
        raise InputError(
            "no such folder of prompts; `eirene prompts --out FOLDER` makes one", where=str(home)
        ) from None
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read as a folder of prompts: {_why(error)}", where=str(home)) from None
    if not files:
        raise InputError("has no prompt; `eirene prompts` lists the names of files", where=str(home))
    return PromptSet(tuple(_read(file) for file in files))


def _read(file: Path) -> Prompt:
    name, where = file.name.removesuffix(".md"), str(file)
    if name not in replaceable_names() or file.suffix != ".md":
        raise InputError(_unknown(name), where=where)
    text = _text(file)
    try:
        prompt = parse_prompt(name, text)
    except PromptError as error:
        raise InputError(str(error), where=where) from None
    wanted = load_prompt(name).placeholders
    _check_fields(prompt, wanted, where)
    return replace(prompt, left_out=wanted - prompt.placeholders)


def _unknown(name: str) -> str:
    if name in shipped_names() and _FIXED.fullmatch(name):
        return "this prompt makes data and is not to be replaced; take the file out"
    near = difflib.get_close_matches(name, replaceable_names(), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}.md?" if near else "`eirene prompts` lists the names"
    return f"no prompt has this name; {hint}"


def _text(file: Path) -> str:
    where = str(file)
    if file.exists() and not file.is_file():
        # A pipe would keep its reader waiting for ever.
        raise InputError("cannot be read: it is no regular file; put a text file in its place", where=where)
    try:
        with file.open(encoding="utf-8-sig") as opened:
            text = opened.read(MAX_CHARACTERS + 1)
    except UnicodeDecodeError:
        raise InputError("is not UTF-8; save it as UTF-8", where=where) from None
    except OSError as error:
        raise InputError(f"cannot be read: {_why(error)}", where=where) from None
    if not text.strip():
        raise InputError("is empty; leave it out to keep the shipped prompt", where=where)
    if "\x00" in text:
        raise InputError("contains a NUL character; remove it", where=where)
    if len(text) > MAX_CHARACTERS:
        raise InputError(f"has more than {MAX_CHARACTERS:,} characters; shorten it", where=where)
    return text


def _check_fields(prompt: Prompt, wanted: frozenset[str], where: str) -> None:
    """Raises `InputError` where a field that is needed is missing, or one stands there that nothing fills."""
    braced = {match.group() for text in (prompt.system, prompt.user) for match in _BRACES.finditer(text)}
    unknown = {_shown(name) for name in prompt.placeholders - wanted}
    unknown |= {text for text in braced if not _PLACEHOLDER.fullmatch(text)}
    spared = SPARED | {"given"} if prompt.name.startswith("refine_") else SPARED
    needed = wanted - spared or wanted  # some have no other field than their question
    missing = {_shown(name) for name in needed - prompt.placeholders}
    named = (("missing", missing), ("unknown", unknown))
    found = [f"{what}: {', '.join(sorted(names))}" for what, names in named if names]
    if found:
        fields, optional = (", ".join(map(_shown, sorted(names))) for names in (wanted, wanted - needed))
        may = f", of which {optional} may be left out" if optional else ""
        raise InputError(f"{'; '.join(found)}; its fields are {fields}{may}", where=where)


def _shown(name: str) -> str:
    return f"{{{{{name}}}}}"


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
