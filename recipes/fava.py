"""FAVA's synthetic data by rule, without a model: for tests and tiny models, since such errors are easy to find.

Rules swap names and numbers of the same type, reverse relations, add opinions: changes that make a right text wrong,
with the findings that take them back. Errors by a model are `eirene synth fava`.

    python -m recipes.fava examples/corpus --out errors.jsonl
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from eirene.core.critique import Finding, HallucinationKind
from eirene.core.errors import InputError
from eirene.core.memo import cache_folder
from eirene.core.records import Item
from eirene.core.signature import rng_for
from eirene.data.output import line_writer
from eirene.models.encoder.runtime import shipped_encoder
from eirene.retrieval import Passage, Retriever, open_index
from eirene.synth.fava.recipe import (
    FavaRecipe,
    FavaTotals,
    Neighbours,
    TextChange,
    changed,
    fault,
    neighbours_by,
    passages_of,
    row,
    without_duplicates,
)
from eirene.text.sentences import split_sentences

OFFLINE: tuple[HallucinationKind, ...] = ("entity", "relation", "subjective")
"""The kinds that rules can make; the others need somebody who knows what there is."""
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


def synthesise(
    passages: Iterable[Passage],
    recipe: FavaRecipe,
    made: FavaTotals,
    *,
    pool: dict[str, list[str]],
    neighbours: Neighbours,
) -> Iterator[Item]:
    """A row for each passage in which errors could be put, in order; the same seed makes the same rows.

    The answer is the passage with its errors, `gold` the passage, `context` the references in an order drawn by the
    seed; `meta.findings` are the errors, each with the edit that takes it back, and `meta.tagged` says them as tags.
    Of the kinds the one made least often so far is tried first, so that they stay balanced. `pool` has the values that
    take another's place (`entities`). Raises `InputError` for kinds that no rule makes.
    """
    unknown = [kind for kind in recipe.kinds if kind not in OFFLINE]
    if unknown:
        raise InputError(f"kinds made by rule must be of {', '.join(OFFLINE)}, got {', '.join(unknown)}", field="kinds")
    return _rows(passages, recipe, made, pool, neighbours)


def _rows(
    passages: Iterable[Passage],
    recipe: FavaRecipe,
    made: FavaTotals,
    pool: dict[str, list[str]],
    neighbours: Neighbours,
) -> Iterator[Item]:
    for passage, key in without_duplicates(passages, made):
        rng = rng_for(recipe.seed, "synth-fava", key)
        is_clean = bool(rng.random() < recipe.clean)
        changes = [] if is_clean else _changes(passage.text, recipe, pool, made, rng)
        if not changes and not is_clean:
            made.dropped["no place for an error of these kinds"] += 1
            continue
        text, findings = passage.text, list[Finding]()
        for change in reversed(changes):  # from the end, so that the places of the others still hold
            text, findings = changed(text, findings, change)
        why = fault(passage.text, text, findings)
        if why is not None:
            made.dropped[why] += 1
            continue
        made.rows += 1
        made.clean += is_clean
        made.errors.update(finding.kind for finding in findings)
        others = neighbours(passage)
        yield row(passage, passage.text, text, findings, others, count=recipe.references, rng=rng)


def _changes(
    text: str, recipe: FavaRecipe, pool: dict[str, list[str]], made: FavaTotals, rng: np.random.Generator
) -> list[TextChange]:
    """Changes that stand apart from each other, of the kinds made least often so far."""
    found: list[TextChange] = []
    own: Counter[str] = Counter()
    for _ in range(int(rng.integers(1, recipe.most + 1))):
        order = sorted(rng.permutation(list(recipe.kinds)).tolist(), key=lambda k: made.errors[k] + own[k])
        for kind in order:
            change = propose(kind, text, pool, rng)
            if change is not None and all(_is_apart(change, c) for c in found):
                found.append(change)
                own[kind] += 1
                break
    return sorted(found, key=lambda change: change.start)


def _is_apart(one: TextChange, other: TextChange) -> bool:
    """Whether they touch nowhere and do not add the same statement."""
    is_copy = one.start == one.end and one.new == other.new
    return not is_copy and (one.end < other.start or one.start > other.end)


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes a row for each passage in which errors could be put."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", metavar="FILE|DIR")
    parser.add_argument("--out", required=True, help="a file that is not there yet, or - for standard output")
    parser.add_argument("--kinds", default=",".join(OFFLINE), help="comma-separated")
    parser.add_argument("--limit", type=int, default=0, help="the first passages only (0: all)")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    recipe = FavaRecipe(kinds=tuple(given.kinds.split(",")), most=3, seed=given.seed)
    folder, encoder, made = cache_folder() or Path(given.corpus).with_suffix(".index"), shipped_encoder(), FavaTotals()

    def retriever() -> Retriever:
        return Retriever(open_index(given.corpus, encoder, folder=folder), encoder, top=recipe.references)

    pool = entities(p.text for p in passages_of(given.corpus, given.limit))
    rows = synthesise(passages_of(given.corpus, given.limit), recipe, made, pool=pool,
                      neighbours=neighbours_by(retriever, references=recipe.references))  # fmt: skip
    with line_writer(given.out) as write:
        for item in rows:
            write(json.dumps(item.model_dump(mode="json", exclude_none=True), ensure_ascii=False))
    sys.stderr.write("".join(f"{line}\n" for line in made.told()))


if __name__ == "__main__":
    main()
