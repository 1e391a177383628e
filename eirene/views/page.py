"""HTML pages: escaping templates, a Content-Security-Policy, tables.

No outside script, style, font or picture; texts are made visible and escaped wherever they are written.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from eirene._version import __version__
from eirene.views import asset
from eirene.views.changes import SIGNS, folds
from eirene.views.facts import visible
from eirene.views.faults import letter_of, style_of

Cell = str | Markup


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Lines of a table under a name of their own; no name where the table has one group. Row headers come first.

    `muted` lines are for information: without colours of good and bad.
    """

    name: str
    rows: Sequence[Sequence[Cell]]
    muted: bool = False


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """A table as the macro `table` writes it: columns from `first_number` on hold numbers."""

    caption: str
    columns: Sequence[str]
    groups: Sequence[RowGroup]
    first_number: int = 1

    @classmethod
    def plain(
        cls, caption: str, columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, first_number: int = 1
    ) -> HtmlTable:
        """A table of one group."""
        return cls(caption, columns, (RowGroup("", rows),), first_number)


def page(template: str, *, styles: Sequence[str], scripts: Sequence[str], **values: Any) -> str:
    """A page from a template: the design and its own style, one script, and a policy that names both by digest."""
    css, js = (Markup("".join(map(asset, names))) for names in (("design.css", *styles), scripts))
    sources = ["default-src 'none'", f"style-src {_digest(css)}", f"script-src {_digest(js)}"]
    policy = Markup("; ".join([*sources, "base-uri 'none'", "form-action 'none'"]))
    found = _environment().get_template(template)
    return found.render(css=css, js=js, policy=policy, version=__version__, **values)


def script_safe(text: str) -> Markup:
    """JSON that cannot end the script element it stands in; it reads back as the same value."""
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def compact(value: object) -> str:
    """JSON on one line, every text in it made visible."""
    return json.dumps(_shown(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _shown(value: object) -> object:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {key: _shown(entry) for key, entry in value.items()}
    return [_shown(entry) for entry in value] if isinstance(value, list | tuple) else value


def score_cell(value: float | None) -> Markup:
    """A score with a bar of its length."""
    if value is None:
        return Markup('<span aria-hidden="true">-</span><span class="unseen">unscored</span>')
    return Markup(
        '{:.3f}<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect width="100" height="8"/><rect width="{:.1f}" height="8"/></svg>'
    ).format(value, 100 * value)


def change_cell(before: float | None, after: float | None) -> Markup:
    """The difference, and in words whether it is for the better."""
    if before is None or after is None:
        return Markup("-")
    if abs(after - before) < 0.0005:
        return Markup('<span class="dim">same</span>')
    word = "better" if after < before else "worse"
    return Markup('<span class="{}">{:+.3f} {}</span>').format(word, after - before, word)


def _environment() -> Environment:
    def finalize(value: Any) -> Any:
        return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value

    found = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=finalize,
        loader=FunctionLoader(asset),
    )
    found.globals |= {"style_of": style_of, "letter_of": letter_of, "folds": folds, "signs": SIGNS}
    return found


def _digest(text: str) -> str:
    """The content security policy's name for an inline script or style: nothing else on the page may run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}'"
