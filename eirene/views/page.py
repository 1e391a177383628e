"""HTML pages: escaping templates, a Content-Security-Policy.

No outside script, style, font or picture; texts are made visible and escaped wherever they are written.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from eirene._version import __version__
from eirene.views import asset
from eirene.views.diff import SIGNS, folds
from eirene.views.facts import visible
from eirene.views.faults import letter_of, style_of


def page(template: str, *, styles: Sequence[str], scripts: Sequence[str], **values: Any) -> str:
    """A page from a template: the design and its own style, one script, and a policy that names both by digest."""
    css, js = (Markup("".join(map(asset, names))) for names in (("design.css", *styles), scripts))
    sources = ["default-src 'none'", f"style-src {digest_of(css)}", f"script-src {digest_of(js)}"]
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


def digest_of(text: str) -> str:
    """The content security policy's name for an inline script or style: nothing else on the page may run."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}'"
