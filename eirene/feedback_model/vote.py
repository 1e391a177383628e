"""The vote: chooses one critique of many samples by tag consistency, then by reason consistency. Pure functions.

The two scores are equations 1 and 2 of Sachdeva et al. 2024 (section 4.1), with a quorum and an optional floor.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod

from eirene.core.critique import Critique, Finding, Sample, Tag, TaggedSentence
from eirene.core.errors import InputError
from eirene.core.loop_settings import StopRule
from eirene.text.sentences import Sentence
from eirene.text.words import lower_words

MIN_VALID = 3
"""A vote needs at least this many valid samples, and at least half of those drawn."""


@dataclass(frozen=True, slots=True)
class VoteResult:
    """Either the chosen critique, with its sample's number (from 0), or the reason why there is none."""

    critique: Critique | None = None
    winner: int | None = None
    abstained: str | None = None


def select(
    samples: Sequence[Sample],
    sentences: Sequence[Sentence],
    *,
    n_requested: int,
    min_consistency: float = 0.0,
    early_stop: bool = False,
    stop: StopRule | None = None,
) -> VoteResult:
    """The most tag-consistent sample, among equals the most reason-consistent, among those the first drawn.

    `sentences` are the answer's, as `split_sentences` cuts it; a sample that does not fit them is invalid. All samples
    count as drawn, valid ones vote. No critique is chosen without a quorum (`MIN_VALID` valid samples and half of those
    drawn), or when the winner's tag consistency is below `min_consistency`, in [0, 1]. The critique's reason
    consistency is equation 2 divided by the number of samples that it was counted over, so that it lies in [0, 1].
    `early_stop` and `stop`, the rule that samples were drawn by, are noted in it. Tags that do not count are made up
    for by those of the others (`settled`); a critique without a fault is none where that leaves a sentence undecided.
    """
    if not 0.0 <= min_consistency <= 1.0:
        raise InputError(f"min_consistency must lie in [0, 1], got {min_consistency!r}", field="min_consistency")
    samples = settled([check_sample(s, sentences) for s in samples])
    n_valid = sum(s.is_valid for s in samples)
    if not has_quorum(len(samples), n_valid):
        return VoteResult(abstained=why_no_quorum(samples, n_valid, n_requested))
    by_tags = tag_consistency(samples)
    best = max(by_tags)
    survivors = [i for i, share in enumerate(by_tags) if share == best]
    if best < min_consistency:
        return VoteResult(abstained=why_under_floor(len(samples), best, min_consistency))
    by_reasons = reason_consistency(samples, survivors)
    top = max(range(len(survivors)), key=by_reasons.__getitem__)  # max keeps the first of equals: the first drawn
    winner = samples[survivors[top]]
    undecided = _undecided(samples)
    if undecided and "Incomplete" not in winner.tags:
        return VoteResult(abstained=_why_undecided(samples, undecided))
    critique = Critique(
        sentences=tagged_sentences(winner, sentences),
        tag_consistency=best,
        reason_consistency=by_reasons[top] / len(survivors),
        n_drawn=len(samples),
        n_valid=n_valid,
        n_requested=n_requested,
        n_distinct=count_distinct(samples),
        early_stop=early_stop,
        stop=stop,
    )
    return VoteResult(critique=critique, winner=survivors[top])


def critique_of_readout(sample: Sample, sentences: Sequence[Sentence], *, min_consistency: float = 0.0) -> VoteResult:
    """The critique of a readout. Pure: the same sample gives the same.

    Its tag consistency is the probability of just these tags, were the sentences' tags drawn independently: what the
    share of equation 1 is of many samples. It has no reason consistency, as nothing was voted on. None is chosen for an
    invalid sample, or where that probability is below `min_consistency`.
    """
    if sample.invalid is not None:
        return VoteResult(abstained=sample.invalid)
    own = prod(p if tag == "Incomplete" else 1.0 - p for p, tag in zip(sample.chances, sample.tags, strict=True))
    if own < min_consistency:
        why = f"the probability of the tags, {own:.3g}, is under the floor of {min_consistency:.3g}"
        return VoteResult(abstained=why)
    tagged = zip(tagged_sentences(sample, sentences), sample.chances, strict=True)
    critique = Critique(
        sentences=tuple(sentence.model_copy(update={"chance": chance}) for sentence, chance in tagged),
        tag_consistency=own,
        reason_consistency=None,
        n_drawn=1,
        n_valid=1,
        n_requested=1,
    )
    return VoteResult(critique=critique, winner=0)


def settled(samples: Sequence[Sample]) -> list[Sample]:
    """The samples with a tag that counts for every sentence; in one that has none at all nothing does: it is invalid.

    A tag that does not count (`Sample.unusable`) speaks for neither side. In its place stands the one that most other
    samples give the sentence, "Complete" where as many give either, or none does; with the first drawn reason for it.
    """
    valid = [s for s in samples if s.is_valid]
    if not any(s.unusable for s in valid):
        return list(samples)
    columns = list(zip(*(s.votes for s in valid), strict=True))
    most: list[Tag] = [
        "Incomplete" if column.count("Incomplete") > column.count("Complete") else "Complete" for column in columns
    ]
    reasons = [
        next((s.reasons[i] for s, tag in zip(valid, column, strict=True) if tag == "Incomplete"), None)
        for i, column in enumerate(columns)
    ]
    return [_filled(sample, most, reasons) for sample in samples]


