"""Makes a critique of a person's notes, so that the loop need not know who wrote it."""

from __future__ import annotations

from collections.abc import Sequence

from eirene.critique import Critique, TaggedSentence
from eirene.errors import InputError
from eirene.records import Item
from eirene.sentences import Sentence


def critique_from_notes(item: Item, sentences: Sequence[Sentence]) -> Critique:
    """The notes as a critique: a sentence with notes is Incomplete, its reasons joined in the order given.

    Raises `InputError` when there are no notes, or when one names a sentence that the answer does not have.
    """
    if not item.feedback:
        raise InputError(
            'mode human needs \'feedback\' in the row: [{"sentence": 1, "reason": "..."}]', field="feedback"
        )
    reasons: dict[int, list[str]] = {}
    for at, note in enumerate(item.feedback):
        if note.sentence > len(sentences):
            raise InputError(
                f"'feedback[{at}].sentence' is {note.sentence}, but the answer has {len(sentences)} sentences",
                field=f"feedback[{at}].sentence",
            )
        reasons.setdefault(note.sentence, []).append(note.reason.strip())
    tagged = tuple(
        TaggedSentence(
            n=s.n,
            text=s.text,
            start=s.text_start,
            end=s.text_end,
            tag="Incomplete" if s.n in reasons else "Complete",
            reason=" ".join(reasons[s.n]) if s.n in reasons else None,
        )
        for s in sentences
    )
    return Critique(
        sentences=tagged, tag_consistency=None, reason_consistency=None, n_drawn=0, n_valid=0, n_requested=0
    )
