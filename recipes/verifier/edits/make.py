"""Training pairs made by rule: twins of supported rows that the premise does not bear out, and twins that it does."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from eirene.text.english import Decapitalizer
from recipes.verifier.data import Label, VerifierRow
from recipes.verifier.edits import assertion, figures, opposites, rewording, roles
from recipes.verifier.edits.additions import Additions, both
from recipes.verifier.edits.given import ClaimGiven, plain, quotations

Rule = Callable[[ClaimGiven], str | None]

SOURCE = "own_edits"
FALSE: Mapping[str, tuple[Rule, Label, float]] = MappingProxyType(
    {
        "roles": (roles.roles, "not_supported", 20.0),
        "unit": (figures.unit, "not_supported", 8.0),
        "scale": (figures.scale, "not_supported", 4.0),
        "number": (figures.number, "not_supported", 2.0),
        "date": (figures.date, "not_supported", 4.0),
        "name": (figures.name, "not_supported", 1.5),
        "direction": (opposites.direction, "not_supported", 8.0),
        "bound": (opposites.bound, "contradicted", 8.0),
        "opposite": (opposites.opposite, "not_supported", 3.0),
        "hedge": (assertion.hedge, "not_supported", 5.0),
        "report": (assertion.report, "contradicted", 6.0),
        "denied": (assertion.denied, "contradicted", 0.4),
        "negation_in": (assertion.negation_in, "contradicted", 1.0),
        "negation_out": (assertion.negation_out, "contradicted", 4.0),
    }
)
"""Rules that make a claim which the premise does not bear out: its label, and how much it is preferred to others."""
TRUE: Mapping[str, tuple[Rule, float]] = MappingProxyType(
    {
        "same:passive": (roles.passive, 20.0),
        "same:figure": (rewording.figure, 4.0),
        "same:day": (rewording.day, 6.0),
        "same:contraction": (rewording.contraction, 4.0),
        "same:twice_negated": (rewording.twice_negated, 10.0),
        "same:undated": (rewording.undated, 4.0),
        "same:synonym": (rewording.synonym, 2.0),
        "same:affirmed": (assertion.affirmed, 0.3),
        "same:opened": (rewording.opened, 0.3),
    }
)
"""Rules that keep what a claim says."""
_PLAIN = ("same:opened", "same:affirmed")
"""Rules that nearly every claim allows; they are used less."""
ADDED = 0.7
"""How much an addition, of a clause or of a phrase, is preferred to other edits."""
OPENED = 0.25
"""Share of false twins that get an opening too: openings must tell nothing."""
UNFIT = frozenset({"drop_nli", "rule_edits", "diasumfact_qmsum", "scone", "breaking_nli", "faithdial_audit", "q2_wow"})
"""Sources whose claims are no sentences, or talk."""
LONGEST = 60
"""Words of a claim that is edited."""


def pair_of(row: VerifierRow) -> str:
    """The row's pair, or one of its own made from its text."""
    if row.pair is not None:
        return row.pair
    text = "\x1f".join((row.source, *row.premise, row.claim))
    return f"own:{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def paired(rows: Iterable[VerifierRow]) -> list[VerifierRow]:
    """The rows, each that may be edited with a pair, so that it meets its twins in a batch."""
    return [replace(row, pair=pair_of(row)) if _is_base(row) else row for row in rows]


def _is_base(row: VerifierRow) -> bool:
    return row.label in ("supported", "contradicted") and row.source not in UNFIT and row.by != "rule"


def own_edits(rows: Sequence[VerifierRow], *, seed: int, share: float) -> list[VerifierRow]:
    """Twins of a `share` in [0, 1] of the supported rows: mostly two that are not borne out, and up to two that are.

    Contradicted rows give a twin as well, denied and so supported, as often as supported ones are denied. The same
    rows and seed give the same twins, whatever other rows there are, save for additions.
    """
    if not 0.0 <= share <= 1.0:
        raise ValueError(f"share must be in [0, 1], got {share}")
    maker = _TwinMaker(rows)
    made: list[VerifierRow] = []
    seen: set[tuple[str, str]] = set()
    for row in rows:
        rng = random.Random(f"{seed}:{pair_of(row)}:{row.claim}")
        wanted = rng.random() < share and _is_base(row) and len(row.claim.split()) <= LONGEST
        for twin in maker.twins(row, rng) if wanted else ():
            key = (pair_of(row), plain(twin.claim))
            if key not in seen:
                seen.add(key)
                made.append(twin)
    return made


