"""Blind A/B: a page that tells nobody which mode wrote what, marks by keyboard, and what the marks come to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from eirene.agent.experiments.blind import BlindPair, blind_figures, blind_pairs, read_key, read_marks
from eirene.agent.experiments.compare import CompareRow
from eirene.core.records import Item, Mode
from eirene.eval.datasets import read_labelled
from eirene.views.comparison.page import render_blind_page
from tests import axe
from tests.agent.server.chromium import BROWSER, browser
from tests.cli.run import Run, assert_error, write
from tests.rows import each
from tests.views.comparisons import compared_rows

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\x1b[31m\u202e </title>"
OTHER: Mapping[Mode, Mode] = {"generic": "fine-grained", "fine-grained": "generic"}
PASSAGES = ["Zoos keep 40 lions.", "Lions sleep for 20 hours a day."]


def wrote(answers: Sequence[Mapping[str, str]], *, question: str = "How long do lions sleep") -> list[CompareRow]:
    """Rows of items whose modes wrote these texts."""
    made = compared_rows(len(answers), modes=list(OTHER), question=question)
    return [
        row.model_copy(update={"record": row.record.model_copy(update={"status": "accepted", "answer": text})})
        for row in made
        if (text := answers[int(row.id.removeprefix("item-"))].get(row.mode)) is not None
    ]


def items_of(rows: Sequence[CompareRow]) -> list[Item]:
    return [
        Item(id=row.id, question=row.record.question, answer=row.record.original, context=PASSAGES)
        for row in {row.id: row for row in rows}.values()
    ]


def page_of(pairs: Sequence[BlindPair]) -> str:
    return render_blind_page([(p.pair, p.item, p.answers[0].text, p.answers[1].text) for p in pairs])


def marks(pair: BlindPair, reader: str, *, best: str, full: str = "both", faulty: Sequence[str] = ()) -> dict[str, Any]:
    """A line of a reader's file; `best`, `full` and `faulty` name the original or its rewrite, not A and B."""
    letters = {answer.modes[0]: letter for letter, answer in zip("AB", pair.answers, strict=True)}
    return {"pair": pair.pair, "reader": reader, "comprehensive": letters.get(full, full),
            "preferred": letters.get(best, best), "faulty": [letters[name] for name in faulty]}  # fmt: skip


def saved(folder: Path, pairs: Sequence[BlindPair], **files: Sequence[object]) -> Path:
    """The folder with its key and the marks of each reader."""
    folder.mkdir(exist_ok=True)
    write(folder / "key.jsonl", *(pair.model_dump(mode="json", exclude_none=True) for pair in pairs))
    for name, lines in files.items():
        write(folder / f"marks-{name}.jsonl", *lines)
    return folder


def test_no_page_tells_which_mode_wrote_an_answer() -> None:
    """Exchanging the modes of all texts changes the key and not one byte of the page; A and B take turns."""
    texts = [{"generic": f"Lions sleep {n} hours.", "fine-grained": f"Some {n} hours."} for n in range(40)]
    kept = wrote(texts)
    changed = wrote([{there: text_of[mode] for mode, there in OTHER.items()} for text_of in texts])
    pairs, others = (blind_pairs(rows, items_of(rows)) for rows in (kept, changed))
    assert page_of(pairs) == page_of(others) and pairs != others
    assert not re.search("generic|fine-grained|original", page_of(pairs))
    firsts = [pair.answers[0].modes for pair in pairs]
    assert len(firsts) == 120 and all(20 < firsts.count((mode,)) < 60 for mode in ("original", *OTHER))
    same = wrote([{"generic": "Long.", "fine-grained": "Long."}, {"generic": kept[0].record.original}])
    (pair,) = blind_pairs(same, items_of(same))
    assert sorted(answer.modes for answer in pair.answers) == [("generic", "fine-grained"), ("original",)]
    failed = [row.model_copy(update={"record": row.record.model_copy(update={"status": "failed"})}) for row in same]
    assert blind_pairs(failed, items_of(failed)) == []


def test_shares_are_those_of_table_5_and_tell_who_agrees(tmp_path: Path) -> None:
    """By hand: three readers of four pairs. What both have counts for both, as in EIR's table 5 (82 and 100 %)."""
    rows = wrote([{"generic": f"Answer {n}."} for n in range(4)])
    pairs = blind_pairs(rows, items_of(rows))
    best = {"ann": ["generic"] * 3 + ["original"], "bob": ["generic"] * 4, "cy": ["tie", "generic", "generic"]}
    lines = {
        reader: [
            marks(
                pair, reader, best=said, full="generic" if n == 3 else "both", faulty=["original"] if n == 0 else []
            )
            for n, (pair, said) in enumerate(zip(pairs, of, strict=False))
        ]
        for reader, of in best.items()
    }  # fmt: skip
    folder = saved(tmp_path / "blind", pairs, **lines, again=lines["ann"][:1])  # the same line twice counts once
    key = read_key(folder)
    figures = blind_figures(key, read_marks(folder, key))
    (found,) = figures["comparisons"]
    assert (figures["readers"], found["modes"], found["marks"]) == (["ann", "bob", "cy"], ["original", "generic"], 11)
    values = {
        mode: {name: round(one["value"] * 11) for name, one in of.items()} for mode, of in found["per_mode"].items()
    }
    assert values == {
        "original": {"comprehensive": 9, "preferred": 1, "faulty": 3},
        "generic": {"comprehensive": 11, "preferred": 9, "faulty": 0},
    }
    assert round(found["tie"]["value"] * 11) == 1
    # Wilson's interval of 11 of 11 for four items: 4 / (4 + 1.96**2) at its lower end.
    assert found["per_mode"]["generic"]["comprehensive"]["low"] == pytest.approx(4 / (4 + 1.96**2), abs=1e-3)
    assert found["agreement"]["faulty"]["alpha"]["value"] == 1


