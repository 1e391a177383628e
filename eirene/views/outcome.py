"""Outcome of a run in words: its critiques, what of the given is said and missing, what is mended and still wrong.

A record does not hold what was given: an argument that a detector scores has its text from the item, else its number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from eirene.core.critique import TaggedSentence
from eirene.core.grounding import grounding_for
from eirene.core.records import WITHOUT_FAULT, Item, Record, Round, Status
from eirene.text.quoting import quoted
from eirene.text.sentences import split_sentences
from eirene.views.diff import DiffLine, changes_in_words
from eirene.views.facts import (
    Number,
    Vote,
    consistency,
    is_judged,
    of_passages,
    readings,
    rewrites,
    rounded,
    shown_score,
    unchecked,
    verdicts_in_words,
    votes,
)
from eirene.views.faults import MISSING, Gap, ShownFault, ShownSpan, marked_spans, verdict_of

_SAID = 0.5
"""Coverage error of an argument under which it counts as said, as the gate has it."""
_LONGEST = 400
MOST_CELLS = 100
_WHY: Mapping[Status, str] = {"not_checked": "not checked", "abstained": "no verdict"}
_CELL: Mapping[Vote, str] = {"incomplete": "n", "complete": "y", "invalid": "b"}


@dataclass(frozen=True, slots=True)
class ShownSentence:
    """A sentence of a critique. `cells` has a letter for each drawn vote: n finds a fault, y none, b is not valid.

    No `faults`: none was found. `votes_for_gap`: the votes are on what is missing beside it. `spans` is the text again,
    in runs at fault and between; none where no part of it alone is at fault.
    """

    n: int
    text: str
    faults: tuple[ShownFault, ...]
    gaps: tuple[Gap, ...]
    votes_for_gap: bool
    cells: str
    counted: str
    scores: str
    spans: tuple[ShownSpan, ...]


@dataclass(frozen=True, slots=True)
class ShownCritique:
    """The critique of a round; `invalid` are the reasons for which samples did not count.

    `unchecked` says what the critics did not look for; "" where they left nothing out.
    """

    round: int
    said: str
    invalid: tuple[str, ...]
    sentences: tuple[ShownSentence, ...]
    unchecked: str


def critiques_of(record: Record) -> tuple[ShownCritique, ...]:
    """The critique of each round that brought one of its own, not that of the round before."""
    return tuple(_critique(n, r, record) for n, r in enumerate(record.rounds, start=1) if _is_new(record, n))


def _is_new(record: Record, n: int) -> bool:
    critique = record.rounds[n - 1].critique
    if critique is None:
        return is_judged(record.rounds[n - 1])
    return n == 1 or critique != record.rounds[n - 2].critique


def _critique(n: int, round_: Round, record: Record) -> ShownCritique:
    cast, drawn = votes(round_), readings(record)
    scores = _sentence_scores(record) if n == 1 else {}  # later rounds may judge another text
    sentences = round_.critique.sentences if round_.critique else ()
    shown = (_sentence(s, cast[i] if cast else (), scores.get(s.n, ""), drawn) for i, s in enumerate(sentences))
    invalid = sorted({s.invalid for s in round_.samples if s.invalid is not None})
    return ShownCritique(n, consistency(round_, drawn), tuple(invalid), tuple(shown), unchecked(round_.critique))


def _sentence(sentence: TaggedSentence, cast: tuple[Vote, ...], scores: str, drawn: str) -> ShownSentence:
    verdict = verdict_of(sentence)
    return ShownSentence(
        n=sentence.n,
        text=sentence.text,
        faults=verdict.faults,
        gaps=verdict.gaps,
        votes_for_gap=verdict.votes_for_gap,
        cells="".join(_CELL[vote] for vote in cast[:MOST_CELLS]),
        counted=_counted(sentence, cast, f"{drawn} {'miss it' if verdict.votes_for_gap else 'find a fault'}")
        if cast
        else "",
        scores=scores,
        spans=marked_spans(sentence),
    )


def _counted(sentence: TaggedSentence, cast: tuple[Vote, ...], what: str) -> str:
    if sentence.chance is not None:
        return f"faulty with probability {sentence.chance:.2f}, by the model"
    text = f"{cast.count('incomplete')} of {len(cast):,} {what}"
    if "invalid" in cast:
        text += f", {cast.count('invalid')} not valid"
    return text + (f" (the first {MOST_CELLS} are drawn)" if len(cast) > MOST_CELLS else "")


def _sentence_scores(record: Record) -> dict[int, str]:
    """What the detectors say of each sentence of the original, by its number."""
    said: dict[int, list[str]] = {}
    for name, scores in record.scores.original.items():
        for score in scores.sentences:
            if rounded(score.hallucination) is not None:
                said.setdefault(score.n, []).append(f"{name}: hallucination {shown_score(score.hallucination)}")
    return {n: "; ".join(texts) for n, texts in said.items()}


@dataclass(frozen=True, slots=True)
class ShownArgument:
    """A given argument and its coverage error. Its number stands for a text that is not at hand: not `in_words`."""

    detector: str
    group: str
    text: str
    before: Number
    after: Number
    advisory: bool
    in_words: bool


def arguments_of(record: Record, item: Item | None) -> Iterator[ShownArgument]:
    """A line for each argument that a detector scores: before and after. Those that decide nothing come last.

    None for passages: an answer need not say what they say.
    """
    given = None if item is None else grounding_for(item)
    groups = () if given is None or given.source == "derived" else given.groups
    texts = {(group.name, n): text for group in groups for n, text in enumerate(group.arguments, start=1)}
    detectors = sorted(record.scores.original.items(), key=lambda found: found[0] in record.advisory)
    for name, before in detectors if not of_passages(record) else ():
        after = record.scores.final.get(name)
        known = {} if after is None else {(a.group, a.n): rounded(a.coverage) for a in after.arguments}
        for a in before.arguments:
            text, numbers = texts.get((a.group, a.n)), (rounded(a.coverage), known.get((a.group, a.n)))
            is_advisory = name in record.advisory
            yield ShownArgument(name, a.group, text or f"argument {a.n}", *numbers, is_advisory, bool(text))


@dataclass(frozen=True, slots=True)
class ShownOpen:
    """Something that is still wrong with the answer that is shown: a word, the text it is about, and why."""

    word: str
    text: str
    why: tuple[str, ...]


def summary_of(record: Record, lines: Sequence[DiffLine]) -> str:
    """What changed in a few words, for a line of a list."""
    if record.status == "accepted":
        return changes_in_words(lines) or "white space alone"
    if record.status == "failed" and record.error is not None:
        return f"nothing: {record.error.kind}"
    tried = sum(rewrite is not None for rewrite in rewrites(record))
    why = "no fault found" if record.status in WITHOUT_FAULT else _WHY.get(record.status, "no rewrite")
    return f"nothing: {tried} rewrite{'' if tried == 1 else 's'} rejected" if tried else f"nothing: {why}"


def now_said(record: Record, arguments: Iterable[ShownArgument]) -> Iterator[str]:
    """The arguments that the accepted rewrite says and the original did not, by the scores that decide; or, of
    passages, what they say of the answer that is shown."""
    yield from support_in_words(record)
    if record.status != "accepted":
        return
    said = [
        a for a in arguments if not a.advisory and _is_missing(a.before) and a.after is not None and a.after < _SAID
    ]
    for group, text, in_words in dict.fromkeys((a.group, a.text, a.in_words) for a in said):
        yield f"Now said{_of(group)}: {quoted(text, _LONGEST) if in_words else text}"


def support_in_words(record: Record) -> tuple[str, ...]:
    """What passages say of the answer that is shown: how many sentences have which verdict, and the unclear ones."""
    said = verdicts_in_words(record.verdicts, "the passages")
    return tuple(filter(None, (said, *(f'Unclear, left unchanged: "{text}"' for text in record.unclear))))


class Found:
    """What the first critique says of the original's sentences, for the lines of a comparison."""

    def __init__(self, critiques: Sequence[ShownCritique]) -> None:
        sentences = critiques[0].sentences if critiques and critiques[0].round == 1 else ()
        self._faults = {s.text: tuple(f.word for f in s.faults) for s in reversed(sentences)}
        gaps = (gap for s in sentences for gap in s.gaps if gap.label == MISSING)
        self._missing = {_bare(gap.edit) for gap in gaps} - {""}

    def of(self, line: DiffLine) -> tuple[str, ...]:
        """The words for a line's sentence; `missing` where it is new and says what was missing."""
        old, new = ("".join(p.text for p in line.pieces if p.kind != kind).strip() for kind in ("new", "gone"))
        if line.kind == "new":
            return ("missing",) if any(text in new.casefold() for text in self._missing) else ()
        return self._faults.get(old, ())


