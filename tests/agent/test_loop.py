"""The whole loop on scripted models: every status, every way out."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import eirene
from eirene.core.critique import Sample
from eirene.core.errors import BackendError, InputError
from eirene.core.records import Record
from tests.agent.loop import BAD, FAULTY, GOOD, ITEM, NOISE, OPEN_ITEM, ORIGINAL, SPOTLESS, WORSE, scores
from tests.scripted_parts import ScriptedDetector, ScriptedRefiner, scripted_parts


def run(item: dict[str, Any] = ITEM, *, parts: Any = None, **options: Any) -> Record:
    samples, rewrites, table = (
        options.pop("samples", [FAULTY] * 20),
        options.pop("rewrites", ()),
        options.pop("scores", {}),
    )
    parts = parts or scripted_parts(samples=samples, rewrites=rewrites, scores={ORIGINAL: BAD, **table})
    return eirene.refine(item, backend=parts, **options)


def test_accepts_at_once() -> None:
    record = run(rewrites=["better"], scores={"better": GOOD})
    assert (record.status, record.answer) == ("accepted", "better")
    assert [r.decision for r in record.rounds] == ["accept"]
    assert record.scores.original == {"scripted": BAD}
    assert record.scores.final == {"scripted": GOOD}
    assert record.usage.calls == 21


def test_accepts_at_round_two_without_a_second_vote() -> None:
    """A rejected rewrite leaves the critique standing: the refiner is told what the gate found, nobody votes again."""
    parts = scripted_parts(
        samples=[FAULTY] * 20, rewrites=["worse", "better"], scores={ORIGINAL: BAD, "worse": WORSE, "better": GOOD}
    )
    record = run(parts=parts)
    assert [r.decision for r in record.rounds] == ["reject", "accept"]
    assert [len(r.samples) for r in record.rounds] == [20, 0]
    assert record.rounds[1].critique == record.rounds[0].critique
    refiner = parts.refiner
    assert isinstance(refiner, ScriptedRefiner)
    assert refiner.tasks[0].rejections == ()
    assert refiner.tasks[1].rejections[0].candidate == "worse"
    assert "0.60 -> 0.90" in refiner.tasks[1].rejections[0].why
    assert refiner.tasks[0].seed != refiner.tasks[1].seed


def test_keeps_the_original_when_every_rewrite_is_worse() -> None:
    record = run(rewrites=["w1", "w2"], scores={"w1": WORSE, "w2": WORSE})
    assert (record.status, record.answer, len(record.rounds)) == ("kept", ORIGINAL, 2)
    assert record.scores.final == record.scores.original


def test_stops_at_the_limit_and_at_the_end_of_patience() -> None:
    for rounds, patience, tries in [(1, 1, 1), (5, 0, 1), (5, 1, 2), (5, 9, 5), (3, 2, 3)]:
        names = [f"w{n}" for n in range(5)]
        record = run(rewrites=names, scores=dict.fromkeys(names, WORSE), max_rounds=rounds, patience=patience)
        assert (record.status, len(record.rounds)) == ("kept", tries)


def test_a_hundred_rounds_fit_into_the_recursion_limit() -> None:
    names = [f"w{n}" for n in range(100)]
    record = run(rewrites=names, scores=dict.fromkeys(names, WORSE), max_rounds=100, patience=100)
    assert (record.status, len(record.rounds)) == ("kept", 100)


def test_complete_when_the_vote_finds_nothing() -> None:
    record = run(samples=[SPOTLESS] * 20)
    assert (record.status, record.answer) == ("complete", ORIGINAL)
    assert record.rounds[0].critique is not None
    assert record.rounds[0].candidate is None
    assert record.scores.original == record.scores.final == {"scripted": BAD}


def test_abstains_without_a_quorum_and_says_why() -> None:
    record = run(samples=[NOISE] * 18 + [FAULTY] * 2)
    assert (record.status, record.answer) == ("abstained", ORIGINAL)
    assert "refusal" in record.why
    assert len(record.rounds[0].samples) == 20


def test_abstains_under_the_floor() -> None:
    mixed = [FAULTY, SPOTLESS] * 10
    assert run(samples=mixed, min_consistency=0.9).status == "abstained"


def test_an_unusable_rewrite_is_a_rejected_round_and_is_not_scored() -> None:
    for rewrite, said in [
        ("  \n", "empty"),
        (ORIGINAL, "unchanged"),
        ("I'm sorry, but I cannot help with that.", "refusal"),
        ("As an AI I have no opinion.", "refusal"),
        ("Trams. " * 1000, "7000 characters; for an answer of 33 at most 4033 are read"),
    ]:
        record = run(rewrites=[rewrite, "better"], scores={"better": GOOD})
        assert said in record.rounds[0].why
        assert record.rounds[0].scores == {}
        assert record.status == "accepted"


def test_a_repeated_rewrite_is_a_rejected_round() -> None:
    record = run(rewrites=["worse", "worse"], scores={"worse": WORSE})
    assert "repeats" in record.rounds[1].why


def test_going_on_after_accepting_votes_on_the_new_text_and_keeps_what_was_accepted() -> None:
    again = Sample(tags=("Incomplete",), reasons=("More.",))
    record = run(
        samples=[FAULTY] * 20 + [again] * 20,
        rewrites=["better", "best"],
        scores={"better": scores(0.1, 0.3), "best": GOOD},
        after_accept="continue",
    )
    assert (record.status, record.answer) == ("accepted", "best")
    worse_second = run(
        samples=[FAULTY] * 20 + [again] * 20,
        rewrites=["better", "worse"],
        scores={"better": GOOD, "worse": WORSE},
        after_accept="continue",
    )
    assert (worse_second.status, worse_second.answer) == ("accepted", "better")
    assert worse_second.scores.final == {"scripted": GOOD}


def test_modes_without_feedback_draw_no_sample() -> None:
    for mode in ["improve", "generic"]:
        record = run(samples=[], rewrites=["better"], scores={"better": GOOD}, mode=mode)
        assert record.status == "accepted"
        assert record.rounds[0].critique is None
        assert record.usage.calls == 1


def test_human_mode_takes_the_notes_of_the_row() -> None:
    item = {**ITEM, "feedback": [{"sentence": 2, "reason": "Say how cheap."}, {"sentence": 2, "reason": "Where?"}]}
    record = run(item, samples=[], rewrites=["better"], scores={"better": GOOD}, mode="human")
    critique = record.rounds[0].critique
    assert critique is not None
    assert [s.tag for s in critique.sentences] == ["Complete", "Incomplete"]
    assert critique.sentences[1].reason == "Say how cheap. Where?"


def test_human_mode_without_usable_notes_is_an_input_error() -> None:
    for item, said in [
        (ITEM, "needs 'feedback'"),
        ({**ITEM, "feedback": [{"sentence": 3, "reason": "x"}]}, "has 2 sentences"),
    ]:
        with pytest.raises(InputError, match=said):
            run(item, mode="human")


def test_an_open_question_without_critique_falls_to_the_setting() -> None:
    """Nothing was given: the scores can show harm, never gain."""
    table = {"longer": scores(0.1, 0.6)}
    options: dict[str, Any] = {"samples": [], "rewrites": ["longer"], "scores": table, "mode": "improve"}
    accepted = run(OPEN_ITEM, **options, when_gain_unmeasured="accept")
    assert "nothing to measure a gain" in accepted.why
    kept = run(OPEN_ITEM, **options, max_rounds=1)  # as it is by default
    assert (accepted.status, kept.status) == ("accepted", "kept")


def test_an_open_question_with_a_critique_is_scored_against_what_it_asks() -> None:
    record = run(OPEN_ITEM, rewrites=["better"], scores={"better": GOOD})
    assert record.status == "accepted"
    assert record.rounds[0].critique is not None


def test_a_model_that_fails_leaves_the_original_the_reason_and_the_record() -> None:
    for where in ["samples", "rewrites"]:
        broken = BackendError("the server is gone")
        options: dict[str, Any] = {"samples": [FAULTY] * 20, "rewrites": ["better"], where: [broken]}
        record = run(**options)
        assert (record.status, record.answer) == ("failed", ORIGINAL)
        assert record.error is not None
        assert (record.error.kind, record.error.message) == ("BackendError", "the server is gone")
        assert record.usage.calls >= 1
        if where == "rewrites":
            assert record.rounds[0].critique is not None


def test_a_bug_in_a_part_ends_as_a_failed_record() -> None:
    class Broken(ScriptedRefiner):
        async def refine(self, *args: Any, **kwargs: Any) -> str:
            raise ZeroDivisionError("oops")

    parts = scripted_parts(samples=[FAULTY] * 20, scores={ORIGINAL: BAD})
    record = run(parts=eirene.Parts("x", parts.feedback_model, Broken([]), parts.detectors))
    assert record.error is not None
    assert record.error.kind == "ZeroDivisionError"


def test_a_detector_that_fails_is_unscored_and_the_rewrite_is_not_let_through() -> None:
    record = run(rewrites=["new"], scores={"new": BackendError("judge down")}, max_rounds=1)
    assert record.status == "kept"
    assert "judge down" in record.why


def test_the_deadline_ends_a_run_with_the_original() -> None:
    import asyncio

    class Slow(ScriptedRefiner):
        async def refine(self, *args: Any, **kwargs: Any) -> str:
            await asyncio.sleep(60)
            return "never"

    parts = scripted_parts(samples=[FAULTY] * 20, scores={ORIGINAL: BAD})
    record = run(parts=eirene.Parts("x", parts.feedback_model, Slow([]), parts.detectors), deadline_s=0.05)
    assert record.status == "failed"
    assert record.error is not None
    assert record.error.kind == "Deadline"


def test_the_same_seed_gives_the_same_record() -> None:
    def once(seed: int) -> dict[str, Any]:
        record = run(rewrites=["better"], scores={"better": GOOD}, seed=seed)
        return record.model_dump(exclude={"usage": {"seconds"}})

    assert once(3) == once(3)
    assert once(3)["seed"] == 3
    assert "seed:3" in once(3)["signature"]


def test_an_advisory_detector_is_shown_and_does_not_decide() -> None:
    parts = scripted_parts(samples=[FAULTY] * 20, rewrites=["better"], scores={ORIGINAL: BAD, "better": GOOD})
    veto = ScriptedDetector({ORIGINAL: GOOD, "better": WORSE}, name="adviser")
    both = eirene.Parts(
        "x", parts.feedback_model, parts.refiner, (veto, *parts.detectors), advisory=frozenset({"adviser"}), checks=()
    )
    record = run(parts=both)
    assert record.status == "accepted"
    assert record.scores.final["adviser"] == WORSE
    assert "(adviser)+scripted" in record.signature


def test_detectors_that_ask_a_model_are_asked_about_every_text_at_once() -> None:
    import asyncio

    texts = {ORIGINAL: BAD, "better": GOOD}
    everyone = asyncio.Barrier(2 * len(texts))

    class Meets(ScriptedDetector):
        """Answers when two detectors have been asked about both texts: asked in turn they would wait for ever."""

        async def score(self, *args: Any, **kwargs: Any) -> Any:
            await everyone.wait()
            return await super().score(*args, **kwargs)

    parts = scripted_parts(samples=[FAULTY] * 20, rewrites=["better"], scores=texts)
    asks: frozenset[Any] = frozenset({"judge"})
    judges = Meets(texts, name="one", needs=asks), Meets(texts, name="two", needs=asks)
    record = run(parts=eirene.Parts("x", parts.feedback_model, parts.refiner, judges, checks=()), deadline_s=5.0)
    assert record.status == "accepted", record.why
    assert list(record.scores.final) == ["one", "two"]


def test_models_of_earlier_runs_are_let_go() -> None:
    """Compiled graphs are kept for the next run, and hold the models: a second large one would not fit beside them."""
    parts = scripted_parts(samples=[SPOTLESS] * 20, rewrites=(), scores={ORIGINAL: BAD})
    run(parts=parts)
    held = weakref.ref(parts.refiner)
    del parts
    run(rewrites=["better"], scores={"better": GOOD})
    gc.collect()
    assert held() is None