KEPT = wrote([{"generic": "Lions sleep for 20 hours a day."}, {"generic": "Zoos keep 90 lions."}])
PAIRS = blind_pairs(KEPT, items_of(KEPT))
LINES = [marks(pair, "ann", best="generic") for pair in PAIRS]
HALF = {name: value for name, value in LINES[0].items() if name != "preferred"}
LEFT_RIGHT = {**LINES[0], "preferred": "left"}


@each(
    "files, said",
    [
        ({}, "has no marks*.jsonl: put the files that readers saved beside key.jsonl"),
        ({"ann": []}, "marks-ann.jsonl: is empty: a line for each marked pair was wanted"),
        ({"ann": [HALF]}, "marks-ann.jsonl, line 1: 'preferred' is missing"),
        ({"ann": [LEFT_RIGHT]}, "line 1: 'preferred' must be 'A', 'B' or 'tie', got 'left'"),
        ({"ann": [LINES[0], {**LINES[1], "pair": "00"}]}, "line 2: marks the pair '00', and key.jsonl has"),
        (
            {"ann": LINES[:1], "ann2": [{**LINES[0], "comprehensive": "neither"}]},
            "'ann' marked the pair '{pair}' in another way in {folder}/marks-ann.jsonl, line 1: keep one",
        ),
    ],
)  # fmt: skip
def test_marks_that_cannot_be_used_are_named(
    run: Run, tmp_path: Path, files: dict[str, list[object]], said: str
) -> None:
    folder = saved(tmp_path / str(len(list(tmp_path.iterdir()))), PAIRS, **files)
    assert_error(run("evaluate", "blind", folder), said.format(pair=LINES[0]["pair"], folder=folder))
    assert not (folder / "marks.json").exists()


@pytest.mark.browser
@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_a_reader_marks_by_keyboard_and_calibrate_reads_the_saved_file(run: Run, tmp_path: Path) -> None:
    """Hostile texts stay texts; a reload keeps the marks; a half marked pair is not saved."""
    rows = wrote(
        [{"generic": "Lions sleep for 20 hours a day."}, {"generic": f"Zoos keep 90 lions. {EVIL}"}], question=EVIL
    )
    pairs = blind_pairs(rows, items_of(rows))
    folder = saved(tmp_path / "blind", pairs)
    (folder / "blind.html").write_text(page_of(pairs), "utf-8")
    with browser(tmp_path / "profile") as tab:
        tab.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
        if axe.why_not() is None:
            assert axe.violations_of(tab, folder / "blind.html") == []
        tab.screen(width=1280, height=900, dark=False)
        tab.open((folder / "blind.html").as_uri())
        for key in ("u", "j", "n", "l", "ArrowRight", "k"):  # comprehensive A, better A, faulty A, no: better B; next
            tab.call("Input.dispatchKeyEvent", type="keyDown", key=key)
        tab.open("about:blank")
        tab.open((folder / "blind.html").as_uri())
        assert tab.read("where.textContent") == "Pair 2 of 2; 1 marked"
        assert "Half marked, and left out of the file: 1." in tab.read("said.textContent")
        tab.read("document.querySelector('#saving [type=submit]').click()")
        assert "Give your name or initials first" in tab.read("said.textContent")
        tab.type("Ann ujk/")  # in the field: no marks
        tab.press("Enter")
        tab.wait_for("said.textContent.startsWith('Saved the marks of 1 of 2 pairs as marks-Ann-ujk-.jsonl.')")
        shown = tab.read("pair.textContent + A.textContent + B.textContent")
        assert shown.count("<script>alert(1)</script><img src=x onerror=alert(2)>") >= 1 and "\x1b" not in shown
        assert (tab.complaints, tab.read("document.documentElement.scrollWidth")) == ([], 1280)
        while not (folder / "marks-Ann-ujk-.jsonl").exists():  # it gets this name when all of it is there
            tab.read("document.body.getBoundingClientRect()")
    (line,) = (folder / "marks-Ann-ujk-.jsonl").read_text("utf-8").splitlines()
    told = {"comprehensive": "A", "preferred": "B", "faulty": ["A"]}
    assert json.loads(line) == {"pair": pairs[0].pair, "reader": "Ann ujk/", **told}
    done = run("evaluate", "blind", folder)
    assert done.code == 0 and "Readers: Ann ujk/. Marked are 1 of 2 pairs." in done.out
    assert "1 rows in judged.jsonl (gate), 2 in labelled.jsonl (detectors)" in done.err
    known = {case.item.answer: case.hallucination for case in read_labelled(str(folder / "labelled.jsonl")).cases}
    assert known == {answer.text: letter == "A" for letter, answer in zip("AB", pairs[0].answers, strict=True)}
    fitted = run("calibrate", "gate", folder / "judged.jsonl", "--out", tmp_path / "gate.json")
    assert fitted.code == 0, fitted.err
    gate = json.loads((tmp_path / "gate.json").read_text("utf-8"))
    is_better = "original" in pairs[0].answers[0].modes
    assert (len(gate["better"]), len(gate["worse"])) == ((1, 0) if is_better else (0, 1))
