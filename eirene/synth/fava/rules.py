"""Errors by rule: names and numbers of the same type swapped, relations reversed, opinions added.

Changes that make a right text wrong, the findings that take them back, and the row of both.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eirene.core.critique import Finding, HallucinationKind
from eirene.core.findings.edits import apply_findings
from eirene.core.findings.kinds import finding_of
from eirene.core.findings.tags import write_tagged
from eirene.core.records import Item
from eirene.retrieval.passages import Passage
from eirene.text.sentences import split_sentences

OFFLINE: tuple[HallucinationKind, ...] = ("entity", "relation", "subjective")
"""The kinds that rules can make; the others need somebody who knows what there is."""


MOST_VALUES = 5_000
"""Values of a type that are held: of a corpus of any size a sample, the same whatever its order."""


_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})*(?:\.\d+)?(?![\w,]|\.\d)")
_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)*\b")
_PATTERNS = {"year": _YEAR, "number": _NUMBER, "name": _NAME}
_OPPOSITES = (
    ("before", "after"), ("more", "less"), ("most", "least"), ("increased", "decreased"), ("rose", "fell"),
    ("won", "lost"), ("first", "last"), ("northern", "southern"), ("north", "south"), ("east", "west"),
    ("above", "below"), ("with", "without"), ("joined", "left"), ("began", "ended"), ("larger", "smaller"),
    ("highest", "lowest"), ("early", "late"), ("bought", "sold"), ("inside", "outside"), ("older", "younger"),
    ("is", "is not"), ("was", "was not"), ("are", "are not"), ("were", "were not"), ("can", "cannot"),
)  # fmt: skip
_FLIPS = {a: b for one, other in _OPPOSITES for a, b in ((one, other), (other, one))}
_RELATION = re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, _FLIPS), key=len, reverse=True))})\b(?! not\b)")
_OPINIONS = (
    "It is by far the finest of its kind.",
    "Nobody could fail to be moved by this.",
    "This is a truly remarkable thing, and everyone should know about it.",
    "It will always be remembered as a masterpiece.",
    "Honestly, there is nothing more fascinating.",
    "This is rather boring compared with what others have done.",
    "It remains the most beautiful story of all.",
    "Sadly, it never got the praise that it deserves.",
)


def entities(texts: Iterable[str], *, most: int = MOST_VALUES) -> dict[str, list[str]]:
    """The years, numbers and names of all texts by type, each once: all, or `most` of them by their hashes."""
    found: dict[str, dict[str, bytes]] = {kind: {} for kind in _PATTERNS}
    for text in texts:
        for kind, start, end in _places(text):
            values, value = found[kind], text[start:end]
            if value not in values:
                values[value] = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8).digest()
                if len(values) > 2 * most:
                    found[kind] = _sampled(values, most)
    return {kind: list(_sampled(values, most)) for kind, values in found.items()}


def _sampled(values: dict[str, bytes], most: int) -> dict[str, bytes]:
    """The values with the lowest hashes, in their order."""
    if len(values) <= most:
        return values
    chosen = set(sorted(values, key=lambda value: (values[value], value))[:most])
    return {value: digest for value, digest in values.items() if value in chosen}


def propose(
    kind: HallucinationKind, text: str, pool: dict[str, list[str]], rng: np.random.Generator
) -> TextChange | None:
    """A change of a kind somewhere in the text, None where its rules find no place."""
    if kind == "entity":
        return _entity(text, pool, rng)
    if kind == "relation":
        places = list(_RELATION.finditer(text))
        if not places:
            return None
        chosen = places[rng.integers(len(places))]
        return TextChange("relation", chosen.start(), chosen.end(), _FLIPS[chosen.group()])
    if kind == "subjective":
        sentences = [s for s in split_sentences(text) if s.text and s.text[-1] in ".!?"]
        if not sentences:
            return None
        end = sentences[rng.integers(len(sentences))].text_end
        return TextChange("subjective", end, end, " " + _OPINIONS[rng.integers(len(_OPINIONS))])
    return None


def _entity(text: str, pool: dict[str, list[str]], rng: np.random.Generator) -> TextChange | None:
    places = list(_places(text))
    for n in rng.permutation(len(places)):
        kind, start, end = places[n]
        old = text[start:end]
        others = [value for value in pool[kind] if value != old and value not in text and old not in value]
        if others:
            return TextChange("entity", start, end, others[rng.integers(len(others))])
    return None


def _places(text: str) -> list[tuple[str, int, int]]:
    """Where years, numbers and names stand; a single word that opens a sentence may be no name."""
    opens = {s.text_start for s in split_sentences(text)}
    found = [("year", *m.span()) for m in _YEAR.finditer(text)]
    years = {start for _, start, _ in found}
    found += [("number", *m.span()) for m in _NUMBER.finditer(text) if m.start() not in years]
    found += [("name", *m.span()) for m in _NAME.finditer(text) if m.start() not in opens or " " in m.group()]
    return sorted(found, key=lambda place: place[1])


@dataclass(frozen=True, slots=True)
class TextChange:
    """`text[start:end]` becomes `new`; an insertion where start == end."""

    kind: HallucinationKind
    start: int
    end: int
    new: str


def changed(text: str, findings: Sequence[Finding], change: TextChange) -> tuple[str, list[Finding]]:
    """The text with one more change, and its findings, in order: those that were there, moved, and the change's own.

    White space around what is inserted is no part of its finding. No finding may lie inside of the change.
    """
    whole = text[: change.start] + change.new + text[change.end :]
    is_insertion = change.start == change.end
    lead = len(change.new) - len(change.new.lstrip()) if is_insertion else 0
    trail = len(change.new) - len(change.new.rstrip()) if is_insertion else 0
    start, end = change.start + lead, change.start + len(change.new) - trail
    found = [(change.kind, start, end, text[change.start : change.end])]
    for f in findings:
        by = len(change.new) - (change.end - change.start) if f.start >= change.end else 0
        kind: HallucinationKind = f.kind  # type: ignore[assignment]  # findings of changes are of the six kinds
        found.append((kind, f.start + by, f.end + by, f.edit or ""))
    made = [finding_of(kind, a, b, text=whole, edit=edit) for kind, a, b, edit in found]
    return whole, sorted(made, key=lambda f: f.start)


def fault(right: str, wrong: str, findings: Sequence[Finding]) -> str | None:
    """Why a row is not worth having; None if its findings are all that keeps it from the right text."""
    if any(wrong[f.start : f.end] == f.edit for f in findings):
        return "an error that changes nothing"
    if apply_findings(wrong, findings).text.split() != right.split():
        return "its edits do not give the passage back"
    return None


def row(
    passage: Passage, right: str, wrong: str, findings: Sequence[Finding], others: Sequence[str], *, count: int,
    rng: np.random.Generator, **meta: Any,
) -> Item:  # fmt: skip
    """The row: `answer` the wrong text, `gold` the right one, `context` the passage among others in a drawn order."""
    references = [passage.shown, *(o for o in others if o != passage.shown)][:count]
    mixed = [references[i] for i in rng.permutation(len(references))]
    said = [f.model_dump(mode="json") for f in findings]
    about: dict[str, Any] = {
        "findings": said, "tagged": write_tagged(wrong, findings), "source": passage.id, "cluster": passage.id,
    }  # fmt: skip
    question = f"What is known about {passage.title}?" if passage.title else "What do the references say?"
    return Item(
        id=f"{passage.id}-errors", question=question, answer=wrong, context=mixed, gold=right, meta={**about, **meta}
    )
