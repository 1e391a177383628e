"""`eirene papers`: each table on three made rows, the list of all tables, the printed figures, and bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from eirene.agent.experiments.papers import look, papers
from eirene.cli.terminal import resumable
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedReply, ScriptedRequest
from tests.cli.run import Run, assert_error, write
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")

TABLES = papers()["tables"]
RUN = [name for name, table in TABLES.items() if "run" in table]
PRINTED = {"eir": 7, "npov": 6, "fava": 18, "chainpoll": 11}
"""How many tables each paper has."""


def made(folder: Path) -> None:
    """Three rows of each data set, in its published form or ours."""
    folder.mkdir(exist_ok=True)
    names = ("Ann", "Bob", "Cid")
    write(folder / "completeness_train.jsonl", *(
        {"question": f"Who is {n}?", "sentences": [
            {"n": 1, "text": f"{n} is a baker.", "tag": "Complete"},
            {"n": 2, "text": "That is all.", "tag": "Incomplete", "reason": f"Where {n} lives is not said."}]}
        for n in names))  # fmt: skip
    write(folder / "dev_feedback.json", *(
        {"question": f"Where does {n} live?", "passages": [["Town", f"{n} lives in Oslo.", "Oslo is cold."]],
         "prediction 1": f"{n} lives in {town}.", "prediction 2": f"{n} lives in Oslo.", "prediction 3": "In Oslo.",
         "feedback": {"missing-info": [], "errors": [] if town == "Oslo" else [
             {"start": 0, "end": 5, "error type": "Wrong-Grounding"}]}}
        for n, town in zip(names, ("Rome", "Oslo", "Rome"), strict=True)))  # fmt: skip
    write(folder / "sources.jsonl", {"source_id": "s", "source": "Ann was born in Oslo."})
    for model in ("gpt-3.5-turbo", "llama-2-70b"):
        rows = [{"source_id": "s", "model": f"{model}-{n}", "response": "Ann was born in Rome.", "labels": [
            {"start": 16, "end": 20, "label_type": "Evident Conflict"}]} for n in range(3)]  # fmt: skip
        with (folder / "responses.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    write(folder / "knowledge_qa.jsonl", *(
        {"prompt": f"Who is {n}?", "response": f"{n} is a {job}.", "label": job == "baker", "claims": []}
        for n, job in zip(names, ("baker", "king", "king"), strict=True)))  # fmt: skip
    write(folder / "npov_given.jsonl", *map(npov, names))
    write(folder / "npov_paraphrase.jsonl", *map(npov, names))
    write(folder / "wikibio.jsonl", *(
        {"gpt3_text": f"{n} was born in Rome. {n} sang.", "wiki_bio_text": f"{n} was born in Oslo. {n} sang."}
        for n in names))  # fmt: skip


def npov(name: str) -> dict[str, Any]:
    """An answer that lacks an argument and says a foreign one, but for Bob's."""
    labels = {"hallucination": name != "Bob", "coverage": name != "Bob", "cluster": name,
              "missing": [] if name == "Bob" else [{"group": "con", "n": 1}]}  # fmt: skip
    said = "Rails are dear." if name == "Bob" else "Cats purr."
    sides = [{"name": "pro", "arguments": ["Trams are quiet."]}, {"name": "con", "arguments": ["Rails are dear."]}]
    return {"id": name, "question": f"Trams for {name}?", "answer": f"Trams are quiet. {said}", "perspectives": sides,
            "meta": {"labels": labels}}  # fmt: skip


def model(request: ScriptedRequest, index: int) -> ScriptedReply:
    """A judge that finds kings false and Rome an error, and a writer that always writes the same."""
    if "penalty" in request.text:
        one = {"place": "Rome", "kind": "factual", "reason": "It was Oslo.", "penalty": 2.0}
        return json.dumps({"errors": [one] if "Rome" in request.text.rpartition("answer")[0] else []})
    if "Verdict" in request.text:
        return f"One claim.\n\nVerdict: {'yes' if 'a king' in request.text else 'no'}"
    if "for each statement" in request.text:
        return '{"1": "Complete", "2": "Incomplete: where the person lives is missing"}'
    return "Ann lives in Oslo, where it is cold."


