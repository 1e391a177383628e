"""Facts about a record for all views: votes, score columns, cost, and the status in words.

Makes characters visible that would otherwise act on a terminal or a page, or hide in it.

What polled judges said of the original and of what is shown, and pairwise judges of rewrites, for both views.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from eirene.core.critique import Critique, FindingVote, Review
from eirene.core.records import Record, Round, Status
from eirene.core.scores import PairJudgement, Poll, Polls, Score, Scores, Unscored, number
from eirene.core.usage import Usage
from eirene.core.verification import ClaimWord

Vote = Literal["complete", "incomplete", "invalid"]
Number = float | None
"""A score, rounded to the three decimals that are shown; None where there is none."""

ERRORS = ("hallucination", "coverage")

STATUS_WORDS: Mapping[Status, str] = {
    "accepted": "A rewrite was accepted and is shown.",
    "complete": "Nothing was found wrong or missing; the original is shown as it was.",
    "no_fault_found": "No fault was found, and not all was checked; the original is shown as it was.",
    "flagged": "A fault was found, and no rewrite was made; the original is shown as it was.",
    "kept": "A fault may stand, as no rewrite was accepted; the original is shown as it was.",
    "not_checked": "Nothing was checked; the original is shown as it was.",
    "abstained": "The critics came to no verdict; the original is shown as it was.",
    "failed": "The run failed; the original is shown as it was.",
}
"""What is shown. Why is the record's own sentence, which stands beneath."""

ADVISORY = "Advisory: shown, and decides nothing"
HOW_TO_GIVE = (
    "On the command line: --context TEXT for a passage, --side pro=TEXT for what a side says, --corpus FOLDER for "
    "passages of your own, or a model as --backend provider:model."
)
"""What a reader at a terminal can change where nothing was given."""
Tone = Literal["good", "plain", "warn", "bad"]
TONE: Mapping[Status, Tone] = {
    "accepted": "good", "complete": "plain", "no_fault_found": "plain", "flagged": "warn", "kept": "warn",
    "not_checked": "plain", "abstained": "plain", "failed": "bad",
}  # fmt: skip
"""How an outcome is coloured: as a success only where a rewrite passed."""


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One error of one detector: its scores in the order of the columns, with three decimals, None where there is none.

    `advisory` where they decide nothing.
    """

    detector: str
    error: str
    scores: tuple[Number, ...]
    advisory: bool = False


@dataclass(frozen=True, slots=True)
class ScoreTable:
    """Scores before, per round where that says more, and after. `notes` say why something is unscored, and where a
    detector read what was given in more than one part."""

    columns: tuple[str, ...]
    rows: tuple[ScoreRow, ...]
    notes: tuple[str, ...]


def score_table(record: Record, *, most_rounds: int = 3) -> ScoreTable:
    """The scores by detector and error. The last few rounds stand between, unless the only one was accepted.

    An error that a detector gives nowhere, while it gives the other, is none of its errors and has no row. A detector
    that gives neither has a note alone. Advisory detectors stand below those that decide; where texts were compared by
    passages, that decides, and no score. How much of passages is said is no quality of an answer, and is left out.
    """
    tried = [(f"round {n}", r.scores) for n, r in enumerate(record.rounds, start=1) if r.scores]
    if record.status == "accepted" and len(tried) == 1:
        tried = []
    named = [("before", record.scores.original), *tried[-most_rounds:], ("after", record.scores.final)]
    detectors = list(dict.fromkeys(name for _, scores in named for name in scores))
    is_compared = any(round_.comparison is not None for round_ in record.rounds)
    advisory = {name for name in detectors if is_compared or name in record.advisory}
    detectors.sort(key=lambda name: name in advisory)
    errors = ERRORS[:1] if of_passages(record) else ERRORS
    rows: list[ScoreRow] = []
    notes: dict[tuple[str, str], list[str]] = {}
    for detector in detectors:
        found = {error: tuple(_score(scores.get(detector), error) for _, scores in named) for error in errors}
        given = [error for error, cells in found.items() if any(number(cell) is not None for cell in cells)]
        if not given:
            reasons = {cell.unscored for cells in found.values() for cell in cells if isinstance(cell, Unscored)}
            if detector in advisory:  # what decides nothing, and is for other answers than this one
                reasons = {why for why in reasons if not why.startswith("needs ")}
            notes |= {(detector, why): [] for why in sorted(reasons)}
        for error in given:
            cells = found[error]
            rows.append(ScoreRow(detector, error, tuple(map(rounded, cells)), detector in advisory))
            for (column, _), cell in zip(named, cells, strict=True):
                if isinstance(cell, Unscored):
                    notes.setdefault((f"{detector} {error}", cell.unscored), []).append(column)
    places = {key: f" ({', '.join(where)})" if where else "" for key, where in notes.items()}
    said = [f"Unscored: {what}{where}: {why}" for (what, why), where in places.items()]
    said += [_parts(name, [scores[name] for _, scores in named if name in scores]) for name in detectors]
    return ScoreTable(tuple(name for name, _ in named), tuple(rows), tuple(filter(None, said)))


_NOT_SUPPORTED: Mapping[ClaimWord, str] = {
    "unclear": "unclear", "unsupported": "unsupported", "contradicted": "perhaps contradicted"
}  # fmt: skip


def verdicts_in_words(counts: Mapping[ClaimWord, int], against: str) -> str:
    """How many of the checked sentences have which verdict, in a sentence; empty where none was checked."""
    left = counts.get("not checked", 0)
    checked = sum(counts.values()) - left
    rest = ", ".join(f"{counts[word]:,} {said}" for word, said in _NOT_SUPPORTED.items() if counts.get(word))
    parts = [f"{counts.get('supported', 0):,} of {checked:,} checked sentences found supported by {against}", rest]
    return "; ".join(filter(None, [*parts, f"{left:,} not checked" if left else ""])) + "." if checked else ""


def of_passages(record: Record) -> bool:
    """Whether the answer was compared with passages."""
    found = (*record.scores.original.values(), *record.scores.final.values())
    return bool(record.passages) or any(
        argument.group == "context" for scores in found for argument in scores.arguments
    )


def _parts(detector: str, found: Sequence[Scores]) -> str:
    parts = max(scores.chunks for scores in found)
    return f"Read in {parts} parts, being too long for the model: what was given to {detector}" if parts > 1 else ""


def _score(scores: Scores | None, error: str) -> Score:
    if scores is None:
        return Unscored(unscored="not run on this text")
    return scores.hallucination if error == "hallucination" else scores.coverage


def rounded(score: Score | None) -> Number:
    """Three decimals; None where there is no score."""
    value = None if score is None else number(score)
    return None if value is None else round(value, 3)


def shown_score(score: Score | None) -> str:
    """Three decimals, or a dash where there is no score."""
    value = None if score is None else number(score)
    return "-" if value is None else f"{value:.3f}"


def last_candidate(record: Record) -> str | None:
    """The rewrite that a view compares with the original: what was accepted, else the last that changed anything."""
    if record.status == "accepted":
        return record.answer
    tried = [rewrite for rewrite in rewrites(record) if rewrite is not None and rewrite != record.original]
    return tried[-1] if tried else None


def rewrites(record: Record) -> list[str | None]:
    """Each round's rewrite; None where there was none: nothing asked for, a blank reply, or the text as it was."""
    best, found = record.original, list[str | None]()
    for round_ in record.rounds:
        text = round_.candidate
        found.append(None if text is None or not text.strip() or text.strip() == best.strip() else text)
        if text is not None and round_.decision == "accept":
            best = text
    return found


