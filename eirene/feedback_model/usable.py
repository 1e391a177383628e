"""Usable reasons: which sentences of a critique have a reason that may count, and which only look as if they had one.

Small models give several sentences one reason, break a reason off, or ask for what the answer says. Such a tag does not
vote, and the others of its sample do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from eirene.core.critique import FeedbackNote, Sample
from eirene.feedback_model.request import LONGEST_LACK
from eirene.text.frames import frame_of
from eirene.text.refusals import denies_fault
from eirene.text.sentences import split_sentences
from eirene.text.torn_ends import is_torn
from eirene.text.words import stems

Says = Callable[[str], float]
"""The probability in [0, 1] that the answer says a statement."""

ALIKE = 0.8
"""Share of the content words of two reasons, of those that either has, from which they are one."""
SAID = 0.7
"""Probability from which the answer says what a reason asks for."""
_NOUN_ALONE = re.compile(
    r"\s*(?:the|an?|it|this|these|its|their)(?:\s+[\w-]+)?(?:\s+(?:is|are|was|were|has|does))?[.…]*\s*\Z", re.IGNORECASE
)


def with_usable_votes(sample: Sample, says: Says | None = None) -> Sample:
    """The sample with a note of each Incomplete whose reason cannot count; as it is where all can.

    - A reason that another sentence has as well, but for a few words: which of them it speaks of cannot be told.
    - One that breaks off: English alone is read (`eirene.text.torn_ends`), beside what ends where replies must. What
      stands whole before the torn end is kept, and counts.
    - One that says that nothing is wrong (`eirene.text.refusals`).
    - One that misses a statement ("It does not say that rents rose") which the answer makes, as `says` reads it.
    """
    if not sample.is_valid:
        return sample
    sample = sample.model_copy(update={"reasons": tuple(reason and _whole_part(reason) for reason in sample.reasons)})
    found = tuple(FeedbackNote(sentence=n, reason=why) for n, why in _unusable(sample, says))
    return sample.model_copy(update={"unusable": found}) if found else sample


def _unusable(sample: Sample, says: Says | None) -> Iterator[tuple[int, str]]:
    reasons = {n: reason for n, reason in enumerate(sample.reasons, start=1) if reason}
    words = {n: frozenset(stems(reason)) for n, reason in reasons.items()}
    for n, reason in reasons.items():
        twin = next((m for m, own in words.items() if m != n and _are_alike(own, words[n])), None)
        if twin is not None:
            yield n, f"its reason is that of sentence {twin}"
        elif breaks_off(reason):
            yield n, "its reason breaks off"
        elif denies_fault(reason):
            yield n, "its reason says that nothing is wrong"
        elif says is not None and asks_for_what_is_said(reason, says):
            yield n, "the answer says what its reason asks for"


def _are_alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one) and len(one & other) >= ALIKE * len(one | other)


def breaks_off(reason: str) -> bool:
    """Whether an English reason ends before it has said anything whole."""
    is_full = len(reason) >= LONGEST_LACK and reason[-1] not in ".!?"
    return is_full or is_torn(reason) or _NOUN_ALONE.match(reason) is not None


def _whole_part(reason: str) -> str:
    """The reason without a last sentence that breaks off, where it has another one."""
    whole = split_sentences(reason)[:-1] if breaks_off(reason) else ()
    return reason[: whole[-1].text_end] if whole else reason


def asks_for_what_is_said(reason: str, says: Says) -> bool:
    """Whether what an English reason calls unsaid, as far as it is a statement, is what the answer says."""
    frame = frame_of(reason)
    return frame is not None and frame.kind in ("denied", "open") and says(frame.statement) >= SAID