@each("table", RUN)
def test_each_table_runs_from_end_to_end(table: str, run: Run, tmp_path: Path) -> None:
    """Every figure is a number or says why there is none; a second run makes no row again and says the same."""
    folder = tmp_path / table
    made(folder)
    needs = "needs" in TABLES[table]
    with LoopbackServer(model) as server:
        flags = ("--model", "openai:m", "--base-url", server.base_url) if needs else ()
        command = ("papers", table, "--data", folder, "--out", tmp_path / "out", "--samples", "3", *flags)
        first = run(*command)
        assert first.code == 0, first
        asked = len(server.requests)
        again = run(*command)
        assert again.out == first.out
        assert len(server.requests) == asked or table in ("eir-4", "eir-6")  # a row that failed may be asked again
        if table == "eir-6":  # answers are drawn anew for another number of them
            asked = len(server.requests)
            assert run("papers", table, "--data", folder, "--out", tmp_path / "out", "--samples", "2", *flags).code == 0
            drawn = [r for r in server.requests[asked:] if "penalty" not in r.text and "Verdict" not in r.text]
            assert len(drawn) >= 3 * 3, [r.text for r in drawn]
            for kept in (tmp_path / "out").rglob("answers-*.json"):
                kept.write_text('{"Who is Ann?": []}', "utf-8")
            assert_error(run(*command), ".json: is damaged (List should have at least 1 item")
    summary = next((tmp_path / "out" / table).glob("*/summary.json"))
    cells = [c for b in json.loads(summary.read_text("utf-8"))["blocks"] for row in b["rows"] for c in row["ours"]]
    assert any("value" in cell for cell in cells)
    assert all("value" in cell or cell["unscored"] for cell in cells)
    assert f"## {table}:" in (tmp_path / "out" / "papers.md").read_text("utf-8")


def test_the_judge_of_a_table_is_read_and_two_models_share_the_page(run: Run, tmp_path: Path) -> None:
    """ChainPoll on made answers has the area that its verdicts give, and no poll is unread; a figure stands once, with
    the letters of its runs, and a reason once for its row."""
    made(tmp_path)
    command = ("papers", "chainpoll-9", "--data", tmp_path, "--out", tmp_path / "out", "--samples", "3")
    with LoopbackServer(model) as server:
        alone = run(*command, "--model", "openai:m", "--base-url", server.base_url)
        both = run(*command, "--model", "openai:n", "--base-url", server.base_url, "--sample", "2")
    assert "0.847 -> 1.000" in alone.out
    assert re.search(r"polls without a verdict.* 0\.000, n = 18", alone.out), alone.out
    assert "- A `eirene papers TABLE --data DIR --model openai:m --samples 3`\n- B `eirene" in both.out
    assert "(knowledge_qa.jsonl: A 3, B 2 rows)" in both.out and "0.500 -> AB 0.500 |" in both.out
    assert re.search(r"\| Max pseudo-entropy \(\d\) \| 0\.611 \|", both.out), both.out
    page = (tmp_path / "out" / "papers.md").read_text("utf-8")
    assert "Not measured: `eirene papers eir-3`" in page and page.count("\n1. ") == 1


def test_the_list_has_every_table_of_the_papers(run: Run) -> None:
    """Each with its command, or with why it has none."""
    listed = run("papers").out
    for paper, count in PRINTED.items():
        assert [name for name in TABLES if name.startswith(f"{paper}-")] == [
            f"{paper}-{n}" for n in range(1, count + 1)
        ]
    assert listed.count("\n- ") == sum(PRINTED.values())
    assert all(f"`eirene papers {name}`" in listed for name in RUN)
    assert all(table["why"] in listed for table in TABLES.values() if "run" not in table)


@each("name", RUN)
def test_printed_figures_are_well_formed(name: str) -> None:
    """As many as columns, each a number as a paper prints it; paths go with columns, and every data set is known."""
    table = TABLES[name]
    columns = len(table["columns"])
    for block in table["blocks"]:
        assert block.get("data", "") in {"", *papers()["data"]}
        assert block.get("why") or block.get("data")
        for row in block["rows"]:
            printed = row.get("printed", [])
            assert len(printed) in (0, columns)
            assert all(re.fullmatch(r"-|[+]?\d+\.\d+( ± \d+\.\d+)?", one) for one in printed), printed
            assert len(row.get("ours", table.get("ours", ()) if "of" in row else [""] * columns)) == columns, row


