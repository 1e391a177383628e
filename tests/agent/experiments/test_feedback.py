"""Running a feedback model over labelled answers: rows, their order, and a journal that a rerun goes on from."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from eirene.agent.experiments.critic import aevaluate_feedback
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.critique import Sample
from eirene.core.errors import AuthError, BackendError, InputError, UnreachableError
from eirene.core.usage import Meter, Usage
from eirene.data.haluquestqa import parse_tagged_answer
from eirene.data.json_rows import Row
from eirene.eval.datasets.base import FeedbackCase, case_of
from eirene.feedback_model.base import FeedbackRequest

SETTINGS = Settings(samples=4)


class ByWord:
    """Calls a sentence incomplete that holds `bad`; fails, refuses or has no key where the question says so."""

    name = "by-word"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        self.asked.append(request.item.id)
        meter.add(Usage(calls=1))
        errors: dict[str, BackendError] = {"down": UnreachableError("down"), "key": AuthError("wrong key")}
        if request.item.question in errors:
            raise errors[request.item.question]
        for _ in range(count):
            if request.item.question == "refuse":
                yield Sample(invalid="refusal")
                continue
            bad = ["bad" in s.text for s in request.sentences]
            yield Sample(
                tags=tuple("Incomplete" if b else "Complete" for b in bad),
                reasons=tuple("It is short" if b else None for b in bad),
            )


def case(name: str, question: str = "q") -> FeedbackCase:
    sentences = [{"text": "good.", "tag": "Complete"}, {"text": "bad.", "tag": "Incomplete", "reason": "Too short."}]
    return case_of(parse_tagged_answer(Row("here", {"id": name, "question": question, "sentences": sentences})))


def parts(model: Any) -> Parts:
    return Parts(backend="test", feedback_model=cast(Any, model), refiner=cast(Any, None), detectors=())


async def test_rows_come_in_the_order_of_the_cases_and_say_what_happened() -> None:
    cases = [case("a"), case("b", "refuse"), case("c", "down"), case("d")]
    done = await aevaluate_feedback(cases, parts(ByWord()), settings=SETTINGS, concurrency=3)
    assert [(r.id, r.status) for r in done.rows] == [
        ("a", "scored"),
        ("b", "abstained"),
        ("c", "failed"),
        ("d", "scored"),
    ]
    scored, abstained, failed, _ = done.rows
    assert (scored.tags, scored.shares, scored.reason_overlap) == (("Complete", "Incomplete"), (0.0, 1.0), 1.0)
    assert (abstained.n_drawn, abstained.n_valid) == (4, 0)
    assert "a vote needs" in (abstained.why or "")
    assert failed.why == "UnreachableError: down"
    assert {r.usage.calls for r in done.rows} == {1}


async def test_a_rerun_does_what_is_missing(tmp_path: Path) -> None:
    journal, cases = tmp_path / "rows.jsonl", [case(c) for c in "abc"]
    await aevaluate_feedback(cases[:2], parts(ByWord()), settings=SETTINGS, journal=journal)
    model = ByWord()
    done = await aevaluate_feedback(cases, parts(model), settings=SETTINGS, journal=journal)
    assert model.asked == ["c"]
    assert done.n_from_journal == 2
    assert [r.id for r in done.rows] == ["a", "b", "c"]
    assert len(journal.read_text().splitlines()) == 3


async def test_failed_rows_are_tried_again_when_asked(tmp_path: Path) -> None:
    journal, cases = tmp_path / "rows.jsonl", [case("a", "down"), case("b")]
    for retry, asked in ((False, ["a", "b"]), (False, []), (True, ["a"])):
        model = ByWord()
        done = await aevaluate_feedback(
            cases, parts(model), settings=SETTINGS, journal=journal, retry_failed=retry, concurrency=1
        )
        assert model.asked == asked
        assert [r.status for r in done.rows] == ["failed", "scored"]


class Down(ByWord):
    """Cannot be reached, whatever the question."""

    async def draw(self, request: FeedbackRequest, *, start: int, count: int, meter: Meter) -> AsyncIterator[Sample]:
        raise UnreachableError("down")
        yield


async def test_a_row_that_was_made_after_a_failed_one_stands_for_it(tmp_path: Path) -> None:
    """A journal that has both is gone on from, and nothing is asked again."""
    journal, made = tmp_path / "rows.jsonl", tmp_path / "made.jsonl"
    await aevaluate_feedback([case("a")], parts(Down()), settings=SETTINGS, journal=journal)
    await aevaluate_feedback([case("a")], parts(ByWord()), settings=SETTINGS, journal=made)
    journal.write_text(journal.read_text() + made.read_text())
    model = ByWord()
    done = await aevaluate_feedback([case("a")], parts(model), settings=SETTINGS, journal=journal, retry_failed=True)
    assert ([r.status for r in done.rows], model.asked) == (["scored"], [])


async def test_failed_rows_that_nobody_asks_for_stay(tmp_path: Path) -> None:
    journal, cases = tmp_path / "rows.jsonl", [case("a", "down"), case("b", "down")]
    for some, asked in ((cases, ["a", "b"]), (cases[:1], ["a"]), (cases, [])):
        model, retry = ByWord(), len(some) == 1
        await aevaluate_feedback(some, parts(model), settings=SETTINGS, journal=journal, retry_failed=retry)
        assert model.asked == asked


async def test_a_journal_of_other_settings_is_refused(tmp_path: Path) -> None:
    journal = tmp_path / "rows.jsonl"
    await aevaluate_feedback([case("a")], parts(ByWord()), settings=SETTINGS, journal=journal)
    for change in ({"samples": 5}, {"samples": 5, "seed": 1}, {"stop": "exact"}, {"min_consistency": 0.5}):
        other = Settings.of(**{**SETTINGS.model_dump(), **change})
        with pytest.raises(InputError, match="made with other settings"):
            await aevaluate_feedback([case("a")], parts(ByWord()), settings=other, journal=journal)


async def test_a_changed_case_is_done_anew(tmp_path: Path) -> None:
    journal = tmp_path / "rows.jsonl"
    await aevaluate_feedback([case("a")], parts(ByWord()), settings=SETTINGS, journal=journal)
    model = ByWord()
    await aevaluate_feedback([case("a", "another question")], parts(model), settings=SETTINGS, journal=journal)
    assert model.asked == ["a"]


async def test_a_file_that_is_no_journal_is_refused_and_left_alone(tmp_path: Path) -> None:
    for text, said in [
        ("not json\n", "is not JSON"),
        ("[]\n", "is no JSON object"),
        ('{"key": "x"}\n', "holds something else than rows of an evaluation"),
    ]:
        journal = tmp_path / "rows.jsonl"
        journal.write_text(text)
        with pytest.raises(InputError, match=rf"rows\.jsonl, line 1: .*{said}"):
            await aevaluate_feedback([case("a")], parts(ByWord()), settings=SETTINGS, journal=journal)
        assert journal.read_text() == text


async def test_a_wrong_key_stops_the_evaluation_and_keeps_what_was_done(tmp_path: Path) -> None:
    journal, cases = tmp_path / "rows.jsonl", [case("a"), case("b", "key"), case("c")]
    with pytest.raises(AuthError, match="wrong key"):
        await aevaluate_feedback(cases, parts(ByWord()), settings=SETTINGS, journal=journal, concurrency=1)
    assert [json.loads(line)["id"] for line in journal.read_text().splitlines()] == ["a"]
