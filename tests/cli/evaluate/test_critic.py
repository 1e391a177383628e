"""`eirene evaluate critic`: from annotated answers to figures, by a critic or by a file of findings."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from eirene.agent.experiments.critic import arun_critic
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.critique import Finding, Sample
from eirene.core.errors import AuthError, BackendError, InputError, UnreachableError
from eirene.core.records import Item
from eirene.core.usage import Meter, Usage
from eirene.eval.datasets.annotated import Annotated
from eirene.feedback_model.base import FeedbackRequest
from tests.cli.run import Run, assert_error, write

TAGGED = [
    {
        "id": "a",
        "prompt": "Who was Ann?",
        "annotated": "Ann was born in <entity><delete>Rome</delete><mark>Oslo</mark></entity>. She sang.",
        "reference": "Ann was born in Oslo. She sang.",
    },
    {"id": "b", "prompt": "Who was Bob?", "annotated": "Bob was a baker.", "reference": "Bob was a baker."},
]


def test_tagged_predictions_are_measured(run: Run, tmp_path: Path) -> None:
    """A file that says what the annotators said has an F1 of 1; the same command gives the same figures."""
    data = write(tmp_path / "data.jsonl", *TAGGED)
    said = write(tmp_path / "said.jsonl", *({"id": r["id"], "tagged": r["annotated"]} for r in TAGGED))
    command = ("evaluate", "critic", data, "--predictions", said, "--draws", "50")
    result = run(*command, "--json")
    assert result.code == 0, result
    report = json.loads(result.out)
    assert report["sentences"]["entity"]["f1"]["value"] == 1.0
    assert report["sentences"]["mean_f1"]["kinds"] == 1
    assert run(*command, "--json").out == result.out
    shown = run(*command).out
    assert "any (binary)" in shown


def test_a_cause_out_of_a_file_cannot_act_on_the_terminal(run: Run, tmp_path: Path) -> None:
    """Why a record has no critique is the file's own text: what would steer a terminal is shown instead."""
    data = write(tmp_path / "data.jsonl", *TAGGED)
    silent = {"id": "b", "rounds": [], "why": "gone\x1b[2J"}
    said = write(tmp_path / "said.jsonl", {"id": "a", "tagged": TAGGED[0]["annotated"]}, silent)
    shown = run("evaluate", "critic", data, "--predictions", said, "--draws", "50").out
    assert "gone" in shown
    assert "\x1b" not in shown


def test_the_embedded_critic_is_measured_and_goes_on_from_its_journal(run: Run, tmp_path: Path) -> None:
    """Without predictions the backend's critic finds; a rerun on the journal gives the same report."""
    data, rows = write(tmp_path / "data.jsonl", *TAGGED), tmp_path / "rows.jsonl"
    command = ("evaluate", "critic", data, "--out", rows, "--draws", "50", "--json")
    first = run(*command)
    assert first.code == 0, first
    assert json.loads(first.out)["scored"] == 2
    kept = rows.read_bytes()
    assert (run(*command).out, rows.read_bytes()) == (first.out, kept)


def test_bad_data_is_one_line(run: Run, tmp_path: Path) -> None:
    """Rows of no known form, and predictions of other answers, are named."""
    assert_error(run("evaluate", "critic", write(tmp_path / "x.jsonl", {"x": 1})), "no known annotated form")
    data, said = write(tmp_path / "data.jsonl", *TAGGED), write(tmp_path / "said.jsonl", {"id": "z", "findings": []})
    assert_error(run("evaluate", "critic", data, "--predictions", said), "'z'")


class ByWord:
    """Finds the word `bad`; refuses, fails or has no key where the question says so."""

    name = "by-word"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        self.asked.append(request.item.id)
        meter.add(Usage(calls=1))
        errors: dict[str, BackendError] = {"down": UnreachableError("down"), "key": AuthError("wrong key")}
        if request.item.question in errors:
            raise errors[request.item.question]
        at = request.answer.find("bad")
        for _ in range(count):
            if request.item.question == "refuse":
                yield Sample(invalid="refusal")
                continue
            found = (Finding(kind="entity", start=at, end=at + 3, reason="bad", edit="good"),)
            yield Sample(tags=("Incomplete",), reasons=("bad",), findings=found)


def case(name: str, question: str = "q") -> Annotated:
    return Annotated(Item(id=name, question=question, answer="It is bad.", context=["It is good."]), (), name)


def parts(model: Any) -> Parts:
    return Parts(backend="test", feedback_model=cast(Any, model), refiner=cast(Any, None), detectors=())


SETTINGS = Settings(samples=4)


async def test_rows_say_what_happened_and_are_not_made_twice(tmp_path: Path) -> None:
    """Found, abstained and failed are three things; only what failed is done again, and only when asked for."""
    model, journal = ByWord(), tmp_path / "rows.jsonl"
    cases = [case("a"), case("b", "refuse"), case("c", "down")]
    rows = await arun_critic(cases, parts(model), settings=SETTINGS, journal=journal, concurrency=2)
    assert [row.findings is not None for row in rows] == [True, False, False]
    assert [row.failed for row in rows] == [False, False, True]
    assert "refusal" in str(rows[1].why)
    asked = len(model.asked)
    again = await arun_critic(cases, parts(model), settings=SETTINGS, journal=journal)
    assert (again, len(model.asked)) == (rows, asked)
    await arun_critic(cases, parts(model), settings=SETTINGS, journal=journal, retry_failed=True)
    assert model.asked[asked:] == ["c"]


async def test_what_every_answer_would_meet_ends_the_run(tmp_path: Path) -> None:
    """A key that is refused is raised; a journal of something else is refused."""
    with pytest.raises(AuthError):
        await arun_critic([case("a", "key"), case("b")], parts(ByWord()), settings=SETTINGS)
    other = tmp_path / "rows.jsonl"
    other.write_text('{"key": "k"}\n', encoding="utf-8")
    with pytest.raises(InputError, match="rows of a critic"):
        await arun_critic([case("a")], parts(ByWord()), settings=SETTINGS, journal=other)


def test_the_critic_of_hallucinations_is_measured(run: Run, tmp_path: Path) -> None:
    """`--critic hallucination` finds the changed name with the reference given, and the report says who found."""
    data = write(tmp_path / "data.jsonl", *TAGGED)
    result = run("evaluate", "critic", data, "--critic", "hallucination", "--draws", "50", "--json")
    report = json.loads(result.out)
    assert report["by"] == "embedded, critic hallucination"
    assert report["sentences"]["entity"]["agreed"] == 1