def votes(round_: Round) -> list[tuple[Vote, ...]]:
    """For each sentence of the round's critique, how each drawn sample voted, in order; none if no vote counts."""
    if round_.critique is None or not any(sample.is_valid for sample in round_.samples):
        return []
    return [tuple(_votes_on(i, round_)) for i in range(len(round_.critique.sentences))]


def _votes_on(sentence: int, round_: Round) -> Iterator[Vote]:
    for sample in round_.samples:
        tag = sample.votes[sentence] if sentence < len(sample.tags) else None
        yield "invalid" if tag is None else "incomplete" if tag == "Incomplete" else "complete"


def is_judged(round_: Round) -> bool:
    """Whether a critic could judge anything: where none could, the status says why, once."""
    return any(not sample.not_checked for sample in round_.samples)


def readings(record: Record) -> str:
    """What the drawn critiques are: of the embedded model one judgement, read again and again with noise."""
    return "noisy readings" if record.backend == "embedded" else "critiques"


def consistency(round_: Round, drawn: str = "critiques") -> str:
    """How much the drawn critiques agreed, in words; empty where nobody voted. `drawn`: what `readings` calls them."""
    critique = round_.critique
    if critique is None:
        if not round_.samples:
            return ""
        valid = sum(s.is_valid for s in round_.samples)
        return f"{valid} of {len(round_.samples)} {drawn} valid, none selected"
    if critique.tag_consistency is None:
        voted = f"{critique.n_valid} of {critique.n_drawn} critiques valid, none selected; " if critique.n_drawn else ""
        return f"{voted}given by a person"
    if any(sentence.chance is not None for sentence in critique.sentences):
        return f"read from token probabilities, {critique.tag_consistency:.2f} for just these tags"
    text = f"{critique.n_valid} of {critique.n_drawn} {drawn} valid"
    if drawn != "critiques":
        text = f"one model, {critique.n_drawn} {drawn}"
    if critique.early_stop:
        rule = "" if critique.stop is None else f" by {critique.stop}"
        text += f" (stopped early{rule}, {critique.n_requested} asked for)"
    text += f", tag consistency {critique.tag_consistency:.2f}"
    vote = critique.hallucination
    if critique.reason_consistency is not None and (vote is None or vote.agreement != critique.reason_consistency):
        text += f", reason consistency {critique.reason_consistency:.2f}"
    alone = "" if critique.abstained is None else f"; no vote on completeness: {critique.abstained}"
    return text + _findings_kept(vote) + alone + _reviewed(critique.review)


