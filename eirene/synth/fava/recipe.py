"""What is made of each FAVA passage: plans by the seed, a text with its errors, the row of both, and totals."""

from __future__ import annotations

import hashlib
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
from eirene.text.words import listed_sentences

Neighbours = Callable[[Passage], Sequence[str]]
"""For a passage others that are like it, as they are shown."""

GENRES = listed_sentences("genres")
"""The ten of the paper's table 9."""


@dataclass(frozen=True, slots=True)
class FavaRecipe:
    """What is made. `most`: errors in a row at most; `references`: passages given with a row, its own among them;
    `clean`: the share of rows without an error, in [0, 1]; `genres`: what passages are written anew as, by a model
    (none: they stay as they are); `tries`: how often a model is asked for what it gets wrong.
    """

    kinds: tuple[HallucinationKind, ...] = HALLUCINATIONS
    most: int = 5
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
