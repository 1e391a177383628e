"""The `classifier` detector: causal language models tuned to say whether an answer has an error, one an error type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eirene.errors import InputError
from eirene.eval.base import GIVEN, Case, Need
from eirene.eval.classifier.task import ERROR_TYPES, ClassifierTask, ErrorType
from eirene.eval.classifier.verdict import Verdict, verdict_on
from eirene.scores import Scores, Unscored
from eirene.usage import Meter

if TYPE_CHECKING:
    from eirene.eval.resources import Resources
    from eirene.models.local import LocalModel

NEEDS_GIVEN = "nothing was given that an answer could be held against"


class ClassifierDetector:
    """A label's share of the likelihood, after a prompt with query, arguments and response in curly braces.

    Score: of each error, with l the log-likelihood of a label string: e^l(error) / (e^l(error) + e^l(none)). Given text
        beyond the model's context is shared out over several prompts: coverage is then the highest score of the whole
        answer with any chunk (it lacks something if it lacks something of one), hallucination the highest, over
        sentences, of the least score of the sentence with any chunk (it is given if one chunk gives it).
    Needs: given text, and a model for each error type, made by `eirene train classifier`; an error type without one is
        unscored, and so is an answer that is longer than the model takes.
    Reference: NPOV, section 3.3 (there the label NO stands for an error); least over chunks and highest over sentences
        as TRUE (Honovich et al. 2022) and SummaC (Laban et al. 2022) read long documents.
    Example: docs/classifiers.md.
    """

    name = "classifier"
    needs: frozenset[Need] = GIVEN | {"classifier"}

    def __init__(self, models: Sequence[LocalModel]) -> None:
        self._models: dict[ErrorType, tuple[LocalModel, ClassifierTask]] = {}
        for model in models:
            task = ClassifierTask.loaded(model.prompt, name=model.name)
            if task.error_type in self._models:
                raise InputError(
                    f"{self._models[task.error_type][0].name} and {model.name} are both for {task.error_type}; "
                    "name one an error type",
                    field="classifier",
                )
            self._models[task.error_type] = (model, task)
        self.version = ",".join(f"{kind}={model.version}" for kind, (model, _) in sorted(self._models.items()))

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer."""
        if case.given.source == "derived" or not any(text.strip() for text in case.given.arguments):
            return Scores.none(NEEDS_GIVEN)
        if not case.answer.strip():
            return Scores.none("the answer is empty")
        found = {error_type: await self._one(error_type, case, meter) for error_type in ERROR_TYPES}
        return Scores(
            hallucination=found["hallucination"].score,
            coverage=found["coverage"].score,
            sentences=found["hallucination"].sentences,
            chunks=max(verdict.chunks for verdict in found.values()),
        )

    async def _one(self, error_type: ErrorType, case: Case, meter: Meter) -> Verdict:
        if error_type not in self._models:
            return Verdict(Unscored(unscored=f"no classifier for {error_type} is named"))
        model, task = self._models[error_type]
        return await model.compute(lambda: verdict_on(model, task, case, meter))


def build(resources: Resources) -> ClassifierDetector:
    """The detector on the classifiers that are named."""
    return ClassifierDetector(resources.classifiers)
