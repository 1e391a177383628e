"""Refiners on chat models and on local models: their prompts, and how a reply becomes the new answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from eirene.core.critique import Critique, TaggedSentence
from eirene.core.errors import BackendError, InputError, UnusableReplyError
from eirene.core.grounding import whole_evidence
from eirene.core.loop_settings import Structured
from eirene.core.records import Item, Mode
from eirene.core.signature import derive_seed
from eirene.core.usage import Meter
from eirene.models.chat import ChatModel, Sampling
from eirene.models.drawing import draw_replies
from eirene.models.local.layout import carried
from eirene.models.local.model import LocalModel
from eirene.models.replies import Reply
from eirene.models.reply_text import UnreadableError, check_ending, unwrapped
from eirene.models.structured import ReplyForm
from eirene.prompts import SHIPPED, Message, Prompt, PromptSet
from eirene.prompts.fence import break_control_tokens, fence_word
from eirene.prompts.history import history_lines
from eirene.prompts.material import MATERIAL_PROMPT, evidence_lines, material_of
from eirene.refiners.base import DrawnText, RefineTask, Rejection
from eirene.refiners.patch import patch_schema, read_patch
from eirene.text.sentences import split_sentences
from eirene.text.thinking import without_thinking

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from eirene.models.local.sampling import LocalSampling

PROMPTS: dict[Mode, str] = {
    "improve": "refine_improve",
    "generic": "refine_generic",
    "fine-grained": "refine_fine_grained",
    "human": "refine_human",
}
PATCH_PROMPTS = ("refine_patch", "refine_patch_json")
"""Those that ask for a patch, in lines and as JSON."""
CRITICISMS: dict[Mode, str] = {
    "generic": "refine_incomplete",
    "fine-grained": "refine_criticism",
    "human": "refine_remarks",
}
"""What a patch is asked for by: the modes in which one can be."""
PARTS = (
    MATERIAL_PROMPT,
    *PATCH_PROMPTS,
    *CRITICISMS.values(),
    "refine_perspectives",
    "refine_context",
    "refine_rejected",
    "refine_attempt",
    "refine_fault",
    "refine_undone",
    "refine_history",
)
"""The prompts of patches, and those that stand inside others."""
_FIRST_WORDS = 6  # of a faulty sentence; the whole of it stands in the answer above
_SHOWN_ATTEMPTS = 3  # the latest; more would crowd out the answer


class ChatRefiner:
    """Asks a chat model for a better answer, with a prompt for each mode and form; see `eirene.refiners.model`.

    `model` is a LangChain chat model, or a `ChatModel` that is shared with other roles. `reasons_only` shows the
    reasons of a critique without sentences and findings and asks for whole answers, as the EIR paper does. `prompts`:
    own wording.
    """

    draws = True

    def __init__(
        self, model: BaseChatModel | ChatModel, *, reasons_only: bool = False, prompts: PromptSet = SHIPPED
    ) -> None:
        self.prompts = prompts
        self.chat = model if isinstance(model, ChatModel) else ChatModel(model)
        self._reasons_only = reasons_only

    @property
    def name(self) -> str:
        """The model's name."""
        return self.chat.name

    async def refine(self, task: RefineTask, *, meter: Meter) -> tuple[DrawnText, ...]:
        """What the model drew, read as new answers. A reply that cannot be read as one is a draft that says why.

        Raises `BackendError` when the model cannot be reached, `InputError` when a mode that needs a critique has none.
        """
        if self._reasons_only:
            task = replace(task, form="whole")
        asked = AskedRewrite.of(task, reasons_only=self._reasons_only, prompts=self.prompts)
        form = asked.form if self.chat.structured != "text" else None
        sampling = Sampling(temperature=task.temperature, form=form)
        seeds = asked.seeds
        if len(seeds) == 1:
            reply = await self.chat.ask(asked.messages, sampling=replace(sampling, seed=seeds[0]), meter=meter)
            return (asked.draft(reply, seeds[0]),)
        found = [r async for r in draw_replies(self.chat, asked.messages, sampling=sampling, seeds=seeds, meter=meter)]
        failed = [reply for reply in found if isinstance(reply, BackendError)]
        if len(failed) == len(found):
            raise failed[0]
        return tuple(asked.draft(r, s) for r, s in zip(found, seeds, strict=False) if not isinstance(r, BackendError))


