"""One reading, one verdict: `verify`, the critic of `refine`, scores and checks agree on every sentence."""

from __future__ import annotations

import asyncio

import eirene
from eirene.agent.check.rows import RowMeasure
from eirene.eval.base import case_of
from eirene.eval.detectors.verifier import score_verifier
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.embedded.reading import faults_by_reading
from eirene.models.verifier.runtime import shipped_verifier
from eirene.text.sentences import split_sentences

PASSAGES = [
    "The Norby lighthouse was built in 1869 by Ida Lindqvist. It stands on the left bank of the Vanne. Its lamp is not "
    "lit in winter, when no ships sail.",
    "The keeper's house holds a small museum. Tickets cost 12 crowns. It is a myth that the museum owns a whale.",
]


def test_all_that_judge_a_sentence_agree() -> None:
    for answer in [
        "The lighthouse was built in 1869. It stands on the left bank of the Vanne.",
        "The lighthouse was built in 1896. It stands on the right bank of the Vanne. Tickets cost 12 crowns.",
        "The lamp is lit in winter. Tickets cost 20 crowns.",
        "The museum owns a whale. Penguins elected a mayor on Tuesday. Is it open?",
        "Opinions differ. The museum is small and cheap, and the keeper liked it.",
        "Der Leuchtturm wurde im Jahr 1896 von einer anderen Frau gebaut und ist sehr schön.\nTickets cost 21 crowns. "
        "The lamp is not lit in winter, and the tickets of the small museum are sold in the house of the keeper.",
    ]:
        item = eirene.Item(id="a", question="What is known?", answer=answer, context=PASSAGES)
        sentences = split_sentences(answer)
        claims = eirene.verify(answer, PASSAGES).claims
        faults = faults_by_reading(FeedbackRequest(item, answer, sentences, 0), shipped_verifier())
        assert not isinstance(faults, str)
        scores = score_verifier(case_of(item), shipped_verifier())
        row = asyncio.run(RowMeasure().measure(item))

        faulty = [claim.n for claim in claims if claim.is_faulty]
        assert [fault.sentence + 1 for fault in faults if fault.margin > 0] == faulty
        mended = {f.sentence + 1 for f in faults if f.margin > 0 and f.findings[0].kind in ("entity", "relation")}
        assert mended <= {claim.n for claim in claims if claim.verdict == "contradicted"}
        risks = {s.n: s.hallucination for s in scores.sentences if isinstance(s.hallucination, float)}
        assert risks == {claim.n: claim.risk for claim in claims if claim.risk is not None}
        shown = [(fault.kind, fault.text) for fault in row.faults if fault.kind != "weakest"]
        assert shown == [(claim.verdict, claim.text) for claim in claims if claim.is_faulty]
