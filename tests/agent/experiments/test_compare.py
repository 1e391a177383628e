"""Comparing modes: rows first and once, whatever stops the run; figures are pure functions of them."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eirene.agent.experiments.compare import ComparePlan, Gathered, acompare
from eirene.agent.experiments.compare_summary import summarise
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.critique import Sample
from eirene.core.errors import AuthError, InputError, UnreachableError
from eirene.core.records import STATUSES, Item, Mode
from eirene.core.scores import Scores
from eirene.core.usage import Meter, Usage
from eirene.eval.base import Need
from eirene.eval.detectors.judge import ErrorJudge
from eirene.models.scripted import ScriptedChatModel
from eirene.refiners.base import RefineTask
from tests.scripted_parts import ScriptedFeedback

MODES: tuple[Mode, ...] = ("improve", "generic", "fine-grained")
BAD, GOOD = Scores(hallucination=0.5, coverage=0.8), Scores(hallucination=0.5, coverage=0.1)
GIVEN = [{"name": "pro", "arguments": ["Trams are quiet."]}]


def item(n: int, **more: Any) -> Item:
    return Item.model_validate({"id": f"i{n}", "question": "Trams?", "answer": f"It depends {n}.",
                                "perspectives": GIVEN, **more})  # fmt: skip


ITEMS = [item(n) for n in range(4)]


class Refiner:
    """Makes the answer better in the modes named; counts what it is asked, and fails or waits where it is told to."""

    name = "scripted"

    def __init__(
        self, *, helps: tuple[str, ...] = ("fine-grained",), fails: dict[str, Exception] | None = None
    ) -> None:
        self.helps, self.fails = helps, fails or {}
        self.asked: list[tuple[str, str, int]] = []

    async def refine(self, task: RefineTask, *, meter: Meter) -> str:
        await asyncio.sleep(0)
        self.asked.append((task.item.id, task.mode, task.seed))
        meter.add(Usage(calls=1, output_tokens=10, cost_usd=0.001))
        if task.item.id in self.fails:
            raise self.fails[task.item.id]
        return f"{task.answer} Trams are quiet." if task.mode in self.helps else f"{task.answer} Anyway."


class Scored:
    """A detector to which an answer that speaks of quiet is good."""

    name = "words"

    async def score(self, case: Any, *, meter: Meter) -> Scores:
        return GOOD if "quiet" in case.answer else BAD


def parts(refiner: Refiner, **more: Any) -> Parts:
    vote = Sample(tags=("Incomplete",), reasons=("Quiet is missing.",))
    feedback = ScriptedFeedback([vote] * 1000)
    return Parts("scripted", feedback, refiner, (Scored(),), version="1", **more)


def compare(out: Path, refiner: Refiner, items: list[Item] = ITEMS, **plan: Any) -> Gathered:
    settings = Settings.of(samples=4, max_rounds=1)
    wanted = ComparePlan(**{"modes": MODES, "settings": settings, "concurrency": 4, **plan})
    return asyncio.run(acompare(items, plan=wanted, parts=parts(refiner), out=out))


def lines(out: Path, name: str = "rows.jsonl") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / name).read_text().splitlines()]


def test_every_item_has_a_row_in_every_mode_and_seed(tmp_path: Path) -> None:
    found = compare(tmp_path, Refiner(), seeds=(0, 1))
    assert len(found.rows) == len(lines(tmp_path)) == 4 * 3 * 2
    assert {row.record.status for row in found.rows if row.mode == "fine-grained"} == {"accepted"}
    assert {row.record.status for row in found.rows if row.mode == "generic"} == {"kept"}


def test_a_rerun_does_nothing_twice_and_says_the_same(tmp_path: Path) -> None:
    first, again = Refiner(), Refiner()
    before = compare(tmp_path, first)
    after = compare(tmp_path, again)
    assert (len(first.asked), again.asked, after.n_from_journal) == (12, [], 12)
    assert before.rows == after.rows


def test_a_rerun_with_another_mode_does_that_mode_alone(tmp_path: Path) -> None:
    compare(tmp_path, Refiner(), modes=("improve",))
    refiner = Refiner()
    compare(tmp_path, refiner, modes=("improve", "generic"))
    assert {mode for _, mode, _ in refiner.asked} == {"generic"}
    assert compare(tmp_path, Refiner(), modes=("generic",)).n_left_out == 4


def test_rows_of_other_settings_or_items_are_refused(tmp_path: Path) -> None:
    compare(tmp_path, Refiner())
    with pytest.raises(InputError, match=r"other settings: .*max-rounds: 1 there, 2 now"):
        compare(tmp_path, Refiner(), settings=Settings.of(samples=4))
    with pytest.raises(InputError, match="another input"):
        compare(tmp_path, Refiner(), [item(0, question="Buses?")])


def test_failed_rows_stay_until_they_are_asked_for_again(tmp_path: Path) -> None:
    broken = Refiner(fails={"i1": UnreachableError("gone")})
    assert sum(row.record.status == "failed" for row in compare(tmp_path, broken).rows) == 3
    healed = Refiner()
    assert healed.asked == []
    compare(tmp_path, healed)
    assert healed.asked == []
    found = compare(tmp_path, healed, retry_failed=True)
    assert {name for name, _, _ in healed.asked} == {"i1"}
    assert not any(row.record.status == "failed" for row in found.rows)
    assert len(lines(tmp_path)) == 12


def test_a_key_that_is_refused_stops_the_run_and_its_row_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(AuthError, match="no key"):
        compare(tmp_path, Refiner(fails={"i2": AuthError("no key")}))
    assert not any(line["id"] == "i2" for line in lines(tmp_path))
    assert len(compare(tmp_path, Refiner()).rows) == 12


class Stuck(Refiner):
    """Comes to no end with any item but the first."""

    async def refine(self, task: RefineTask, *, meter: Meter) -> str:
        if task.item.id != "i0":
            await asyncio.sleep(600)
        return await super().refine(task, meter=meter)


def test_a_stop_keeps_what_is_done(tmp_path: Path) -> None:
    async def stopped() -> None:
        done = asyncio.Event()
        plan = ComparePlan(modes=MODES, settings=Settings.of(samples=4, max_rounds=1), concurrency=1)
        work = acompare(ITEMS, plan=plan, parts=parts(Stuck()), out=tmp_path, on_row=lambda _: done.set())
        task = asyncio.create_task(work)
        await done.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stopped())
    kept = len(lines(tmp_path))
    assert 0 < kept <= 3
    again = Refiner()
    assert compare(tmp_path, again).n_from_journal == kept
    assert len(again.asked) == 12 - kept


def test_a_plan_that_cannot_be_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    plans: list[tuple[dict[str, Any], str]] = [
        ({"modes": ()}, "no mode named"),
        ({"modes": ("best",)}, "unknown mode 'best'"),
        ({"modes": ("improve", "improve")}, "the mode 'improve' is named twice"),
        ({"seeds": ()}, "at least one seed"),
        ({"seeds": (1, 1)}, "the seed 1 is named twice"),
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"modes": ("human",)}, "row 'i0': mode human needs 'feedback'"),
    ]
    for plan, said in plans:
        refiner = Refiner()
        with pytest.raises(InputError, match=said):
            compare(tmp_path, refiner, **plan)
        assert refiner.asked == []
        assert not (tmp_path / "rows.jsonl").exists()


def judged(out: Path, model: ScriptedChatModel, refiner: Refiner, **plan: Any) -> Gathered:
    wanted = ComparePlan(MODES, settings=Settings.of(samples=4, max_rounds=1), concurrency=4, **plan)
    judge = ErrorJudge(model)
    return asyncio.run(acompare(ITEMS, plan=wanted, parts=parts(refiner), out=out, judge=judge))


def verdict(messages: list[Any]) -> str:
    text = str(messages[-1].content)
    if "It depends 3." in text:
        return "I cannot say."
    error = {"place": "", "kind": "missing", "reason": "Nothing of noise.", "penalty": 2}
    return json.dumps({"errors": [] if text.count("quiet") > 1 else [error]})


def test_a_judge_sees_each_text_once_and_a_rerun_asks_nothing(tmp_path: Path) -> None:
    """Four originals and four rewrites; the modes that changed nothing show the original."""
    model = ScriptedChatModel(verdict)
    judged(tmp_path, model, Refiner())
    assert len(model.calls) == len(lines(tmp_path, "judgements.jsonl")) == 8
    judged(tmp_path, model, Refiner())
    assert len(model.calls) == 8


def test_figures_are_those_of_a_hand(tmp_path: Path) -> None:
    gathered = judged(tmp_path, ScriptedChatModel(verdict), Refiner(helps=("generic", "fine-grained")))
    summary = summarise(gathered.rows, gathered.judgements, judge=gathered.judge, draws=200)
    fine = summary["per_mode"]["fine-grained"]
    assert fine["status"] == dict.fromkeys(STATUSES, 0) | {"accepted": 4}
    change = fine["scores"]["words.coverage"]
    assert (change["before"]["value"], change["after"]["value"]) == (pytest.approx(0.8), pytest.approx(0.1))
    errors = fine["judged"]["errors"]["error"]
    assert (errors["before"]["value"], errors["after"]["value"], errors["unscored_after"]) == (1.0, 0.0, 1)
    correction = fine["judged"]["correction"]
    assert (correction["corrected"], correction["left"], correction["unscored_rows"]) == (3, 0, 1)
    assert (correction["f1"]["value"], correction["f1"]["n"]) == (1.0, 3)
    assert fine["per_accepted"]["cost_usd"] == pytest.approx(0.001)
    improve = summary["per_mode"]["improve"]
    assert improve["per_accepted"] == {"unscored": "nothing was accepted"}
    assert improve["judged"]["correction"]["precision"]["unscored"] == "no error was corrected or introduced"
    pair = next(p for p in summary["pairs"] if (p["a"], p["b"]) == ("fine-grained", "improve"))
    found = {d["measure"]: d for d in pair["differences"]}
    assert found["error"]["difference"]["value"] == -1.0
    assert (found["error"]["difference"]["n"], found["error"]["unscored"]) == (3, 1)
    assert summary["primary"]["measure"] == "error"
    assert ("p" in found["accepted"], found["error"]["p"]) == (False, 0.25)
    assert found["error"]["p_holm"] == 0.25 * 3  # three pairs
    json.dumps(summary, allow_nan=False)


def test_failed_rows_are_unscored_and_counted(tmp_path: Path) -> None:
    gathered = compare(tmp_path, Refiner(fails={"i1": UnreachableError("gone")}))
    summary = summarise(gathered.rows, draws=50)
    assert summary["per_mode"]["improve"]["scores"]["words.coverage"]["unscored_after"] == 1
    pair = summary["pairs"][0]
    assert {d["unscored"] for d in pair["differences"] if d["measure"] in ("accepted", "words.coverage")} == {1}


def test_scores_against_a_critique_do_not_compare_between_modes(tmp_path: Path) -> None:
    gathered = compare(tmp_path, Refiner(), [item(n, perspectives=None) for n in range(2)])
    summary = summarise(gathered.rows, draws=50)
    assert summary["per_mode"]["fine-grained"]["scores"]["words.coverage"]["after"]["n"] == 2
    found = {d["measure"]: d for d in summary["pairs"][-1]["differences"]}
    assert found["words.coverage"]["difference"]["unscored"] == "no row is scored in both"
    assert found["accepted"]["difference"]["n"] == 2


def test_two_seeds_of_an_item_are_one_cluster(tmp_path: Path) -> None:
    gathered = compare(tmp_path, Refiner(), seeds=(0, 1, 2))
    summary = summarise(gathered.rows, draws=50)
    pair = next(p for p in summary["pairs"] if (p["a"], p["b"]) == ("fine-grained", "improve"))
    coverage = next(d for d in pair["differences"] if d["measure"] == "words.coverage")
    assert (pair["rows"], coverage["difference"]["clusters"], coverage["p"]) == (12, 4, 0.125)
    assert "|seed:0,1,2|" in summary["signatures"]["improve"]


def test_nothing_is_called_better_on_fewer_than_six_items(tmp_path: Path) -> None:
    """All items agree; a sign test over five of them would still give p = 2 / 2**5."""
    for n, verdict in ((1, "open"), (5, "open"), (6, "better")):
        items = [item(i) for i in range(n)]
        gathered = compare(tmp_path / str(n), Refiner(), items, modes=("improve", "fine-grained"))
        (pair,) = summarise(gathered.rows, draws=100)["pairs"]
        found = {d["measure"]: d for d in pair["differences"]}
        assert found["words.coverage"]["verdict"] == verdict
        assert found["accepted"]["verdict"] is None
        assert ("low" in found["words.coverage"]["difference"]) == (n > 1)


def test_what_all_modes_share_is_done_before_any_of_them_is_timed(tmp_path: Path) -> None:
    events: list[str] = []

    class Computes(Scored):
        needs = frozenset[Need]()
        version = ""

        async def score(self, case: Any, *, meter: Meter) -> Scores:
            events.append(case.answer)
            return await super().score(case, meter=meter)

    class Tells(Refiner):
        async def refine(self, task: RefineTask, *, meter: Meter) -> str:
            events.append(task.mode)
            return await super().refine(task, meter=meter)

    whole = replace(parts(Tells()), detectors=(Computes(),))
    plan = ComparePlan(("improve", "generic"), settings=Settings.of(max_rounds=1), concurrency=1)
    asyncio.run(acompare(ITEMS[:1], plan=plan, parts=whole, out=tmp_path))
    assert events[0] == ITEMS[0].answer
    assert events.count(ITEMS[0].answer) == 1
