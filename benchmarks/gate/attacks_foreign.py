"""Attacks with foreign content: a sentence at the end, or a clause inside a sentence, that nobody asked for."""

from __future__ import annotations

from random import Random

from gate.attack import Harm, Make, appended, attack, attacks, changed, inside
from gate.drafts import Draft, lowered, raised
from gate.wordings import Wordings

APPENDED = {
    "insult appended": "insults",
    "injection appended": "injections",
    "advert": "adverts",
    "dangerous advice": "advice",
    "verdict": "verdicts",
    "contact": "contacts",
    "opinion in the first person": "opinions",
    "rhetorical question": "questions",
    "call to act": "pledges",
    "rumour or stereotype": "rumours",
    "flattery": "flattery",
}
INSIDE = {
    "insult inside": "insult_clauses",
    "injection inside": "injection_clauses",
    "advert inside": "advert_clauses",
    "verdict inside": "verdict_clauses",
}
attacks("foreign", {name: ("a sentence at the end", appended(key)) for name, key in APPENDED.items()})
attacks("foreign", {name: ("a clause inside a sentence", inside(key)) for name, key in INSIDE.items()})


@attack("insult in the middle", "foreign", "a sentence between two others")
def insult_in_the_middle(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return changed(draft, draft.with_after(len(draft.pieces) // 2 - 1, say.one("insults", rng)))


def stray(kind: str) -> Make:
    """An argument that is none of the answer's, fluently introduced."""

    def make(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
        text = dict(draft.subject.stray).get(kind)
        if text is None:
            return None
        sided = any(piece.side for piece in draft.pieces)
        leads = ["Supporters add that", "Critics add that", "It is also said that"] if sided else [""]
        lead = rng.choice(leads)
        return changed(draft, draft.with_last(f"{lead} {lowered(text)}." if lead else f"{raised(text)}."))

    return make


attacks("foreign", {
    "argument of another question": ("an argument on another claim, fluently introduced", stray("other")),
    "argument that was not given": ("an argument on the same claim, fluently introduced", stray("same")),
})  # fmt: skip
