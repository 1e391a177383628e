"""Rows of a check: an answer measured by the detector that fits what was given with it, and its faults.

Perspectives go to `alignment`, passages to `verifier`: each is weak at what the other is for
(`benchmarks/results/check.md` has figures). Named detectors take their place where scores are compared; faults stay
theirs.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from eirene._version import __version__
from eirene.core.errors import PERMANENT_ERRORS, BackendError, InputError
from eirene.core.grounding import NOTHING_GIVEN
from eirene.core.quality import FaultKind, QualityRow, RowFault
from eirene.core.records import Item
from eirene.core.scores import Score, Scores, Unscored
from eirene.core.signature import digest
from eirene.core.usage import Meter
from eirene.core.verification import ClaimVerdict, ClaimWord, Verification
from eirene.eval.base import Detector, case_of
from eirene.eval.detectors.alignment import AlignmentDetector
from eirene.eval.detectors.token_judge import UNJUDGED, TokenJudge
from eirene.eval.detectors.verifier import VerifierDetector
from eirene.eval.scoring import Scorer, in_order, workers_for
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.embedded.reading import confirmed_mends
from eirene.models.encoder.runtime import shipped_encoder
from eirene.models.verifier.runtime import shipped_verifier
from eirene.text.cancellation import cancel_scope
from eirene.text.refusals import is_refusal
from eirene.text.sentences import split_sentences
from eirene.verification.mends import Mend
from eirene.verification.verify import verify_item

BY_SIDES = "alignment"
FAULTY = 0.5
"""Error score of one sentence or argument from which it counts as unsupported, or as missing, as for the gate."""
JUDGE_FAILED = "the judge failed"
"""How the reason begins where a call of the judge failed."""
_MADE = re.compile(r"item-[0-9a-f]{12}")
"""An id that was made of a row's content."""
_REFUSES = "the answer only refuses"
_THREADS = 4
_DIGITS = 4
"""Decimals of scores: what differs behind them differs between machines."""


class RowMeasure:
    """Measures answers. `named` are detectors that score every row in place of the usual ones; a `judge` reads passages
    where the verifier is unsure.

    The same item gives the same row, as far as its detectors only compute. Raises `EncoderError` where the
    shipped models are damaged.
    """

    def __init__(self, named: Sequence[Detector] = (), *, judge: TokenJudge | None = None) -> None:
        self._judge = judge
        by_passages = VerifierDetector(shipped_verifier()) if judge is None else judge
        self._passages_by = by_passages.name
        self._own: dict[str, Detector] = {
            BY_SIDES: AlignmentDetector(shipped_encoder()),
            by_passages.name: by_passages,
        }
        self.asked, self.unjudged = 0, 0
        self._deciding = {detector.name: detector for detector in named} or self._own
        self._named = tuple(detector.name for detector in named)
        self._scorer = Scorer(tuple({**self._own, **self._deciding}.values()))

    @property
    def detectors(self) -> tuple[str, ...]:
        """The names of the detectors whose scores are compared."""
        return tuple(self._deciding)

    @property
    def versions(self) -> dict[str, str]:
        """What a row hangs on beside its item: Eirene's version, which scores are compared, the detectors' versions."""
        used = {**self._own, **self._deciding}
        compared = f"by {', '.join(self._named) or 'what was given'}"
        return {
            "eirene": __version__,
            "comparison": compared,
            **{name: detector.version for name, detector in used.items()},
        }

    def workers(self, concurrency: int) -> int:
        """How many rows may be under way, so that neither a model's calls nor the cores wait."""
        return max(workers_for(self._scorer.detectors, concurrency), min(_THREADS, os.cpu_count() or 1))

    async def measure(self, item: Item) -> QualityRow:
        """The row of an item. What fails, and an answer that only refuses, leaves it unscored, with the reason."""
        usual = BY_SIDES if item.perspectives else self._passages_by if item.context else None
        deciding = self._named or tuple(filter(None, [usual]))
        wanted = dict.fromkeys([*deciding, *([BY_SIDES] if item.perspectives else [])])
        # First, as it works beside other rows, and the verifier then knows what the detector would have it read.
        found = None if item.perspectives else await verified(item, self._judge)
        claims, faults = self._by_passages(found) if isinstance(found, Verification) else (0, ())
        by_name = {detector.name: detector for detector in self._scorer.detectors}
        case = case_of(item)
        scored = await asyncio.gather(*(self._scorer.score_by(by_name[name], case) for name in wanted))
        outcomes = dict(zip(wanted, scored, strict=True))
        scores = {name: _kept(outcomes[name].scores) for name in deciding}
        if item.perspectives:
            claims, faults = _by_sides(item, outcomes[BY_SIDES].scores)
        refuses = is_refusal(item.answer)
        if refuses:
            claims, faults = 0, ()
        return QualityRow(
            id=item.id,
            given=given_digest(item),
            answer=digest(item.answer)[:16],
            scores=scores,
            faults=faults,
            claims=claims,
            sides=bool(item.perspectives) and claims > 0,
            why=_REFUSES if refuses else _why_unscored(scores),
        )

    def _by_passages(self, found: Verification) -> tuple[int, tuple[RowFault, ...]]:
        asked, unjudged = asked_of(found)
        self.asked, self.unjudged = self.asked + asked, self.unjudged + unjudged
        read, faults = found.checked, read_faults(found)
        if read and not faults:
            faults = (_read_fault(min(read, key=lambda claim: claim.supported or 0.0), "weakest"),)
        return len(read), faults


