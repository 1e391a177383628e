"""`eirene synth fava --backend`: the pipeline over the real client, against a scripted server; journal and way on."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from eirene.core.critique import HALLUCINATIONS, Finding
from eirene.core.findings.edits import apply_findings
from eirene.core.findings.tags import parse_tagged
from eirene.data.journal import Journal
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import HttpError, ScriptedReply, ScriptedRequest, TextReply
from tests.cli.run import Result, Run, assert_error, write
from tests.tiny_llama import make_llama

pytestmark = pytest.mark.usefixtures("loopback")

TOWNS = (
    "Arden",
    "Brook",
    "Calder",
    "Dunmore",
    "Elgin",
    "Farley",
    "Gorey",
    "Harlow",
    "Ivern",
    "Jarrow",
    "Kells",
    "Lorne",
)
ROWS = [
    {"id": town, "title": town, "text": f"Harbour {town} was opened in {1900 + n}. It lies north of the bay and has "
     f"{n + 3} quays. Ships came there before the war."}
    for n, town in enumerate(TOWNS)
]  # fmt: skip
ADDED = {
    "contradictory": "No ship ever came.", "invented": "It holds the Order of the Weir.",
    "subjective": "Nobody can fail to love it.", "unverifiable": "Its keeper hummed at night.",
}  # fmt: skip


def reply(request: ScriptedRequest, _: int) -> ScriptedReply:
    """What a model that does as it is told says."""
    said = _material(request.text)
    kind = re.search(r"one (?:error|statement) of the kind (\w+)", request.text.rpartition("TEXT-")[2])
    if kind is None:
        return TextReply("Think of it: " + said)
    if kind[1] in ADDED:
        return TextReply(f"{said} <{kind[1]}>{ADDED[kind[1]]}</{kind[1]}>")
    old, new = ("before the war", "after") if kind[1] == "relation" else ("of the bay", "of the moor")
    wrong = new if kind[1] == "entity" else "after the war"
    return TextReply(said.replace(old, f"<{kind[1]}><delete>{wrong}</delete><mark>{old}</mark></{kind[1]}>", 1))


def _material(prompt: str) -> str:
    mark = re.findall(r"TEXT-[a-z]+", prompt)[-1]
    return prompt.split(f"\n{mark}\n")[1]


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return write(tmp_path / "corpus.jsonl", *ROWS)


def make(run: Run, server: LoopbackServer, corpus: Path, *more: str) -> Result:
    out = corpus.with_name("rows.jsonl")
    return run(
        "synth", "fava", corpus, "--backend", "openai:test", "--base-url", server.base_url, "--out", out,
        "--concurrency", "3", "--price", "1,2", *more,
    )  # fmt: skip


def lines(corpus: Path, name: str = "rows.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in corpus.with_name(name).read_text("utf-8").splitlines()]


def test_every_row_is_a_training_pair_whose_edits_give_the_right_text(run: Run, corpus: Path) -> None:
    """Kinds are balanced, genres differ, tags say the findings, the passage is among five references, costs add up."""
    with LoopbackServer(reply) as server:
        result = make(run, server, corpus, "--clean", "0.2", "--most", "3")
    assert result.code == 0, result
    rows, errors = lines(corpus), Counter[str]()
    assert {row["meta"]["source"] for row in rows} == set(TOWNS)
    for row in rows:
        findings = [Finding.model_validate(f) for f in row["meta"]["findings"]]
        errors.update(f.kind for f in findings)
        assert apply_findings(row["answer"], findings).text.split() == row["gold"].split()
        assert parse_tagged(row["meta"]["tagged"]).text == row["answer"]
        own = next(p for p in ROWS if p["id"] == row["meta"]["source"])
        assert len(row["context"]) == 5
        assert any(own["text"] in passage for passage in row["context"])
    assert set(errors) == set(HALLUCINATIONS)
    assert max(errors.values()) - min(errors.values()) <= 2
    assert len({row["meta"]["genre"] for row in rows}) > 3
    card = json.loads(corpus.with_name("rows.jsonl.card.json").read_text("utf-8"))
    assert (card["usage"]["calls"], card["finished"]) == (server.calls, True)
    assert card["usage"]["cost_usd"] == pytest.approx((server.input_tokens + 2 * server.output_tokens) / 1e6)
    assert dict(errors) == card["errors"]


def test_a_rerun_pays_for_nothing_twice_and_ends_at_the_same_rows(run: Run, corpus: Path) -> None:
    """Stopped by a refused key and with a torn last line, the same command goes on; the rows are those of one run."""
    with LoopbackServer(reply) as server:
        make(run, server, corpus)
        whole, n = {row["id"]: row for row in lines(corpus)}, server.calls
        for name in ("rows.jsonl", "rows.jsonl.dropped"):
            corpus.with_name(name).unlink()

    def refuses(request: ScriptedRequest, index: int) -> ScriptedReply:
        return HttpError(401) if request.number > n // 2 else reply(request, index)

    with LoopbackServer(refuses) as server:
        refused = make(run, server, corpus)
    paid = len(lines(corpus))
    assert (refused.code, 0 < paid < len(whole)) == (2, True)
    assert f"{paid} rows are there; {12 - paid} passages are left" in refused.err
    card = json.loads(corpus.with_name("rows.jsonl.card.json").read_text("utf-8"))
    assert (card["rows"], card["finished"]) == (paid, False)
    with corpus.with_name("rows.jsonl").open("ab") as file:
        file.write(b'{"id": "torn')
    with LoopbackServer(reply) as server:
        assert make(run, server, corpus).code == 0
        assert {row["id"]: row for row in lines(corpus)} == whole
        calls = server.calls
        assert calls < n
        again = make(run, server, corpus)
        assert (again.code, server.calls) == (0, calls)
        assert f"{len(whole)} rows of 12 passages" in again.err
        assert_error(make(run, server, corpus, "--seed", "1"), "other settings")


def test_what_cannot_be_used_is_dropped_by_cause_and_what_failed_is_tried_again(run: Run, corpus: Path) -> None:
    """Refusals and changed words are counted and end in dropped passages, on disk with their cost; a server's fault is
    no drop: its passage is made by the next run."""

    def bad(request: ScriptedRequest, index: int) -> ScriptedReply:
        if "Arden" in request.text:
            return TextReply("I'm sorry, I cannot help.")
        if "Brook" in request.text:
            return HttpError(400, "this one is refused")
        if "Calder" in request.text and "tagged" in request.text:
            return TextReply("<entity>Something else entirely</entity>\x1b[31m")
        return reply(request, index)

    with LoopbackServer(bad) as server:
        result = make(run, server, corpus, "--clean", "0")
    assert result.code == 1, result
    dropped = {line["id"]: line for line in lines(corpus, "rows.jsonl.dropped")}
    assert dropped["Arden-errors"]["why"] == "no text in the genre could be had"
    assert dropped["Arden-errors"]["usage"]["calls"] == 2
    assert dropped["Calder-errors"]["why"] == "no error could be put in"
    assert dropped["Brook-errors"]["failed"] is True
    assert "failed: 1 passages" in result.err
    with LoopbackServer(reply) as server:
        result = make(run, server, corpus, "--clean", "0")
    assert result.code == 0, result
    assert {row["meta"]["source"] for row in lines(corpus)} == set(TOWNS) - {"Arden", "Calder"}


def test_ctrl_c_lets_what_is_under_way_end(run: Run, corpus: Path) -> None:
    """The first Ctrl-C takes no more passages, keeps those under way, and exits with 130; a rerun makes the rest."""

    def stops(request: ScriptedRequest, index: int) -> ScriptedReply:
        if request.number == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return reply(request, index)

    with LoopbackServer(stops, latency_s=0.05) as server:
        result = make(run, server, corpus)
    assert result.code == 130, result
    made = len(lines(corpus))
    assert 0 < made < 12
    with LoopbackServer(reply) as server:
        assert make(run, server, corpus).code == 0
    assert len(lines(corpus)) == 12


def test_genres_can_be_left_out_and_chosen(run: Run, corpus: Path) -> None:
    """With --genres none the right text is the passage, byte for byte; a list takes the ten's place."""
    with LoopbackServer(reply) as server:
        make(run, server, corpus, "--genres", "none", "--limit", "3")
        assert {row["gold"] for row in lines(corpus)} == {row["text"] for row in ROWS[:3]}
        make(run, server, corpus, "--genres", "a poem", "--limit", "3", "--force")
    assert {row["meta"]["genre"] for row in lines(corpus)} == {"a poem"}


