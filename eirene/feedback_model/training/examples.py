"""Training examples and recipes of critics: annotated answers to tokens, default settings, data facts of the card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.data.haluquestqa import TaggedAnswer
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.request import (
    CHAT_PROMPT,
    INSTRUCT_PROMPT,
    feedback_instruct,
    feedback_messages,
    render_reply,
)
from eirene.models.local.layout import CarriedPrompt, encode_chat, encode_text
from eirene.models.local.spec import LAYOUTS, Layout
from eirene.models.training import recipe as shared
from eirene.models.training.examples import EncodedExample, encode_example
from eirene.models.training.recipe import Method, TrainingRecipe, check_known
from eirene.prompts import load_prompt

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


def prompt_for(rows: Sequence[TaggedAnswer], layout: Layout) -> CarriedPrompt:
    """The prompt that a model trained on `rows` carries: the layout's, with the instruction that the rows have.

    Raises `InputError` where rows differ in their instruction: the model can carry one.
    """
    if layout == "chat":
        return CarriedPrompt("feedback", "chat", load_prompt(CHAT_PROMPT))
    found = Counter(row.instruction for row in rows)
    if len(found) > 1:
        rare = found.most_common()[-1][0]
        where = next(row.where for row in rows if row.instruction == rare)
        raise InputError(
            f"the rows have {len(found)} different instructions, and a model carries one; the rarest is here",
            field="instruction",
            where=where,
        )
    return CarriedPrompt("feedback", "instruct", load_prompt(INSTRUCT_PROMPT), next(iter(found), None))


def encode(row: TaggedAnswer, prompt: CarriedPrompt, tokenizer: PreTrainedTokenizerBase) -> EncodedExample:
    """One example: the prompt as sampling will show it, and the annotators' critique as the reply."""
    item = Item(question=row.question, answer=row.answer)
    request = FeedbackRequest(item, row.answer, row.sentences, seed=0)
    if prompt.layout == "chat":
        ids = encode_chat(tokenizer, feedback_messages(request, prompt=prompt.prompt))
    else:
        text = feedback_instruct(request, instruction=prompt.instruction, prompt=prompt.prompt)
        ids = encode_text(tokenizer, text)
    return encode_example(tokenizer, ids, render_reply(row.tags, row.reasons))


@dataclass(frozen=True, slots=True)
class FeedbackRecipe(TrainingRecipe):
    """Everything that decides a run besides data, base model and seed.

    Sachdeva et al. 2024, section 4.1: the whole model, batch 4, learning rate 2e-5, 1,024 tokens, 5 epochs. The paper
    names no schedule, warm-up or weight decay; these are linear decay, none and none. `learning_rate` None is the
    paper's, or 2e-4 for LoRA, whose few weights hardly move at the paper's rate. `layout`: HaluQuestQA's headed text,
    or the base model's chat template.
    """

    method: Method = "full"
    layout: Layout = "instruct"

    def __post_init__(self) -> None:
        TrainingRecipe.__post_init__(self)
        check_known("layout", self.layout, LAYOUTS)


@dataclass(frozen=True, slots=True)
class CriticRecipe(TrainingRecipe):
    """Everything that decides the training of a critic of hallucinations besides data, base model and seed.

    Mishra et al. 2024, section 5.2 and table 11: the whole model, 2 epochs, batch 128, learning rate 2e-5, a warm-up of
    3 % of the steps, no weight decay, 2,048 tokens, bfloat16. The paper names no schedule; it is linear decay here.
    One example goes through at once: 128 fit no machine. `learning_rate` None is the paper's, or 2e-4 for LoRA.
    `layout` None is the base model's chat template where it has one (the paper starts from a chat model), else plain
    text.
    """

    method: Method = "full"
    epochs: int = 2
    batch_size: int = 128
    micro_batch: int | None = 1
    max_tokens: int = 2048
    warmup: float = 0.03
    layout: Layout | None = None

    def __post_init__(self) -> None:
        TrainingRecipe.__post_init__(self)
        if self.layout is not None:
            check_known("layout", self.layout, LAYOUTS)


def describe_rows(rows: Sequence[TaggedAnswer]) -> dict[str, Any]:
    """Counts of a data set: answers, sentences, and how many of each are incomplete."""
    sentences = sum(len(r.tags) for r in rows)
    incomplete = sum(tag == "Incomplete" for r in rows for tag in r.tags)
    return {
        "answers": len(rows),
        "questions": len({r.question for r in rows}),
        "sentences": sentences,
        "incomplete_sentences": incomplete,
        "answers_with_an_incomplete_sentence": sum("Incomplete" in r.tags for r in rows),
    }


def markdown(card: Mapping[str, Any]) -> str:
    """The card for people."""
    return shared.markdown(card, title="A feedback model for Eirene", data=_data(card["data"]))


def _data(data: Mapping[str, Any]) -> Iterator[str]:
    train = data["train"]
    yield f"`{data['file']}`, SHA-256 `{data['sha256']}`, split: {data['split']}"
    yield (
        f"trained on {train['answers']} answers to {train['questions']} questions, {train['sentences']} sentences, "
        f"of which {train['incomplete_sentences']} incomplete; {data['left_out']} longer answers left out"
    )
    faulty = train["answers_with_an_incomplete_sentence"]
    yield f"{faulty} of {train['answers']} answers have an incomplete sentence"
    if faulty and faulty >= 0.95 * train["answers"]:
        yield (
            "a model trained on answers that nearly always lack something will hardly ever call an answer complete: "
            "its vote says where, not whether, something is missing"
        )
