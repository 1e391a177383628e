"""Wrong facts planted in sound sentences of answers with passages: how many are put right, and what else is changed.

    python benchmarks/verifier_mends.py SHARED_DATA [--each 40] [--seed 0] [--judge openai:NAME]

SHARED_DATA holds `ragtruth_subset` and `qa_feedback`, of which the part is read that figures are reported on (margins
were chosen on `--part fit` with another seed). In one sound sentence of an answer that people found faithful one
fact is changed that its passages have: a number, a name, a part of a date, a negation, a word for its opposite (from a
list of this script, not the one that mends are proposed from). Put right: the sentence is the original again. The
critic's edits are made as they are, without vote and gate. `--judge` confirms others (docs/concepts/judges.md).
Sound: the same answers without a planted fact. Intervals: 95 %, Wilson.
"""

from __future__ import annotations

import asyncio
import calendar
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from harness import arguments, share, write_json

from eirene.agent.backends import shipped_verifier
from eirene.core.findings.edits import apply_findings
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.eval.detectors.token_judge import TokenJudge, cascade_of
from eirene.eval.resources import Resources
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.embedded.reading import confirmed_mends, faults_by_reading
from eirene.models.verifier.runtime import Verifier
from eirene.text.sentences import split_sentences
from eirene.text.specifics.index import find_specifics, keys_of, specifics_index
from eirene.text.values.mention import Mention
from eirene.verification.claims import claims_nothing
from recipes.verifier.splits import ANSWERS, parts

OPPOSITE = """
    left right; right left; top bottom; upper lower; before after; increase decrease; increased decreased; higher lower;
    more less; above below; inside outside; open closed; first last; north south; east west; hot cold; high low;
    larger smaller; early late; begins ends; started ended; add remove; allows prevents; public private; old new;
    front back; positive negative; true false; with without; up down; over under; long short; male female; large small;
    common rare; same different; safe dangerous; warm cool; wet dry; buy sell; gain lose; accept reject; win lose
"""
PAIRS = {a: b for pair in OPPOSITE.split(";") for a, b in [pair.split(), pair.split()[::-1]]}
AUXILIARY = re.compile(r"\b(is|are|was|were|can|will|has|have|should|could|may)\b(?! (?:not|been|no|also)\b)")
NEGATED = re.compile(r"\b(is|are|was|were|can|will|has|have) not\b")
MONTHS = tuple(calendar.month_name)[1:]
WORD = re.compile(r"[a-z]+")
KINDS = ("number", "name", "date", "negation", "direction")


@dataclass(frozen=True)
class Sound:
    """An answer without a known fault, its question and passages; `judged`: sentences that claim something."""

    item: Item
    judged: tuple[int, ...]


@dataclass(frozen=True)
class Planted:
    """A sound answer, and the same with one wrong fact in a sentence, which was `right` and is `wrong`."""

    kind: str
    sound: Item
    faulty: Item
    right: str
    wrong: str


def sound_answers(folder: Path, part: str) -> Iterator[Sound]:
    """The answers of a part of the data (see `recipes.verifier`) that have a sentence without a known fault."""
    for name in ANSWERS:
        for case in parts(folder, name)[part]:
            judged = tuple(
                i for i, s in enumerate(split_sentences(case.item.answer))
                if s.text and claims_nothing(s.text) is None
                and not any(f.start < s.text_end and s.text_start < f.end for f in case.findings)
            )  # fmt: skip
            if judged and not (name == "ragtruth" and case.findings):
                yield Sound(case.item, judged)


def wrong(kind: str, sentence: str, given: str, others: list[Sound], rng: random.Random) -> str | None:
    """The sentence with one fact changed that `given` has; None where it has no place for it."""
    if kind == "negation":
        if " not " in sentence:
            return sentence.replace(" not ", " ", 1) if NEGATED.search(sentence) else None
        place = AUXILIARY.search(sentence)
        return f"{sentence[: place.end()]} not{sentence[place.end() :]}" if place else None
    if kind == "direction":
        words = [m for m in WORD.finditer(sentence) if m.group() in PAIRS and m.group() in given.lower().split()]
        if not words:
            return None
        place = rng.choice(words)
        return sentence[: place.start()] + PAIRS[place.group()] + sentence[place.end() :]
    index = specifics_index(given)
    mine = [m for m in find_specifics(sentence) if m.kind == kind and not m.is_weak and index.holds(m)]
    if not mine:
        return None
    old = rng.choice(mine)
    text = sentence[old.start : old.end]
    if kind == "name":
        changed = other_name(text, given, others, rng)
    else:
        changed = (other_number if kind == "number" else other_date)(text, given, rng)
    return None if changed is None else sentence[: old.start] + changed + sentence[old.end :]


def other_number(text: str, given: str, rng: random.Random) -> str | None:
    """Another number that is not among what was given."""
    found = re.search(r"\d+", text)
    if found is None:
        return None
    value = int(found.group())
    new = value + rng.choice([-3, -2, 2, 3, 7]) if value < 1000 or 1000 < value < 2100 else value * 2
    return None if new < 2 or str(new) in given else text[: found.start()] + str(new) + text[found.end() :]


