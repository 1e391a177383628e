"""Detectors on a classification head (`nli`, `hhem`, `minicheck`, `lettucedetect` ...), by published protocols."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from statistics import fmean

from eirene.core.errors import InputError
from eirene.core.scores import ArgumentScore, Score, Scores, SentenceScore, Unscored, WordScore
from eirene.core.usage import Meter, Usage
from eirene.eval.base import GIVEN, NO_COVERAGE, NOTHING, Case, Detector, Need, uncheckable
from eirene.eval.detectors.chunks import EMPTY, Piece, packed, sentences_of, share_out, together, whole
from eirene.eval.registry import detector
from eirene.eval.resources import Resources
from eirene.models.local.heads import HeadModel, load_head
from eirene.models.protocols import PROTOCOLS, Kind, Protocol
from eirene.prompts import load_prompt
from eirene.text.sentences import split_sentences

_WORD = re.compile(r"\S+")


_Question = tuple[str, list[str] | Unscored]
"""A hypothesis, and the windows of text that may support it, or why there are none."""


class HeadDetector:
    """A classification head, or a model's first token, by a published protocol: over pairs, or over an answer's tokens.

    Score: by pairs, hallucination of a sentence = 1 - the highest probability that a window of the given text supports
        it, of the answer = its worst sentence (AlignScore: their mean); or of the answer alone, where the protocol
        reads it whole. Coverage, for `nli` alone: of an argument = 1 - the highest probability that a window of the
        answer entails it, of the answer = the worst argument. An argument beside which a sentence of the answer does
        not fit is as badly covered as the worst of its parts. By tokens (LettuceDetect), hallucination of a word = the
        highest of its tokens beside any chunk of passages, of a sentence and of the answer = the worst word.
    Needs: given text, and the protocol's model. A window is what the protocol says, or else holds as many arguments
        (or sentences) as fit beside the hypothesis; nothing is cut off: what fills the model by itself is unscored.
    Reference: `eirene.models.protocols` has each protocol's source.
    Example: docs/concepts/classifiers.md.
    """

    def __init__(self, model: HeadModel) -> None:
        self.model = model
        self._row = model.row
        self.name = self._row.name
        self.needs = needs_of(self._row)
        self.version = f"{model.version},{model.label}"

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer."""
        if (why := uncheckable(case)) is not None:
            return Scores.none(why)
        read = self._by_tokens if self._row.kind == "token head" else self._by_pairs
        return await self.model.compute(lambda: read(case, meter))

    def _by_pairs(self, case: Case, meter: Meter) -> Scores:
        sentences = [] if self._row.is_whole else split_sentences(case.answer)
        groups = case.given.groups if self._row.covers else ()
        arguments = [(group.name, n, text) for group in groups for n, text in enumerate(group.arguments, 1)]
        given = case.given.arguments
        windows = self._windows(given, is_long=case.given.source == "context")
        said = [s.text for s in sentences] or [case.answer]
        questions = [self._question(text, windows, given) for text in said]
        parts = [self._parts(text, case.answer) for _, _, text in arguments]
        errors = self._errors([*questions, *(part for own in parts for part in own)], meter)
        rest = iter(errors[len(said) :])
        of_answer, of_arguments = errors[: len(said)], [together([next(rest) for _ in own]) for own in parts]
        return Scores(
            hallucination=together(of_answer, fmean if self._row.is_mean else max),
            coverage=together(of_arguments) if self._row.covers else NO_COVERAGE,
            sentences=tuple(SentenceScore(n=s.n, hallucination=e) for s, e in zip(sentences, of_answer, strict=False)),
            arguments=tuple(
                ArgumentScore(group=name, n=n, coverage=e)
                for (name, n, _), e in zip(arguments, of_arguments, strict=True)
            ),
            chunks=max([1, *(len(w) for _, w in questions if not isinstance(w, Unscored))]),
        )

    def errors_beside(self, hypotheses: Sequence[str], text: str, meter: Meter) -> list[Score]:
        """1 - the probability that a text supports each hypothesis; of a long one, by its best window."""
        windows = self._windows([text], is_long=True)
        return self._errors([self._question(h, windows, [text]) for h in hypotheses], meter)

    def _windows(self, given: Sequence[str], *, is_long: bool) -> list[list[Piece]]:
        """The given text in the protocol's windows; in one where it has none. Passages are long: by their sentences."""
        pieces = sentences_of(given) if is_long else whole(given)
        if self._row.window is None:
            return [pieces]
        size = self.model.length if self._row.counts == "tokens" else lambda text: len(text.split())
        return packed(pieces, [size(piece.of(given)) for piece in pieces], self._row.window)

    def _question(self, hypothesis: str, windows: Sequence[Sequence[Piece]], texts: Sequence[str]) -> _Question:
        """The hypothesis with the windows, made of pieces of the texts, that it is compared with."""
        if not hypothesis.strip():
            return hypothesis, Unscored(unscored=EMPTY)
        read: list[str] = []
        for window in windows:
            found = self._fitting(window, texts, lambda text: (text, hypothesis), " ", beside="the sentence")
            if isinstance(found, Unscored):
                return hypothesis, found
            read += found
        return hypothesis, read

    def _parts(self, argument: str, answer: str) -> list[_Question]:
        """The argument as a hypothesis compared with the answer; in parts where a sentence does not fit beside it."""
        said, texts = sentences_of([answer]), [argument]
        longest = max((piece.of([answer]) for piece in said), key=self.model.length)
        beside = "the answer's longest sentence"
        found = self._fitting(whole(texts), texts, lambda text: (longest, text), "", beside=beside)
        if isinstance(found, Unscored):
            return [(argument, found)]
        return [self._question(part, [said], [answer]) for part in found]

    def _fitting(
        self, pieces: Sequence[Piece], texts: Sequence[str], pair: Callable[[str], tuple[str, str]], joint: str,
        *, beside: str,
    ) -> list[str] | Unscored:  # fmt: skip
        """The pieces, joined, in chunks that the model reads in a pair; or why they cannot be had."""

        def joined(some: Sequence[Piece]) -> str:
            return joint.join(piece.of(texts) for piece in some)

        def count(some: Sequence[Piece]) -> int:
            return self.model.tokens(*pair(joined(some)))

        beside = f"{beside} and the marks around it"
        found = share_out(pieces, texts, count, limit=self.model.max_tokens, beside=beside)
        return found if isinstance(found, Unscored) else [*map(joined, found)]

    def _errors(self, questions: Sequence[_Question], meter: Meter) -> list[Score]:
        """1 - the best window's probability, for each question."""
        pairs = [(w, text) for text, windows in questions if not isinstance(windows, Unscored) for w in windows]
        if pairs:
            meter.add(Usage(calls=1))
        found = iter(self.model.supports(pairs))
        return [w if isinstance(w, Unscored) else 1.0 - max(next(found) for _ in w) for _, w in questions]

    def _by_tokens(self, case: Case, meter: Meter) -> Scores:
        prompts = self._prompts(case)
        if isinstance(prompts, Unscored):
            return Scores.none(prompts.unscored)
        meter.add(Usage(calls=len(prompts)))
        marks = [mark for prompt in prompts for mark in self.model.marks(prompt, case.answer)]
        spans = [(word.start(), word.end()) for word in _WORD.finditer(case.answer)]
        words = [WordScore(start=start, end=end, score=_highest(marks, start, end)) for start, end in spans]
        marks = [(word.start, word.end, word.score) for word in words]
        sentences = [s for s in split_sentences(case.answer) if s.text]
        return Scores(
            hallucination=max(word.score for word in words),
            coverage=NO_COVERAGE,
            sentences=tuple(
                SentenceScore(n=s.n, hallucination=_highest(marks, s.text_start, s.text_end)) for s in sentences
            ),
            words=tuple(words),
            chunks=len(prompts),
        )

    def _prompts(self, case: Case) -> list[str] | Unscored:
        """What the answer is read after: one prompt, or one for each chunk of whole passages."""
        texts, limit = case.given.arguments, self.model.max_tokens
        prompt = load_prompt(f"{self._row.prompt}{'' if case.question.strip() else '_summary'}")

        def filled(some: Sequence[Piece]) -> str:
            shown = "\n".join(f"passage {n}: {piece.of(texts)}" for n, piece in enumerate(some, 1))
            values = {"passages": shown, "question": case.question, "n": str(len(some))}
            return prompt.fill({name: values[name] for name in prompt.placeholders})[-1].content

        def count(some: Sequence[Piece]) -> int:
            return self.model.tokens(filled(some), case.answer)

        pieces, frame = whole(texts), count([])
        read: list[str] = []
        for chunk in packed(pieces, [count([piece]) - frame for piece in pieces], limit - frame):
            found = share_out(chunk, texts, count, limit=limit)
            if isinstance(found, Unscored):
                return found
            read += map(filled, found)
        return read


def needs_of(row: Protocol) -> frozenset[Need]:
    """Given text, and a model: one that must be named, or one that the hub has."""
    return (GIVEN if row.needs_given else NOTHING) | {"detector_model" if row.hub is None else "hub_model"}


def _highest(marks: Sequence[tuple[int, int, float]], start: int, end: int) -> float:
    """The highest of what touches a part of the answer; 0 where nothing does."""
    return max((share for first, last, share in marks if first < end and last > start), default=0.0)


def declare(make: Callable[[Protocol, Resources], Detector], *kinds: Kind) -> None:
    """Declares the detectors of every protocol of these kinds."""
    for row in PROTOCOLS.values():
        if row.kind in kinds:

            def build(resources: Resources, row: Protocol = row) -> Detector:
                try:
                    return make(row, resources)
                except InputError as error:
                    if row.hub is None or resources.detector_model(row.name) is not None:
                        raise
                    raise InputError(f"{error} (--detector-model {row.name}=MODEL names another)") from error

            detector(row.name, needs=needs_of(row), about=row.about)(build)


def _make(row: Protocol, resources: Resources) -> HeadDetector:
    return HeadDetector(load_head(row, resources.detector_model(row.name)))


declare(_make, "sequence head", "seq2seq first token", "token head")
