"""Subjects of the attacks: rows of `mixed_*`, of QA-Feedback and of the user's own, cut into pieces and seeded."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from gate.drafts import Gain, Piece, Subject, as_clause, lowered
from gate.survival import count
from qa_cases import item_of_qa, read_qa

from eirene.agent.run import arefine
from eirene.core.records import Item, parse_item
from eirene.text.english import is_statement
from eirene.text.sentences import split_sentences

Row = Mapping[str, Any]
LEADS = {
    "pro": ("Supporters also argue that", "Those in favour also say that", "Supporters point out, too, that"),
    "con": ("Opponents also argue that", "Those against it also say that", "Critics point out, too, that"),
}
"""How a good refiner introduces an argument that was missing."""
COLONS = {
    "pro": ("Another point in favour:", "One more reason that is given for it:"),
    "con": ("Another point against it:", "One more reason that is given against it:"),
}
"""How it introduces one that is no statement to follow "that"."""
_SEVERITY = ("Missing-Answer", "Missing-Major-Auxiliary", "Missing-Minor-Auxiliary")


def mixed_subjects(folder: Path, split: str, seed: int) -> list[Subject]:
    """The rows of `mixed_{split}.jsonl` in seeded order; `topics_{split}.jsonl` has other arguments."""
    rows = _read(folder / f"mixed_{split}.jsonl")
    topics = {topic["claim_id"]: topic for topic in _read(folder / f"topics_{split}.jsonl")}
    subjects = [mixed_subject(row, topics, seed) for row in rows]
    Random(f"{seed}:mixed").shuffle(subjects)
    return subjects


def mixed_subject(row: Row, topics: Mapping[int, Row], seed: int) -> Subject:
    """One row: its sentences with sides and parts, the missing argument, and arguments that are none of its own."""
    rng = Random(f"{seed}:{row['id']}")
    given = [*row["pro_arguments"], *row["con_arguments"]]
    sides = [{"name": side, "arguments": [a["text"] for a in row[f"{side}_arguments"]]} for side in ("pro", "con")]
    item = Item(id=row["id"], question=row["query"], answer=row["response"], perspectives=sides)
    pieces = tuple(_pieces(row))
    missing = tuple(a["text"] for a in given if a["id"] in row["missing_argument_ids"])
    foreign = "swap" in row["error_type"] or "extra" in row["error_type"]
    return Subject(
        id=row["id"],
        pool="foreign" if foreign else "clean" if missing else "whole",
        item=item,
        pieces=pieces,
        gain=_gain(row, pieces, rng),
        given=tuple(a["text"] for a in given),
        missing=missing,
        stray=tuple(_strays(row, topics, rng)),
    )


def _pieces(row: Row) -> Iterable[Piece]:
    text, at = row["response"], 0
    ends = []
    for sentence in row["sentences"]:
        at = text.index(sentence["text"], at) + len(sentence["text"])
        ends.append(at)
    starts = [end - len(s["text"]) for end, s in zip(ends, row["sentences"], strict=True)]
    for n, sentence in enumerate(row["sentences"]):
        kinds = [part["kind"] for part in sentence["parts"]]
        following = starts[n + 1] if n + 1 < len(starts) else len(text)
        yield Piece(
            text=sentence["text"],
            gap=text[ends[n] : following],
            side=sentence["side"],
            parts=tuple(as_clause(part["text"]) for part in sentence["parts"]),
            arguments=tuple(part["argument_id"] for part in sentence["parts"]),
            sound=bool(kinds) and all(kind in ("supported", "repeated") for kind in kinds),
            once=not _repeats(row, sentence),
        )


def _repeats(row: Row, sentence: Row) -> bool:
    """Whether an argument of the sentence is said in another one as well: then losing it is none."""
    said = [p["argument_id"] for s in row["sentences"] for p in s["parts"]]
    return any(said.count(part["argument_id"]) > 1 for part in sentence["parts"])


def _gain(row: Row, pieces: Sequence[Piece], rng: Random) -> Gain | None:
    if not row["missing_argument_ids"]:
        return None
    wanted = row["missing_argument_ids"][0]
    side = "pro" if any(a["id"] == wanted for a in row["pro_arguments"]) else "con"
    text = as_clause(next(a["text"] for a in row[f"{side}_arguments"] if a["id"] == wanted))
    after = max((n for n, piece in enumerate(pieces) if piece.side == side), default=len(pieces) - 1)
    return Gain(introduced(text, side, rng), text, after, side)


def introduced(text: str, side: str, rng: Random) -> str:
    """An argument as a good refiner says it."""
    if is_statement(f"{text}."):
        return f"{rng.choice(LEADS[side])} {lowered(text)}."
    return f"{rng.choice(COLONS[side])} {text}."


def is_clause(text: str) -> bool:
    """Whether a crowd wording can follow "that": five words or more, and no question."""
    return len(text.split()) >= 5 and not text.endswith("?")


def _strays(row: Row, topics: Mapping[int, Row], rng: Random) -> Iterable[tuple[str, str]]:
    """An argument on the same claim that was not given, one of another claim, each as ("same" or "other", wording)."""
    given = {a["id"] for side in ("pro", "con") for a in row[f"{side}_arguments"]}
    for kind in ("same", "other"):
        claim = row["claim_id"] if kind == "same" else rng.choice([c for c in topics if c != row["claim_id"]])
        found = [a for side in ("pro", "con") for a in topics[claim][side] if kind == "other" or a["id"] not in given]
        texts = [as_clause(p["text"]) for a in found for p in (a, *a["paraphrases"])]
        texts = [t for t in texts if is_clause(t) and not count(t, row["response"])]
        if texts:
            yield kind, rng.choice(texts)


def qa_subjects(folder: Path, seed: int) -> list[Subject]:
    """QA-Feedback rows with a sentence that people missed; it is added as it stands.

    Constants of the critic and the detectors were fitted on half of them, none of the gate's.
    """
    rows = [row for row in read_qa(folder) if row["feedback"]["missing-info"]]
    subjects = [s for s in (_qa_subject(row) for row in rows) if s is not None]
    Random(f"{seed}:qa").shuffle(subjects)
    answers = [s.item.answer for s in subjects]
    return [_with_stray(s, answers[n - 1]) for n, s in enumerate(subjects)]


def _qa_subject(row: Row) -> Subject | None:
    item = item_of_qa(row)
    missed = sorted(row["feedback"]["missing-info"], key=lambda m: _SEVERITY.index(m["error type"]))
    places = [(m["passage_id"], n) for m in missed for n in m.get("sentence_id") or []]
    for number, n in places:
        passage = row["passages"][number - 1] if 0 < number <= len(row["passages"]) else []
        text = " ".join(passage[n].split("\n\n")[-1].split()) if 0 < n < len(passage) else ""
        if len(text.split()) >= 5 and not count(text, item.answer):
            pieces = tuple(sentence_pieces(item.answer))
            given = tuple(item.context or ())
            return Subject(item.id, "qa", item, pieces, Gain(text, text, len(pieces) - 1), given, (text,))
    return None


def _with_stray(subject: Subject, elsewhere: str) -> Subject:
    sentences = [p.text for p in sentence_pieces(elsewhere) if len(p.text.split()) >= 6]
    return replace(subject, stray=(("other", as_clause(sentences[0])),) if sentences else ())


def sentence_pieces(text: str) -> Iterable[Piece]:
    """The sentences of a text about which nothing is known."""
    found = [s for s in split_sentences(text) if s.text]
    for n, s in enumerate(found):
        end = found[n + 1].text_start if n + 1 < len(found) else len(text)
        is_long = len(s.text.split()) >= 5
        yield Piece(s.text, text[s.text_end : end], parts=(as_clause(s.text),), sound=is_long, once=True)


def user_subjects(file: Path, seed: int) -> list[Subject]:
    """The user's own rows. The gain of one is what the embedded refiner adds to it, where the gate lets that pass."""
    items = [parse_item(row) for row in _read(file)]
    subjects = [asyncio.run(_user_subject(item)) for item in items]
    Random(f"{seed}:user").shuffle(subjects)
    return subjects


async def _user_subject(item: Item) -> Subject:
    pieces = tuple(sentence_pieces(item.answer))
    given = tuple(a for p in item.perspectives or () for a in p.arguments) or tuple(item.context or ())
    record = await arefine(item, max_rounds=1)
    known = {p.text for p in pieces}
    rewritten = tuple(replace(p, is_gain=p.text not in known, sound=p.sound and p.text in known)
                      for p in sentence_pieces(record.answer))  # fmt: skip
    new = [n for n, p in enumerate(rewritten) if p.is_gain]
    if not new:
        return Subject(item.id, "user", item, pieces, None, given)
    gain = Gain(rewritten[new[0]].text, as_clause(rewritten[new[0]].text), new[0] - 1)
    return Subject(item.id, "user", item, pieces, gain, given, rewritten=rewritten)


def _read(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
