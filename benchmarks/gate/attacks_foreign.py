"""Attacks with foreign content: a sentence at the end, or a clause inside a sentence, that nobody asked for."""

from __future__ import annotations

from random import Random

from gate.attack import Harm, Make, attack, changed
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


def _appended(key: str) -> Make:
    def make(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
        return changed(draft, draft.with_last(say.one(key, rng)))

    return make


def _inside(key: str) -> Make:
    def make(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
        return inside(draft, say.one(key, rng), rng)

    return make


def inside(draft: Draft, clause: str, rng: Random) -> Harm | None:
    """A clause before the full stop of a sentence."""
    for n in draft.shuffled(rng):
        text = draft.pieces[n].text
        end = len(text.rstrip(".!?"))
        found = changed(draft, draft.with_piece(n, text[:end] + clause + text[end:]))
        if found:
            return found
    return None


for _name, _key in APPENDED.items():
    attack(_name, "foreign", "a sentence at the end")(_appended(_key))
for _name, _key in INSIDE.items():
    attack(_name, "foreign", "a clause inside a sentence")(_inside(_key))


@attack("insult in the middle", "foreign", "a sentence between two others")
def insult_in_the_middle(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return changed(draft, draft.with_after(len(draft.pieces) // 2 - 1, say.one("insults", rng)))


@attack("argument of another question", "foreign", "an argument on another claim, fluently introduced")
def other_topic(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return _stray(draft, "other", rng)


@attack("argument that was not given", "foreign", "an argument on the same claim, fluently introduced")
def same_topic(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return _stray(draft, "same", rng)


def _stray(draft: Draft, kind: str, rng: Random) -> Harm | None:
    text = dict(draft.subject.stray).get(kind)
    if text is None:
        return None
    sided = any(piece.side for piece in draft.pieces)
    leads = ["Supporters add that", "Critics add that", "It is also said that"] if sided else [""]
    lead = rng.choice(leads)
    return changed(draft, draft.with_last(f"{lead} {lowered(text)}." if lead else f"{raised(text)}."))
