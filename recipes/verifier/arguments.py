"""Training pairs made of topic files: arguments as the premise, another wording of an argument as the claim."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from eirene.text.english import as_sentence
from eirene.text.words import content_words
from recipes.encoder.data import TrainingClaim, WordingCluster, dress
from recipes.verifier.data import Label, VerifierRow
from recipes.verifier.edits.assertion import denied, negation_in, negation_out
from recipes.verifier.edits.given import ClaimGiven
from recipes.verifier.edits.opposites import opposite

SOURCE = "perspectives"
DRESSED, CUT = 0.4, 0.05
MOST_GIVEN = 6
"""Arguments in a premise."""
ALIKE = 0.35
"""Share of its stems from which on two arguments may say the same, so that one left out is still said."""
_EDITS: tuple[tuple[Callable[[ClaimGiven], str | None], Label, str], ...] = (
    (negation_in, "contradicted", "negation_in"),
    (negation_out, "contradicted", "negation_out"),
    (opposite, "not_supported", "opposite"),
)
_DENIED = 0.15


def argument_rows(claims: Sequence[TrainingClaim], *, seed: int, each: int = 1) -> list[VerifierRow]:
    """For every argument that has paraphrases, `each` times: a supported row, and up to three that are not.

    These have the same claim with its argument left out of the premise (which the other side may contradict), an
    argument of another topic, and an edit that turns the claim round, beside arguments of its own side alone, since the
    other one may well say that. They share a pair. The same claims and seed give the same rows.
    """
    made: dict[tuple[str, str], VerifierRow] = {}
    for claim in claims:
        rng = random.Random(f"{seed}:{claim.claim_id}")
        for number, cluster in enumerate(claim.clusters):
            for turn in range(each if len(cluster.wordings) > 1 else 0):
                pair = f"perspectives:{claim.claim_id}-{number}-{turn}"
                for row in _rows(claim, cluster, _foreign(claims, claim, rng), pair, rng):
                    made.setdefault((row.premise[0], row.claim), row)
    return list(made.values())


def _foreign(claims: Sequence[TrainingClaim], claim: TrainingClaim, rng: random.Random) -> str | None:
    """A wording of an argument of another claim with other topics."""
    for _ in range(10):
        other = rng.choice(claims)
        if other.claim_id != claim.claim_id and not set(other.topics) & set(claim.topics):
            return rng.choice(rng.choice(other.clusters).wordings)
    return None


def _rows(
    claim: TrainingClaim, cluster: WordingCluster, foreign: str | None, pair: str, rng: random.Random
) -> list[VerifierRow]:
    main = cluster.wordings[0]
    said = rng.choice(cluster.wordings[1:])
    others = [c for c in claim.clusters if c is not cluster and (rng.random() < 0.7 or c.side == cluster.side)]
    rng.shuffle(others)
    beside = [c.wordings[0] for c in others[: rng.randint(1, MOST_GIVEN - 1)]]
    given = [*beside, main]
    rng.shuffle(given)
    whole = " ".join(map(as_sentence, given))

    def row(premise: str, text: str, label: Label, edit: str | None = None) -> VerifierRow:
        spoken = dress(text, cluster.side, dressed=DRESSED, cut=0.0 if edit else CUT, rng=_chance(rng))
        return VerifierRow(SOURCE, (premise,), spoken, label, pair, edit, "rule" if edit else "human")

    rows = [row(whole, said, "supported")]
    if beside and not any(_alike(text, one) for text in beside for one in cluster.wordings):
        rows.append(row(" ".join(map(as_sentence, beside)), said, "not_supported", "left_out"))
    if foreign is not None:
        rows.append(row(whole, foreign, "unsupported", "foreign"))
    sides = {c.wordings[0]: c.side for c in claim.clusters}
    one_side = " ".join(as_sentence(text) for text in given if sides[text] == cluster.side)
    turned = _turned(ClaimGiven(as_sentence(said), one_side, rng))
    if turned is not None:
        rows.append(row(one_side, *turned))
    return rows


def _chance(rng: random.Random) -> np.random.Generator:
    return np.random.default_rng(rng.getrandbits(32))


def _turned(given: ClaimGiven) -> tuple[str, Label, str] | None:
    """The claim turned round: what it then says, the label, the kind of edit."""
    if given.rng.random() < _DENIED:
        claim = denied(given)
        return None if claim is None else (claim, "contradicted", "denied")
    edits = list(_EDITS)
    given.rng.shuffle(edits)
    for edit, label, kind in edits:
        claim = edit(given)
        if claim is not None:
            return claim, label, kind
    return None


def _alike(one: str, other: str) -> bool:
    a, b = ({word.stem for word in content_words(text)} for text in (one, other))
    return bool(a and b) and len(a & b) >= ALIKE * min(len(a), len(b))
