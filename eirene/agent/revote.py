"""The `findings` detector: the hallucination critic votes again, on the text before and on the text after.

An edit of a few words hardly moves scores that look at whole sentences. What found the fault can tell whether it is
gone: the same critic, asked anew about both texts with samples of their own, so that what a vote happened to say about
the original is no advantage of either.
"""

from __future__ import annotations

from eirene.eval.base import NOTHING, Case, Need
from eirene.eval.kept import Kept
from eirene.fava.edits import is_noted
from eirene.feedback_model.base import FeedbackModel, FeedbackRequest
from eirene.feedback_model.hallucination_vote import vote_on_findings
from eirene.feedback_model.sampling import draw_samples
from eirene.feedback_model.select import MIN_VALID, findings_by_sentence
from eirene.records import Item, Perspective
from eirene.scores import Scores, SentenceScore, Unscored
from eirene.seeds import derive_seed
from eirene.sentences import split_sentences
from eirene.usage import Meter

FINDINGS = "findings"
VOTERS = 5
"""Samples of a vote on one text at most where each is a call of a model, beside the critique's own twenty."""
_KEPT = 64


class FindingsDetector:
    """The share of an answer's sentences in which the hallucination critic's vote finds something.

    Score: hallucination = sentences with a kept finding / sentences, in [0, 1]; of a sentence = the largest share of
        samples that agree on one of its findings, 0 without one. A finding that the text itself names in brackets
        counts as none: the reader is told. Coverage is unscored; so is everything under a quorum.
    Needs: the critic; given text is what it holds the answer against, where there is some.
    Reference: the vote is `eirene.feedback_model.hallucination_vote`; docs/hallucinations.md.
    """

    name = FINDINGS

    def __init__(self, critic: FeedbackModel, *, samples: int = VOTERS, seed: int = 0, version: str = "") -> None:
        self._critic = critic
        self._n = max(MIN_VALID, samples if _only_computes(critic) else min(samples, VOTERS))
        self._seed = seed
        self._version = version
        self._kept: Kept[Case, Scores] = Kept(_KEPT, worth=lambda s: not isinstance(s.hallucination, Unscored))

    @property
    def needs(self) -> frozenset[Need]:
        """A judge, unless the critic computes alone."""
        return NOTHING if _only_computes(self._critic) else frozenset({"judge"})

    @property
    def version(self) -> str:
        """The critic and the number of its votes."""
        return f"{self._version or self._critic.name},votes={self._n}"

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer; each text of a run is voted on once."""
        return await self._kept.get(case, lambda: self._score(case, meter))

    async def _score(self, case: Case, meter: Meter) -> Scores:
        sentences = split_sentences(case.answer)
        request = FeedbackRequest(_item(case), case.answer, sentences, derive_seed(self._seed, "findings"))
        drawn = await draw_samples(self._critic, request, n=self._n, stop="none", meter=meter)
        selection = vote_on_findings(drawn.samples, sentences, n_requested=self._n)
        if selection.critique is None:
            return Scores.none(selection.abstained or "no usable critique")
        found = [f for s in selection.critique.sentences for f in s.findings if not is_noted(case.answer, f)]
        rows = zip(sentences, findings_by_sentence(found, sentences), strict=True)
        worst = {s.n: max((f.share or 1.0 for f in own), default=0.0) for s, own in rows if s.text}
        return Scores(
            hallucination=sum(share > 0 for share in worst.values()) / max(len(worst), 1),
            coverage=Unscored(unscored="findings are of what is said, not of what is missing"),
            sentences=tuple(SentenceScore(n=n, hallucination=share) for n, share in worst.items()),
        )


def _only_computes(critic: FeedbackModel) -> bool:
    return critic.name.startswith("embedded:")


def _item(case: Case) -> Item:
    groups = case.given.groups
    if case.given.source == "perspectives":
        sides = [Perspective(name=g.name, arguments=list(g.arguments)) for g in groups]
        return Item(question=case.question, answer=case.answer, perspectives=sides)
    if case.given.source == "context":
        passages = [text for g in groups for text in g.arguments]
        return Item(question=case.question, answer=case.answer, context=passages)
    return Item(question=case.question, answer=case.answer)
