"""Thinking in an answer: kept apart from it while it is judged and rewritten, and put back into the record.

The parts of a run see the answer without it (`answer_alone`). In the record each block stands again, byte for byte,
before the sentence that it stood before, and every offset counts it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from eirene.core.critique import Critique, Finding
from eirene.core.records import BeforeAfter, EditDecision, Item, Record, Round
from eirene.core.scores import Scores
from eirene.text.edits.sentences import sentence_edits
from eirene.text.matching import Span, between
from eirene.text.thinking import thinking_spans

NOTHING_ELSE = "not checked: the answer is thinking alone"


def answer_alone(item: Item) -> Item:
    """The item without the thinking in its answer; the item itself where there is none, or nothing else."""
    spans = thinking_spans(item.answer)
    said = "".join(item.answer[a:b] for a, b in between(spans, len(item.answer)))
    return item.model_copy(update={"answer": said}) if spans and said.strip() else item


def is_thinking_alone(item: Item) -> bool:
    """Whether an answer says nothing beside its thinking."""
    spans = thinking_spans(item.answer)
    return bool(spans) and not any(item.answer[a:b].strip() for a, b in between(spans, len(item.answer)))


def with_thinking(record: Record, whole: str) -> Record:
    """The record of a run on an answer alone, with the thinking of the `whole` answer in its texts and offsets."""
    spans = thinking_spans(whole)
    if not spans or record.original == whole:
        return record
    said = between(spans, len(whole))
    at = accumulate(b - a for a, b in said[:-1])
    first = _Placed(record.original, tuple((n, whole[a:b]) for n, (a, b) in zip(at, spans, strict=True)))
    placed, rounds = first, []
    for round_ in record.rounds:
        rounds.append(_round(round_, placed))
        if round_.decision == "accept" and round_.candidate is not None:
            placed = placed.in_rewrite(round_.candidate)
    final = first.in_rewrite(record.answer)
    scores = BeforeAfter(original=_scores(record.scores.original, first), final=_scores(record.scores.final, final))
    changes = {"original": first.whole, "answer": final.whole, "rounds": tuple(rounds), "scores": scores}
    return record.model_copy(update=changes)


@dataclass(frozen=True)
class _Placed:
    """A text, and the blocks that stand in it: the offset of each in the text alone, and its characters."""

    alone: str
    blocks: tuple[tuple[int, str], ...]

    @cached_property
    def whole(self) -> str:
        """The text with the blocks in it."""
        edges = [(at, at) for at, _ in self.blocks]
        said = [self.alone[a:b] for a, b in between(edges, len(self.alone))]
        return "".join(text + block for text, block in zip(said, [*(b for _, b in self.blocks), ""], strict=True))

    def span(self, start: int, end: int) -> Span:
        """A span of the text alone as one of the whole; what is empty stands before a block, but for the first."""
        before = [len(block) for at, block in self.blocks if at == 0 or at < start or at == start < end]
        within = [len(block) for at, block in self.blocks if at and start < at < end]
        return start + sum(before), end + sum(before) + sum(within)

    def in_rewrite(self, text: str) -> _Placed:
        """The blocks in a rewrite of the text: each before the first sentence after it that is still there."""
        if text == self.alone:
            return self
        edits = sentence_edits(self.alone, text) if any(at for at, _ in self.blocks) else ()
        stays = [(e.before[0], e.after[0]) for e in edits if e.before and e.after and e.kind in ("kept", "reworded")]
        placed = []
        for at, block in self.blocks:
            there = next((new for old, new in stays if old >= at), len(text.rstrip()))
            placed.append((there if at else 0, block))
        return _Placed(text, tuple(placed))


def _round(round_: Round, placed: _Placed) -> Round:
    changes: dict[str, Any] = {}
    if round_.critique is not None:
        changes["critique"] = _critique(round_.critique, placed)
    changes["samples"] = tuple(
        s.model_copy(update={"findings": _findings(s.findings, placed)}) if s.findings else s for s in round_.samples
    )
    if round_.candidate is not None:
        written = placed.in_rewrite(round_.candidate if round_.written is None else round_.written)
        candidate = placed.in_rewrite(round_.candidate)
        changes["candidate"] = candidate.whole
        if round_.written is not None:
            changes["written"] = written.whole
        changes["edits"] = tuple(_edit(edit, placed, written) for edit in round_.edits)
        changes["scores"] = _scores(round_.scores, candidate)
    return round_.model_copy(update=changes)


def _critique(critique: Critique, placed: _Placed) -> Critique:
    sentences = []
    for sentence in critique.sentences:
        start, end = placed.span(sentence.start, sentence.end)
        findings = _findings(sentence.findings, placed)
        told = {"start": start, "end": end, "text": placed.whole[start:end], "findings": findings}
        sentences.append(sentence.model_copy(update=told))
    return critique.model_copy(update={"sentences": tuple(sentences)})


def _findings(findings: Sequence[Finding], placed: _Placed) -> tuple[Finding, ...]:
    spans = (placed.span(f.start, f.end) for f in findings)
    return tuple(f.model_copy(update={"start": a, "end": b}) for f, (a, b) in zip(findings, spans, strict=True))


def _edit(edit: EditDecision, before: _Placed, after: _Placed) -> EditDecision:
    spans = {
        "before": None if edit.before is None else before.span(*edit.before),
        "after": None if edit.after is None else after.span(*edit.after),
    }
    return edit.model_copy(update=spans)


def _scores(scores: dict[str, Scores], placed: _Placed) -> dict[str, Scores]:
    found = {}
    for name, one in scores.items():
        spans = (placed.span(word.start, word.end) for word in one.words)
        words = tuple(w.model_copy(update={"start": a, "end": b}) for w, (a, b) in zip(one.words, spans, strict=True))
        found[name] = one.model_copy(update={"words": words})
    return found
