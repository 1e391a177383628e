"""Readings beside passages that deny, ask or suppose something: such a passage does not say it."""

from __future__ import annotations

import eirene
from eirene.core.verification import ClaimVerdict
from eirene.verification.verify import verify_item

CLAIM = "The castle burned down in 1604."


def judged(answer: str, *passages: str) -> ClaimVerdict:
    found = eirene.verify(answer, list(passages)).claims
    return found[-1]


def test_a_claim_is_not_supported_by_what_is_not_said() -> None:
    found = {
        passage: judged(CLAIM, passage)
        for passage in [
            "It is untrue that the castle burned down in 1604.",
            "The belief that the castle burned down in 1604 is a misconception.",
            "The following is a legend and a falsehood. The castle burned down in 1604.",
            "The castle burned down in 1604. This claim was later debunked.",
            "The owner denies that the castle burned down in 1604.",
            "There is no proof that the castle burned down in 1604.",
            "Suppose the castle burned down in 1604.",
            "If the castle burned down in 1604, its papers were lost.",
            "Villagers spread the rumour that the castle burned down in 1604.",
            "Did the castle burn down in 1604?",
        ]
    }
    assert [passage for passage, own in found.items() if own.verdict == "supported" or (own.risk or 0.0) <= 0.35] == []


def test_what_is_said_in_its_frame_or_beside_one_stays_supported() -> None:
    rows = [
        (CLAIM, "The chronicle reports that the castle burned down in 1604."),
        (CLAIM, "Did the castle burn down in 1604? Yes, the castle burned down in 1604."),
        (CLAIM, "If you visit, bring a lamp. The castle burned down in 1604."),
        (CLAIM, "It is a myth that a dragon lived there. The castle burned down in 1604."),
        (CLAIM, "The castle burned down in 1604, although the owner denied that he had been careless."),
        (CLAIM, "There is no doubt that the castle burned down in 1604."),
        ("It is untrue that the castle burned down in 1604.", "It is false that the castle burned down in 1604."),
        ("It is a myth that the castle burned down in 1604.", "The castle did not burn down in 1604."),
        (
            "There is a rumour that the castle burned down in 1604.",
            "Rumour has it that the castle burned down in 1604.",
        ),
        (
            "The following is a myth. The castle burned down in 1604.",
            "It is false that the castle burned down in 1604.",
        ),
    ]
    assert [row for row in rows if judged(*row).verdict != "supported"] == []


def test_what_may_not_have_come_about_is_no_support_and_no_fault() -> None:
    rows = [
        ("The club sold its stadium.", "The club tried to sell its stadium."),
        ("The chimney fell in the gale.", "The chimney nearly crashed down in the gale."),
        ("The clerk copied the keys.", "Her colleagues accuse the clerk of having copied the keys."),
        ("The crew would be home by Friday.", "Unless the wind turns, the crew would be home by Friday."),
        ("The office moved to Oslo.", "Instead of moving the office to Oslo, they closed it."),
    ]
    assert [row for row in rows if judged(*row).verdict != "unclear"] == []


def test_a_claim_with_the_same_reserve_stays_supported() -> None:
    rows = [
        ("If the wind turns, the crew stays.", "The crew stays if the wind turns."),
        ("A crew that lost its sail stays in port.", "If a crew lost its sail, it stays in port."),
        ("The club hoped to sell its stadium.", "The club had hoped to sell its stadium."),
        ("The club sold its stadium.", "The club, which had hoped to keep it, sold its stadium."),
    ]
    assert [row for row in rows if judged(*row).verdict != "supported"] == []


def test_a_denial_of_what_the_passage_says_is_not_supported() -> None:
    verdicts = [
        judged(f"{denial} the castle burned down in 1604.", CLAIM).verdict
        for denial in ["It is false that", "It is a myth that", "Some people wrongly say that"]
    ]
    assert not {"supported", "not checked"} & set(verdicts)


def test_a_denied_claim_is_contradicted_by_the_sentence_that_denies_it() -> None:
    found = judged(CLAIM, "It is untrue that the castle burned down in 1604.")
    assert found.verdict == "contradicted"
    assert found.evidence is not None and found.evidence.text.startswith("It is untrue")


def test_what_one_passage_says_and_another_denies_is_unclear_and_shown_with_the_denial() -> None:
    said = "The castle burned down in 1604."
    others = ["It is a myth that the castle burned down in 1604.", "The castle burned down in 1640."]
    assert judged(CLAIM, said).verdict == "supported"
    found = [judged(CLAIM, said, other) for other in others]
    assert [(j.verdict, j.evidence and j.evidence.text) for j in found] == [("unclear", other) for other in others]


def test_sides_may_deny_each_other() -> None:
    item = eirene.Item(
        question="Did it burn?",
        answer="Supporters say that the castle burned down in 1604.",
        perspectives={"pro": [CLAIM], "con": ["It is a myth that the castle burned down in 1604."]},
    )
    found = verify_item(item, item.answer)
    assert found is not None and found.claims[0].verdict == "supported"
