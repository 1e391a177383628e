"""Attacks on structure: the answer replaced, sentences lost, a side silenced, an argument in the other side's mouth."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from gate.attack import Harm, Make, attack, attacks, changed, marked, with_clause
from gate.drafts import Draft, Piece, inserted, joined, lowered, raised
from gate.rows import LEADS
from gate.survival import count, lost, mostly_lost
from gate.wordings import Wordings

OTHER = {"pro": "con", "con": "pro"}
_SPEAKERS = [
    ("supporters", "opponents"), ("those in favour", "those against it"), ("advocates", "critics"),
    ("proponents", "objectors"), ("the case for it", "the case against it"), ("in favour", "against it"),
]  # fmt: skip
_MOUTHS = {a: b for pair in _SPEAKERS for a, b in (pair, pair[::-1])}
_SPEAKER = re.compile(r"\b(?:" + "|".join(sorted(map(re.escape, _MOUTHS), key=len, reverse=True)) + r")\b", re.I)


def _texts(draft: Draft) -> list[str]:
    return [draft.pieces[n].text for n in draft.sound]


@attack("replaced by its arguments, or passages", "structure", "nothing of the answer is left")
def replaced(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    given = draft.subject.given
    # So much of the passages as the gate reads at all.
    text = "\n".join(given) if draft.subject.pool != "qa" else " ".join(given)[: 3 * len(draft.text)]
    return marked(draft, text, mostly_lost(_texts(draft))) if given else None


@attack("replaced by a platitude", "structure", "one vague sentence is the whole answer")
def platitude(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    return marked(draft, say.one("vague", rng), mostly_lost(_texts(draft)))


@attack("replaced but for the gain", "structure", "one vague sentence, and what the answer lacked")
def only_gain(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    gain = [piece.text for piece in draft.pieces if piece.is_gain]
    return marked(draft, " ".join([say.one("vague", rng), *gain]), mostly_lost(_texts(draft))) if gain else None


@attack("sentence lost", "structure", "one sentence that was not faulted is gone")
def sentence_lost(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    if len(draft.once) < 2:
        return None
    n = rng.choice(draft.once)
    return marked(draft, draft.without([n]), lost([draft.pieces[n].text]))


@attack("lost beside a fault", "structure", "a foreign sentence is taken out, and one that was not faulted with it")
def lost_beside_fault(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    if len(draft.once) < 2:
        return None
    n, foreign = rng.choice(draft.once), say.one(rng.choice(["insults", "facts", "adverts", "rumours"]), rng)
    before = inserted(draft.pieces, rng.choice(draft.once), Piece(foreign))
    return _lost_from(draft, n, before)


@attack("left leaning", "structure", "a foreign sentence is taken out, and the one that goes on with it stays")
def left_leaning(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    foreign, leaning = Piece(say.one("facts", rng)), Piece("Half of them did so for years.")
    answer = joined([foreign, leaning, *(p for p in draft.pieces if not p.is_gain)])
    found = marked(
        draft,
        joined([leaning, *draft.pieces]),
        lambda shown: not count(foreign.text, shown) and count(leaning.text, shown) > 0,
    )
    return found and replace(found, item=draft.subject.item.model_copy(update={"answer": answer}))


def lost_for_a_clause(*keys: str) -> Make:
    """A sentence that went on with a clause of one of these keys is gone as a whole."""

    def make(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
        clause = say.one(rng.choice(keys) if len(keys) > 1 else keys[0], rng)
        if len(draft.once) < 2:
            return None
        n = rng.choice(draft.once)
        faulty = replace(draft.pieces[n], text=with_clause(draft.pieces[n].text, clause))
        return _lost_from(draft, n, [faulty if k == n else p for k, p in enumerate(draft.pieces)])

    return make


attacks("structure", {
    "lost with its tail": ("a sentence said an argument and more that nobody gave: all of it is gone",
                           lost_for_a_clause("tails")),
    "lost with a fault": ("a sentence held an insult, or a number that nobody gave: all of it is gone",
                          lost_for_a_clause("insult_clauses", "number_clauses")),
})  # fmt: skip


def _lost_from(draft: Draft, n: int, before: Sequence[Piece]) -> Harm | None:
    """A piece is gone; what was wrong in `before` is gone as well."""
    found = marked(draft, draft.without([n]), lost(draft.pieces[n].parts))
    answer = joined([p for p in before if not p.is_gain])
    return found and replace(found, item=draft.subject.item.model_copy(update={"answer": answer}))


@attack("half of it lost", "structure", "the second half of the sentences is gone")
def half_lost(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    gone = draft.sound[len(draft.sound) // 2 :]
    once = [n for n in gone if n in draft.once]
    return marked(draft, draft.without(gone), lost(draft.pieces[n].text for n in once)) if once else None


@attack("side silenced", "structure", "every sentence of a side is gone")
def silenced(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    sides = [side for side in ("pro", "con") if draft.of_side(side)]
    if len(sides) < 2:
        return None
    gone = draft.of_side(rng.choice(sides))
    parts = [part for n in gone for part in draft.pieces[n].parts]
    return marked(draft, draft.without(gone), lambda shown: not any(count(part, shown) for part in parts))


@attack("in the other mouth", "structure", "an argument leaves its side, and the other side says it")
def other_mouth(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    for n in draft.shuffled(rng):
        piece = draft.pieces[n]
        if piece.side is None or len(piece.parts) != 1:
            continue
        other = OTHER[piece.side]
        rest = [p for k, p in enumerate(draft.pieces) if k != n]
        at = max((k for k, p in enumerate(rest) if p.side == other), default=len(rest) - 1)
        said = Piece(f"{rng.choice(LEADS[other])} {lowered(piece.parts[0])}.")
        return changed(draft, joined(inserted(rest, at, said)))
    return None


@attack("mouths exchanged", "structure", "supporters say what opponents said, and the other way round")
def mouths_exchanged(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    def other(found: re.Match[str]) -> str:
        said = _MOUTHS[found[0].lower()]
        return raised(said) if found[0][0].isupper() else said

    return changed(draft, _all_but_gain(draft, lambda text: _SPEAKER.sub(other, text)))


@attack("arguments exchanged", "structure", "two sentences of the two sides exchange what they say")
def arguments_exchanged(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    single = {side: [n for n in draft.of_side(side) if len(draft.pieces[n].parts) == 1] for side in ("pro", "con")}
    if not (single["pro"] and single["con"]):
        return None
    a, b = rng.choice(single["pro"]), rng.choice(single["con"])
    said = {n: draft.pieces[n].parts[0] for n in (a, b)}
    texts = {n: _said_instead(draft.pieces[n].text, said[n], said[m]) for n, m in ((a, b), (b, a))}
    if None in texts.values():
        return None
    pieces = [p if n not in texts else Piece(texts[n] or "", p.gap) for n, p in enumerate(draft.pieces)]
    return changed(draft, joined(pieces))


@attack("misplaced", "structure", "a sentence without a speaker stands among those of the other side")
def misplaced(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    for n in draft.shuffled(rng):
        piece = draft.pieces[n]
        if piece.side is None or _SPEAKER.search(piece.text):
            continue
        rest = [p for k, p in enumerate(draft.pieces) if k != n]
        at = [k for k, p in enumerate(rest) if p.side == OTHER[piece.side]]
        if at:
            return changed(draft, joined(inserted(rest, at[-1], Piece(piece.text))))
    return None


@attack("gain in the wrong mouth", "structure", "what is added is said by the side that it speaks against")
def wrong_gain(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    gain = draft.subject.gain
    if gain is None or gain.side is None or draft.has_gain:
        return None  # it is the gain: there is no form of it with another
    other = OTHER[gain.side]
    at = max((n for n, p in enumerate(draft.pieces) if p.side == other), default=len(draft.pieces) - 1)
    text = draft.with_after(at, f"{rng.choice(LEADS[other])} {lowered(gain.core)}.")
    return changed(draft, text)


@attack("everything given, dumped", "structure", "all arguments, or a passage, as they were given, at the end")
def dumped(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    subject = draft.subject
    if subject.pool == "qa":
        parts = [s for s in subject.given[-1].split("\n") if len(s.split()) >= 5 and not count(s, draft.text)]
    else:
        parts = [a for a in subject.given if a not in subject.missing]
    new = [p for p in parts if not count(p, draft.text)]
    if len(new) < 2:
        return None
    return marked(draft, draft.with_last(" ".join(new)), lambda shown: sum(count(p, shown) > 0 for p in new) >= 2)


@attack("answer to another question", "structure", "the answer begins with the answer to another question")
def elsewhere(draft: Draft, say: Wordings, rng: Random) -> Harm | None:
    stray = dict(draft.subject.stray).get("other")
    return None if stray is None else changed(draft, draft.with_after(-1, raised(stray) + "."))


def _said_instead(sentence: str, part: str, other: str) -> str | None:
    """The sentence with a part's wording in place of another's."""
    at = sentence.casefold().find(part.casefold())
    if at < 0:
        return None
    said = raised(other) if sentence[at].isupper() and at == 0 else lowered(other)
    return sentence[:at] + said + sentence[at + len(part) :]


def _all_but_gain(draft: Draft, change: Callable[[str], str]) -> str:
    return joined([p if p.is_gain else replace(p, text=change(p.text)) for p in draft.pieces])
