"""Evidence retrieval: the sentences that bear on question and answer, in order, the same for the same texts."""

from __future__ import annotations

from eirene.agent.evidence import bearing_evidence
from eirene.core.grounding import whole_evidence
from eirene.core.records import FOUND_PASSAGES, Item
from eirene.models.verifier.runtime import shipped_verifier
from eirene.verification.context import ContextReader

FILLER = "Bakers mix flour with water. The dough rests for an hour. Ovens are hot. Loaves cool. Shops open late."
PASSAGES = [
    f"{FILLER} Oslo is the capital of Norway.",
    f"Trams run at night. {FILLER.replace('Bakers', 'Cooks')} Norway's king lives in Oslo. Bergen has 290,000 people.",
]
ITEM = Item(
    question="What is the capital of Norway?", answer="It is Oslo. Bergen has 100 people.", context=PASSAGES,
    meta={FOUND_PASSAGES: ["a", "b"]},
)  # fmt: skip


def test_what_bears_on_question_and_answer_is_chosen_and_stands_in_order() -> None:
    reader = ContextReader(shipped_verifier(), PASSAGES)
    found = bearing_evidence(ITEM, ITEM.answer, reader, 3)
    assert [e.text for e in found.sentences] == [
        "Oslo is the capital of Norway.", "Norway's king lives in Oslo.", "Bergen has 290,000 people.",
    ]  # fmt: skip
    assert all(PASSAGES[e.passage - 1][e.start : e.end] == e.text for e in found.sentences)
    assert (found.ids, found.cut) == (("a", "b", "b"), None)
    assert found.n_given == len(whole_evidence(ITEM).sentences)
    assert bearing_evidence(ITEM, ITEM.answer, reader, 3) == found


def test_all_is_shown_for_zero_and_where_there_is_no_more() -> None:
    reader = ContextReader(shipped_verifier(), PASSAGES)
    for count in (0, 100):
        assert bearing_evidence(ITEM, ITEM.answer, reader, count) == whole_evidence(ITEM)
