"""The `nli` detector: entailment of each sentence by the given text, and of each argument by the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eirene.core.errors import InputError
from eirene.core.scores import ArgumentScore, Score, Scores, SentenceScore, Unscored, number
from eirene.core.usage import Meter, Usage
from eirene.eval.base import GIVEN, Case, Need, uncheckable
from eirene.eval.detectors.chunks import Piece, sentences_of, share_out, whole
from eirene.eval.registry import detector
from eirene.eval.resources import Resources
from eirene.models.local.nli import NliModel, load_nli
from eirene.text.sentences import split_sentences

__all__ = ["NliDetector", "NliModel", "load_nli"]

_EMPTY = "it is empty"


@dataclass(frozen=True, slots=True)
class _Hypothesis:
    """A hypothesis and the windows of text that may entail it; `why` says why there are none."""

    hypothesis: str
    windows: tuple[str, ...]
    why: str = ""


class NliDetector:
    """Entailment by a sequence classifier, as in TRUE (Honovich et al. 2022), sentence by sentence.

    Score: hallucination of a sentence = 1 - the highest probability that a window of the given text entails it, of the
        answer = its worst sentence; coverage of an argument = 1 - the highest probability that a window of the answer
        entails it, of the answer = the worst argument. An argument beside which a sentence of the answer does not fit
        is as badly covered as the worst of its parts.
    Needs: given text and a sequence classifier. A window holds as many arguments (or sentences) as fit beside the
        hypothesis; nothing is cut off: a sentence of the answer that fills the classifier by itself is unscored.
    Reference: NPOV compares with classifiers in section 3.3; design, section 5.
    Example: docs/concepts/classifiers.md.
    """

    name = "nli"
    needs: frozenset[Need] = GIVEN | {"nli"}

    def __init__(self, model: NliModel) -> None:
        self._model = model
        self.version = f"{model.version},{model.entails}"

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer."""
        if (why := uncheckable(case)) is not None:
            return Scores.none(why)
        return await self._model.compute(lambda: self._score(case, meter))

    def _score(self, case: Case, meter: Meter) -> Scores:
        sentences = split_sentences(case.answer)
        arguments = [(group.name, n, text) for group in case.given.groups for n, text in enumerate(group.arguments, 1)]
        given = case.given.arguments
        # Passages are long: their sentences make the windows.
        pieces = sentences_of(given) if case.given.source == "context" else whole(given)
        questions = [self._question(s.text, pieces, given) for s in sentences]
        parts = [self._parts(text, case.answer) for _, _, text in arguments]
        errors = self._errors([*questions, *(part for own in parts for part in own)], meter)
        rest = iter(errors[len(sentences) :])
        of_sentences, of_arguments = errors[: len(sentences)], [_worst([next(rest) for _ in own]) for own in parts]
        return Scores(
            hallucination=_worst(of_sentences),
            coverage=_worst(of_arguments),
            sentences=tuple(
                SentenceScore(n=s.n, hallucination=e) for s, e in zip(sentences, of_sentences, strict=True)
            ),
            arguments=tuple(
                ArgumentScore(group=name, n=n, coverage=e)
                for (name, n, _), e in zip(arguments, of_arguments, strict=True)
            ),
            chunks=max([1, *(len(q.windows) for q in questions)]),
        )

    def _question(self, hypothesis: str, pieces: Sequence[Piece], texts: Sequence[str]) -> _Hypothesis:
        """The hypothesis with the windows, made of pieces of the texts, that it is compared with."""
        if not hypothesis.strip():
            return _Hypothesis(hypothesis, (), _EMPTY)

        def joined(some: Sequence[Piece]) -> str:
            return " ".join(piece.of(texts) for piece in some)

        found = share_out(
            pieces,
            texts,
            lambda some: self._model.tokens(joined(some), hypothesis),
            limit=self._model.max_tokens,
            beside="the sentence and the marks around it",
        )
        if isinstance(found, Unscored):
            return _Hypothesis(hypothesis, (), found.unscored)
        return _Hypothesis(hypothesis, tuple(joined(window) for window in found))

    def _parts(self, argument: str, answer: str) -> list[_Hypothesis]:
        """The argument as a hypothesis compared with the answer; in parts where a sentence does not fit beside it."""
        said, texts = sentences_of([answer]), [argument]
        longest = max((piece.of([answer]) for piece in said), key=self._model.length)

        def joined(some: Sequence[Piece]) -> str:
            return "".join(piece.of(texts) for piece in some)

        found = share_out(
            whole(texts),
            texts,
            lambda some: self._model.tokens(longest, joined(some)),
            limit=self._model.max_tokens,
            beside="the answer's longest sentence and the marks around it",
        )
        if isinstance(found, Unscored):
            return [_Hypothesis(argument, (), found.unscored)]
        return [self._question(joined(part), said, [answer]) for part in found]

    def _errors(self, questions: Sequence[_Hypothesis], meter: Meter) -> list[Score]:
        """1 - the best window's probability, for each question."""
        pairs = [(window, q.hypothesis) for q in questions for window in q.windows]
        if pairs:
            meter.add(Usage(calls=1))
        found = iter(self._model.entailment(pairs))
        return [1.0 - max(next(found) for _ in q.windows) if q.windows else Unscored(unscored=q.why) for q in questions]


def _worst(errors: Sequence[Score]) -> Score:
    """The highest; where a part is unscored, so is the whole: the worst may be that part."""
    unscored = [e for e in errors if isinstance(e, Unscored) and e.unscored != _EMPTY]
    if unscored:
        return unscored[0]
    numbers = [n for e in errors if (n := number(e)) is not None]
    return max(numbers) if numbers else Unscored(unscored="there is nothing to score")


@detector("nli", needs=NliDetector.needs, about="entailment by a sequence classifier, in the manner of TRUE")
def _build(resources: Resources) -> NliDetector:
    named = resources.nli_named
    if named is None:
        raise InputError("no sequence classifier is named", field="nli")
    return NliDetector(resources.once("nli", lambda: load_nli(named)) if isinstance(named, str) else named)