class LocalRefiner:
    """Asks a local model for a better answer, in the prompts that chat models get; see `eirene.refiners.model`.

    A model without a chat template is shown the same words as plain text, and writes whole answers. One that was
    trained in a prompt of a mode and carries it is asked in exactly that prompt in that mode. Unless `structured` is
    `text`, patches are held to a grammar. `sampling` says how long replies may be, at most 1,024 tokens by default.
    `reasons_only` shows the reasons of a critique alone, as the EIR paper does. `prompts`: own wording; raises
    `InputError` where the model carries a prompt in the place of one of them.
    """

    draws = True

    def __init__(
        self,
        model: LocalModel,
        *,
        sampling: LocalSampling | None = None,
        reasons_only: bool = False,
        structured: Structured = "auto",
        prompts: PromptSet = SHIPPED,
    ) -> None:
        from eirene.models.local.sampling import LocalSampling

        self._model = model
        self._sampling = LocalSampling() if sampling is None else sampling
        self._reasons_only = reasons_only
        self._structured = structured
        self._carried = carried(model.prompt, "refiner", where=model.name)
        self._prompts = prompts
        if self._carried is not None:
            prompts.not_carried([self._carried.prompt.name], model=model.name)

    @property
    def name(self) -> str:
        """The model's name, `hf:...`."""
        return self._model.name

    async def refine(self, task: RefineTask, *, meter: Meter) -> tuple[DrawnText, ...]:
        """What the model drew, read as new answers; the same task gives the same drafts. A reply that cannot be read as
        one is a draft that says why.

        Raises `BackendError` for a prompt longer than the model's context, `InputError` when a mode that needs a
        critique has none.
        """
        own = self._carried.prompt if self._carried is not None else None
        prompt = own if own is not None and own.name == PROMPTS[task.mode] else None
        if prompt is not None or self._reasons_only or self._model.layout != "chat":
            task = replace(task, form="whole")
        asked = AskedRewrite.of(task, reasons_only=self._reasons_only, prompt=prompt, prompts=self._prompts)
        how = replace(self._sampling, temperature=task.temperature or 0.0)
        form = asked.form if self._structured != "text" else None
        if form is not None:
            how = replace(how, grammar=form.grammar)
        ids = self._model.encode_messages(asked.messages if form is None else form.messages)
        replies = await self._model.sample(ids, asked.seeds, sampling=how, meter=meter)
        return tuple(asked.draft(reply, seed) for reply, seed in zip(replies, asked.seeds, strict=True))


@dataclass(frozen=True, slots=True)
class AskedRewrite:
    """One task as a model is asked for it: the messages that ask for text, the JSON in the place of text where there is
    a schema, and the word that marks the untrusted texts in both."""

    task: RefineTask
    messages: tuple[Message, ...]
    mark: str
    form: ReplyForm | None = None

    @classmethod
    def of(
        cls, task: RefineTask, *, reasons_only: bool = False, prompt: Prompt | None = None, prompts: PromptSet = SHIPPED
    ) -> Self:
        """The task in words; raises what `refine_messages` raises."""
        messages, mark = refine_messages(task, reasons_only=reasons_only, prompt=prompt, prompts=prompts)
        schema = patch_schema(task) if task.form == "patch" else None
        if schema is None:
            return cls(task, messages, mark)
        own = prompts.load(PATCH_PROMPTS[1])
        said, _ = refine_messages(task, reasons_only=reasons_only, prompt=own, prompts=prompts)
        return cls(task, messages, mark, ReplyForm.of("patch", schema, said))

    @property
    def seeds(self) -> tuple[int, ...]:
        """A seed for each draft; the first is the task's."""
        seed = self.task.seed
        return (seed, *(derive_seed(seed, "draft", n) for n in range(1, self.task.count)))

    def draft(self, reply: Reply, seed: int) -> DrawnText:
        """What a reply says; where it cannot be read, why."""
        try:
            if self.task.form == "patch":
                asked = (self.form or self).messages[-1].content.rpartition(self.mark)[2]
                return read_patch(reply, self.task, seed=seed, mark=self.mark, prompt=asked)
            return DrawnText(read_rewrite(reply, before=self.task.answer, marks=(self.mark,)), seed)
        except UnusableReplyError as error:
            return DrawnText(error.reply or "", seed, self.task.form, unusable=str(error))
        except UnreadableError as error:
            return DrawnText(without_thinking(reply.text).strip(), seed, self.task.form, unusable=str(error))


def refine_messages(
    task: RefineTask, *, reasons_only: bool = False, prompt: Prompt | None = None, prompts: PromptSet = SHIPPED
) -> tuple[tuple[Message, ...], str]:
    """The chat messages that ask for a rewrite of `task.answer`, and the word that marks the untrusted texts in them.

    A patch is asked for in lines, about numbered sentences. Fine-grained and human prompts name each incomplete
    sentence with its number, reasons and findings, or with `reasons_only` number the reasons alone. `prompts` are what
    it is worded in; `prompt` takes the place of the mode's and must have the same placeholders. Raises `InputError`
    when such a mode comes without a critique, `PromptError` for a prompt that does not fit.
    """
    item = task.item
    if task.form == "patch":
        return _patch_messages(task, prompts, prompt)
    values = {"question": break_control_tokens(item.question), "answer": break_control_tokens(task.answer)}
    if task.mode in ("fine-grained", "human"):
        values["faults"] = _faults(_critique(task), prompts, reasons_only=reasons_only)
    arguments, passages, turns = _arguments(item), _passages(task), history_lines(item.history)
    attempts = _attempts(task.rejections, prompts)
    undone = "\n".join(f"- {break_control_tokens(edit)}" for edit in task.undone)
    shown = (values["question"], arguments, passages, turns)
    mark = fence_word(*values.values(), *shown, attempts, undone, made_from="\x1f".join(shown))  # rounds begin alike
    values["given"] = "".join(
        [
            _part(prompts, "refine_perspectives", mark=mark, arguments=arguments) if arguments else "",
            _part(prompts, "refine_context", mark=mark, passages=passages) if passages else "",
            _part(prompts, "refine_history", mark=mark, turns=turns) if turns else "",
        ]
    )
    values["rejected"] = _rejected(prompts, mark, attempts, undone)
    return (prompt or prompts.load(PROMPTS[task.mode])).fill({**values, "mark": mark}), mark


