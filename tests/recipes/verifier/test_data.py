"""Rows of the verifier's training data: reading them, thinning them, refusing leaks, what belongs together."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.core.errors import EncoderError, InputError
from recipes.verifier.data import (
    MIXTURE,
    VerifierRow,
    read_rows,
    refuse_leaks,
    thinned,
    twins,
    units,
)
from tests.recipes.verifier.verifier_rows import rows_of, write_rows
from tests.rows import each

GOOD: dict[str, Any] = {"premise": "Rain fell.", "claim": "It rained.", "label": "supported"}
ROW = VerifierRow("snli_dev", ("Rain fell.",), "It rained.", "supported")


def test_rows_are_read_as_they_are_written(tmp_path: Path) -> None:
    rows = read_rows(write_rows(tmp_path / "train.jsonl", rows_of()))
    assert len(rows) == 16
    first, edited, *_ = rows
    assert first == VerifierRow(
        "bump", ("The bridge was built in 1901 by a firm from Leeds.",), "A firm from Leeds built the bridge.",
        "supported", "bump:0", "none",
    )  # fmt: skip
    assert (edited.pair, edited.edit, edited.label) == ("bump:0", "negation", "contradicted")
    assert len(rows[4].premise) == 2
    assert rows[3].source == "own"


@each(
    "bad, said",
    [
        ("{", "is not JSON"),
        ("[1]", "must be a JSON object, got list"),
        ('"text"', "must be a JSON object, got str"),
        ({}, "KeyError('premise')"),
        ({**GOOD, "premise": " "}, "one of them with a word"),
        ({**GOOD, "premise": []}, "one of them with a word"),
        ({**GOOD, "premise": ["Rain fell.", 3]}, "a text or a list of texts"),
        ({**GOOD, "premise": 7}, "not iterable"),
        ({**GOOD, "claim": "?!"}, "claim must be a text with a word"),
        ({**GOOD, "claim": None}, "claim must be a text with a word"),
        ({**GOOD, "label": "true"}, "label must be one of supported, unsupported, contradicted, not_supported"),
        ({**GOOD, "label": ["supported"]}, "label must be one of"),
        ({**GOOD, "meta": [1]}, "meta must be a JSON object, got list"),
    ],
)
def test_a_bad_row_is_an_input_error_with_its_line(bad: object, said: str, tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    file.write_text(json.dumps(GOOD) + "\n\n" + (bad if isinstance(bad, str) else json.dumps(bad)) + "\n")
    with pytest.raises(InputError, match=r"train\.jsonl, line 3") as caught:
        read_rows(file)
    assert said in str(caught.value)


def test_a_line_ends_at_its_newline_alone(tmp_path: Path) -> None:
    """Texts hold other separators, which `str.splitlines` would cut at."""
    file = tmp_path / "train.jsonl"
    text = "Rain\u2028fell\x85 here."
    file.write_text(json.dumps({**GOOD, "premise": text}, ensure_ascii=False) + "\r\n", encoding="utf-8", newline="")
    assert read_rows(file)[0].premise == (text,)


def test_a_mixture_keeps_its_share_of_each_source_always_the_same() -> None:
    rows = [replace(ROW, claim=f"It rained {n} times.", source=s) for s in ("snli_dev", "bump") for n in range(2000)]
    kept = thinned(rows)
    assert kept == thinned(rows)
    assert sum(row.source == "bump" for row in kept) == 2000
    assert sum(row.source == "snli_dev" for row in kept) / 2000 == pytest.approx(MIXTURE["snli_dev"], abs=0.04)


def test_a_row_is_drawn_by_its_text_alone() -> None:
    """So that other data beside it, or another order, change nothing; these three are held by a cache's name too."""
    rows = [replace(ROW, claim=f"It rained {n} times.") for n in range(8)]
    assert [row.claim[10] for row in thinned(rows)] == [row.claim[10] for n in range(8) for row in thinned([rows[n]])]
    assert set(thinned(rows[::-1])) == set(thinned(rows))


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c", None]), st.text(max_size=9)), max_size=20))
def test_members_of_a_pair_stay_together(found: list[tuple[str | None, str]]) -> None:
    rows = [replace(ROW, claim=claim, pair=pair) for pair, claim in found]
    kept = thinned(rows)
    for pair in "abc":
        assert sum(row.pair == pair for row in kept) in (0, sum(row.pair == pair for row in rows))


def test_a_leak_is_refused() -> None:
    other = replace(ROW, claim="It snowed.")
    assert refuse_leaks([ROW], [other], name="dev.jsonl") == {"training_pairs": 1, "dev_pairs": 1, "shared": 0}
    with pytest.raises(EncoderError, match=r"1 training pairs stand in dev\.jsonl too, such as 'It rained\.'"):
        refuse_leaks([ROW, other], [replace(ROW, source="other", label="unsupported")], name="dev.jsonl")


pairs = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from(["supported", "unsupported", "contradicted"])),
    max_size=20,
)


@given(pairs, st.randoms())
def test_units_hold_every_row_once_and_pairs_whole(found: list[tuple[str | None, Any]], random: Any) -> None:
    rows = [replace(ROW, pair=pair, label=label) for pair, label in found]
    groups = units(rows)
    assert sorted(n for group in groups for n in group) == list(range(len(rows)))
    for group in groups:
        assert len({rows[n].pair for n in group}) == 1
        assert len(group) == 1 or rows[group[0]].pair is not None
    named = [{rows[n].pair for n in group} for group in groups if rows[group[0]].pair is not None]
    assert len(named) == len({row.pair for row in rows} - {None})


@given(pairs)
def test_twins_are_a_supported_row_and_another_of_its_pair(found: list[tuple[str | None, Any]]) -> None:
    rows = [replace(ROW, pair=pair, label=label) for pair, label in found]
    chosen = list(range(len(rows)))[::-1]
    for good, bad in twins(rows, chosen):
        assert rows[chosen[good]].label == "supported" != rows[chosen[bad]].label
        assert rows[chosen[good]].pair == rows[chosen[bad]].pair is not None
    wanted = sum(
        sum(r.pair == p and r.label == "supported" for r in rows)
        * sum(r.pair == p and r.label != "supported" for r in rows)
        for p in "ab"
    )
    assert len(twins(rows, chosen)) == wanted
