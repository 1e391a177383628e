"""Citations in a critique's reasons: numbers of retrieved passages become their ids, in square brackets.

In a prompt sentences of passages have numbers, not ids: an id is text of the corpus's, and a number is soon checked.
What stands in square brackets in a reason afterwards is the id of a passage that was shown, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from eirene.core.critique import Finding, Sample
from eirene.core.records import Item, found_ids
from eirene.feedback_model.embedded.faults import AnswerFault

_NUMBERS = re.compile(
    r"\[\s*((?:(?:passages?|references?|refs?\.?)\s*)?\d{1,6}(?:\s*(?:,|;|and)\s*\d{1,6})*)\s*\]", re.IGNORECASE
)
_ROUND = {ord("["): "(", ord("]"): ")"}
_LONGEST = 120


def with_ids(sample: Sample, ids: Sequence[str]) -> Sample:
    """A model's sample with ids for the numbers in its reasons; a number that no evidence has is marked as such.

    `ids`: of the passage of each piece of evidence. Without any the sample is returned as it is.
    """
    if not ids or not sample.is_valid:
        return sample
    return sample.model_copy(update={"reasons": tuple(r and _resolved(r, ids) for r in sample.reasons)})


def resolved(reason: str, ids: Sequence[str]) -> str:
    """A model's reason likewise."""
    return _resolved(reason, ids) if ids else reason


def plain(text: str, item: Item) -> str:
    """A reason that quotes the answer or what is given, whose own square brackets cite nothing."""
    return text.translate(_ROUND) if found_ids(item) else text


def cite_passage(fault: AnswerFault, given: str, item: Item) -> AnswerFault:
    """The fault with the id of the passage that holds the sentence `given`, after each finding's reason.

    Where nothing is `given`, or no passage holds it, none is named. Where no passages were found for the item, the
    fault is returned as it is.
    """
    ids = found_ids(item)
    if not ids:
        return fault
    number = next((n for n, text in enumerate(item.context or ()) if given and given in text), None)
    cited = "" if number is None else f" {_cited(ids[number])}"
    reason, findings = plain(fault.reason, item), list[Finding]()
    for finding in fault.findings:
        quoted = plain(finding.reason, item)
        named = quoted + cited
        reason = reason.replace(quoted, named, 1)
        findings.append(finding.model_copy(update={"reason": named}))
    return replace(fault, reason=reason, findings=tuple(findings))


def _resolved(reason: str, ids: Sequence[str]) -> str:
    """Numbers in square brackets as ids; other square brackets become round: they may look like an id, and are none."""
    pieces = _NUMBERS.split(reason)  # text, numbers, text, numbers, ..., text
    pieces[::2] = [text.translate(_ROUND) for text in pieces[::2]]
    pieces[1::2] = [" ".join(_passage(int(n), ids) for n in re.findall(r"\d+", some)) for some in pieces[1::2]]
    return "".join(pieces)


def _passage(number: int, ids: Sequence[str]) -> str:
    return _cited(ids[number - 1]) if 1 <= number <= len(ids) else f"(no passage {number})"


def _cited(id_: str) -> str:
    line = " ".join(id_.translate(_ROUND).split())
    return f"[{line[:_LONGEST]}]"
