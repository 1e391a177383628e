"""FActScore: claims that stand alone, the share that is supported, what is left out, and what an edit gains."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest
from langchain_core.messages import AIMessage

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Scores, Unscored, number
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.eval.detectors.factscore import FactScore
from eirene.eval.registry import build_detector
from eirene.eval.resources import Resources
from eirene.models.chat import ChatModel
from eirene.models.limits import RetryPolicy
from eirene.models.scripted import ScriptedChatModel
from tests.rows import each

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

PASSAGE = "Ada Lovelace was born in London in 1815. She wrote about the Analytical Engine."
GIVEN = Grounding("context", (ArgumentGroup("context", (PASSAGE,)),))
OPEN = Grounding("derived", ())
BEFORE = "Ada Lovelace was born in Paris in 1815. She wrote about the Analytical Engine."
AFTER = BEFORE.replace("Paris", "London")


def claims_of(text: str) -> list[str]:
    born = "Paris" if "born in Paris" in text else "London"
    wrote = "Ada Lovelace wrote about the Analytical Engine."
    return [f"Ada Lovelace was born in {born}.", "Ada Lovelace was born in 1815.", wrote]


def judge(messages: Sequence[BaseMessage]) -> str:
    """Splits the answer, and supports what says nothing of Paris."""
    text = str(messages[-1].content)
    if "Claim: " not in text:
        return json.dumps({"claims": claims_of(text)})
    return "No" if "Paris" in text.rpartition("Claim: ")[2] else "Yes"


async def scored(*script: str | AIMessage | Exception, answer: str = BEFORE, given: Grounding = GIVEN) -> Scores:
    chat = ChatModel(ScriptedChatModel(list(script)), retry=RetryPolicy(attempts=1))
    return await FactScore(chat).score(Case("Who was she?", answer, given), meter=Meter())


@each("name, given", [("factscore", GIVEN), ("factscore", OPEN), ("factscore-verifier", GIVEN)])
async def test_the_gain_of_an_edit_is_the_difference_of_the_shares(name: str, given: Grounding) -> None:
    """FAVA, section 6.2 and table 4: FActScore before and after; two of three claims, then all three."""
    model, meter = ScriptedChatModel(judge), Meter()
    detector = build_detector(name, Resources(judge_model=model))
    before, after, again = [
        await detector.score(Case("Who was she?", text, given), meter=meter) for text in (BEFORE, AFTER, AFTER)
    ]
    assert before.raw == {"supported": pytest.approx(2 / 3), "claims": 3.0, "unread": 0.0}
    assert number(before.hallucination) == pytest.approx(1 / 3)
    assert (after.hallucination, again.hallucination) == (0.0, 0.0)
    splits = [call.text for call in model.calls if "Claim: " not in call.text]
    assert len(splits) == 2 and all("stands alone" in text and "every pronoun" in text for text in splits)
    assert PASSAGE not in splits[0]  # the claims are the answer's, whatever was given
    asked = [call.text for call in model.calls if "Claim: " in call.text]
    assert len(asked) == (9 if name == "factscore" else 0)
    assert all((PASSAGE in text) == (given is GIVEN) for text in asked)


CLAIMS = json.dumps({"claims": ["A is b.", "C is d.", "E is f."]})
_CUT = AIMessage(content=CLAIMS, response_metadata={"finish_reason": "length"})


@each("script, answer, why", [
    (["- A is b.\n- C is d."], BEFORE, "not in the form asked for"),
    (['{"claims": ["A is b.", 1]}'], BEFORE, "not in the form asked for"),
    ([_CUT], BEFORE, "cut off"),
    (['{"claims": []}'], "How are you?", "claims nothing"),
    ([], " ", "empty"),
    ([], "I'm sorry, but I cannot help with that.", "refuses"),
    ([CLAIMS, "Yes", "Perhaps.", "0.5"], BEFORE, "1 of 3 claims have a verdict"),
])  # fmt: skip
async def test_what_cannot_be_read_is_unscored_with_the_reason(
    script: list[str | AIMessage | Exception], answer: str, why: str
) -> None:
    found = (await scored(*script, answer=answer)).hallucination
    assert isinstance(found, Unscored) and why in found.unscored


async def test_a_claim_that_nobody_could_judge_is_left_out_and_counted() -> None:
    scores = await scored(f"```json\n{CLAIMS}\n```", "Yes", "No", ConnectionError("gone"))
    assert (scores.hallucination, scores.raw) == (0.5, {"supported": 0.5, "claims": 3.0, "unread": 1.0})
    verifier = build_detector("factscore-verifier", Resources(judge_model=ScriptedChatModel([])))
    assert isinstance((await verifier.score(Case("Who?", BEFORE, OPEN), meter=Meter())).hallucination, Unscored)