def still_open(
    record: Record, critiques: Sequence[ShownCritique], arguments: Sequence[ShownArgument]
) -> Iterator[ShownOpen]:
    """What is still missing from the answer that is shown, and which of its sentences are at fault.

    What is missing is what a score that decides calls missing, and of an original that stands what its critique calls
    so. A sentence counts as it was judged last.
    """
    standing = list(_standing(record, critiques))
    gaps = [] if record.status == "accepted" else [g for s in standing for g in s.gaps if g.label == MISSING]
    scored = [a for a in arguments if not a.advisory and _is_missing(a.after) and (a.in_words or not gaps)]
    for group, text in dict.fromkeys((a.group, a.text) for a in scored):
        yield ShownOpen("missing", f"{_of(group).removeprefix(' ')}: {text}".removeprefix(": "), ())
    said = {_bare(a.text) for a in scored}
    yield from (ShownOpen("missing", gap.text, ()) for gap in gaps if _bare(gap.edit) not in said)
    yield from (ShownOpen(fault.word, s.text, fault.reasons) for s in standing for fault in s.faults)


def _standing(record: Record, critiques: Sequence[ShownCritique]) -> Iterator[ShownSentence]:
    """The judged sentences that are in the answer that is shown; of several alike as many as it has."""
    last: dict[tuple[str, int], ShownSentence] = {}
    for critique in critiques:
        seen = Counter[str]()
        for sentence in critique.sentences:
            seen[sentence.text] += 1
            last[sentence.text, seen[sentence.text]] = sentence
    there = Counter(s.text for s in split_sentences(record.answer))
    yield from (sentence for (text, count), sentence in last.items() if there[text] >= count)


def _bare(text: str) -> str:
    return text.strip().rstrip(".").casefold()


def _is_missing(error: Number) -> bool:
    return error is not None and error >= _SAID


def _of(group: str) -> str:
    return f" for {quoted(group, 80)}"
