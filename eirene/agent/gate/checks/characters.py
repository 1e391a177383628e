"""Character check: control, bidirectional and zero-width characters, and another script or language."""

from __future__ import annotations

from collections.abc import Iterator

from eirene.agent.gate.checks.base import EditCase, Objection
from eirene.agent.gate.checks.new_language import new_language
from eirene.agent.gate.checks.places import PlacedFault, objections_at
from eirene.text.new_characters import without_new_characters


def characters(case: EditCase) -> Iterator[Objection]:
    """Objects to characters that hide, override or disguise text, and to another script or language, that are new."""
    yield from objections_at(case, _faults(case))


def _faults(case: EditCase) -> Iterator[PlacedFault]:
    _, edits = without_new_characters(case.before, case.after, case.sources[1:])
    for edit in edits:
        yield PlacedFault(edit.start, edit.end, f"characters that hide or disguise text: {edit.names}")
    yield from new_language(case)
