"""Wrong facts planted in sound sentences of answers with passages: how many are put right, and what else is changed.

    python benchmarks/verifier_mends.py SHARED_DATA [--each 40] [--verifier FOLDER] [--seed 0] [--show N] [--json OUT]

SHARED_DATA holds `ragtruth_subset` and `qa_feedback`, of which the part is read that figures are reported on (margins
were chosen on `--part fit` with another seed). In one sound sentence of an answer that people found faithful one
fact is changed that its passages have: a number, a name, a part of a date, a negation, a word for its opposite (from a
list of this script, not the one that mends are proposed from). Put right: the sentence is the original again. The
critic by itself (its edits made as they are) and the whole loop with `critic="hallucination"`, with the gate.
Sound: the same answers without a planted fact. Intervals: 95 %, Wilson.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from verifier_data import ANSWERS, parts

from eirene.agent.backends import resolve_backend
from eirene.agent.run import arefine
from eirene.agent.state import Parts
from eirene.core.findings.edits import apply_findings
from eirene.core.records import Item
from eirene.eval.datasets.annotated import Annotated
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.embedded.critic import EmbeddedFeedback, EmbeddedHallucination
from eirene.feedback_model.embedded.reading import faults_by_reading
from eirene.models.encoder import load_encoder
from eirene.models.verifier.runtime import Verifier, load_verifier
from eirene.text.sentences import split_sentences
from eirene.text.specifics.index import find_specifics, keys_of, specifics_index
from eirene.text.specifics.mention import Mention
from eirene.verification.claims import claims_nothing

OPPOSITE = """
    left right; right left; top bottom; upper lower; before after; increase decrease; increased decreased; higher lower;
    more less; above below; inside outside; open closed; first last; north south; east west; hot cold; high low;
    larger smaller; early late; begins ends; started ended; add remove; allows prevents; public private; old new;
    front back; positive negative; true false; with without; up down; over under; long short; male female; large small;
    common rare; same different; safe dangerous; warm cool; wet dry; buy sell; gain lose; accept reject; win lose
"""
PAIRS = {a: b for pair in OPPOSITE.split(";") for a, b in [pair.split(), pair.split()[::-1]]}
AUXILIARY = re.compile(r"\b(is|are|was|were|can|will|has|have|should|could|may)\b(?! (?:not|been|no|also)\b)")
_MONTH_NAMES = "January February March April May June July August September October November December"
MONTHS = _MONTH_NAMES.split()
WORD = re.compile(r"[a-z]+")
KINDS = ("number", "name", "date", "negation", "direction")


@dataclass(frozen=True)
class Sound:
    """An answer without a known fault, its question and passages; `judged`: sentences that claim something."""

    question: str
    answer: str
    passages: tuple[str, ...]
    judged: tuple[int, ...]


@dataclass(frozen=True)
class Planted:
    """An answer with one wrong fact in `sentence`, which was `right` and is `wrong`."""

    kind: str
    sound: Sound
    answer: str
    sentence: int
    right: str
    wrong: str


def sound_answers(folder: Path, part: str) -> Iterator[Sound]:
    """The answers of a part of the data (see `verifier_data.py`) that have a sentence without a known fault."""
    for name in ANSWERS:
        for case in parts(folder, name)[part]:
            if name == "ragtruth" and case.findings:
                continue
            question = case.item.question
            yield _sound(question, case.item.answer, tuple(case.item.context or ()), partial(is_faulty, case))


def is_faulty(case: Annotated, start: int, end: int) -> bool:
    """Whether people marked something there."""
    return any(f.start < end and start < f.end for f in case.findings)


def _sound(question: str, answer: str, passages: tuple[str, ...], faulty: Callable[[int, int], bool]) -> Sound:
    sentences = split_sentences(answer)
    judged = [
        i for i, s in enumerate(sentences)
        if s.text and claims_nothing(s.text) is None and not faulty(s.text_start, s.text_end)
    ]  # fmt: skip
    return Sound(question, answer, passages, tuple(judged))


def wrong(kind: str, sentence: str, given: str, others: list[Sound], rng: random.Random) -> str | None:
    """The sentence with one fact changed that `given` has; None where it has no place for it."""
    if kind in ("number", "name"):
        return _other_value(kind, sentence, given, others, rng)
    if kind == "date":
        return _other_date(sentence, given, rng)
    if kind == "negation":
        places = list(AUXILIARY.finditer(sentence))
        if " not " in sentence:
            return (
                sentence.replace(" not ", " ", 1)
                if re.search(r"\b(is|are|was|were|can|will|has|have) not\b", sentence)
                else None
            )
        return sentence[: places[0].end()] + " not" + sentence[places[0].end() :] if places else None
    words = [m for m in WORD.finditer(sentence) if m.group() in PAIRS and m.group() in given.lower().split()]
    if not words:
        return None
    place = rng.choice(words)
    return sentence[: place.start()] + PAIRS[place.group()] + sentence[place.end() :]


def _other_value(kind: str, sentence: str, given: str, others: list[Sound], rng: random.Random) -> str | None:
    index = specifics_index(given)
    mine = [m for m in find_specifics(sentence) if m.kind == kind and not m.is_weak and index.holds(m)]
    if not mine:
        return None
    old = rng.choice(mine)
    text = sentence[old.start : old.end]
    if kind == "number":
        found = re.search(r"\d+", text)
        if found is None:
            return None
        value = int(found.group())
        new = value + rng.choice([-3, -2, 2, 3, 7]) if value < 1000 or 1000 < value < 2100 else value * 2
        if new < 2 or str(new) in given:
            return None
        changed = text[: found.start()] + str(new) + text[found.end() :]
    else:
        names: list[str] = []
        for other in rng.sample(others, 5):
            names += [other.answer[m.start : m.end] for m in find_specifics(other.answer)
                      if m.kind == "name" and not m.is_weak]  # fmt: skip
        names = [n for n in names if n.lower() not in given.lower() and len(n.split()) == len(text.split())
                 and n[-2:] not in ("'s", "’s") and text[-2:] not in ("'s", "’s")]  # fmt: skip
        if not names:
            return None
        changed = rng.choice(names)
    return sentence[: old.start] + changed + sentence[old.end :]


def _other_date(sentence: str, given: str, rng: random.Random) -> str | None:
    index = specifics_index(given)
    mine = [m for m in find_specifics(sentence) if m.kind == "date" and index.holds(m)]
    for old in mine:
        text = sentence[old.start : old.end]
        months = [m for m in MONTHS if m in text]
        days = re.search(r"\b\d{1,2}\b", text)
        if months:
            new = text.replace(months[0], rng.choice([m for m in MONTHS if m not in given] or ["May"]), 1)
        elif days and ":" not in text:
            new = text[: days.start()] + str(int(days.group()) + 3) + text[days.end() :]
        else:
            continue
        return sentence[: old.start] + new + sentence[old.end :]
    return None


def planted(sounds: list[Sound], each: int, rng: random.Random) -> list[Planted]:
    found: list[Planted] = []
    for kind in KINDS:
        rng.shuffle(sounds)
        taken = 0
        for sound in sounds:
            if taken == each:
                break
            given = "\n".join(sound.passages)
            places = list(sound.judged)
            rng.shuffle(places)
            for i in places:
                sentence = split_sentences(sound.answer)[i]
                new = wrong(kind, sentence.text, given, sounds, rng)
                if new is None or new == sentence.text:
                    continue
                answer = sound.answer[: sentence.text_start] + new + sound.answer[sentence.text_end :]
                if len(split_sentences(answer)) == len(split_sentences(sound.answer)):
                    found.append(Planted(kind, sound, answer, i, sentence.text, new))
                    taken += 1
                    break
    return found


def edited(answer: str, item: Item, verifier: Verifier) -> str:
    """The answer with the critic's surest edits made, without vote and gate."""
    request = FeedbackRequest(item, answer, split_sentences(answer), 0)
    faults = faults_by_reading(request, verifier, "unverifiable")
    return apply_findings(answer, [f for fault in faults if fault.margin > 0 for f in fault.findings]).text


