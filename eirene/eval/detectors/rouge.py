"""The `rouge` detector: word overlap, without a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from eirene.core.concurrency import off_loop
from eirene.core.grounding import Grounding
from eirene.core.scores import ArgumentScore, Score, Scores, SentenceScore, Unscored, WordScore
from eirene.core.usage import Meter
from eirene.eval.base import GIVEN, Case, where_given
from eirene.eval.registry import detector
from eirene.eval.resources import Resources
from eirene.text.language import ENGLISH, language_of
from eirene.text.remembered import memoised
from eirene.text.sentences import split_sentences
from eirene.text.words import Word, content_words

Counts = dict[str, int]

NO_ARGUMENT_WORDS = "no content words among what was given"
_KEPT_CHARACTERS = 20_000


class RougeDetector:
    """ROUGE-1 with clipped counts over stemmed content words.

    Score: hallucination = 1 - precision of the answer against all arguments; coverage = 1 - the least recall of a
        group; of an argument 1 - its recall, of a sentence 1 - its precision, of a word (of the answer, or of a
        perspective's argument) 0 if it is matched and 1 if not. Where a text has a word more often than the other,
        its first occurrences are the matched ones.
    Needs: given text, not in another language than the answer; the stop words and the stemmer are English. With source
        `derived` hallucination is unscored.
    Reference: the ROUGE baseline of "Detecting hallucination and coverage errors in retrieval augmented generation for
        controversial topics", section 3.1.
    Examples:
        >>> import asyncio
        >>> from eirene.core.grounding import ArgumentGroup, Grounding
        >>> sides = ArgumentGroup("pro", ("Wind power is clean.",)), ArgumentGroup("con", ("Turbines kill birds.",))
        >>> given = Grounding("perspectives", sides)
        >>> case = Case("Wind power?", "Wind power is clean and cheap.", given)
        >>> scores = asyncio.run(RougeDetector().score(case, meter=Meter()))
        >>> scores.hallucination, scores.coverage
        (0.25, 1.0)
    """

    name = "rouge"
    needs = GIVEN
    version = ""

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer; calls no model."""
        characters = len(case.answer) + sum(map(len, case.given.arguments))
        return await off_loop(lambda: score_rouge(case), characters=characters)


@detector("rouge", needs=GIVEN, about="overlap of stemmed content words with what was given (NPOV 3.1)")
def _build(_resources: Resources) -> RougeDetector:
    return RougeDetector()


def score_rouge(case: Case) -> Scores:
    """What `RougeDetector` gives."""
    languages = [language_of(text) for text in (case.answer, "\n".join(case.given.arguments))]
    if None not in languages and len(set(languages)) > 1 and ENGLISH in languages:  # close ones are mixed up at times
        return Scores.none("not compared: the answer reads as {}, what was given as {}".format(*languages))
    given = _counted(case.given)
    if not given.everything:
        return Scores.none(NO_ARGUMENT_WORDS)
    said = content_words(case.answer)
    response = _counts(said)
    coverage = 1.0 - min(r for r in (_share(group, response) for group in given.groups) if r is not None)
    spelled = case.given.source == "perspectives"  # passages are long: their words would fill a record
    arguments = tuple(
        ArgumentScore(
            group=a.group,
            n=a.n,
            coverage=_error(_share(a.counts, response), "the argument has no content words"),
            words=_words(a.words, response) if spelled else (),
        )
        for a in given.arguments
    )
    scores = Scores(
        hallucination=_error(_share(response, given.everything), "the answer has no content words"),
        coverage=coverage,
        sentences=_sentences(case.answer, said, given.everything),
        arguments=arguments,
        words=_words(said, given.everything),
    )
    return where_given(case, scores)


@dataclass(frozen=True, slots=True)
class _CountedArgument:
    group: str
    n: int
    words: tuple[Word, ...]
    counts: Counts


@dataclass(frozen=True, slots=True)
class _WordCounts:
    """How often each word stands in what was given: in all of it, in each group, in each argument."""

    everything: Counts
    groups: tuple[Counts, ...]
    arguments: tuple[_CountedArgument, ...]


@memoised(256, small=lambda given: sum(map(len, given.arguments)) <= _KEPT_CHARACTERS)
def _counted(given: Grounding) -> _WordCounts:
    groups, arguments = [], []
    for group in given.groups:
        words = [content_words(text) for text in group.arguments]
        groups.append(_counts(chain.from_iterable(words)))
        arguments += [_CountedArgument(group.name, n, said, _counts(said)) for n, said in enumerate(words, start=1)]
    return _WordCounts(_counts(chain.from_iterable(a.words for a in arguments)), tuple(groups), tuple(arguments))


def _counts(words: Iterable[Word]) -> Counts:
    found: Counts = {}
    for word in words:
        found[word.stem] = found.get(word.stem, 0) + 1
    return found


def _share(words: Counts, other: Counts) -> float | None:
    """Share of `words` that `other` has, counts clipped; None where there are no words."""
    matched = total = 0
    for word, n in words.items():
        total += n
        there = other.get(word, 0)
        matched += n if n < there else there
    return matched / total if total else None


def _error(share: float | None, why: str) -> Score:
    return Unscored(unscored=why) if share is None else 1.0 - share


def _sentences(answer: str, said: Sequence[Word], everything: Counts) -> tuple[SentenceScore, ...]:
    """Each sentence by itself against everything that was given; a word belongs to the sentence in which it begins."""
    scored = []
    at = 0
    for sentence in split_sentences(answer):
        begin = at
        while at < len(said) and said[at].start < sentence.end:
            at += 1
        share = _share(_counts(said[begin:at]), everything)
        scored.append(SentenceScore(n=sentence.n, hallucination=_error(share, "no content words")))
    return tuple(scored)


def _words(said: Sequence[Word], other: Counts) -> tuple[WordScore, ...]:
    """0 for each word that `other` has, 1 for the others; the first occurrences are those that match."""
    left = dict(other)
    scored = []
    for stem, start, end in said:
        there = left.get(stem, 0)
        if there:
            left[stem] = there - 1
        scored.append(_word_score(start, end, 0.0 if there else 1.0))
    return tuple(scored)


@lru_cache(maxsize=65536)
def _word_score(start: int, end: int, score: float) -> WordScore:
    """Values are immutable and the same offsets recur in every text; checking them anew takes ten times as long."""
    return WordScore(start=start, end=end, score=score)
