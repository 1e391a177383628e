"""What a loaded classifier says of an answer: in one prompt, or, where too much was given for one, in several."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eirene.eval.base import Case
from eirene.eval.chunks import Piece, part_of, share_out, whole
from eirene.eval.classifier.task import ClassifierTask
from eirene.models.memory import memory_told
from eirene.prompts.curly import reply
from eirene.scores import Score, SentenceScore, Unscored, number
from eirene.sentences import split_sentences
from eirene.usage import Meter, Usage

if TYPE_CHECKING:
    from eirene.models.local import LocalModel


@dataclass(frozen=True, slots=True)
class Verdict:
    """An error score, in how many chunks the given text was read, and the sentences' scores where these made it."""

    score: Score
    chunks: int = 1
    sentences: tuple[SentenceScore, ...] = ()


def verdict_on(model: LocalModel, task: ClassifierTask, case: Case, meter: Meter) -> Verdict:
    """The verdict of one classifier; it runs in the calling thread.

    The chunks fit beside the whole answer. Their rule is `ClassifierDetector`'s.
    """

    def count(some: Sequence[Piece]) -> int:
        return _tokens(model, task, replace(case, given=part_of(case.given, some)))

    texts = case.given.arguments
    chunks = share_out(whole(texts), texts, count, limit=model.context_tokens)
    if isinstance(chunks, Unscored):
        return Verdict(chunks)
    if len(chunks) == 1:
        return Verdict(_error_share(model, task, case, meter))
    parts = [replace(case, given=part_of(case.given, chunk)) for chunk in chunks]
    if task.error_type == "coverage":
        return Verdict(_of(max, (_error_share(model, task, part, meter) for part in parts)), len(parts))
    sentences = tuple(
        SentenceScore(
            n=sentence.n,
            hallucination=_of(
                min, (_error_share(model, task, replace(part, answer=sentence.text), meter) for part in parts)
            ),
        )
        for sentence in split_sentences(case.answer)
        if sentence.text
    )
    return Verdict(_of(max, (s.hallucination for s in sentences)), len(parts), sentences)


def _of(choose: Callable[[list[float]], float], scores: Iterable[Score]) -> Score:
    """The chosen one; where one is unscored it might have been that one, and so is the whole."""
    found = list(scores)
    numbers = [n for score in found if (n := number(score)) is not None]
    return choose(numbers) if len(numbers) == len(found) else next(s for s in found if isinstance(s, Unscored))


def _tokens(model: LocalModel, task: ClassifierTask, case: Case) -> int:
    """How many tokens the model reads to judge a case: virtual tokens, prompt and the longer label."""
    virtual = 0 if model.soft_prompt is None else int(model.soft_prompt.shape[1])
    return virtual + len(model.encode_text(task.prompt(case))) + max(map(len, _labels(model, task)))


def _labels(model: LocalModel, task: ClassifierTask) -> list[list[int]]:
    return [model.encode_more(reply(label)) for label in (task.labels.error, task.labels.none)]


def _error_share(model: LocalModel, task: ClassifierTask, case: Case, meter: Meter) -> Score:
    """The error label's share after one prompt."""
    from eirene.eval.classifier.likelihood import log_likelihoods

    prompt = model.encode_text(task.prompt(case))
    meter.add(Usage(calls=1, input_tokens=len(prompt)))
    with memory_told(model.name, f"a prompt of {len(prompt)} tokens"):
        error, none = log_likelihoods(model.model, prompt, _labels(model, task), soft_prompt=model.soft_prompt)
    if not math.isfinite(error) or not math.isfinite(none):
        return Unscored(unscored="the classifier gives no finite likelihood")
    return 1.0 / (1.0 + math.exp(min(700.0, none - error)))
