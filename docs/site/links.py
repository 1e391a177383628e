"""Links of the pages, as GitHub follows them in the repository, turned into links of the site."""

from __future__ import annotations

import os
import re
from typing import Any

LINK = re.compile(r"\[([^\]\n]*)\]\(([^)\s]+)\)")


def on_page_markdown(markdown: str, *, page: Any, files: Any, **_: Any) -> str:
    """A link to a page of the site gets that page's place there; one to a file that is not in the site is its name."""
    uri = page.file.src_uri
    inside = uri in {"index.md", "start.md", "results.md"} or uri.partition("/")[0] in FOLDERS
    here = f"docs/{uri}" if inside else uri

    def moved(found: re.Match[str]) -> str:
        label, (path, mark, anchor) = found[1], found[2].partition("#")
        if not path or "://" in path:
            return found[0]
        target = os.path.normpath(os.path.join(os.path.dirname(here), path)).removeprefix("docs/")
        target = "index.md" if target == "README.md" else target
        if files.get_file_from_path(target) is None:
            return label
        return f"[{label}]({os.path.relpath(target, os.path.dirname(uri) or '.')}{mark}{anchor})"

    return LINK.sub(moved, markdown)


FOLDERS = {"guides", "concepts", "evaluation", "reference"}
"""The folders of docs/; every other page of the site stands in the repository where it stands in the site."""