async def measure_rows(
    items: Iterable[Item], measure: RowMeasure, *, concurrency: int, on_row: Callable[[int], object] | None = None
) -> list[QualityRow]:
    """The rows of items, in their order; `on_row` is told how many there are after each."""
    found: list[QualityRow] = []
    async for _, row in in_order(items, measure.measure, workers=measure.workers(concurrency)):
        found.append(row)
        if on_row is not None:
            on_row(len(found))
    return found


def asked_of(found: Verification) -> tuple[int, int]:
    """Of how many sentences a judge was asked, and of how many of these it gave no reading."""
    unjudged = sum((claim.why or "").startswith(UNJUDGED) for claim in found.claims)
    return len(found.judged) + unjudged, unjudged


async def verified(item: Item, judge: TokenJudge | None) -> Verification | Unscored | None:
    """What `verify` says of an item, in a thread, and a judge where it is unsure; None where the item gives nothing.

    A call of the judge that fails leaves it unscored, with the reason. Raises `PERMANENT_ERRORS`.
    """
    meter, mends = Meter(), dict[int, Mend]()
    try:
        with cancel_scope():  # a thread that nobody waits for any more ends at its next sentence
            if judge is not None and item.context and not item.perspectives:
                request = FeedbackRequest(item, item.answer, split_sentences(item.answer), 0)
                confirmed = await confirmed_mends(request, shipped_verifier(), judge, meter=meter)
                mends = {request.sentences[i].n: mend for i, mend in confirmed.items()}
            found = await asyncio.to_thread(verify_item, item, item.answer, mends=mends)
        return found if judge is None or found is None else await judge.reread(case_of(item), found, meter=meter)
    except BackendError as error:
        if isinstance(error, PERMANENT_ERRORS):
            raise
        return Unscored(unscored=f"{JUDGE_FAILED}: {error.kind}: {error}")


_FAULTY: dict[ClaimWord, FaultKind] = {"unsupported": "unsupported", "contradicted": "contradicted"}


def read_faults(found: Verification) -> tuple[RowFault, ...]:
    """The faulty sentences of a verification, each with the sentence of a passage that decides."""
    return tuple(_read_fault(claim, _FAULTY[claim.verdict]) for claim in found.faulty)


def _read_fault(claim: ClaimVerdict, kind: FaultKind) -> RowFault:
    return RowFault(kind=kind, text=claim.text, evidence=claim.evidence.text if claim.evidence else None)


def given_digest(item: Item) -> str:
    """16 hex digits for the question and the given text: what must be the same for two answers to be compared."""
    sides = [[p.name, list(p.arguments)] for p in item.perspectives or ()]
    return digest([item.question, sides, list(item.context or ())])[:16]


def _by_sides(item: Item, scores: Scores) -> tuple[int, tuple[RowFault, ...]]:
    texts = {sentence.n: sentence.text for sentence in split_sentences(item.answer)}
    given = {(p.name, n): text for p in item.perspectives or () for n, text in enumerate(p.arguments, start=1)}
    said = {s.n: s.hallucination for s in scores.sentences if not isinstance(s.hallucination, Unscored)}
    faults = [RowFault(kind="unsupported", text=texts[n]) for n, score in said.items() if _is_faulty(score)]
    faults += [RowFault(kind="missing", text=given[a.group, a.n]) for a in scores.arguments if _is_faulty(a.coverage)]
    if said and not faults:
        faults = [RowFault(kind="weakest", text=texts[max(said, key=said.__getitem__)])]
    return len(said), tuple(faults)


def _is_faulty(score: Score) -> bool:
    return not isinstance(score, Unscored) and score >= FAULTY


def _why_unscored(scores: Mapping[str, Scores]) -> str | None:
    """Why the first detector without any score has none; a detector that measures one of the errors has scored."""
    if not scores:
        return NOTHING_GIVEN
    for name, found in scores.items():
        if isinstance(found.hallucination, Unscored) and isinstance(found.coverage, Unscored):
            return f"{name}: {found.hallucination.unscored}"
    return None


def _kept(scores: Scores) -> Scores:
    """What a comparison needs of scores, rounded."""
    return Scores(
        hallucination=_rounded(scores.hallucination),
        coverage=_rounded(scores.coverage),
        sentences=tuple(s.model_copy(update={"hallucination": _rounded(s.hallucination)}) for s in scores.sentences),
        arguments=tuple(a.model_copy(update={"coverage": _rounded(a.coverage), "words": ()}) for a in scores.arguments),
    )


def _rounded(score: Score) -> Score:
    return score if isinstance(score, Unscored) else round(score, _DIGITS)


def check_ids(items: Iterable[Item]) -> None:
    """Raises `InputError` for a row without an id of its own: the one made of its content changes with the answer."""
    for n, item in enumerate(items, start=1):
        if _MADE.fullmatch(item.id):
            raise InputError(
                f"row {n} has no 'id', by which it is found in the baseline; give each row one (--map id=COLUMN)",
                field="id",
            )
