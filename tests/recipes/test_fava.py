"""Errors by rule: each is where its finding says, its edit takes it back, kinds stay balanced, drops are counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eirene.core.critique import Finding
from eirene.core.errors import InputError
from eirene.core.findings.edits import apply_findings
from eirene.core.findings.tags import parse_tagged
from eirene.core.records import Item
from eirene.retrieval import Passage
from eirene.synth.fava.recipe import FavaRecipe, FavaTotals
from recipes.fava import OFFLINE, entities, main, synthesise

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


def by_rule(**more: Any) -> FavaRecipe:
    return FavaRecipe(**{"kinds": OFFLINE, "most": 3, **more})


def rows(recipe: FavaRecipe | None = None, passages: list[Passage] | None = None) -> tuple[list[Item], FavaTotals]:
    made = FavaTotals()
    chosen = PASSAGES if passages is None else passages
    pool = entities(p.text for p in chosen)
    others = {p.id: [o.shown for o in chosen if o is not p] for p in chosen}
    return list(synthesise(chosen, recipe or by_rule(), made, pool=pool, neighbours=lambda p: others[p.id])), made


def test_edits_take_every_error_back() -> None:
    """Applying a row's findings gives its passage; nothing outside of them differs; tags say the same."""
    found, _ = rows(by_rule(clean=0.0))
    assert len(found) == len(PASSAGES)
    for item in found:
        findings = [Finding.model_validate(f) for f in item.meta["findings"]]  # type: ignore[union-attr]
        assert item.answer != item.gold
        assert apply_findings(item.answer, findings).text == item.gold
        tagged = parse_tagged(str(item.meta["tagged"]))
        assert (tagged.text, list(tagged.findings)) == (item.answer, findings)


def test_kinds_are_balanced_and_the_seed_decides() -> None:
    """No kind is made more than twice as often as another; one seed makes the same rows, another makes others."""
    found, made = rows(by_rule(clean=0.0))
    assert max(made.errors.values()) <= 2 * min(made.errors.values())
    assert rows(by_rule(clean=0.0))[0] == found
    assert rows(by_rule(clean=0.0, seed=1))[0] != found


def test_no_statement_is_added_twice() -> None:
    """Of several opinions in a text each is another one."""
    found, _ = rows(by_rule(kinds=("subjective",), most=5, clean=0.0), [
        Passage(f"p{n}", f"The year {n} is long. It was wet. It was cold. It was dark.") for n in range(40)
    ])  # fmt: skip
    for item in found:
        said = [item.answer[f["start"] : f["end"]] for f in item.meta["findings"]]  # type: ignore[union-attr,index,call-overload,misc]
        assert len(set(said)) == len(said)


def test_references_hold_the_passage_and_are_mixed() -> None:
    """Each row is given its own passage among others, not always in one place."""
    found, _ = rows(by_rule(references=3))
    sources = {p.id: p.shown for p in PASSAGES}
    places = [item.context.index(sources[str(item.meta["source"])]) for item in found if item.context]
    assert all(len(item.context or ()) == 3 for item in found)
    assert len(set(places)) > 1


def test_rows_without_errors_and_drops_are_counted() -> None:
    """The clean share has no finding; twins and passages without a place for an error are left out by cause."""
    found, made = rows(by_rule(clean=1.0))
    assert (made.clean, made.errors.total()) == (len(found), 0)
    _, made = rows(by_rule(kinds=("relation",), clean=0.0), [Passage("a", "nothing here"), *PASSAGES[:1], PASSAGES[0]])
    assert dict(made.dropped) == {"no place for an error of these kinds": 1, "the passage occurs twice": 1}


def test_the_script_writes_rows_with_tags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus, out = tmp_path / "c.jsonl", tmp_path / "rows.jsonl"
    corpus.write_text("".join(json.dumps({"id": p.id, "text": p.text, "title": p.title}) + "\n" for p in PASSAGES))
    monkeypatch.setenv("EIRENE_CACHE", str(tmp_path / "cache"))
    main([str(corpus), "--out", str(out)])
    assert "12 rows of 12 passages" in capsys.readouterr().err
    data = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [parse_tagged(row["meta"]["tagged"]).text for row in data] == [row["answer"] for row in data]
    with pytest.raises(InputError, match="got invented"):
        main([str(corpus), "--out", "-", "--kinds", "invented"])
    with pytest.raises(InputError, match="clean must lie"):
        by_rule(clean=2)


def test_of_a_large_corpus_some_values_are_held() -> None:
    texts = [f"It had {n} doors." for n in range(100, 400)]
    assert len(entities(texts, most=10)["number"]) == 10
    assert len(entities(texts)["number"]) == 300
