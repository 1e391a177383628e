"""Running detectors over labelled answers: rows on disk, what a rerun does, what ends a run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from eirene.agent.experiments.detectors import EvaluateOptions, aevaluate_detectors, summarise
from eirene.core.errors import AuthError, BackendTimeoutError, InputError
from eirene.core.records import Item
from eirene.core.scores import Scores, Unscored
from eirene.core.usage import Meter, Usage
from eirene.data.journal import Journal
from eirene.eval.base import GIVEN, NOTHING, Case, Detector, Need
from eirene.eval.datasets import Labelled
from eirene.eval.metrics.detectors import EvaluationPlan
from tests.scripted_parts import ScriptedDetector

JUDGE: frozenset[Need] = frozenset({"judge"})


def case(n: int, *, answer: str | None = None, context: bool = True) -> Labelled:
    passages = ["Trams are quiet."] if context else None
    item = Item(id=str(n), question="Trams?", answer=answer or f"Answer {n}.", context=passages)
    return Labelled(item, f"c{n}", hallucination=n % 2 == 0)


CASES = [case(n) for n in range(6)]


class Judge:
    """Scores by the number in the answer, a call each; raises what `faults` holds for an answer."""

    version = "1"

    def __init__(self, *, name: str = "judge", needs: frozenset[Need] = JUDGE, **faults: Exception) -> None:
        self.name = name
        self.needs = needs
        self.faults = faults
        self.asked: list[str] = []

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        self.asked.append(case.answer)
        meter.add(Usage(calls=1))
        await asyncio.sleep(0)
        number = case.answer.removeprefix("Answer ").removesuffix(".")
        if f"n{number}" in self.faults:
            raise self.faults[f"n{number}"]
        return Scores(hallucination=1 / (1 + int(number)), coverage=0.0)


def lines(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "rows.jsonl").read_text("utf-8").splitlines()]


async def test_a_rerun_asks_nothing_again_and_a_further_detector_is_added(tmp_path: Path) -> None:
    first, second = Judge(), Judge(name="other")
    one = await aevaluate_detectors(CASES, [first], out=tmp_path)
    both = await aevaluate_detectors(CASES, [first, second], out=tmp_path)
    assert (len(first.asked), len(second.asked)) == (6, 6)
    assert (one.n_from_journal, both.n_from_journal, len(lines(tmp_path))) == (0, 6, 12)
    alone = await aevaluate_detectors(CASES[:2], [second], out=tmp_path)
    assert (alone.n_from_journal, alone.n_left_out, len(alone.rows)) == (2, 10, 2)
    assert one.data.scores["judge"] == both.data.scores["judge"]


async def test_equal_answers_are_scored_once(tmp_path: Path) -> None:
    judge = Judge()
    twins = [case(0, answer="Answer 3."), case(1, answer="Answer 3.")]
    found = await aevaluate_detectors(twins, [judge], out=tmp_path, dev=[case(2, answer="Answer 3.")])
    assert (judge.asked, len(found.rows)) == (["Answer 3."], 1)
    assert found.dev is not None
    assert [s.hallucination for s in [*found.data.scores["judge"], *found.dev.scores["judge"]]] == [0.25] * 3


async def test_a_failed_row_is_kept_and_is_done_again_only_when_asked(tmp_path: Path) -> None:
    judge = Judge(n2=BackendTimeoutError("slow"))
    found = await aevaluate_detectors(CASES, [judge], out=tmp_path)
    assert [row.failed for row in found.rows.values()] == [False, False, True, False, False, False]
    assert found.data.scores["judge"][2].hallucination == Unscored(unscored="BackendTimeoutError: slow")
    judge.faults = {}
    await aevaluate_detectors(CASES, [judge], out=tmp_path)
    assert len(judge.asked) == 6
    mended = await aevaluate_detectors(CASES, [judge], out=tmp_path, work=EvaluateOptions(retry_failed=True))
    assert (len(judge.asked), any(row.failed for row in mended.rows.values())) == (7, False)


async def test_a_hopeless_error_ends_the_run_and_keeps_what_was_done(tmp_path: Path) -> None:
    """The cheap detector's row of the case at which the judge has no access is on disk, the judge's is not."""
    judge, cheap = Judge(n0=AuthError("no key")), Judge(name="cheap", needs=NOTHING)
    with pytest.raises(AuthError):
        await aevaluate_detectors(CASES, [judge, cheap], out=tmp_path, work=EvaluateOptions(concurrency=1))
    done = lines(tmp_path)
    assert {"judge"} not in [{row["detector"]} for row in done if row["id"] == "0"]
    assert ("0", "cheap") in [(row["id"], row["detector"]) for row in done]
    judge.faults = {}
    found = await aevaluate_detectors(CASES, [judge, cheap], out=tmp_path)
    assert (found.n_from_journal, len(found.rows)) == (len(done), 12)


async def test_what_needs_given_text_is_not_asked_where_nothing_was_given(tmp_path: Path) -> None:
    cheap, judge = Judge(name="cheap", needs=GIVEN), Judge(needs=JUDGE | GIVEN)
    found = await aevaluate_detectors([case(1, context=False), case(2)], [cheap, judge], out=tmp_path)
    assert cheap.asked == judge.asked == ["Answer 2."]
    score = found.data.scores["cheap"][0].hallucination
    assert isinstance(score, Unscored) and "'context' in the row" in score.unscored


async def test_a_folder_that_is_in_use_or_holds_something_else_is_refused(tmp_path: Path) -> None:
    with Journal(tmp_path / "rows.jsonl"), pytest.raises(InputError, match="in use by another run"):
        await aevaluate_detectors(CASES, [Judge()], out=tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"key": "x"}\n')
    with pytest.raises(InputError, match="something else than rows of detectors"):
        await aevaluate_detectors(CASES, [Judge()], out=tmp_path)
    with pytest.raises(InputError, match="concurrency must be at least 1"):
        await aevaluate_detectors(CASES, [Judge()], out=tmp_path / "new", work=EvaluateOptions(concurrency=0))


async def test_the_summary_names_what_made_it(tmp_path: Path) -> None:
    heard: list[str] = []
    detectors: list[Detector] = [ScriptedDetector({}, name="silent"), Judge()]
    found = await aevaluate_detectors(CASES, detectors, out=tmp_path, on_row=lambda row: heard.append(row.detector))
    summary = summarise(found, EvaluationPlan(draws=50, seed=3))
    assert summary["signature"].startswith("n:6|k:6|dev:2|draws:50|seed:3|v:")
    assert list(summary["costs"]) == ["silent", "judge"]
    assert (summary["costs"]["judge"]["calls"], summary["costs"]["judge"]["version"]) == (6, "1")
    assert sorted(heard) == ["judge"] * 6 + ["silent"] * 6
    assert summary["levels"][0]["detectors"]["silent"]["unscored"] == {"not in the script": 6}
