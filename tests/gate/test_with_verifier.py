"""The loop with a verifier: a rewrite that the passage speaks against is not shown, and the record says by what."""

from __future__ import annotations

from dataclasses import replace

import eirene
from eirene.gate.checks.registry import CHECKS, NamedCheck
from eirene.models.encoder import load_encoder
from eirene.models.verifier.runtime import load_verifier
from tests.agent.loop import BAD, FAULTY, GOOD
from tests.scripted_parts import scripted_parts

PASSAGE = "The ferry leaves Norby every day at nine. Dogs are not allowed on board. Tickets are sold on the pier."
ANSWER = "The ferry leaves Norby every day at nine. Dogs are not allowed on board."
REWRITE = "The ferry leaves Norby every day at nine. Dogs are allowed on board. Tickets are sold on the pier."
ALONE: tuple[NamedCheck, ...] = tuple(check for check in CHECKS if check.name == "support")


def refined(*, with_verifier: bool) -> eirene.Record:
    parts = scripted_parts(samples=[FAULTY] * 20, rewrites=[REWRITE], scores={ANSWER: BAD, REWRITE: GOOD})
    verifier = load_verifier(load_encoder()) if with_verifier else None
    item = {"question": "When does the ferry leave?", "answer": ANSWER, "context": [PASSAGE]}
    return eirene.refine(item, backend=replace(parts, checks=ALONE, verifier=verifier), max_rounds=1)


def test_a_rewrite_against_the_passage_is_not_shown_whatever_scores_say() -> None:
    record = refined(with_verifier=True)
    assert (record.status, record.answer) == ("kept", ANSWER)
    turned = next(edit for edit in record.rounds[0].edits if edit.old.startswith("Dogs"))
    assert (turned.taken, turned.check) == (False, "comparison")
    assert 'no passage says "Dogs are allowed on board."' in record.why


def test_the_signature_names_the_verifier() -> None:
    with_one, without = refined(with_verifier=True).signature, refined(with_verifier=False).signature
    assert f"+verifier={load_verifier(load_encoder()).digest}" in with_one
    assert "verifier=" not in without
