"""What `--detectors` and the flags beside it make of a backend's parts, and which of those flags do nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from eirene.cli.terminal import say

if TYPE_CHECKING:
    from eirene.agent.state import Parts
    from eirene.eval.base import Need
    from eirene.eval.resources import Resources


def with_named(parts: Parts, detectors: str | None, *, judges_elsewhere: bool = False, **resources: Any) -> Parts:
    """The parts with the detectors named (commas between) and what they need; as they are where none is named.

    A model that none of them needs is warned about. `judges_elsewhere`: the judge has other work as well.
    """
    from eirene.eval.resources import Resources

    found = Resources(**resources)
    if detectors is not None:
        from eirene.agent.named_detectors import with_detectors
        from eirene.eval.registry import parse_names

        parts = with_detectors(parts, parse_names(detectors), found)
    # Where no detectors are named, a judge comes beside those of the backend.
    needs: list[frozenset[Need]] = [getattr(detector, "needs", frozenset()) for detector in parts.detectors]
    tell_idle(found, needs, but_judge=judges_elsewhere or detectors is None)
    return parts


def tell_idle(resources: Resources, needs: Iterable[frozenset[Need]], *, but_judge: bool = False) -> None:
    """Warns of models that were named and that nothing uses."""
    for need in resources.idle(frozenset().union(*needs)):
        if need != "judge" or not but_judge:
            flag = need.replace("_", "-")
            say(f"warning: --{flag} is not used: none of the detectors needs it (see --detectors)")
