"""Links of the pages, as GitHub follows them in the repository, turned into links of the site."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

README = "project/README.md"
"""Where the repository's README stands in the site, whose own first page is another."""
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")


def on_page_markdown(markdown: str, *, page: Any, files: Any, **_: Any) -> str:
    """A link to a page of the site gets that page's place there; one to a file that is not in the site is its name."""
    uri = page.file.src_uri
    inside = (Path("docs") / uri).exists()
    here = f"docs/{uri}" if inside else "README.md" if uri == README else uri

    def moved(found: re.Match[str]) -> str:
        label, (path, mark, anchor) = found[1], found[2].partition("#")
        if not path or "://" in path:
            return found[0]
        target = os.path.normpath(os.path.join(os.path.dirname(here), path)).removeprefix("docs/")
        target = README if target == "README.md" else target
        if files.get_file_from_path(target) is None:
            return label
        return f"[{label}]({os.path.relpath(target, os.path.dirname(uri) or '.')}{mark}{anchor})"

    return LINK.sub(moved, markdown)