def unchecked(critique: Critique | None) -> str:
    """What the critics did not look for, as a sentence; empty where they left nothing out."""
    return "" if critique is None or critique.unchecked is None else f"Not checked: {critique.unchecked}."


def _findings_kept(vote: FindingVote | None) -> str:
    """What the vote of the hallucination critic came to, in words; empty where it was not asked."""
    if vote is None:
        return ""
    if vote.agreement is None:
        return f"; no vote on hallucinations: {vote.abstained}"
    text = f"; {vote.n_kept} of {vote.n_found} findings kept, agreement {vote.agreement:.2f}"
    return text if vote.n_found else f"; no hallucination found, agreement {vote.agreement:.2f}"


def _reviewed(review: Review | None) -> str:
    """What a person made of the selected critique, in words."""
    if review is None:
        return ""
    if review.action == "stop":
        return "; a person stopped here"
    if review.action == "all complete":
        return "; a person found every sentence complete"
    counts = (("replaced", len(review.replace)), ("added", len(review.add)), ("dropped", len(review.drop)))
    done = ", ".join(f"{n} {word}" for word, n in counts if n)
    return f"; reasons changed by a person: {done}" if done else "; a person changed nothing"


def cost(usage: Usage, *, summed: bool = False, wall_s: float | None = None) -> str:
    """What a run took, in one line; `summed` over rows made side by side, whose run took `wall_s` by the clock."""
    work = f"{usage.seconds:,.1f} s of work" if summed else f"{usage.seconds:.2f} s"
    took = work if wall_s is None else f"{wall_s:,.1f} s ({work})"
    hits = f"{usage.cache_hits:,} repl{'y' if usage.cache_hits == 1 else 'ies'} from the call cache, "
    hits = hits if usage.cache_hits else ""
    if not usage.calls:
        return f"no model calls, {hits}{took}"
    calls = f"{usage.calls:,} model call{'' if usage.calls == 1 else 's'}"
    if usage.retries:
        calls += f" ({usage.retries:,} retried)"
    tokens = f"{usage.input_tokens:,} tokens in ({usage.cached_tokens:,} cached), {usage.output_tokens:,} out"
    money = "price unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"
    return f"{calls}, {tokens}, {hits}{money}, {took}"


# Controls except tab and line feed, C1 controls, line separators, and what overrides the direction of writing (a text
# with those can be made to read otherwise than it is). Joiners stay: emoji and several scripts need them.
_ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")


def visible(text: str) -> str:
    """The text with control characters shown as symbols (`␛`) or escapes (`\\u202e`); a line break CR LF becomes LF."""
    return _ACTS.sub(_symbol, text.replace("\r\n", "\n"))


def visible_line(text: str) -> str:
    """The same on one line."""
    return " ".join(visible(text).split())


def _symbol(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"\\u{code:04x}"


_QUESTIONS = {"adherence": "something that was not given", "correctness": "something false"}


@dataclass(frozen=True, slots=True)
class PolledText:
    """A judge's replies on a text, or on a rewrite and the text before: of what, the outcome in one line, and the
    replies as (verdict in words, text).
    """

    summary: str
    replies: tuple[tuple[str, str], ...]


def polled_texts(record: Record) -> tuple[PolledText, ...]:
    """The polls before and, where another text is shown, after; none where no judge was polled."""
    texts = [("before", record.scores.original)]
    if record.status == "accepted":
        texts.append(("after", record.scores.final))
    return tuple(
        PolledText(
            f"{detector}, {when}: {_outcome(scores.polls)}", tuple((_said(p), p.text) for p in scores.polls.replies)
        )
        for when, found in texts
        for detector, scores in found.items()
        if scores.polls is not None
    )


def _outcome(polls: Polls) -> str:
    text = f"{polls.yes} of {polls.answered} polls find {_QUESTIONS[polls.asked]}"
    if polls.low is not None and polls.high is not None:
        text += f" (95 % interval {polls.low:.2f} to {polls.high:.2f})"
    unread = len(polls.replies) - polls.answered
    if unread:
        text += f"; {unread} could not be read"
    if polls.early_stop:
        text += f"; stopped early, {polls.requested} asked for"
    return text


def _said(poll: Poll) -> str:
    if poll.error is None:
        return f"not read: {poll.unread or 'no reason'}"
    return "yes" if poll.error else "no"


def compared_texts(record: Record) -> tuple[PolledText, ...]:
    """What the pairwise judge makes of the rewrite, in each round in which it was asked."""
    return tuple(
        PolledText(f"pairwise, round {n}: {_compared(round_.pairwise)}", ())
        for n, round_ in enumerate(record.rounds, start=1)
        if round_.pairwise is not None
    )


def _compared(judged: PairJudgement) -> str:
    if isinstance(judged.better, Unscored):
        return f"unscored: {judged.better.unscored}"
    counted = f", by {judged.votes} votes" if judged.votes else ""
    return (
        f"the rewrite is better with probability {judged.better:.2f}{counted}; "
        f"log-odds {judged.bias:+.1f} for the text shown first, whichever it is"
    )
