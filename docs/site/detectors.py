"""The reference of detectors: how each scores, what it needs and where it is from, as its class's docstring says it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from typing import Any

from eirene.eval import detectors
from eirene.eval.registry import DETECTORS, DetectorEntry
from eirene.models.protocols import PROTOCOLS

MARK = "::: eirene.eval.detectors"
SECTION = re.compile(r"^(Score|Needs|Reference|Examples?): ?", re.MULTILINE)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Puts a section for each class of detectors in the place of the mark."""
    return markdown.replace(MARK, "\n\n".join(sections())) if MARK in markdown else markdown


def sections() -> list[str]:
    """For each class the detectors that it makes, with what they are about, and its docstring."""
    modules = [
        importlib.import_module(m.name) for m in pkgutil.iter_modules(detectors.__path__, "eirene.eval.detectors.")
    ]
    classes = [
        kind for m in modules for kind in vars(m).values() if isinstance(kind, type) and kind.__module__ == m.__name__
    ]
    made = {kind: [entry for entry in DETECTORS.values() if class_of(entry) == kind.__name__] for kind in classes}
    return [section(kind, entries) for kind, entries in made.items() if entries]


def class_of(entry: DetectorEntry) -> str:
    """The name of the class that a declared function builds: of a published detector by the kind of its protocol."""
    name = str(inspect.signature(entry.build).return_annotation)
    if name != "Detector":
        return name
    return "TrainedJudge" if PROTOCOLS[entry.name].kind.startswith("chat") else "HeadDetector"


def section(kind: type, entries: list[DetectorEntry]) -> str:
    """The names as a heading, what each is about, and the docstring's first paragraph and sections but examples."""
    first, *parts = SECTION.split(inspect.getdoc(kind) or "")
    said = [
        f"- *{name}*: {' '.join(text.split(chr(10) * 2)[0].split())}"
        for name, text in zip(parts[::2], parts[1::2], strict=True)
        if not name.startswith("Example")
    ]
    about = [f"- `{entry.name}`: {entry.about}" for entry in entries]
    return "\n\n".join([f"## {', '.join(entry.name for entry in entries)}", first.strip(), "\n".join(about + said)])