def _patch_messages(task: RefineTask, prompts: PromptSet, prompt: Prompt | None) -> tuple[tuple[Message, ...], str]:
    """The same for a patch: behind the block that the critic's prompt begins with, too."""
    part = prompts.load(CRITICISMS[task.mode])
    faults = "" if task.mode == "generic" else _faults(_critique(task), prompts, reasons_only=False)
    attempts = _attempts(task.rejections, prompts)
    undone = "\n".join(f"- {break_control_tokens(edit)}" for edit in task.undone)
    sentences = split_sentences(task.answer)
    material = material_of(task.item, sentences, task.evidence, prompts=prompts, beside=(faults, attempts, undone))
    known = {"mark": material.mark, "faults": faults}
    values = {
        "material": material.block,
        "last": str(len(sentences)),
        "criticism": part.fill({name: known[name] for name in part.placeholders})[-1].content,
        "rejected": _rejected(prompts, material.mark, attempts, undone),
    }
    return (prompt or prompts.load(PATCH_PROMPTS[0])).fill(values), material.mark


def _rejected(prompts: PromptSet, mark: str, attempts: str, undone: str) -> str:
    told = _part(prompts, "refine_rejected", mark=mark, attempts=attempts) if attempts else ""
    return told + (_part(prompts, "refine_undone", mark=mark, undone=undone) if undone else "")


def _critique(task: RefineTask) -> Critique:
    if task.critique is None:
        raise InputError(f"mode {task.mode} needs a critique; modes improve and generic do without", field="mode")
    return task.critique


def _faults(critique: Critique, prompts: PromptSet, *, reasons_only: bool) -> str:
    faulty = critique.incomplete
    if reasons_only:
        return "\n".join(f"{i}. {break_control_tokens(s.reason or '')}" for i, s in enumerate(faulty, start=1))
    return "\n".join(
        _part(
            prompts,
            "refine_fault",
            end="",
            n=str(s.n),
            sentence=break_control_tokens(_beginning(s.text)),
            reasons=_reasons(s),
        )
        for s in faulty
    )


def _beginning(text: str) -> str:
    """The words by which a sentence is found again in the answer: the first few, and three dots for the others."""
    words = text.split()
    return " ".join(words if len(words) <= _FIRST_WORDS + 1 else [*words[:_FIRST_WORDS], "..."])


def _reasons(sentence: TaggedSentence) -> str:
    """The reason, then a line for each finding whose reason is not said already: its place, and the better word."""
    lines = [sentence.reason or ""]
    for finding in sentence.findings:
        place = sentence.text[max(0, finding.start - sentence.start) : max(0, finding.end - sentence.start)]
        said = [f'"{place}"'] if place else []
        said += [f'-> "{finding.edit}"'] if finding.edit is not None else []
        said += [f"({finding.kind})"]
        if finding.reason and finding.reason not in lines[0]:
            said.append(finding.reason)
        lines.append("- " + " ".join(said))
    return break_control_tokens("\n".join(lines))


def _arguments(item: Item) -> str:
    sides = (
        "\n".join([break_control_tokens(side.name), *(f"- {break_control_tokens(a)}" for a in side.arguments)])
        for side in item.perspectives or ()
    )
    return "\n\n".join(sides)


def _passages(task: RefineTask) -> str:
    return evidence_lines(whole_evidence(task.item) if task.evidence is None else task.evidence)


def _attempts(rejections: Sequence[Rejection], prompts: PromptSet) -> str:
    first = max(0, len(rejections) - _SHOWN_ATTEMPTS)
    return "\n\n".join(
        _part(
            prompts,
            "refine_attempt",
            end="",
            n=str(n),
            candidate=break_control_tokens("\n".join(map(str, r.changes)) or r.candidate),
            why=break_control_tokens(r.why),
        )
        for n, r in enumerate(rejections[first:], start=first + 1)
    )


def _part(prompts: PromptSet, name: str, *, end: str = "\n\n", **values: str) -> str:
    """A part's text with a blank line after it, so that a part that is left out leaves no gap."""
    return prompts.load(name).fill(values)[-1].content + end


def read_rewrite(reply: Reply, *, before: str, marks: tuple[str, ...] = ()) -> str:
    """The rewritten answer in `reply`; an empty text when nothing is left beside thinking and preamble.

    `eirene.models.reply_text.unwrapped` says what is taken off. Raises `UnusableReplyError` with the reply when it was
    cut off or filtered.
    """
    check_ending(reply, "rewrite")
    return unwrapped(reply.text, before=before, marks=marks)
