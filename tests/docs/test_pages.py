"""The documentation's pages name everything there is, and every link in them leads somewhere."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import get_args

from eirene.core.critique import Action, Review
from eirene.data.published import READERS
from eirene.eval.datasets import FORMS
from eirene.eval.registry import DETECTORS, PLUGINS
from eirene.gate.checks.registry import CHECKS
from eirene.models.protocols import PROTOCOLS

from .pages import DOCS, ROOT, is_there, read_page, section

PAGES = [
    *ROOT.glob("*.md"),
    *DOCS.rglob("*.md"),
    *ROOT.glob("examples/*.md"),
    *ROOT.glob("benchmarks/results/**/*.md"),
]
EXTENSIONS = (".toml", ".git")


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub forms them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_leads_somewhere() -> None:
    broken = []
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
            path, _, anchor = link.partition("#")
            target = (page.parent / path) if path else page
            if "://" not in link and not (target.exists() and (not anchor or anchor in anchors(target))):
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert broken == []


def test_every_file_and_every_name_of_ours_is_there() -> None:
    gone = []
    for page in PAGES:
        if page.name == "CHANGELOG.md":  # tells of what was
            continue
        text = page.read_text("utf-8")
        files = re.findall(r"\b(?:eirene|benchmarks|tests|examples)/[\w./-]*[\w/](?!\w|\*)", text)
        names = re.findall(r"\beirene(?:\.[A-Za-z_]\w*)+(?![\w/-])(?!\.\w)", text)
        lost = [f for f in files if not (ROOT / f).exists()]
        lost += [n for n in names if not n.endswith(EXTENSIONS) and n != PLUGINS and not is_there(n)]
        gone += [f"{page.relative_to(ROOT)}: {name}" for name in lost]
    assert gone == []


def test_no_page_in_docs_is_written_by_a_program() -> None:
    assert [page.name for page in DOCS.rglob("*.md") if page.stat().st_size > 20_000] == []


def test_every_detector_stands_in_the_table_and_in_the_site_s_reference() -> None:
    table = section(read_page("concepts/detectors"), "One interface")
    assert [name for name in DETECTORS if f"`{name}`" not in table] == []
    reference = runpy.run_path(str(DOCS / "site/detectors.py"))["on_page_markdown"](
        read_page("reference/api/detectors")
    )
    assert [name for name in DETECTORS if f"\n- `{name}`: " not in reference] == []
    assert reference.count("- *Score*: ") == reference.count("- *Needs*: ") == reference.count("\n## ")


def test_every_published_detector_stands_in_its_table_with_model_and_licence() -> None:
    table = section(read_page("evaluation/detectors"), "Published detectors")
    rows = re.findall(r"^\| `([\w-]+)` \| (\S+).*\| [^|]*\w[^|]* \|$", table, re.MULTILINE)  # the last cell: a licence
    assert dict(rows) == {name: protocol.hub or "none:" for name, protocol in PROTOCOLS.items()}


def test_every_check_of_the_gate_stands_in_the_table_with_what_it_mends() -> None:
    table = section(read_page("concepts/gate"), "Checks")
    rows = re.findall(r"^\| `([a-z ]+)` \|.*\| (\w+) \|$", table, re.MULTILINE)
    assert rows == [(check.name, check.mends) for check in CHECKS]


def test_every_labelled_set_is_named() -> None:
    text = section(read_page("evaluation/detectors"), "Labelled sets")
    assert [form.name for form in FORMS if not re.search(rf"\b{form.name}(?! ?[\w-])", text)] == []


def test_every_reader_has_its_line() -> None:
    text = section(read_page("guides/datasets"), "Published sets")
    lines = re.findall(r"^- ((?:`[\w-]+`(?:, )?)+)", text, re.MULTILINE)
    assert set(re.findall(r"`([\w-]+)`", " ".join(lines))) == set(READERS)


def test_every_action_of_a_review_and_every_key_of_an_answer_is_named() -> None:
    text = section(read_page("guides/people"), "A person in the loop")
    assert re.findall(r"^\| `([a-z ]+)` \|", text, re.MULTILINE)[1:] == list(get_args(Action))
    assert all(f"`{name}`" in text for name in Review.model_fields)