def test_a_local_model_is_asked_as_well(run: Run, corpus: Path, tmp_path: Path) -> None:
    """`hf:` takes the same way; what a model of random weights says is refused, counted, and kept with its usage."""
    folder = make_llama(tmp_path / "llama", layers=1)
    out = tmp_path / "local.jsonl"
    result = run("synth", "fava", corpus, "--backend", f"hf:{folder}?device=cpu", "--out", out, "--limit", "1",
                 "--tries", "1", "--references", "1", "--clean", "0")  # fmt: skip
    assert result.code == 1, result
    (dropped,) = lines(corpus, "local.jsonl.dropped")
    assert (dropped["why"], dropped["usage"]["calls"]) == ("no text in the genre could be had", 1)
    assert sum(dropped["refused"].values()) == 1


@pytest.mark.parametrize("flag", ["--max-cost", "--max-tokens"])
def test_a_limit_stops_the_run_says_what_is_left_and_counts_earlier_runs(run: Run, corpus: Path, flag: str) -> None:
    """What was begun is finished and kept; the same command spends no more, a higher limit makes the same rows."""
    with LoopbackServer(reply) as server:
        make(run, server, corpus)
        whole = {row["id"]: row for row in lines(corpus)}
        tokens, cost = (
            server.input_tokens + server.output_tokens, (server.input_tokens + 2 * server.output_tokens) / 1e6
        )  # fmt: skip
        limit = cost * 2 / 3 if flag == "--max-cost" else tokens * 2 // 3  # of twelve: the first three are dear
        for name in ("rows.jsonl", "rows.jsonl.dropped"):
            corpus.with_name(name).unlink()
    with LoopbackServer(reply) as server:
        result = make(run, server, corpus, flag, str(limit))
        made, calls = len(lines(corpus)), server.calls
        assert (result.code, 4 <= made < 12) == (0, True), result
        assert f"stopped ({flag} {limit:g}): {12 - made} passages are left" in result.err
        card = json.loads(corpus.with_name("rows.jsonl.card.json").read_text("utf-8"))
        assert (card["finished"], card["rows"], card["usage"]["calls"]) == (False, made, calls)
        again = make(run, server, corpus, flag, str(limit))
        assert (again.code, server.calls) == (0, calls)
        assert f"{12 - made} passages are left" in again.err
        rest = make(run, server, corpus, flag, str(limit * 10))
        assert (rest.code, "left" in rest.err) == (0, False)
    assert {row["id"]: row for row in lines(corpus)} == whole


