"""`train generator` on a Llama made on the spot: it writes what it was taught, and reads its data strictly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from eirene.core.errors import InputError
from eirene.core.usage import Meter
from eirene.data.topics import parse_topic
from eirene.models.local.model import load_local
from eirene.npov import WriteTask
from eirene.npov.writers import LocalWriter
from eirene.synth import AnswerRecipe, AnswerTotals, synthesise
from recipes.train.generator import read_exchanges, train_generator
from recipes.train.recipe import PromptTuningRecipe
from tests.synth.material import TOPICS
from tests.tiny_llama import make_llama

ANSWER = "Supporters say that wind is clean."
ROW = {"question": "Wind?", "answer": ANSWER, "perspectives": [{"name": "pro", "arguments": ["Wind is clean."]}]}


def write(path: Path, *values: dict[str, Any]) -> str:
    path.write_text("".join(json.dumps(v) + "\n" for v in values), "utf-8")
    return str(path)


async def test_it_writes_what_it_was_taught_through_the_writer(tmp_path: Path) -> None:
    base = make_llama(tmp_path / "llama", texts=[ANSWER, "{query: Wind?} {pro: Wind is clean.} {response: }"] * 5)
    recipe = PromptTuningRecipe(method="full", learning_rate=3e-3, max_steps=60, warmup=0, batch_size=4)
    trained = train_generator(write(tmp_path / "d.jsonl", *[ROW] * 1), tmp_path / "out", base=str(base), recipe=recipe)
    assert trained.card["figures"]["train_loss"][-1] < 0.2
    writer = LocalWriter(load_local(f"hf:{tmp_path / 'out'}"))
    topic = parse_topic({"id": "wind", "question": "Wind?", "perspectives": {"pro": "Wind is clean."}})
    assert (await writer.write(WriteTask("Wind?", topic, 0), meter=Meter())).main == ANSWER


def test_rows_with_errors_and_rows_without_sides_are_left_out_and_counted(tmp_path: Path) -> None:
    faulty = {**ROW, "meta": {"labels": {"hallucination": True}}}
    bare = {"question": "Wind?", "answer": ANSWER}
    clean = {**ROW, "meta": {"labels": {"hallucination": False, "missing": []}}}
    exchanges, left_out = read_exchanges(write(tmp_path / "d.jsonl", ROW, faulty, bare, clean))
    assert [e.reply for e in exchanges] == [f" {ANSWER}}}", f" {ANSWER}}}"]
    assert exchanges[0].prompt == "{query: Wind?}\n{pro: Wind is clean.}\n{response:"
    assert left_out == {"known to have an error": 1, "nothing to write from": 1}


def test_of_synthetic_answers_only_those_to_be_written_are_learnt_from(tmp_path: Path) -> None:
    """Answers with an error, the ambiguous ones included, are left out."""
    synthetic = AnswerRecipe(kinds=("none", "coverage", "repetition"), wordings=("given",), per_topic=1)
    rows = list(synthesise(TOPICS[:1], synthetic, AnswerTotals(synthetic)))
    exchanges, left_out = read_exchanges(write(tmp_path / "r.jsonl", *[r.model_dump(mode="json") for r in rows]))
    assert [e.reply for e in exchanges] == [f" {r.answer}}}" for r in rows if r.meta["kind"] == "none"]
    assert left_out == {"known to have an error": len(rows) - len(exchanges)}


@pytest.mark.parametrize(
    ("row", "why"),
    [({"question": "Q?", "answer": "A."}, "no response to learn from"), ({"prompt": "x", "reply": "x"}, "'question'")],
)
def test_what_is_no_data_is_one_clear_error(tmp_path: Path, row: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        read_exchanges(write(tmp_path / "d.jsonl", row))