def _filled(sample: Sample, most: Sequence[Tag], reasons: Sequence[str | None]) -> Sample:
    if not sample.unusable:
        return sample
    if all(tag is None for tag in sample.votes):
        return Sample(invalid=f"no tag counts: {sample.unusable[0].reason}", critic=sample.critic)
    tags = tuple(own or other for own, other in zip(sample.votes, most, strict=True))
    said = tuple(
        own if tag is not None else (other if instead == "Incomplete" else None)
        for own, tag, other, instead in zip(sample.reasons, sample.votes, reasons, most, strict=True)
    )
    return sample.model_copy(update={"tags": tags, "reasons": said})


def _undecided(samples: Sequence[Sample]) -> list[int]:
    """Numbers of the sentences that more than half of the valid samples have no tag for that counts."""
    valid = [s for s in samples if s.is_valid]
    void = Counter(note.sentence for s in valid for note in s.unusable)
    return sorted(n for n, times in void.items() if 2 * times > len(valid))


def _why_undecided(samples: Sequence[Sample], undecided: Sequence[int]) -> str:
    causes = Counter(note.reason for s in samples for note in s.unusable if note.sentence in undecided)
    named = ", ".join(map(str, undecided))
    return f"too few critiques of sentence {named} can be used: {causes.most_common(1)[0][0]}"


def tag_consistency(samples: Sequence[Sample]) -> list[float]:
    """For each sample the share of all samples, valid or not, with exactly its tags (equation 1), in [0, 1].

    Invalid samples have no tags to agree on: their share is 0.
    """
    counts = Counter(s.tags for s in samples if s.is_valid)
    return [counts[s.tags] / len(samples) if s.is_valid else 0.0 for s in samples]


def reason_consistency(samples: Sequence[Sample], survivors: Sequence[int]) -> list[float]:
    """For each survivor the mean, over the words of its reasons, of how many survivors use the word (equation 2).

    `survivors` are indices into `samples`; results follow their order and lie in [1, len(survivors)]. Words count as
    often as they occur in the sample that is scored, once in those that it is compared with, itself included. For
    a sample without a word (all sentences Complete) the equation divides by 0; here it gets the number of survivors
    that have no word either: saying nothing is then the one thing that is said.
    """
    words = [lower_words("\n".join(filter(None, samples[i].reasons))) for i in survivors]
    used_by = Counter(chain.from_iterable(map(set, words)))
    n_silent = sum(not said for said in words)
    return [sum(map(used_by.__getitem__, said)) / len(said) if said else float(n_silent) for said in words]


def has_quorum(n_drawn: int, n_valid: int) -> bool:
    """Whether enough samples are valid for a vote: at least `MIN_VALID`, and at least half of those drawn."""
    return n_valid >= MIN_VALID and 2 * n_valid >= n_drawn


def count_distinct(samples: Sequence[Sample]) -> int:
    """How many different valid samples there are. 1 among many is a warning sign: a cache or a server that copies.

    Agreement between copies of one reply says nothing about the model's certainty.
    """
    return len({(s.tags, s.reasons) for s in samples if s.is_valid})


def check_sample(sample: Sample, sentences: Sequence[Sentence]) -> Sample:
    """The sample, or an invalid one in its place when it does not fit the sentences."""
    if not sample.is_valid:
        return sample
    if len(sample.tags) != len(sentences):
        why = f"{len(sample.tags)} tags where the answer has {len(sentences)} sentences"
        return Sample(invalid=why, critic=sample.critic)
    last = sentences[-1].end if sentences else 0
    for f in sample.findings:
        if not (f.start <= f.end <= last and sentences):
            why = f"a finding at {f.start} to {f.end} lies outside the answer's {last} characters"
            return Sample(invalid=why, critic=sample.critic)
    return sample


def why_no_quorum(samples: Sequence[Sample], n_valid: int, n_requested: int) -> str:
    """What a run says that abstains for want of valid samples: the most common cause first, the counts, a reply."""
    why = (
        f"{n_valid} of {len(samples)} samples could be used; a vote needs at least {MIN_VALID} and half of those drawn"
    )
    if n_requested < MIN_VALID:
        why += f"; {n_requested} were asked for, ask for at least {MIN_VALID}"
    causes = Counter(s.invalid for s in samples if s.invalid is not None)
    if not causes:
        return why
    cause, times = causes.most_common(1)[0]
    share = "" if times == len(samples) else f"{times} of {len(samples)} samples; "
    reply = next((s.reply for s in samples if s.invalid == cause and s.reply is not None), None)
    shown = "" if reply is None else f'; the model replied, for example: "{reply}"'
    return f"{cause} ({share}{why}){shown}"


def why_under_floor(n_drawn: int, best: float, floor: float) -> str:
    """What a run says that abstains because the samples agree too little."""
    agree = round(best * n_drawn)
    return f"tag consistency {best:.3g} ({agree} of {n_drawn} samples agree) is under the floor of {floor:.3g}"


def findings_by_sentence(findings: Iterable[Finding], sentences: Sequence[Sentence]) -> list[list[Finding]]:
    """The findings of each sentence: those that begin in it; an insertion between two is the earlier one's."""
    found: list[list[Finding]] = [[] for _ in sentences]
    ends = [s.end for s in sentences]
    for finding in findings:
        start = finding.start if finding.start < finding.end else finding.start - 1
        found[min(bisect_right(ends, start), len(ends) - 1)].append(finding)
    return found


def tagged_sentences(winner: Sample, sentences: Sequence[Sentence]) -> tuple[TaggedSentence, ...]:
    """The sentences with a valid sample's tags, reasons and findings."""
    findings = findings_by_sentence(winner.findings, sentences)
    return tuple(
        TaggedSentence(
            n=s.n,
            text=s.text,
            start=s.text_start,
            end=s.text_end,
            tag=tag,
            reason=(reason or "").strip() or None,
            findings=tuple(found),
        )
        for s, tag, reason, found in zip(sentences, winner.tags, winner.reasons, findings, strict=True)
    )
