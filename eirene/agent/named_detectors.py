"""Puts named detectors behind the gate in place of a backend's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eirene.agent.state import Parts
from eirene.eval.registry import build_detectors
from eirene.eval.resources import Resources


def with_detectors(parts: Parts, names: Sequence[str], resources: Resources) -> Parts:
    """The parts with these detectors, in this order, which should be cheap to dear.

    Those that the backend only shows are still only shown, unless no other is named: a gate needs something to decide
    by. Those that ask a judge can measure a gain where nothing was given. Raises what `check_detectors`
    raises: a gate that waits for a score that cannot come is no gate.

    Example:
        >>> from eirene.agent.backends import resolve_backend
        >>> parts = with_detectors(resolve_backend("embedded"), ["alignment"], Resources())
        >>> [detector.name for detector in parts.detectors]
        ['alignment']
    """
    detectors = build_detectors(names, resources)
    named = {detector.name for detector in detectors}
    versions = [f"{d.name}:{d.version}" for d in detectors if d.version]
    return replace(
        parts,
        detectors=detectors,
        advisory=frozenset() if named <= parts.advisory else parts.advisory & named,
        judges=frozenset(d.name for d in detectors if "judge" in d.needs),
        version=",".join([*([parts.version] if parts.version else []), *versions]) or None,
    )
