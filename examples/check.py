"""A check of your own for the gate: it undoes edits that make a sentence long."""

from collections.abc import Iterator
from dataclasses import replace

import eirene
from eirene.gate.checks.base import EditCase, Objection
from eirene.gate.checks.registry import CHECKS, NamedCheck
from eirene.testing.parts import ScriptedRefiner


def long_sentence(case: EditCase) -> Iterator[Objection]:
    for n, edit in case.changed():
        if len(case.new(edit).split()) > 9 >= len(case.old(edit).split()):
            yield Objection(n, "a sentence of more than 9 words")


record = eirene.refine(
    question="Should the town build trams?",
    answer="Fans say that trams are quiet. Critics say that rails cost much.",
    perspectives={"pro": "Trams are quiet.", "con": "Rails cost much."},
    mode="improve",
    backend=replace(
        eirene.resolve_backend("embedded"),
        refiner=ScriptedRefiner(["Fans say that trams are quiet. Critics say that rails cost much, as they told us."]),
        checks=(NamedCheck("long sentence", long_sentence, mends="always"), *CHECKS),
    ),
)
print([(edit.check, edit.why) for edit in record.edits if not edit.taken])