class _TwinMaker:
    """What the twins of one row need of the others: claims that its premise supports too, material for additions."""

    def __init__(self, rows: Sequence[VerifierRow]) -> None:
        self._supported: dict[tuple[str, ...], list[str]] = {}
        claims: dict[str, list[str]] = {}
        for row in rows:
            if row.label == "supported" and row.source not in UNFIT:
                self._supported.setdefault(row.premise, []).append(row.claim)
                claims.setdefault(row.source, []).append(row.claim)
        self._additions = Additions(claims)
        self._letters = Decapitalizer([claim for texts in claims.values() for claim in texts])

    def twins(self, row: VerifierRow, rng: random.Random) -> list[VerifierRow]:
        given = ClaimGiven(row.claim.strip(), "\n".join(row.premise), rng, self._letters)
        if row.label == "contradicted":
            claim = assertion.denied(given) if rng.random() < 0.12 else None
            return [] if claim is None else [_twin(row, claim, "supported", "same:denied")]
        truths = {plain(claim) for claim in self._supported.get(row.premise, ())}
        made = []
        for kind, label, claim in self._false(given, row.source)[:2]:
            if plain(claim) not in truths:
                made.append(_twin(row, _perhaps_opened(claim, given), label, kind))
        made += [_twin(row, claim, "supported", kind) for kind, claim in self._true(given, row)[:2]]
        return made

    def _false(self, given: ClaimGiven, source: str) -> list[tuple[str, Label, str]]:
        rules: list[tuple[str, Label, float, Rule]] = [(k, lab, w, rule) for k, (rule, lab, w) in FALSE.items()]
        rules.append(("addition", "unsupported", ADDED, lambda g: self._additions.clause(g, source)))
        rules.append(("added_phrase", "unsupported", ADDED, lambda g: self._additions.phrase(g, source)))
        order = _drawn([weight for *_, weight, _ in rules], given.rng)
        found: list[tuple[str, Label, str]] = []
        for kind, label, _, rule in (rules[n] for n in order):
            claim = _edited(given, rule)
            if claim is not None:
                found.append((kind, label, claim))
            if len(found) == 2:
                break
        return found

    def _true(self, given: ClaimGiven, row: VerifierRow) -> list[tuple[str, str]]:
        others = self._supported.get(row.premise, [])
        rules: list[tuple[str, float, Rule]] = [(kind, weight, rule) for kind, (rule, weight) in TRUE.items()]
        rules.append(("same:both", 2.0, lambda g: both(g, others)))
        found: list[tuple[str, str]] = []
        for kind, _, rule in (rules[n] for n in _drawn([weight for _, weight, _ in rules], given.rng)):
            claim = _edited(given, rule)
            if claim is not None:
                found.append((kind, claim))
            if len(found) == 2:
                break
        return [(k, c) for k, c in found if k not in _PLAIN or given.rng.random() < 0.6]


def _drawn(weights: Sequence[float], rng: random.Random) -> list[int]:
    """An order of the weights' places: heavier ones tend to come first."""
    return sorted(range(len(weights)), key=lambda n: -(rng.random() ** (1.0 / weights[n])))


def _edited(given: ClaimGiven, rule: Rule) -> str | None:
    """What a rule makes of the claim, where it is another claim and its quotations are as they were."""
    claim = rule(given)
    if claim is None or claim == given.claim or quotations(claim) != quotations(given.claim):
        return None
    return claim


def _perhaps_opened(claim: str, given: ClaimGiven) -> str:
    if given.rng.random() >= OPENED:
        return claim
    edited = given.having(claim)
    return (rewording.opened if given.rng.random() < 0.5 else assertion.affirmed)(edited) or claim


def _twin(row: VerifierRow, claim: str, label: Label, edit: str) -> VerifierRow:
    return VerifierRow(SOURCE, row.premise, claim, label, pair_of(row), edit, "rule")
