"""The `findings` detector: the hallucination critic votes anew on the text before and on the text after.

An edit of a few words hardly moves scores that look at whole sentences. What found the fault can tell whether it is
gone: the same critic, with samples of its own, so that what a vote happened to say about the original is no advantage
of either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eirene.agent.critics import critics_of
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.findings.edits import is_noted
from eirene.core.memo import Memo
from eirene.core.records import VOTED_MODES, Item, Perspective
from eirene.core.scores import Scores, SentenceScore, Unscored
from eirene.core.signature import derive_seed
from eirene.core.usage import Meter
from eirene.eval.base import NOTHING, Case, Detector, Need, only_computes
from eirene.feedback_model.base import FeedbackModel, FeedbackRequest
from eirene.feedback_model.finding_vote import vote_on_findings
from eirene.feedback_model.sampling import draw_samples
from eirene.feedback_model.vote import MIN_VALID, findings_by_sentence
from eirene.text.sentences import split_sentences

FINDINGS = "findings"
VOTERS = 5
"""Samples of a vote on one text at most where each is a call of a model, beside the critique's own twenty."""
_KEPT = 64


def with_findings(parts: Parts, settings: Settings) -> Parts:
    """The parts with what the hallucination critic needs to be judged: a detector of findings by its own re-vote.

    The scores that are there already look at whole sentences; a date put right moves them by nothing. Parts that have
    it, and runs without a vote or with the critic of completeness alone, stay as they are.
    """
    if settings.mode in VOTED_MODES:
        critics_of(parts, settings)  # raises where there is none, before any row is begun
    if settings.critic == "completeness" or settings.mode not in VOTED_MODES or FINDINGS in parts.judges:
        return parts
    critic = parts.hallucination_model
    assert critic is not None
    detector = FindingsDetector(
        critic, samples=settings.samples, seed=settings.seed, version=parts.hallucination_version or ""
    )
    return replace(
        parts,
        detectors=(*parts.detectors, detector),
        judges=parts.judges | {FINDINGS},
        version=",".join(filter(None, [parts.version, parts.hallucination_version])) or None,
    )


def detectors_for(parts: Parts, *, rewritten: bool) -> Sequence[Detector]:
    """The detectors to be run: where nothing was rewritten, all but a re-vote that asks a model.

    It measures what a rewrite gained, and the vote on the text as it is has just been drawn.
    """
    return [d for d in parts.detectors if rewritten or d.name != FINDINGS or only_computes(d)]


class FindingsDetector:
    """The share of an answer's sentences in which the hallucination critic's vote finds something.

    Score: hallucination = sentences with a kept finding / sentences, in [0, 1]; of a sentence = the largest share of
        samples that agree on one of its findings, 0 without one. A finding that the text itself names in brackets
        counts as none: the reader is told. Coverage is unscored; so is everything under a quorum.
    Needs: the critic; given text is what it holds the answer against, where there is some.
    Reference: the vote is `eirene.feedback_model.finding_vote`; docs/concepts/hallucinations.md.
    """

    name = FINDINGS

    def __init__(self, critic: FeedbackModel, *, samples: int = VOTERS, seed: int = 0, version: str = "") -> None:
        self._critic = critic
        self._n = max(MIN_VALID, samples if _only_computes(critic) else min(samples, VOTERS))
        self._seed = seed
        self.needs: frozenset[Need] = NOTHING if _only_computes(critic) else frozenset({"judge"})
        self.version = f"{version or critic.name},votes={self._n}"
        self._scores: Memo[Case, Scores] = Memo(_KEPT)

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer; each text of a run is voted on once."""
        return await self._scores.get_or_await(
            case, lambda: self._score(case, meter), worth=lambda s: not isinstance(s.hallucination, Unscored)
        )

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
    groups, history = case.given.groups, list(case.history) or None
    if case.given.source == "perspectives":
        sides = [Perspective(name=g.name, arguments=list(g.arguments)) for g in groups]
        return Item(question=case.question, history=history, answer=case.answer, perspectives=sides)
    if case.given.source == "context":
        passages = [text for g in groups for text in g.arguments]
        return Item(question=case.question, history=history, answer=case.answer, context=passages)
    return Item(question=case.question, history=history, answer=case.answer)
