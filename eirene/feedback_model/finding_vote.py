"""The vote on findings: keeps what more than half of the valid samples mark at one place as one kind.

Tag sequences are voted on whole (`eirene.feedback_model.vote`); findings one by one, since hardly any two samples mark
a text of many faults in the same way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from eirene.core.critique import Critique, Finding, FindingVote, Sample, Tag
from eirene.core.findings.tags import in_order
from eirene.feedback_model.vote import (
    VoteResult,
    check_sample,
    count_distinct,
    findings_by_sentence,
    has_quorum,
    tagged_sentences,
    why_no_quorum,
    why_under_floor,
)
from eirene.text.sentences import Sentence

OVERLAP = 0.5
"""Findings of one kind are the same where they share at least this part of the characters that either covers."""


@dataclass(slots=True)
class _FindingCluster:
    """Findings of different samples that are one; `seed` was drawn first, and all others are compared with it."""

    seed: Finding
    samples: set[int] = field(default_factory=set)
    members: list[Finding] = field(default_factory=list)

    def most_frequent(self) -> Finding:
        """The place and edit that most members have; of equals the first drawn."""
        counts = Counter((f.start, f.end, f.edit) for f in self.members)
        best = max(counts.values())
        return next(f for f in self.members if counts[f.start, f.end, f.edit] == best)


def vote_on_findings(
    samples: Sequence[Sample],
    sentences: Sequence[Sentence],
    *,
    n_requested: int,
    min_consistency: float = 0.0,
) -> VoteResult:
    """The critique that the samples' findings give, or why there is none.

    Findings join the cluster of their kind whose first member they overlap most, by at least `OVERLAP` of the
    characters of both together (insertions: at the same place), else they open one; a sample counts once in each. A
    cluster is kept when more than half of the valid samples are in it, with the place and edit that occur in it most
    often. A sentence with a kept finding is Incomplete. Quorum and `min_consistency` are those of `select`; the floor
    holds against the share of drawn samples whose sentence tags are just the vote's.
    """
    samples = [check_sample(s, sentences) for s in samples]
    n_valid = sum(s.is_valid for s in samples)
    if not has_quorum(len(samples), n_valid):
        return VoteResult(abstained=why_no_quorum(samples, n_valid, n_requested))
    clusters = cluster_findings(samples)
    kept = in_order(
        cluster.most_frequent().model_copy(update={"share": len(cluster.samples) / n_valid})
        for cluster in clusters
        if 2 * len(cluster.samples) > n_valid
    )
    result = sample_of(kept, sentences)
    same_tags = sum(s.is_valid and s.tags == result.tags for s in samples) / len(samples)
    if same_tags < min_consistency:
        return VoteResult(abstained=why_under_floor(len(samples), same_tags, min_consistency))
    silent = sum(s.is_valid and not s.findings for s in samples) / n_valid
    agreement = sum(f.share or 0.0 for f in kept) / len(kept) if kept else silent
    vote = FindingVote(
        agreement=agreement,
        tag_consistency=same_tags,
        n_kept=len(kept),
        n_found=len(clusters),
        n_drawn=len(samples),
        n_valid=n_valid,
        n_requested=n_requested,
    )
    critique = Critique(
        sentences=tagged_sentences(result, sentences),
        tag_consistency=same_tags,
        reason_consistency=agreement,
        n_drawn=len(samples),
        n_valid=n_valid,
        n_requested=n_requested,
        n_distinct=count_distinct(samples),
        hallucination=vote,
    )
    return VoteResult(critique=critique)


def cluster_findings(samples: Sequence[Sample]) -> list[_FindingCluster]:
    """The clusters of the valid samples' findings, in the order in which they were first drawn."""
    clusters: list[_FindingCluster] = []
    for n, sample in enumerate(samples):
        for finding in sample.findings if sample.is_valid else ():
            near = [c for c in clusters if c.seed.kind == finding.kind and overlap(c.seed, finding) >= OVERLAP]
            if not near:
                near = [_FindingCluster(finding)]
                clusters.append(near[0])
            best = max(near, key=lambda c: overlap(c.seed, finding))
            if n not in best.samples:
                best.samples.add(n)
                best.members.append(finding)
    return clusters


def overlap(a: Finding, b: Finding) -> float:
    """The characters that both cover, as a share of those that either does, in [0, 1]; 1 for one place of insertion."""
    if a.start == a.end or b.start == b.end:
        return float((a.start, a.end) == (b.start, b.end))
    both = min(a.end, b.end) - max(a.start, b.start)
    return max(both, 0) / (max(a.end, b.end) - min(a.start, b.start))


def sample_of(findings: Iterable[Finding], sentences: Sequence[Sentence]) -> Sample:
    """Findings as a sample of the hallucination critic: a sentence is Incomplete where it has one."""
    findings = tuple(findings)
    tags: list[Tag] = []
    reasons: list[str | None] = []
    for found in findings_by_sentence(findings, sentences):
        tags.append("Incomplete" if found else "Complete")
        reasons.append(" ".join(dict.fromkeys(f.reason for f in found)) or None)
    return Sample(tags=tuple(tags), reasons=tuple(reasons), findings=findings, critic="hallucination")


def joined_critiques(
    completeness: VoteResult, hallucination: VoteResult, *, drawn: Sequence[Sample], n_requested: int
) -> VoteResult:
    """Both critics' verdicts in one: a sentence is Incomplete if either says so, completeness's reason first.

    Where one of them abstained the other's critique stands, and says so; where both did, so does this. `drawn` are the
    samples of the critic of hallucinations.
    """
    first, second = completeness.critique, hallucination.critique
    if second is None:
        if first is None:
            if completeness.abstained == hallucination.abstained:
                return completeness
            why = f"completeness: {completeness.abstained}; hallucination: {hallucination.abstained}"
            return VoteResult(abstained=why)
        vote = FindingVote(
            agreement=None, tag_consistency=None, n_kept=0, n_found=0, n_drawn=len(drawn),
            n_valid=sum(s.is_valid for s in drawn), n_requested=n_requested, abstained=hallucination.abstained,
        )  # fmt: skip
        return VoteResult(first.model_copy(update={"hallucination": vote}), completeness.winner)
    if first is None:
        return VoteResult(second.model_copy(update={"abstained": completeness.abstained}))
    sentences = []
    for mine, other in zip(first.sentences, second.sentences, strict=True):
        reason = " ".join(r for r in (mine.reason, other.reason) if r) or None
        sentences.append(
            mine.model_copy(
                update={
                    "tag": "Incomplete" if "Incomplete" in (mine.tag, other.tag) else "Complete",
                    "reason": reason,
                    "findings": mine.findings + other.findings,
                }
            )
        )
    both = {"sentences": tuple(sentences), "hallucination": second.hallucination}
    return VoteResult(first.model_copy(update=both), completeness.winner)
