"""`eirene report --verify`, and the pages of single runs: each sentence with evidence from the rows."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
import pytest

import eirene
from eirene.agent.server.engine import Engine
from eirene.cli.refine import page_of
from tests.agent.server.serving import QUESTION, SIDES, embedded_engine, served
from tests.cli.run import EXAMPLES, Run, assert_error, write
from tests.rows import each

ROW = {
    "id": "a",
    "question": "What is it?",
    "answer": 'The tower is 90 metres high. It "was built by Maria Lind".',
    "context": ["The bridge is old.", "The tower is 90 metres high. It was built by Anna Lind."],
}


def refined(run: Run, tmp_path: Path, data: Path, *more: str | Path) -> Path:
    """The journal of a batch."""
    out = tmp_path / "out.jsonl"
    assert run("batch", data, "--out", out, *more).code == 0
    return out


def details(page: Path) -> list[list[object]]:
    text = page.read_text("utf-8").partition('id="details">')[2].partition("</script>")[0]
    return [json.loads(line) for line in text.split("\n")]


def test_a_report_verifies_when_it_is_asked_to(run: Run, tmp_path: Path) -> None:
    """Each record with the verdicts of `eirene.verify`; by default nothing of it."""
    data = write(tmp_path / "rows.jsonl", ROW, {**ROW, "id": "b", "answer": "The bridge is old.", "context": None})
    out, page = refined(run, tmp_path, data), tmp_path / "page.html"
    assert run("report", out, "-o", page, "--items", data, "--verify").code == 0
    answer = json.loads(out.read_text("utf-8").splitlines()[0])["answer"]
    found = eirene.verify(answer, ROW["context"])
    claims = details(page)[0][-1]
    assert isinstance(claims, list)
    assert [claim[1] for claim in claims[1][1]] == [claim.verdict for claim in found.claims]
    text = page.read_text("utf-8")
    assert "What was given says of 1 record." in text and "1 record not verified: the row gives no passages" in text
    assert run("report", out, "-o", page, "--items", data, "--force").code == 0
    assert 'id="verdicts"' not in page.read_text("utf-8") and details(page)[0][-1] is None


def test_rows_are_read_as_the_batch_read_them(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns by --map, passages from --corpus; another corpus finds others, and the page says so."""
    monkeypatch.setenv("EIRENE_CACHE", str(tmp_path / "cache"))
    data = tmp_path / "rows.csv"
    data.write_text("id,question,reply\nr,What is the capital of Norway?,Oslo is the capital of Norway.\n", "utf-8")
    passages = [{"id": "oslo", "text": "Oslo is the capital of Norway."}, {"id": "bread", "text": "Bread is baked."}]
    corpus, other = write(tmp_path / "c.jsonl", *passages), write(tmp_path / "d.jsonl", passages[1])
    flags = ("--map", "answer=reply", "--corpus")
    out, page = refined(run, tmp_path, data, *flags, corpus), tmp_path / "page.html"
    report = ("report", out, "-o", page, "--items", data, "--verify", "--force", *flags)
    assert run(*report, corpus).code == 0
    assert "(oslo)" in page.read_text("utf-8")
    assert run(*report, other).code == 0
    assert "1 record not verified: the row with this id has other passages" in page.read_text("utf-8")


def test_what_it_needs_is_said(run: Run, tmp_path: Path) -> None:
    file = refined(run, tmp_path, write(tmp_path / "rows.jsonl", ROW))
    assert_error(run("report", file, "-o", tmp_path / "p.html", "--verify"), "records do not hold what was given")
    for flags in (("--corpus", "x"), ("--map", "answer=reply"), ("--reader", "asqa")):
        assert_error(run("report", file, "-o", tmp_path / "p.html", *flags), "add --items FILE")
    batch = tmp_path / "batch.toml"
    batch.write_text('map = ["answer=reply"]\ncorpus = "x"\n', "utf-8")
    assert run("report", file, "-o", tmp_path / "p.html", "--config", batch).code == 0


def test_the_page_of_one_run_has_it(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("refine", write(tmp_path / "row.jsonl", ROW), "--html", page).code == 0
    text = page.read_text("utf-8")
    assert "Claims with evidence" in text and "&#34;Maria&#34; for &#34;Anna&#34;" in text
    assert run("refine", EXAMPLES / "open-question.json", "--html", page, "--force").code == 0
    assert "Claims with evidence" not in page.read_text("utf-8")


@pytest.mark.usefixtures("loopback")
@each("given", [{"perspectives": SIDES}, {"context": ROW["context"]}])
def test_the_server_shows_it_of_past_runs(given: dict[str, object]) -> None:
    engine: Engine = embedded_engine()
    with served(engine, render=page_of) as server:
        asked = {"question": QUESTION, "answer": "Zoos teach children about animals. The tower is 90 metres high."}
        run = httpx.post(f"{server.root}/v1/runs", json={**asked, **given}, timeout=60).json()["id"]
        httpx.get(f"{server.root}/v1/runs/{run}/events", timeout=60)  # until it has ended
        page = httpx.get(f"{server.root}/runs/{run}", timeout=60).text
    part = page.partition('<h2 id="claims">')[2].partition("</section>")[0]
    assert '<strong class="fault f-complete">supported</strong>' in part and "Not verified" not in part
