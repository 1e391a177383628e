"""Assertions on answers, for tests: `assert_supported` by passages, `assert_refined` by the loop.

They raise `AssertionError` with the sentences at fault. What could not be checked fails as well, and says why: a test
that checks nothing should not pass. Heavy parts are loaded by the first call.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eirene.agent.loop import Loop
    from eirene.core.records import Item, Record
    from eirene.core.verification import ClaimVerdict, Verification

_RISKIEST = 3
"""Sentences that are named where the answer's risk is too high."""


def assert_supported(
    answer: str,
    context: str | Sequence[Any] | None = None,
    *,
    perspectives: Mapping[str, Any] | Sequence[Any] | None = None,
    allow: int = 0,
    threshold: float | None = None,
) -> Verification:
    """Asserts that passages, or arguments, support an answer; returns the verification, to look further.

    Fails where more than `allow` sentences are unsupported, contradicted, or in a language that is not read, and where
    no sentence could be checked. An unclear one passes, and so does what claims nothing: a greeting, a question. With
    a `threshold` in [0, 1] verdicts do not count: it fails where the answer's risk is above. Takes what `eirene.verify`
    takes, and raises what that does.

    Examples:
        >>> found = assert_supported("The bridge opened in 1932.", "The bridge was opened in 1932.")
        >>> found.claims[0].verdict
        'supported'
    """
    __tracebackhide__ = True
    from eirene.core.errors import InputError
    from eirene.core.validation import described
    from eirene.models.verifier.runtime import shipped_verifier
    from eirene.verification.verify import verify

    if threshold is not None and not 0.0 <= threshold <= 1.0:
        raise InputError(f"threshold must be in [0, 1], got {described(threshold)}", field="threshold")
    found = verify(answer, context, perspectives=perspectives, verifier=shipped_verifier())
    if not found.checked:
        reasons = "; ".join(dict.fromkeys(claim.why or "" for claim in found.claims))
        raise AssertionError(f"no sentence could be checked: {reasons}")
    if threshold is not None and found.risk is not None and found.risk > threshold:
        raise AssertionError("\n".join([f"the risk is {found.risk:.2f}, above {threshold:g}", *_riskiest(found)]))
    if threshold is None and len(found.faulty) + len(found.unread) > allow:
        raise AssertionError("\n".join(_unsupported(found)))
    return found


def assert_refined(
    item: Item | Record | Mapping[str, Any] | None = None, *, loop: Loop | None = None, **fields: Any
) -> Record:
    """Asserts that Eirene finds no fault in an answer: the run ends `complete` or `no_fault_found`; returns its record.

    Fails if the critique names a sentence, whether a rewrite was accepted (`accepted`) or not (`kept`, `flagged`), if
    the answer was not judged (`not_checked`, `abstained`), and if the run failed. Give a row whole or by its fields
    (`question=`, `answer=`, `context=` or `perspectives=`), or the record of an earlier run. `loop`: that of the
    fixture `eirene_loop`; without it the embedded models with the default settings. Raises `InputError` for a row that
    is none.

    Examples:
        >>> sides = {"pro": "Wind power is clean.", "con": "Wind turbines kill birds."}
        >>> answer = "Supporters say that wind power is clean. Opponents say that wind turbines kill birds."
        >>> assert_refined(question="Should we build wind turbines?", answer=answer, perspectives=sides).status
        'complete'
    """
    __tracebackhide__ = True
    from eirene.core.records import WITHOUT_FAULT

    record = _record(item, loop, fields)
    if record.status not in WITHOUT_FAULT:
        raise AssertionError("\n".join(_findings(record)))
    return record


def _record(item: Item | Record | Mapping[str, Any] | None, loop: Loop | None, fields: dict[str, Any]) -> Record:
    from eirene.core.errors import InputError
    from eirene.core.records import Item, Record

    if (item is None) == (not fields):
        raise InputError("give a row or record whole, or question=, answer= and what was given", field="item")
    if isinstance(item, Record):
        if loop is not None:
            raise InputError("a record is the result of a run; give the row to run the loop on it", field="loop")
        return item
    row = fields if item is None else item
    unknown = next((name for name in fields if name not in Item.model_fields), None)
    if unknown is not None:
        raise InputError(f"{unknown!r} is no field of a row; settings go into eirene.Loop, as loop=", field=unknown)
    return (_default_loop() if loop is None else loop).run(row)


@functools.cache
def _default_loop() -> Loop:
    from eirene.agent.backends import resolve_backend
    from eirene.agent.loop import Loop

    return Loop(resolve_backend("embedded"))


def _unsupported(found: Verification) -> Iterator[str]:
    if found.faulty:
        yield f"{len(found.faulty)} of {len(found.checked)} checked sentences are not supported"
    if found.unread:
        yield f"{len(found.unread)} of {len(found.claims)} sentences could not be checked"
    for claim in (*found.faulty, *found.unread):
        yield from _told(claim)


def _riskiest(found: Verification) -> Iterator[str]:
    for claim in sorted(found.checked, key=lambda claim: -(claim.risk or 0.0))[:_RISKIEST]:
        yield from _told(claim, f" (risk {claim.risk:.2f})")


def _told(claim: ClaimVerdict, risk: str = "") -> Iterator[str]:
    from eirene.views.facts import visible_line

    yield f"  {claim.n}. {claim.verdict}{risk}: {visible_line(claim.text)}"
    if claim.why is not None:
        yield f"     {visible_line(claim.why)}"
    if claim.evidence is not None:
        place = claim.evidence.id or f"passage {claim.evidence.passage}"
        yield f"     evidence: {visible_line(claim.evidence.text)} ({visible_line(place)})"


def _findings(record: Record) -> Iterator[str]:
    from eirene.views.facts import visible_line
    from eirene.views.faults import MISSING, verdict_of
    from eirene.views.outcome import support_in_words

    yield f"the answer does not pass: {record.status}: {visible_line(record.why)}"
    yield from (f"  {visible_line(line)}" for line in support_in_words(record))
    critique = next((r.critique for r in record.rounds if r.critique is not None), None)
    for sentence in critique.incomplete if critique is not None else ():
        found = verdict_of(sentence)
        yield f"  {sentence.n}. {found.word if found.faults else MISSING}: {visible_line(sentence.text)}"
        yield f"     reason: {visible_line(sentence.reason or '')}"
    if record.diff:
        yield "  the answer would become:"
        yield from (f"    {visible_line(line)}" for line in record.diff.splitlines())
