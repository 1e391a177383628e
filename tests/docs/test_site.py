"""The documentation as a site: every page has its place, every public name its entry, and the notebook runs."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

import eirene
from eirene.core import critique, records, scores, usage, verification

from .pages import DOCS, ROOT, run_blocks

NAV = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
SITE = runpy.run_path(str(DOCS / "site/fields.py"))
REFERENCE = "\n".join(SITE["on_page_markdown"](page.read_text("utf-8")) for page in (DOCS / "reference").rglob("*.md"))


def test_every_page_has_its_place_in_the_navigation() -> None:
    listed = set(re.findall(r"([\w/]+\.(?:md|ipynb))$", NAV, re.MULTILINE))
    pages = {str(p.relative_to(DOCS)) for kind in ("*.md", "*.ipynb") for p in DOCS.rglob(kind)}
    assert pages - listed == set()


def test_every_public_name_is_in_the_reference_once() -> None:
    entries = re.findall(r"^::: eirene\.(\w+)$", REFERENCE, re.MULTILINE)
    assert sorted(entries) == sorted(name for name in eirene.__all__ if name != "__version__")


def test_every_field_of_an_item_and_of_what_is_in_a_record_says_what_it_is() -> None:
    described = SITE["described"]
    models = [
        *(getattr(records, name) for name in ["Item", "Perspective", "Record", "Round", "EditDecision", "BeforeAfter"]),
        records.ErrorInfo,
        *(getattr(critique, name) for name in ["Critique", "TaggedSentence", "Sample", "Finding", "FindingVote"]),
        scores.Scores,
        usage.Usage,
        *(getattr(verification, name) for name in ["Verification", "ClaimVerdict", "Evidence", "QuotationCheck"]),
    ]
    assert [
        f"{model.__name__}.{name}" for model in models for name in set(model.model_fields) - set(described(model))
    ] == []


def test_the_code_of_the_notebook_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process; the slow test has a kernel of its own."""
    monkeypatch.chdir(tmp_path)
    cells = nbformat.read(DOCS / "notebook.ipynb", as_version=4).cells
    run_blocks([cell.source for cell in cells if cell.cell_type == "code"], "notebook")
    assert capsys.readouterr().out.startswith("accepted\n")


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.usefixtures("loopback")
def test_the_notebook_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(DOCS / "notebook.ipynb", as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = ["".join(out.get("text", "")) for cell in notebook.cells for out in cell.get("outputs", [])]
    assert printed[0].startswith("accepted\n")
    shown = [out["data"] for cell in notebook.cells for out in cell.get("outputs", []) if "data" in out]
    assert "<iframe" in shown[0]["text/html"]
