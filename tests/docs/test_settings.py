"""The table of settings in docs/reference/settings.md is that of the code, where each is declared once."""

from __future__ import annotations

from typing import Any, get_args

from eirene.agent.settings import Settings
from eirene.core.loop_settings import Setting

from .pages import DOCS

BOUNDS = {"ge": "from", "gt": "above", "le": "to"}


def allowed(field: Any) -> str:
    """The words, or the bounds, of a setting."""
    if get_args(field.annotation):
        return ", ".join(f"`{word}`" for word in get_args(field.annotation))
    said = [
        f"{word} {'2^63 - 1' if bound > 2**62 else f'{bound:,}'}"
        for entry in field.metadata
        for name, word in BOUNDS.items()
        if (bound := getattr(entry, name, None)) is not None
    ]
    return " ".join(said)


def settings_table() -> str:
    """The table, as the page should have it."""
    lines = ["| setting | flag | default | allowed | what it does |", "| --- | --- | --- | --- | --- |"]
    for name, field in Settings.model_fields.items():
        flag = next(entry for entry in field.metadata if isinstance(entry, Setting)).flag_of(name)
        flag = f"`{flag}`" if flag else "none"
        default = f"`{field.default}`" if isinstance(field.default, str) else f"{field.default:g}"
        lines.append(f"| `{name}` | {flag} | {default} | {allowed(field)} | {field.description} |")
    return "\n".join(lines)


def test_the_page_has_the_table_of_the_settings() -> None:
    page = (DOCS / "reference" / "settings.md").read_text("utf-8")
    assert settings_table() in page, f"docs/reference/settings.md wants this table:\n\n{settings_table()}\n"
