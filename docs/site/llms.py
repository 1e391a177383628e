"""llms.txt: the site's pages, a line each, for programs that read documentation (llmstxt.org)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_pages: dict[str, str] = {}
_order: list[str] = []


def on_nav(nav: Any, **_: Any) -> None:
    """Takes the pages' order; those outside the navigation come last."""
    _order[:] = [page.file.src_uri for page in nav.pages]


def on_page_content(_html: str, *, page: Any, **__: Any) -> None:
    """Keeps the page's title and its first sentence."""
    prose = re.search(r"(?<=\n\n)[A-Z`*](?:.+\n?)*", page.markdown or "")
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(prose[0].split())) if prose else ""
    first = re.split(r"(?<=[.:])\s", text)[0].rstrip(":")
    _pages[page.file.src_uri] = f"- [{page.title}]({page.url})" + (f": {first}" if first else "")


def on_post_build(*, config: Any, **_: Any) -> None:
    """Writes the file beside the site's index."""
    lines = [_pages.pop(uri) for uri in _order if uri in _pages] + [_pages[uri] for uri in sorted(_pages)]
    head = f"# {config.site_name}\n\n> {config.site_description}\n\n"
    Path(config.site_dir, "llms.txt").write_text(head + "\n".join(lines) + "\n", encoding="utf-8")
