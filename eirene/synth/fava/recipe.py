"""What is made of each FAVA passage: plans by the seed, errors by rule, the row of both, and totals.

Rules swap names and numbers of the same type, reverse relations, add opinions: changes that make a right text wrong,
with the findings that take them back.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from eirene.core.critique import HALLUCINATIONS, Finding, HallucinationKind
from eirene.core.errors import InputError
from eirene.core.findings.edits import apply_findings
from eirene.core.findings.kinds import finding_of
from eirene.core.findings.tags import write_tagged
from eirene.core.records import Item
from eirene.core.signature import check_seed, rng_for
from eirene.core.usage import Usage
from eirene.retrieval import Retriever, read_corpus
from eirene.retrieval.passages import Passage
from eirene.text.sentences import split_sentences

OFFLINE: tuple[HallucinationKind, ...] = ("entity", "relation", "subjective")
"""The kinds that rules can make; the others need somebody who knows what there is."""

Neighbours = Callable[[Passage], Sequence[str]]
"""For a passage others that are like it, as they are shown."""

GENRES = (
    "an article", "an essay", "a blog post", "a social media post", "a news report", "a summary", "a speech",
    "the introduction of a presentation", "a brochure", "a text message",
)  # fmt: skip
"""The ten of the paper's table 9."""


@dataclass(frozen=True, slots=True)
class FavaRecipe:
    """What is made. `most`: errors in a row at most; `references`: passages given with a row, its own among them;
    `clean`: the share of rows without an error, in [0, 1]; `genres`: what passages are written anew as, by a model
    (none: they stay as they are); `tries`: how often a model is asked for what it gets wrong.
    """

    kinds: tuple[HallucinationKind, ...] = OFFLINE
    most: int = 3
    references: int = 5
    clean: float = 0.1
    seed: int = 0
    genres: tuple[str, ...] = GENRES
    tries: int = 2

    def __post_init__(self) -> None:
        check_seed(self.seed)
        unknown = [kind for kind in self.kinds if kind not in HALLUCINATIONS]
        if unknown or not self.kinds:
            raise InputError(
                f"kinds must be of {', '.join(HALLUCINATIONS)}, got {', '.join(unknown) or 'none'}", field="kinds"
            )
        for name in ("most", "references", "tries"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}", field=name)
        if not 0 <= self.clean <= 1:
            raise InputError(f"clean must lie in [0, 1], got {self.clean:g}", field="clean")


@dataclass(frozen=True, slots=True)
class PassagePlan:
    """What is to be made of one passage: nothing but the recipe and the corpus's order decide it. `key` names it."""

    passage: Passage
    key: str
    genre: str | None
    kinds: tuple[HallucinationKind, ...]


@dataclass(slots=True)
class FavaTotals:
    """What came of a run: passages read, rows, errors by kind, why passages were dropped and replies not used."""

    passages: int = 0
    rows: int = 0
    clean: int = 0
    failed: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    genres: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    usage: Usage = field(default_factory=Usage)

    def card(self) -> dict[str, Any]:
        """The counts in plain JSON."""
        return {
            "rows": self.rows, "clean": self.clean, "failed": self.failed, "errors": dict(sorted(self.errors.items())),
            "genres": dict(sorted(self.genres.items())), "dropped": dict(sorted(self.dropped.items())),
            "refused": dict(sorted(self.refused.items())), "usage": self.usage.model_dump(),
        }  # fmt: skip

    def told(self) -> Iterator[str]:
        """What came of the run, a line each."""
        errors = ", ".join(f"{n} {kind}" for kind, n in sorted(self.errors.items())) or "none"
        yield f"{self.rows} rows of {self.passages} passages, {self.clean} of them without an error; errors: {errors}"
        for cause, count in self.dropped.items():
            yield f"left out: {count} x {cause}"
        for cause, count in sorted(self.refused.items()):
            yield f"replies that could not be used: {count} x {cause}"
        if self.failed:
            yield f"failed: {self.failed} passages whose calls failed; the same command tries them again"
        usage = self.usage
        if usage.calls or usage.cache_hits:
            cost = "unknown" if usage.cost_usd is None else f"{usage.cost_usd:.4f} USD"
            yield (
                f"{usage.calls} calls ({usage.retries} retries, {usage.cache_hits} from the cache), "
                f"{usage.input_tokens} tokens in, {usage.output_tokens} out, cost {cost}"
            )


def key_of(passage: Passage) -> str:
    """What stands for a passage's text, but for white space: 24 hex digits."""
    return hashlib.sha256(" ".join(passage.text.split()).encode("utf-8", "surrogatepass")).hexdigest()[:24]


def without_duplicates(passages: Iterable[Passage], made: FavaTotals) -> Iterator[tuple[Passage, str]]:
    """Each passage with its key; those whose text came before are left out and counted. Holds 12 bytes of each."""
    seen: set[bytes] = set()
    for passage in passages:
        made.passages += 1
        key = key_of(passage)
        if bytes.fromhex(key) in seen:
            made.dropped["the passage occurs twice"] += 1
            continue
        seen.add(bytes.fromhex(key))
        yield passage, key


def plans(passages: Iterable[Passage], recipe: FavaRecipe, made: FavaTotals) -> Iterator[PassagePlan]:
    """A plan for each passage, in order, read as they are needed.

    Kinds are dealt from a pack that holds each once and is shuffled anew when it is empty, so that they stay balanced
    over all rows, whatever the model makes of them and wherever an earlier run ended.
    """
    pack: list[HallucinationKind] = []
    packs = 0
    for passage, key in without_duplicates(passages, made):
        rng = rng_for(recipe.seed, "synth-fava", key)
        genre = recipe.genres[rng.integers(len(recipe.genres))] if recipe.genres else None
        if rng.random() < recipe.clean:
            yield PassagePlan(passage, key, genre, ())
            continue
        dealt: list[HallucinationKind] = []
        for _ in range(int(rng.integers(1, recipe.most + 1))):
            if not pack:
                order = rng_for(recipe.seed, "synth-fava-kinds", packs).permutation(len(recipe.kinds))
                pack, packs = [recipe.kinds[i] for i in order], packs + 1
            dealt.append(pack.pop())
        yield PassagePlan(passage, key, genre, tuple(dealt))


def passages_of(corpus: str, limit: int) -> Iterator[Passage]:
    """The passages, one at a time, the first ones alone where there is a limit."""
    return islice(read_corpus(corpus), min(limit, sys.maxsize) or None)


def neighbours_by(retriever: Callable[[], Retriever], *, references: int) -> Neighbours:
    """The passages nearest to one, so many less one as are wanted; the retriever is opened where any are."""
    if references < 2:
        return lambda _: ()
    opened = retriever()

    def nearest(passage: Passage) -> list[str]:
        found = opened.find(passage.shown)[::-1]
        return [hit.passage.shown for hit in found if hit.passage.id != passage.id][: references - 1]

    return nearest


MOST_VALUES = 5_000
"""Values of a type that are held, whatever the size of the corpus."""


_YEAR = re.compile(r"\b(?:1[0-9]|20)\d\d\b")
_NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})*(?:\.\d+)?(?![\w,]|\.\d)")
_NAME = re.compile(r"\b[A-Z][a-z]+(?: [A-Z][a-z]+)*\b")
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
    """The years, numbers and names of the texts by type, each once: the first `most` of a type."""
    found: dict[str, dict[str, None]] = {kind: {} for kind in ("year", "number", "name")}
    for text in texts:
        for kind, start, end in _places(text):
            if len(found[kind]) < most:
                found[kind][text[start:end]] = None
    return {kind: list(values) for kind, values in found.items()}


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
