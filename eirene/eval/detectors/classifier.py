"""The `classifier` detector: causal language models, each tuned to find one error type.

An adapter carries what it was trained to do, the error and the label strings for it and for its absence, in its
`eirene_prompt.json`, so that it is asked as it was trained.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from eirene.core.errors import InputError
from eirene.core.scores import ERRORS, Error, Score, Scores, SentenceScore, Unscored, probability
from eirene.core.usage import Meter, Usage
from eirene.eval.base import GIVEN, Case, Need, layout_digest, uncheckable
from eirene.eval.detectors.chunks import Piece, part_of, share_out, together, whole
from eirene.eval.registry import detector
from eirene.eval.resources import Resources
from eirene.models.faults import out_of_memory_as_error
from eirene.prompts.curly import COVERED, FAITHFUL, curly_reply, verdict_prompt
from eirene.text.sentences import split_sentences

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

    from eirene.models.local.model import LocalModel


class ClassifierDetector:
    """A label's share of the likelihood, after a prompt with query, arguments and response in curly braces.

    Score: of each error, with l the log-likelihood of a label string: e^l(error) / (e^l(error) + e^l(none)). Given text
        beyond the model's context is shared out over several prompts: coverage is then the highest score of the whole
        answer with any chunk (it lacks something if it lacks something of one), hallucination the highest, over
        sentences, of the least score of the sentence with any chunk (it is given if one chunk gives it).
    Needs: given text, and a model for each error type, made by `python -m recipes.train classifier`; an error
        type without one is unscored, and so is an answer that is longer than the model takes.
    Reference: NPOV, section 3.3 (there the label NO stands for an error); least over chunks and highest over sentences
        as TRUE (Honovich et al. 2022) and SummaC (Laban et al. 2022) read long documents.
    Example: docs/concepts/classifiers.md.
    """

    name = "classifier"
    needs: frozenset[Need] = GIVEN | {"classifier"}

    def __init__(self, models: Sequence[LocalModel]) -> None:
        self._models: dict[Error, tuple[LocalModel, ClassifierTask]] = {}
        for model in models:
            task = ClassifierTask.loaded(model.prompt, name=model.name)
            if task.error_type in self._models:
                said = f"{self._models[task.error_type][0].name} and {model.name} are both for {task.error_type}"
                raise InputError(f"{said}; name one an error type", field="classifier")
            self._models[task.error_type] = (model, task)
        known = sorted(self._models.items())
        self.version = ",".join(
            f"{kind}={model.version},prompt={layout_digest(task.prompt)}" for kind, (model, task) in known
        )

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer."""
        if (why := uncheckable(case)) is not None:
            return Scores.none(why)
        found = {error_type: await self._one(error_type, case, meter) for error_type in ERRORS}
        return Scores(
            hallucination=found["hallucination"].score,
            coverage=found["coverage"].score,
            sentences=found["hallucination"].sentences,
            chunks=max(verdict.chunks for verdict in found.values()),
        )

    async def _one(self, error_type: Error, case: Case, meter: Meter) -> ClassifierVerdict:
        if error_type not in self._models:
            return ClassifierVerdict(Unscored(unscored=f"no classifier for {error_type} is named"))
        model, task = self._models[error_type]
        return await model.compute(lambda: verdict_on(model, task, case, meter))


@detector("classifier", needs=ClassifierDetector.needs, about="a tuned language model's labels (NPOV 3.3)")
def _build(resources: Resources) -> ClassifierDetector:
    return ClassifierDetector(resources.classifiers)


PROMPT = "curly-1"
"""The layout of the prompt; another number is another layout."""
KIND = "classifier"
_ASKS: Mapping[Error, str] = {"hallucination": FAITHFUL, "coverage": COVERED}


@dataclass(frozen=True, slots=True)
class Labels:
    """The strings that a model answers with; each may be several tokens long. Swapped, they are flipped labels."""

    error: str = "NO"
    none: str = "YES"

    def __post_init__(self) -> None:
        for name, label in (("error", self.error), ("none", self.none)):
            if not label.strip() or set(label) & set("{}"):
                raise InputError(f"a label is a text without braces, got {label!r}", field=f"labels.{name}")
        if self.error == self.none:
            raise InputError(f"the two labels must differ, got {self.error!r} twice", field="labels")