@each(
    "report,path,found",
    [
        ({"a": {"b": {"value": 1.0, "n": 2}}}, "a.b", {"value": 1.0, "n": 2}),
        ({"a": 0.5}, "a", {"value": 0.5}),
        ({"unscored": "no data"}, "a.b", {"unscored": "no data"}),
        ({"a": {"unscored": {"cut off": 2, "empty": 1}}}, "a.auc", {"unscored": "cut off"}),
        ({"a": {}}, "a.b", {"unscored": "not told apart"}),
    ],
)
def test_a_figure_is_looked_up_or_its_reason(report: Any, path: str, found: Any) -> None:
    assert look(report, path, None, "not told apart") == found


@each(
    "arguments,said",
    [
        (("chainpoll-9",), "--data DIR"),
        (("fava-9", "--data", "{}"), "fava-9 has no command: has no figures"),
        (("eir-9", "--data", "{}"), "there is no such table"),
        (("nonsense",), "nonsense has no command: there is no such table; tables with one: eir-3, eir-4, "),
        (("npov-1", "--data", "{}", "--model", "gguf:no.gguf"), "no.gguf"),
        (("eir-6", "--data", "{}"), "has no data set of eir-6"),
        (("chainpoll-9", "--data", "{}"), "asks a chat model"),
        (("npov-1", "--data", "{}"), "has no data set of npov-1"),
        (("npov-1", "--data", "{}", "--sample", "ten"), "'ten'"),
    ],
)
def test_bad_input_is_one_line(arguments: tuple[str, ...], said: str, run: Run, tmp_path: Path) -> None:
    """What came, what was wanted, what to change; nothing is left behind."""
    (tmp_path / "knowledge_qa.jsonl").touch()
    out = ("--out", str(tmp_path / "out"))
    assert_error(run("papers", *(str(tmp_path) if part == "{}" else part for part in arguments), *out), said)
    assert not (tmp_path / "out").exists()


MARKED = Path("examples/marked.jsonl").read_text(encoding="utf-8")


@each(
    "table,bad,said",
    [
        ("npov-1", ("npov_given.jsonl", MARKED), "without the arguments of sides"),
        ("chainpoll-9", ("knowledge_qa.jsonl", MARKED), "is no row of"),
        (
            "chainpoll-10",
            ("feedback.jsonl", "knowledge_qa.jsonl"),
            "is no row of QA-Feedback: it needs question,passages",
        ),
        ("eir-3", ("completeness_train.jsonl", "dev_feedback.json"), "is no row of HaluQuestQA, tagged sentences"),
        ("eir-4", ("dev_feedback.json", "completeness_train.jsonl"), "it needs question,passages,prediction 1"),
        ("eir-6", ("eli5.jsonl", '{"title": "Why?"}'), "is no row of ELI5's answers"),
        ("eir-3", ("out/eir-3/m/summary.json", "{"), "summary.json: is not as `eirene papers` wrote it (JSON"),
        ("eir-3", ("out/fava-2/m/summary.json", '{"table": "fava-2"}'), "(KeyError: 'command'); delete it"),
        ("eir-3", ("out/fava-5/m/summary.json", "[" * 99_999), "(RecursionError: "),
    ],
)
def test_another_sets_rows_and_damaged_files_are_refused(
    table: str, bad: tuple[str, str], said: str, run: Run, tmp_path: Path
) -> None:
    """The file is named with what is wrong, and no empty folder stays."""
    folder = tmp_path / f"{table} {bad[0].replace('/', ' ')}"
    made(tmp_path / "sound")
    place, sound = folder / bad[0], tmp_path / "sound" / bad[1][:40]
    place.parent.mkdir(parents=True)
    place.write_text(sound.read_text("utf-8") if sound.is_file() else bad[1], "utf-8")
    out = folder / "out"
    assert_error(run("papers", table, "--model", "openai:m", "--data", folder, "--out", out), said)
    assert [f for f in out.rglob("*") if f.is_dir() and not any(f.iterdir())] == []
    assert out.exists() is bad[0].startswith("out")


def test_of_empty_folders_only_new_ones_are_taken_away(tmp_path: Path) -> None:
    mine = tmp_path / "there" / "mine"
    mine.mkdir(parents=True)
    with resumable(tmp_path / "there"):
        pass
    with resumable(tmp_path / "new" / "run"):
        (tmp_path / "new" / "run" / "block").mkdir(parents=True)
    assert mine.is_dir() and not (tmp_path / "new").exists()