def test_a_cost_limit_wants_a_price(run: Run, corpus: Path) -> None:
    """An unknown price is said before a call is made; so is a limit that is none."""
    out = corpus.with_name("rows.jsonl")
    with LoopbackServer(reply) as server:
        asked = ("synth", "fava", corpus, "--backend", "openai:test", "--base-url", server.base_url, "--out", out)
        assert_error(run(*asked, "--max-cost", "1"), "--price")
        assert_error(run(*asked[:3], "--out", out), "--backend")
        assert_error(run(*asked[:3], "--backend", "embedded", "--out", out), "unknown backend 'embedded'")
        assert_error(run(*asked[:3], "--backend", "openai:x", "--out", "-"), "name a file")
        assert_error(run(*asked, "--max-tokens", "0"), "max-tokens must be more than 0")
        assert (server.calls, out.exists()) == (0, False)


def test_the_corpus_is_never_written_over(run: Run, corpus: Path) -> None:
    """--out may not be the corpus, nor stand among its files, not even with --force."""
    before, how = corpus.read_bytes(), ("--backend", "openai:test")
    assert_error(run("synth", "fava", corpus, *how, "--force", "--out", corpus), "another file for --out")
    inside = corpus.with_name("rows.jsonl")
    assert_error(run("synth", "fava", corpus.parent, *how, "--out", inside), "outside of the corpus")
    assert (corpus.read_bytes(), inside.exists()) == (before, False)


def test_what_force_takes_away_is_made_again(run: Run, corpus: Path) -> None:
    """Rows stay where the corpus of a run with --force cannot be read to its end, and where another run has them."""
    with LoopbackServer(reply) as server:
        make(run, server, corpus, "--limit", "2")
        before = corpus.with_name("rows.jsonl").read_bytes()
        corpus.write_text(corpus.read_text("utf-8") + "{torn\n", "utf-8")
        assert_error(make(run, server, corpus, "--force"), "corpus.jsonl")
        assert corpus.with_name("rows.jsonl").read_bytes() == before != b""
        corpus.write_text("".join(json.dumps(row) + "\n" for row in ROWS), "utf-8")
        with Journal(corpus.with_name("rows.jsonl")):
            assert_error(make(run, server, corpus, "--force"), "in use")
    assert corpus.with_name("rows.jsonl").read_bytes() == before


@pytest.mark.parametrize(("ending", "more"), [(".dropped", ["--force"]), (".dropped", []), (".card.json", [])])
def test_files_beside_the_rows_that_are_of_something_else_stay(
    run: Run, corpus: Path, ending: str, more: list[str]
) -> None:
    """`--force` speaks of the rows alone."""
    mine = corpus.with_name(f"rows.jsonl{ending}")
    mine.write_text("mine")
    with LoopbackServer(reply) as server:
        assert_error(make(run, server, corpus, *more), mine.name)
        assert server.calls == 0
    assert mine.read_text() == "mine"


def test_a_row_that_was_changed_on_disk_is_named(run: Run, corpus: Path) -> None:
    """Its checksum stands in `meta`, where no reader of rows minds it."""
    out = corpus.with_name("rows.jsonl")
    with LoopbackServer(reply) as server:
        assert make(run, server, corpus, "--limit", "3").code == 0
        assert all(len(json.loads(line)["line_crc32"]) == 8 for line in out.read_text().splitlines())
        assert run("refine", out, "--id", json.loads(out.read_text().splitlines()[0])["id"], "--json").code == 0
        out.write_text(out.read_text().replace("harbour", "arbour").replace("Harbour", "Arbour"))
        said = "line 1: is no line of a journal: it does not fit its checksum"
        assert_error(make(run, server, corpus, "--limit", "3"), said)