@dataclass(frozen=True, slots=True)
class ClassifierTask:
    """One error type and its labels."""

    error_type: Error
    labels: Labels = Labels()

    def prompt(self, case: Case) -> str:
        """The text up to where the label begins."""
        arguments = [(group.name, text) for group in case.given.groups for text in group.arguments]
        return verdict_prompt(case.query, arguments, case.answer, asks=_ASKS[self.error_type])

    @classmethod
    def loaded(cls, saved: Mapping[str, Any] | None, *, name: str) -> ClassifierTask:
        """The task of an adapter; raises `InputError` where it carries none, or one of another layout."""
        if saved is None or saved.get("kind") != KIND:
            raise InputError(
                f"{name} was not trained as a classifier; name one made by `python -m recipes.train classifier`",
                field="classifier",
            )
        labels = saved.get("labels")
        if saved.get("prompt") != PROMPT or saved.get("error_type") not in ERRORS or not isinstance(labels, dict):
            raise InputError(
                f"{name} was trained with another layout ({saved.get('prompt')!r}); this version knows {PROMPT!r}",
                field="classifier",
            )
        return cls(saved["error_type"], Labels(str(labels.get("error")), str(labels.get("none"))))


@dataclass(frozen=True, slots=True)
class ClassifierVerdict:
    """An error score, in how many chunks the given text was read, and the sentences' scores where these made it."""

    score: Score
    chunks: int = 1
    sentences: tuple[SentenceScore, ...] = ()


def verdict_on(model: LocalModel, task: ClassifierTask, case: Case, meter: Meter) -> ClassifierVerdict:
    """The verdict of one classifier; it runs in the calling thread.

    The chunks fit beside the whole answer. Their rule is `ClassifierDetector`'s.
    """

    def count(some: Sequence[Piece]) -> int:
        return _tokens(model, task, replace(case, given=part_of(case.given, some)))

    texts = case.given.arguments
    chunks = share_out(whole(texts), texts, count, limit=model.context_tokens)
    if isinstance(chunks, Unscored):
        return ClassifierVerdict(chunks)
    if len(chunks) == 1:
        return ClassifierVerdict(_error_share(model, task, case, meter))
    parts = [replace(case, given=part_of(case.given, chunk)) for chunk in chunks]
    if task.error_type == "coverage":
        return ClassifierVerdict(together([_error_share(model, task, part, meter) for part in parts]), len(parts))
    sentences = tuple(
        SentenceScore(
            n=sentence.n,
            hallucination=together(
                [_error_share(model, task, replace(part, answer=sentence.text), meter) for part in parts], min
            ),
        )
        for sentence in split_sentences(case.answer)
        if sentence.text
    )
    return ClassifierVerdict(together([s.hallucination for s in sentences]), len(parts), sentences)


def _tokens(model: LocalModel, task: ClassifierTask, case: Case) -> int:
    """How many tokens the model reads to judge a case: virtual tokens, prompt and the longer label."""
    virtual = 0 if model.soft_prompt is None else int(model.soft_prompt.shape[1])
    return virtual + len(model.encode_text(task.prompt(case))) + max(map(len, _labels(model, task)))


def _labels(model: LocalModel, task: ClassifierTask) -> list[list[int]]:
    return [model.encode_more(curly_reply(label)) for label in (task.labels.error, task.labels.none)]


def _error_share(model: LocalModel, task: ClassifierTask, case: Case, meter: Meter) -> Score:
    prompt = model.encode_text(task.prompt(case))
    meter.add(Usage(calls=1, input_tokens=len(prompt)))
    with out_of_memory_as_error(model.name, f"a prompt of {len(prompt)} tokens"):
        error, none = log_likelihoods(model.model, prompt, _labels(model, task), soft_prompt=model.soft_prompt)
    if not math.isfinite(error) or not math.isfinite(none):
        return Unscored(unscored="the classifier gives no finite likelihood")
    return probability(error - none)


def log_likelihoods(
    model: PreTrainedModel,
    prompt: Sequence[int],
    continuations: Sequence[Sequence[int]],
    *,
    soft_prompt: torch.Tensor | None = None,
) -> list[float]:
    """The natural-log likelihood of each continuation (its tokens' sum) after the prompt, which is read once.

    Raises `ValueError` for an empty prompt or continuation, `InputError` for a model whose memory of the prompt the
    continuations cannot share.
    """
    import torch

    from eirene.models.local.sampling import prefill

    if not prompt or not all(continuations):
        raise ValueError("the prompt and every continuation must have a token")
    with torch.inference_mode():
        read = prefill(model, prompt, soft_prompt)
        first = read.logits[0].double().log_softmax(-1)
        found = []
        for tokens in continuations:
            total = float(first[tokens[0]])
            if len(tokens) > 1:
                ids = torch.tensor([list(tokens)], device=first.device)
                out = cast(Any, model)(input_ids=ids[:, :-1], past_key_values=copy.deepcopy(read.cache), use_cache=True)
                logits = out.logits[0].double().log_softmax(-1)
                total += float(logits.gather(1, ids[0, 1:, None]).sum())
            found.append(total)
    return found