def item_of(sound: Sound, answer: str) -> Item:
    return Item(question=sound.question, answer=answer, context=list(sound.passages))


def parts_with(verifier: Verifier) -> Parts:
    """The embedded backend with this verifier in its critics and in its gate."""
    parts = resolve_backend("embedded")
    encoder = load_encoder()
    return replace(
        parts,
        feedback_model=EmbeddedFeedback(encoder, verifier=lambda: verifier),
        hallucination_model=EmbeddedHallucination(encoder, verifier=lambda: verifier),
        verifier=verifier,
    )


def outcome(case: Planted, final: str) -> str:
    texts = [s.text for s in split_sentences(final)]
    if any(says_the_same(case.right, text) for text in texts):
        return "put right"
    if case.wrong in texts:
        return "left"
    return "otherwise" if len(texts) >= len(split_sentences(case.answer)) else "removed"


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


def wilson(hits: int, n: int) -> str:
    if not n:
        return "-"
    z, p = 1.96, hits / n
    mid, half = (p + z * z / (2 * n)), z * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    low, high = (mid - half) / (1 + z * z / n), (mid + half) / (1 + z * z / n)
    return f"{100 * p:.1f} % [{100 * low:.1f}, {100 * high:.1f}] of {n}"


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("--verifier", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", default="report", choices=["train", "fit", "report"])
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--no-loop", action="store_true")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    sounds = [s for s in sound_answers(args.data, args.part) if s.judged]
    cases = planted(sounds, args.each, rng)
    verifier = load_verifier(load_encoder(), args.verifier)
    parts = parts_with(verifier)
    rows: list[dict[str, Any]] = []
    for n, case in enumerate(cases):
        wrong_item, right_item = item_of(case.sound, case.answer), item_of(case.sound, case.sound.answer)
        finals = {"critic": edited(case.answer, wrong_item, verifier)}
        sound_finals = {"critic": edited(case.sound.answer, right_item, verifier)}
        if not args.no_loop:
            for target, item in ((finals, wrong_item), (sound_finals, right_item)):
                record = await arefine(item, backend=parts, critic="hallucination", seed=args.seed)
                target["loop"] = record.answer
        row = {"kind": case.kind, "right": case.right, "wrong": case.wrong}
        row |= {f"{how}": outcome(case, final) for how, final in finals.items()}
        row |= {f"{how} sound": changed(case.sound.answer, final) for how, final in sound_finals.items()}
        rows.append(row)
        if n < args.show:
            print(json.dumps(row, indent=1))
    report(rows)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def report(rows: list[dict[str, Any]]) -> None:
    for how in ("critic", "loop"):
        known = [r for r in rows if how in r]
        if not known:
            continue
        print(f"\n{how}")
        for kind in (*KINDS, "all"):
            own = [r[how] for r in known if kind in (r["kind"], "all")]
            parts = {name: sum(o == name for o in own) for name in ("put right", "removed", "otherwise", "left")}
            print(f"  {kind:10} put right {wilson(parts['put right'], len(own))}; {parts}")
        counts = [r[f"{how} sound"] for r in known]
        print(f"  sound sentences changed {wilson(sum(c[0] for c in counts), sum(c[1] for c in counts))}")


if __name__ == "__main__":
    asyncio.run(main())
