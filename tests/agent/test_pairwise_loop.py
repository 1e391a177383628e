"""The pairwise judge in the loop: where it is asked, what the gate makes of it, what the record keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

import eirene
from eirene.agent.backends import BackendOptions
from eirene.agent.detectors import with_judge
from eirene.agent.state import Parts
from eirene.core.records import Record
from eirene.core.scores import Scores
from eirene.eval.pairwise import ChatPairwise
from eirene.models.scripted import ScriptedChatModel
from eirene.testing.loopback import LoopbackServer
from eirene.testing.script import ScriptedRequest, TextReply
from tests.agent.loop import BAD, FAULTY, GOOD, ITEM, OPEN_ITEM, ORIGINAL, WORSE
from tests.scripted_judges import ScriptedPairJudge, longer
from tests.scripted_parts import scripted_parts

REWRITE = "Trams are quiet. Buses are cheap. Trams pollute less than buses do."
NOTE = {"feedback": [{"sentence": 2, "reason": "Say which pollutes less."}]}
SHORTER = ScriptedPairJudge(lambda a, b: {"A": "B", "B": "A"}.get(longer(a, b), "neither"))
A = ScriptedPairJudge(lambda *_: "A")
REFUSAL = "I am sorry, I cannot help with that."


def model_of(judge: ScriptedPairJudge | str) -> ScriptedChatModel:
    def reply(messages: list[BaseMessage]) -> str:
        return judge if isinstance(judge, str) else judge.reply("\n".join(str(m.text) for m in messages)) or "?"

    return ScriptedChatModel(reply)


def parts(judge: ScriptedPairJudge | str | ScriptedChatModel, *, after: Scores = BAD, rewrites: int = 1) -> Parts:
    model = judge if isinstance(judge, ScriptedChatModel) else model_of(judge)
    texts = [REWRITE + " Ask." * n for n in range(rewrites)]
    made = scripted_parts(
        samples=[FAULTY] * 20 * rewrites, rewrites=texts, scores={ORIGINAL: BAD, **dict.fromkeys(texts, after)}
    )
    return replace(made, pairwise=ChatPairwise(model), checks=())


def run(made: Parts, item: dict[str, Any] = OPEN_ITEM, **settings: Any) -> Record:
    return eirene.refine(item, backend=made, **{"mode": "improve", "max_rounds": 1, **settings})


def test_it_decides_where_nothing_was_given() -> None:
    """Whatever becomes of what nothing can measure: a judge that cannot tell is no reason to accept."""
    for judge, status, why in [
        (ScriptedPairJudge(), "accepted", "finds it better with probability 0.88 by 6 votes"),
        (SHORTER, "kept", "finds it better with probability 0.12 by 6 votes, and 0.75 is needed"),
        (A, "kept", "finds it better with probability 0.50 by 6 votes, and 0.75 is needed"),
        (REFUSAL, "kept", "could not tell: none of 3 replies says A or B"),
    ]:
        record = run(parts(judge), when_gain_unmeasured="accept")
        assert record.status == status and why in record.why and record.rounds[0].pairwise is not None
        assert Record.model_validate_json(record.to_json()) == record


def test_with_a_critique_its_reasons_do_not_stand_in_for_the_judge() -> None:
    """The scores say that what the critique asked for is there now; the judge does not find it better."""
    record = run(parts(SHORTER, after=GOOD), mode="fine-grained")
    assert record.status == "kept" and record.rounds[0].pairwise is not None
    assert run(parts(ScriptedPairJudge(), after=GOOD), mode="fine-grained").status == "accepted"


def test_what_a_persons_notes_ask_for_is_a_gain_unless_it_is_surely_worse() -> None:
    for judge, status in [(A, "accepted"), (SHORTER, "kept"), (REFUSAL, "kept")]:
        record = run(parts(judge, after=GOOD), {**OPEN_ITEM, **NOTE}, mode="human")
        assert record.status == status


def asked(item: dict[str, Any] = OPEN_ITEM, *, after: Scores = BAD, rewrite: str = REWRITE, **settings: Any) -> bool:
    """Whether the judge was asked, which the record tells."""
    model = model_of(ScriptedPairJudge())
    made = replace(parts(model, after=after), refiner=scripted_parts(rewrites=[rewrite]).refiner)
    record = run(made, item, **settings)
    assert bool(model.calls) == (record.rounds[0].pairwise is not None) == ('"pairwise"' in record.to_json())
    return bool(model.calls)


def test_it_is_asked_only_where_it_is_needed_and_harm_that_the_scores_show_costs_no_call() -> None:
    assert asked()
    assert not asked(after=WORSE)
    assert not asked(ITEM)
    assert not asked({**OPEN_ITEM, "context": ["Trams are quiet."]})
    assert not asked(judge_risk=0)
    assert not asked(rewrite=ORIGINAL)


def test_another_judge_that_measures_takes_its_place_and_gives_it_its_model() -> None:
    model = ScriptedChatModel(lambda m: "Verdict: yes" if REWRITE not in str(m[-1].content) else "Verdict: no")
    made = with_judge(parts(ScriptedPairJudge()), model)
    record = run(made)
    assert record.status == "accepted" and "(by judge)" in record.why and record.rounds[0].pairwise is None
    assert made.pairwise is not None and made.pairwise.name == "ScriptedChatModel"


def test_a_round_has_its_own_judgement_and_a_round_without_a_rewrite_has_none() -> None:
    """Two rewrites, two judgements; after an accepted one the next vote finds nothing, and its round says nothing."""
    rejected = run(parts(SHORTER, rewrites=2), max_rounds=2)
    assert [r.pairwise is not None for r in rejected.rounds] == [True, True]
    made = parts(ScriptedPairJudge(), rewrites=2)
    spotless = eirene.Sample(tags=("Complete",) * 3, reasons=(None,) * 3)
    made = replace(made, feedback_model=scripted_parts(samples=[FAULTY] * 20 + [spotless] * 20).feedback_model)
    record = run(made, mode="fine-grained", max_rounds=2, after_accept="continue")
    assert record.status == "accepted" and [r.pairwise is not None for r in record.rounds] == [True, False]


def test_the_setting_is_what_the_probability_may_lack_and_stands_in_the_signature() -> None:
    for risk, status in [(0.1, "kept"), (0.2, "accepted")]:
        made = parts(ScriptedPairJudge())
        record = run(made, judge_risk=risk)
        assert record.status == status and f"|judge:{risk}|" in record.signature
        assert "|judge:" not in run(replace(made, pairwise=None)).signature


@pytest.mark.usefixtures("loopback")
@pytest.mark.parametrize("mode", ["improve", "fine-grained"])
def test_a_chat_models_own_judgement_passes_a_better_answer_over_a_server(
    mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The backend's model critiques, rewrites and compares, through the real client; every call is on the record."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    judge = ScriptedPairJudge()

    def script(request: ScriptedRequest, _: int) -> TextReply:
        if (vote := judge.reply(request.text)) is not None:
            return TextReply(vote)
        if "Write the improved answer now" in request.text:
            return TextReply(REWRITE)
        if "You mend the answer" in request.text:
            return TextReply(f"after 2: {REWRITE.removeprefix(ORIGINAL).strip()}")
        return TextReply("1. [Complete]\n2. [Incomplete] Reasons: Which pollutes less is missing.")

    with LoopbackServer(script) as server:
        options = BackendOptions(base_url=server.base_url)
        record = eirene.refine(OPEN_ITEM, backend="openai:test", backend_options=options, mode=mode, samples=4)
        assert record.usage.calls == server.calls == (4 if mode == "improve" else 5)
    assert (record.status, record.answer) == ("accepted", REWRITE)
    assert record.rounds[0].pairwise is not None and record.rounds[0].pairwise.judge == "openai:test"
