"""Refiners on chat models and on local models: their prompts, and how a reply becomes the new answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from eirene.core.critique import Critique, TaggedSentence
from eirene.core.errors import InputError
from eirene.core.grounding import whole_evidence
from eirene.core.records import Item, Mode
from eirene.core.usage import Meter
from eirene.models.chat import ChatModel, Sampling
from eirene.models.local.layout import carried
from eirene.models.local.model import LocalModel
from eirene.models.replies import Reply
from eirene.models.reply_text import check_ending, unwrapped
from eirene.prompts import SHIPPED, Message, Prompt, PromptSet
from eirene.prompts.fence import break_control_tokens, fence_word
from eirene.prompts.history import history_lines
from eirene.prompts.material import evidence_lines
from eirene.refiners.base import RefineTask, Rejection

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from eirene.models.local.sampling import LocalSampling

PROMPTS: dict[Mode, str] = {
    "improve": "refine_improve",
    "generic": "refine_generic",
    "fine-grained": "refine_fine_grained",
    "human": "refine_human",
}
PARTS = (
    "refine_perspectives",
    "refine_context",
    "refine_rejected",
    "refine_attempt",
    "refine_fault",
    "refine_undone",
    "refine_history",
)
"""The prompts that stand inside those of `PROMPTS`."""
_FIRST_WORDS = 6  # of a faulty sentence; the whole of it stands in the answer above
_SHOWN_ATTEMPTS = 3  # the latest; more would crowd out the answer


class ChatRefiner:
    """Asks a chat model for a better answer, with a prompt for each mode; see `eirene.refiners.model`.

    `model` is a LangChain chat model, or a `ChatModel` that is shared with other roles. `temperature` 0 makes rewrites
    repeatable where the provider allows; None leaves the model's own. `reasons_only` shows the reasons of a critique
    without sentences and findings, as the EIR paper does. `prompts`: own wording.
    """

    def __init__(
        self,
        model: BaseChatModel | ChatModel,
        *,
        temperature: float | None = 0.0,
        reasons_only: bool = False,
        prompts: PromptSet = SHIPPED,
    ) -> None:
        self.prompts = prompts
        self._chat = model if isinstance(model, ChatModel) else ChatModel(model)
        self._temperature = temperature
        self._reasons_only = reasons_only

    @property
    def name(self) -> str:
        """The model's name."""
        return self._chat.name

    @property
    def sampling(self) -> Sampling:
        """What rewrites are drawn with."""
        return Sampling(temperature=self._temperature)

    async def refine(self, task: RefineTask, *, meter: Meter) -> str:
        """The model's new answer, freed of preambles, thinking and wrapping.

        Raises `UnusableReplyError` for a reply that was cut off or filtered, another `BackendError` when the model
        cannot be reached, `InputError` when a mode that needs a critique has none.
        """
        messages, mark = refine_messages(task, reasons_only=self._reasons_only, prompts=self.prompts)
        sampling = Sampling(temperature=self._temperature, seed=task.seed)
        reply = await self._chat.ask(messages, sampling=sampling, meter=meter)
        return read_rewrite(reply, before=task.answer, marks=(mark,))


class LocalRefiner:
    """Asks a local model for a better answer, in the prompts that chat models get; see `eirene.refiners.model`.

    A model without a chat template is shown the same words as plain text; one that was trained in a prompt of a mode
    and carries it is asked in exactly that prompt in that mode. `sampling` defaults to the likeliest token
    at every step, at most 1,024 of them. `reasons_only` shows the reasons of a critique alone, as the EIR paper does.
    `prompts`: own wording; raises `InputError` where the model carries a prompt in the place of one of them.
    """

    def __init__(
        self,
        model: LocalModel,
        *,
        sampling: LocalSampling | None = None,
        reasons_only: bool = False,
        prompts: PromptSet = SHIPPED,
    ) -> None:
        from eirene.models.local.sampling import LocalSampling

        self._model = model
        self._sampling = LocalSampling(temperature=0.0) if sampling is None else sampling
        self._reasons_only = reasons_only
        self._carried = carried(model.prompt, "refiner", where=model.name)
        self._prompts = prompts
        if self._carried is not None:
            prompts.not_carried([self._carried.prompt.name], model=model.name)

    @property
    def name(self) -> str:
        """The model's name, `hf:...`."""
        return self._model.name

    async def refine(self, task: RefineTask, *, meter: Meter) -> str:
        """The model's new answer, freed of preambles, thinking and wrapping. The same task gives the same rewrite.

        Raises `UnusableReplyError` for a reply that was cut off, another `BackendError` for a prompt longer than the
        model's context, `InputError` when a mode that needs a critique has none.
        """
        own = self._carried.prompt if self._carried is not None else None
        prompt = own if own is not None and own.name == PROMPTS[task.mode] else None
        messages, mark = refine_messages(task, reasons_only=self._reasons_only, prompt=prompt, prompts=self._prompts)
        reply = await self._model.ask(messages, seed=task.seed, sampling=self._sampling, meter=meter)
        return read_rewrite(reply, before=task.answer, marks=(mark,))


def refine_messages(
    task: RefineTask, *, reasons_only: bool = False, prompt: Prompt | None = None, prompts: PromptSet = SHIPPED
) -> tuple[tuple[Message, ...], str]:
    """The chat messages that ask for a rewrite of `task.answer`, and the word that marks the untrusted texts in them.

    Fine-grained and human prompts name each incomplete sentence with its number, reasons and findings, or with
    `reasons_only` number the reasons alone. `prompts` are what it is worded in; `prompt` takes the place of the
    mode's and must have the same placeholders. Raises `InputError` when such a mode comes without a critique,
    `PromptError` for a prompt that does not fit.
    """
    item = task.item
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
    values["rejected"] = "".join(
        [
            _part(prompts, "refine_rejected", mark=mark, attempts=attempts) if attempts else "",
            _part(prompts, "refine_undone", mark=mark, undone=undone) if undone else "",
        ]
    )
    return (prompt or prompts.load(PROMPTS[task.mode])).fill({**values, "mark": mark}), mark


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
            candidate=break_control_tokens(r.candidate),
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