def other_name(text: str, given: str, others: list[Sound], rng: random.Random) -> str | None:
    """A name of as many words out of other answers."""
    answers = [other.item.answer for other in rng.sample(others, 5)]
    names = [a[m.start : m.end] for a in answers for m in find_specifics(a) if m.kind == "name" and not m.is_weak]
    owner = ("'s", "’s")
    names = [n for n in names if n.lower() not in given.lower() and len(n.split()) == len(text.split())
             and not n.endswith(owner) and not text.endswith(owner)]  # fmt: skip
    return rng.choice(names) if names else None


def other_date(text: str, given: str, rng: random.Random) -> str | None:
    """The date with another month, or another day."""
    months = [m for m in MONTHS if m in text]
    day = re.search(r"\b\d{1,2}\b", text)
    if months:
        return text.replace(months[0], rng.choice([m for m in MONTHS if m not in given] or ["May"]), 1)
    if day and ":" not in text:
        return text[: day.start()] + str(int(day.group()) + 3) + text[day.end() :]
    return None


def planted(sounds: list[Sound], each: int, rng: random.Random) -> list[Planted]:
    """Up to `each` answers of a kind, one fact planted in each."""
    found: list[Planted] = []
    for kind in KINDS:
        rng.shuffle(sounds)
        cases = (case for sound in sounds if (case := planted_in(kind, sound, sounds, rng)) is not None)
        found += islice(cases, each)
    return found


def planted_in(kind: str, sound: Sound, others: list[Sound], rng: random.Random) -> Planted | None:
    """The first sentence, in random order, that takes such a fault."""
    item, given = sound.item, "\n".join(sound.item.context or ())
    sentences = split_sentences(item.answer)
    for i in rng.sample(sound.judged, len(sound.judged)):
        sentence = sentences[i]
        new = wrong(kind, sentence.text, given, others, rng)
        if new is not None and new != sentence.text:
            answer = item.answer[: sentence.text_start] + new + item.answer[sentence.text_end :]
            if len(split_sentences(answer)) == len(sentences):
                return Planted(kind, item, item.model_copy(update={"answer": answer}), sentence.text, new)
    return None


def edited(item: Item, verifier: Verifier, judge: TokenJudge | None) -> str:
    """The answer with the critic's surest edits made, without vote and gate."""
    request = FeedbackRequest(item, item.answer, split_sentences(item.answer), 0)
    confirmed = {} if judge is None else asyncio.run(confirmed_mends(request, verifier, judge, meter=Meter()))
    faults = faults_by_reading(request, verifier, "unverifiable", confirmed)
    return apply_findings(item.answer, [f for fault in faults if fault.margin > 0 for f in fault.findings]).text


def outcome(case: Planted, final: str) -> str:
    texts = [s.text for s in split_sentences(final)]
    if any(says_the_same(case.right, text) for text in texts):
        return "put right"
    if case.wrong in texts:
        return "left"
    return "otherwise" if len(texts) >= len(split_sentences(case.faulty.answer)) else "removed"


def says_the_same(right: str, text: str) -> bool:
    """Whether a sentence is another one, but for how a number or a date in it is written."""
    if right == text:
        return True
    mine, theirs = find_specifics(right), find_specifics(text)
    known = keys_of(text, theirs)
    rest = [_without(t, found) for t, found in ((right, mine), (text, theirs))]
    return rest[0] == rest[1] and all(m.stands_in(known) for m in mine)


def _without(text: str, mentions: tuple[Mention, ...]) -> str:
    for mention in reversed(mentions):
        if mention.kind in ("number", "date"):
            text = text[: mention.start] + "#" + text[mention.end :]
    return text


def changed(before: str, after: str) -> tuple[int, int]:
    """How many sentences are gone or other, of how many."""
    texts = [s.text for s in split_sentences(before) if s.text]
    stays = {s.text for s in split_sentences(after)}
    return sum(t not in stays for t in texts), len(texts)


def report(rows: list[dict[str, Any]]) -> None:
    """Prints what became of the planted facts, by kind, and how many sound sentences were changed."""
    for kind in (*KINDS, "all"):
        own = Counter(row["critic"] for row in rows if kind in (row["kind"], "all"))
        print(f"{kind:10} put right {share(own['put right'], own.total())}; {dict(own)}")
    counts = [row["critic sound"] for row in rows]
    print(f"sound sentences changed {share(sum(c[0] for c in counts), sum(c[1] for c in counts))}")


def main() -> None:
    """Plants, mends, counts."""
    parser = arguments(__doc__)
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--judge", help="a model that confirms mends in other words than the passages'")
    parser.add_argument("--part", default="report", choices=["train", "fit", "report"])
    args = parser.parse_args()
    verifier, judge, rows = shipped_verifier(), cascade_of(Resources(judge_model=args.judge)), []
    for case in planted(list(sound_answers(args.data, args.part)), args.each, random.Random(args.seed)):
        row = {"kind": case.kind, "right": case.right, "wrong": case.wrong}
        row["critic"] = outcome(case, edited(case.faulty, verifier, judge))
        row["critic sound"] = changed(case.sound.answer, edited(case.sound, verifier, judge))
        rows.append(row)
    report(rows)
    write_json(args.json, rows)


if __name__ == "__main__":
    main()
