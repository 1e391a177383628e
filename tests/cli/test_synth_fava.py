"""Errors by rule: each is where its finding says, its edit takes it back, kinds stay balanced, drops are counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from eirene.core.critique import Finding
from eirene.core.errors import InputError
from eirene.core.findings.edits import apply_findings
from eirene.core.findings.tags import parse_tagged
from eirene.core.records import Item
from eirene.retrieval import Passage
from eirene.synth.fava import FavaRecipe, FavaTotals, entities, synthesise
from tests.cli.run import Run, assert_error, write

PASSAGES = [
    Passage(
        f"p{n}",
        f"Harbour {town} was opened in {1900 + n}. It lies north of {town} Bay and has {n + 3} quays. "
        f"Ships of {king} came there before the war, and trade rose.",
        town,
    )
    for n, (town, king) in enumerate(
        (t, k) for t in ("Arden", "Brook", "Calder", "Dunmore") for k in ("Queen Maud", "King Olaf", "Prince Leo")
    )
]


def rows(recipe: FavaRecipe | None = None, passages: list[Passage] | None = None) -> tuple[list[Item], FavaTotals]:
    made = FavaTotals()
    chosen = PASSAGES if passages is None else passages
    pool = entities(p.text for p in chosen)
    others = {p.id: [o.shown for o in chosen if o is not p] for p in chosen}
    return list(synthesise(chosen, recipe or FavaRecipe(), made, pool=pool, neighbours=lambda p: others[p.id])), made


def test_edits_take_every_error_back() -> None:
    """Applying a row's findings gives its passage; nothing outside of them differs; tags say the same."""
    found, _ = rows(FavaRecipe(clean=0.0))
    assert len(found) == len(PASSAGES)
    for item in found:
        findings = [Finding.model_validate(f) for f in item.meta["findings"]]  # type: ignore[union-attr]
        assert item.answer != item.gold
        assert apply_findings(item.answer, findings).text == item.gold
        tagged = parse_tagged(str(item.meta["tagged"]))
        assert (tagged.text, list(tagged.findings)) == (item.answer, findings)


def test_kinds_are_balanced_and_the_seed_decides() -> None:
    """No kind is made more than twice as often as another; one seed makes the same rows, another makes others."""
    found, made = rows(FavaRecipe(clean=0.0))
    assert max(made.errors.values()) <= 2 * min(made.errors.values())
    assert rows(FavaRecipe(clean=0.0))[0] == found
    assert rows(FavaRecipe(clean=0.0, seed=1))[0] != found


def test_no_statement_is_added_twice() -> None:
    """Of several opinions in a text each is another one."""
    found, _ = rows(FavaRecipe(kinds=("subjective",), most=5, clean=0.0), [
        Passage(f"p{n}", f"The year {n} is long. It was wet. It was cold. It was dark.") for n in range(40)
    ])  # fmt: skip
    for item in found:
        said = [item.answer[f["start"] : f["end"]] for f in item.meta["findings"]]  # type: ignore[union-attr,index,call-overload,misc]
        assert len(set(said)) == len(said)


def test_references_hold_the_passage_and_are_mixed() -> None:
    """Each row is given its own passage among others, not always in one place."""
    found, _ = rows(FavaRecipe(references=3))
    sources = {p.id: p.shown for p in PASSAGES}
    places = [item.context.index(sources[str(item.meta["source"])]) for item in found if item.context]
    assert all(len(item.context or ()) == 3 for item in found)
    assert len(set(places)) > 1


def test_rows_without_errors_and_drops_are_counted() -> None:
    """The clean share has no finding; twins and passages without a place for an error are left out by cause."""
    found, made = rows(FavaRecipe(clean=1.0))
    assert (made.clean, made.errors.total()) == (len(found), 0)
    _, made = rows(
        FavaRecipe(kinds=("relation",), clean=0.0), [Passage("a", "nothing here"), *PASSAGES[:1], PASSAGES[0]]
    )
    assert dict(made.dropped) == {"no place for an error of these kinds": 1, "the passage occurs twice": 1}


def test_the_command_writes_rows_that_the_critic_is_measured_on(run: Run, tmp_path: Path) -> None:
    """Rows from the command line are annotated answers; their own tags score 1."""
    corpus = write(tmp_path / "c.jsonl", *({"id": p.id, "text": p.text, "title": p.title} for p in PASSAGES))
    made = run("synth", "fava", corpus, "--offline", "--out", tmp_path / "rows.jsonl")
    assert made.code == 0, made
    assert "12 rows of 12 passages" in made.err
    data = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    said = write(tmp_path / "said.jsonl", *({"id": r["id"], "tagged": r["meta"]["tagged"]} for r in data))
    result = run("evaluate", "critic", tmp_path / "rows.jsonl", "--predictions", said, "--draws", "20", "--json")
    assert json.loads(result.out)["sentences"]["any"]["f1"]["value"] == 1.0


def test_what_cannot_be_made_is_said(run: Run, tmp_path: Path) -> None:
    """Kinds that no rule makes, and a run without --offline, are usage errors."""
    corpus = write(tmp_path / "c.jsonl", {"text": "x"})
    assert_error(run("synth", "fava", corpus, "--out", "-"), "--offline")
    assert_error(run("synth", "fava", corpus, "--offline", "--kinds", "invented", "--out", "-"), "got invented")
    embedded = run("synth", "fava", corpus, "--backend", "embedded", "--out", tmp_path / "o")
    assert_error(embedded, "unknown backend 'embedded'")
    assert_error(run("synth", "fava", corpus, "--backend", "openai:x", "--out", "-"), "name a file")
    with pytest.raises(InputError, match="clean must lie"):
        FavaRecipe(clean=2)


def test_of_a_large_corpus_some_values_are_held() -> None:
    texts = [f"It had {n} doors." for n in range(100, 400)]
    assert len(entities(texts, most=10)["number"]) == 10
    assert len(entities(texts)["number"]) == 300
