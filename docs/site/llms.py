"""llms.txt: the site's pages, a line each, for programs that read documentation (llmstxt.org)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_lines: dict[str, str] = {}


def on_page_content(_html: str, *, page: Any, **__: Any) -> None:
    """Keeps the page's title and its first sentence."""
    prose = re.search(r"^(?![#|`:!\[{<*-]|    )\w.*(?:\n\S.*)*", page.markdown or "", re.MULTILINE)
    said = " ".join(prose[0].split()) if prose else ""
    first = re.split(r"(?<=[.:])\s", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", said))[0].rstrip(":")
    _lines[page.file.src_uri] = f"- [{page.title}]({page.url})" + (f": {first}" if first else "")


def on_post_build(*, config: Any, **_: Any) -> None:
    """Writes the file beside the site's index."""
    head = f"# {config.site_name}\n\n> {config.site_description}\n\n"
    Path(config.site_dir, "llms.txt").write_text(head + "\n".join(_lines.values()) + "\n", encoding="utf-8")
