"""Tagged replies of models: their findings, with offsets into the answer that was asked about.

Models copy with mistakes. The reply's untagged text is aligned with the answer, word by word; a finding counts only
where the answer has its words in the same order. Other changes by the model are ignored, and counted.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from eirene.core.critique import Finding, HallucinationKind
from eirene.core.findings.kinds import finding_of
from eirene.core.findings.tags import in_order, parse_tagged
from eirene.text.matching import BoundedMatcher, Span, token_spans

LEAST_KEPT = 0.6
"""A reply with a smaller share of the answer's words is another text: a refusal, a summary, a rewrite."""
MOST_ADDED = 0.6
"""A reply with more added words, as a share of the answer's, is no copy either."""
_MOST_TOKENS = 20_000
"""Most words between the first and the last difference; longer texts are not aligned."""


@dataclass(frozen=True, slots=True)
class ReplyFindings:
    """The findings of a reply, with offsets into the answer.

    `kept`: the share of the answer's `words` that the reply has, in [0, 1]. `changed`: words that it changed, left out
    or added outside its tags. `unplaced`: findings whose words are not in the answer. `stray`: as in `TaggedText`.
    `is_read`: False where the two are too long to be compared.
    """

    findings: tuple[Finding, ...]
    kept: float
    changed: int = 0
    unplaced: int = 0
    stray: int = 0
    words: int = 0
    is_read: bool = True

    @property
    def no_copy(self) -> str | None:
        """Why the reply is no tagged copy of the answer, so that nothing in it counts; None if it is one."""
        if not self.is_read:
            return f"too long: a reply that differs from an answer of {self.words} words is not compared with it"
        if self.kept < LEAST_KEPT:
            return f"another text: the reply gives back {self.kept:.0%} of the answer's words"
        if self.changed > 5 + 2 * MOST_ADDED * self.words:
            return f"another text: {self.changed} words differ from the answer's {self.words}"
        return None


def findings_in_reply(reply: str, answer: str, *, reasons: Sequence[str] = ()) -> ReplyFindings:
    """The findings of a tagged reply as findings of `answer`. Never raises.

    `reasons`: one for each of the reply's findings, by start; without them, they are those of `reason_for`.
    """
    read = parse_tagged(reply, tidy=True)
    copied, original = token_spans(read.text), token_spans(answer)
    place = _aligned([read.text[a:b] for a, b in copied], [answer[a:b] for a, b in original])
    if place is None:
        return ReplyFindings((), 0.0, len(copied), len(read.findings), read.stray, len(original), is_read=False)
    found: list[Finding] = []
    words = _ReplyWords(copied, original, place, answer)
    own = reasons if len(reasons) == len(read.findings) else [None] * len(read.findings)
    for finding, reason in zip(read.findings, own, strict=True):
        span = words.placed(finding)
        if span is not None:
            kind: HallucinationKind = finding.kind  # type: ignore[assignment]  # tags are of the six kinds
            placed = finding_of(kind, *span, text=answer, edit=finding.edit)
            found.append(placed if reason is None else placed.model_copy(update={"reason": reason}))
    matched = sum(p is not None for p in place)
    return ReplyFindings(
        findings=in_order(f for f in found if f.edit != answer[f.start : f.end]),
        kept=matched / len(original) if original else 1.0,
        changed=len(copied) + len(original) - 2 * matched,
        unplaced=len(read.findings) - len(found),
        stray=read.stray,
        words=len(original),
    )


def _aligned(copied: Sequence[str], original: Sequence[str]) -> list[int | None] | None:
    """For each word of the reply, which of the answer's it is; None where too many differ to be aligned."""
    both = min(len(copied), len(original))
    lead = next((n for n in range(both) if copied[n] != original[n]), both)
    trail = next((n for n in range(both - lead) if copied[-1 - n] != original[-1 - n]), both - lead)
    ends = len(copied) - trail, len(original) - trail
    place: list[int | None] = [*range(lead), *[None] * (ends[0] - lead), *range(ends[1], len(original))]
    mine, theirs = (
        copied[lead : ends[0]],
        original[lead : ends[1]],
    )  # a copy differs here and there, if at all
    if len(mine) + len(theirs) > _MOST_TOKENS:
        return None
    for a, b, size in BoundedMatcher(mine, theirs).get_matching_blocks():
        place[lead + a : lead + a + size] = range(lead + b, lead + b + size)
    return place


class _ReplyWords:
    """The words of a reply, each with its place among the answer's."""

    def __init__(
        self, copied: Sequence[Span], original: Sequence[Span], place: Sequence[int | None], answer: str
    ) -> None:
        self._starts, self._ends = [a for a, _ in copied], [b for _, b in copied]
        self._original, self._place, self._answer = original, place, answer

    def placed(self, finding: Finding) -> Span | None:
        """The span of a reply's finding in the answer; None where the answer does not have its words in order."""
        inside = range(bisect_left(self._starts, finding.start), bisect_right(self._ends, finding.end))
        if not inside:
            return self._point(finding.start) if finding.start == finding.end else None
        first, last = self._place[inside[0]], self._place[inside[-1]]
        if first is None or last is None or [self._place[i] for i in inside] != list(range(first, last + 1)):
            return None
        return self._original[first][0], self._original[last][1]

    def _point(self, at: int) -> Span | None:
        """Where an insertion goes: between the same words as in the reply, or at an end."""
        n_before = bisect_right(self._ends, at)
        left = self._place[n_before - 1] if n_before else -1
        right = self._place[n_before] if n_before < len(self._ends) else len(self._original)
        if left is None or right is None or right != left + 1:
            return None
        touches = n_before > 0 and self._ends[n_before - 1] == at
        if right < len(self._original) and not touches:
            return self._original[right][0], self._original[right][0]
        end = self._original[left][1] if left >= 0 else len(self._answer)
        return end, end
