"""The web page at `/`: one file with its style and script inside, and a policy that lets nothing else run."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Sequence
from importlib import resources

from eirene import views
from eirene.core.grounding import NOTHING_GIVEN


def page(
    *, models: Sequence[str], mode: str, modes: Sequence[str], drafts: bool, wants_key: bool, needs_given: bool
) -> str:
    """The page. `modes` may be chosen, `mode` is at first.

    `drafts`: whether the server can write an answer to a question without arguments. `needs_given`: whether an answer
    is judged only where arguments or passages are given.
    """
    facts = json.dumps(
        {
            "model": models[0],
            "mode": mode,
            "modes": list(modes),
            "drafts": drafts,
            "wantsKey": wants_key,
            "needsGiven": needs_given,
            "nothingGiven": NOTHING_GIVEN,
        }
    )
    for character in "<>&\u2028\u2029":  # nothing in it can end the element it stands in
        facts = facts.replace(character, f"\\u{ord(character):04x}")
    scripts = "".join(map(_asset, ("edits.js", "result.js", "page.js")))
    parts = {"css": views.asset("design.css") + _asset("page.css"), "js": scripts, "facts": facts}
    return re.sub(r"\{\{ (\w+) \}\}", lambda found: parts[found[1]], _asset("page.html"))


def policy_of(text: str) -> str:
    """The content security policy: the page's own style and script by digest, requests to this server alone."""
    style, script = (text.partition(f"<{name}>")[2].partition(f"</{name}>")[0] for name in ("style", "script"))
    assert style and script  # both stand in page.html
    rules = ["default-src 'none'", f"style-src {_digest(style)}", f"script-src {_digest(script)}"]
    more = ["connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"]
    return "; ".join([*rules, *more])


def _asset(name: str) -> str:
    return resources.files("eirene.agent.server").joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode('utf-8')).digest()).decode()}'"
