"""Judges: the fence against prompt injection around what they judge, and the interval of a share of votes.

A chat model that lists an answer's errors and weighs them, in the manner of TigerScore.

Whether an answer has an error, and how grave its errors are together, is what `compare` counts before and after. What
cannot be read is unscored, with the cause: it never counts as an answer without errors.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eirene.core.errors import InputError
from eirene.core.history import HistoryTurn
from eirene.core.json import parse_json
from eirene.core.scores import Unscored
from eirene.core.validation import form_error
from eirene.eval.base import Case
from eirene.eval.detectors.reply_forms import errors_form
from eirene.models.chat import ChatModel, Sampling
from eirene.models.reply_text import inside_fence
from eirene.prompts import SHIPPED, Message, PromptSet
from eirene.prompts.fence import break_control_tokens, fence_word
from eirene.prompts.history import HISTORY_PROMPT, history_part
from eirene.text.refusals import denies_fault
from eirene.text.thinking import without_thinking

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from eirene.core.usage import Meter
    from eirene.models.replies import Reply

_Z = 1.959963984540054  # 95 %, two-sided


@dataclass(frozen=True, slots=True)
class Section:
    """One text that a judge is shown, under a title of ours."""

    title: str
    text: str


def fenced(sections: Iterable[Section]) -> tuple[str, str]:
    """The sections, each under a line "MARK title", closed by a line "MARK end"; and the mark.

    The mark occurs in none of the texts, and hangs on all of them: whoever writes one can neither end a section nor
    begin another, such as a passage of his own that supports what he says. Chat control words are taken apart.
    """
    defanged = [Section(s.title, break_control_tokens(s.text)) for s in sections]
    mark = fence_word(*(s.text for s in defanged))
    lines = [line for s in defanged for line in (f"{mark} {s.title}", s.text)]
    return "\n".join([*lines, f"{mark} end"]), mark


def question_sections(question: str, history: Sequence[HistoryTurn], prompts: PromptSet = SHIPPED) -> list[Section]:
    """The question as a judge is shown it, after the conversation before it where there is one."""
    before = [Section("conversation", history_part(history, prompts))] if history else []
    return [*before, Section("question", question)]


def given_sections(case: Case) -> list[Section]:
    """The given text as a judge is shown it: each perspective with its arguments, each passage. None if derived."""
    if case.given.source == "context":
        return [Section(f"passage {n}", text) for n, text in enumerate(case.given.arguments, start=1)]
    if case.given.source == "perspectives":
        return [
            Section(f"arguments of side {n}", "\n".join([f"{group.name}:", *(f"- {a}" for a in group.arguments)]))
            for n, group in enumerate(case.given.groups, start=1)
        ]
    return []


def wilson(hits: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share of `hits` in `n` draws, n at least 1 (Wilson 1927, score interval).

    Unlike hits/n plus or minus its standard error it is not empty where all draws agree: five of five says at least
    0.57.
    """
    share, z2 = hits / n, _Z * _Z
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = _Z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return (0.0 if hits == 0 else max(0.0, centre - half), 1.0 if hits == n else min(1.0, centre + half))


def bounded(raw: float, *, half: float) -> float:
    """A measure from 0 up as an error score in [0, 1): raw / (raw + half). It keeps the order; `half` gives 0.5."""
    return raw / (raw + half)


JUDGE_PROMPT = "judge_errors"
MIN_PENALTY, MAX_PENALTY = 0.5, 5.0


class _JudgeReply(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class JudgedError(_JudgeReply):
    """One error: the faulty words (empty where something is missing), its kind, why, and its weight."""

    place: str
    kind: Literal["factual", "unsupported", "missing", "irrelevant", "contradiction", "unclear"]
    reason: Annotated[str, Field(min_length=1)]
    penalty: Annotated[float, Field(ge=MIN_PENALTY, le=MAX_PENALTY)]


class Judgement(_JudgeReply):
    """All errors that a judge found in an answer; an answer without one has a penalty of 0."""

    errors: tuple[JudgedError, ...]

    @property
    def penalty(self) -> float:
        """The sum of the errors' penalties, 0 or more; higher is worse."""
        return sum(error.penalty for error in self.errors)

    @property
    def has_error(self) -> bool:
        """Whether there is any."""
        return bool(self.errors)


class ErrorJudge:
    """Asks a chat model for the errors of an answer, once, at the given temperature.

    `model` is a LangChain chat model or a `ChatModel`. Reference: TigerScore (Jiang et al. 2023), which trains a model
    to do this; here any model is asked in the words of `prompts`, so that figures of two judges do not compare.
    """

    def __init__(
        self, model: BaseChatModel | ChatModel, *, temperature: float = 0.0, prompts: PromptSet = SHIPPED
    ) -> None:
        self._prompts = prompts
        self._chat = model if isinstance(model, ChatModel) else ChatModel(model)
        self._temperature = temperature

    @property
    def name(self) -> str:
        """The model's name."""
        return self._chat.name

    @property
    def version(self) -> str:
        """What a judgement hangs on beside the answer: the model, the prompt's wording, how it is asked."""
        how = f"structured={self._chat.structured},t={self._temperature:g}"
        return f"{self.name},prompt={self._prompts.digests([JUDGE_PROMPT, HISTORY_PROMPT])},{how}"

    async def judge(self, case: Case, *, seed: int, meter: Meter) -> Judgement | Unscored:
        """The errors of `case.answer`. Raises `BackendError` where the model cannot be reached."""
        sampling = Sampling(temperature=self._temperature, seed=seed, form=errors_form())
        messages = judge_messages(case, self._prompts)
        return read_judgement(await self._chat.ask(messages, sampling=sampling, meter=meter))


def judge_messages(case: Case, prompts: PromptSet = SHIPPED) -> tuple[Message, ...]:
    """The request. Given arguments or passages are shown; what was derived from a critique is not."""
    parts = [history_part(case.history, prompts)] if case.history else []
    parts.append(f"Question:\n{case.question}")
    if case.given.source == "perspectives":
        for group in case.given.groups:
            parts.append("\n".join([f"Arguments given for {group.name}:", *(f"- {a}" for a in group.arguments)]))
    elif case.given.source == "context":
        passages = (f"{n}. {text}" for n, text in enumerate(case.given.arguments, start=1))
        parts.append("\n".join(["Passages given:", *passages]))
    parts.append(f"Answer:\n{case.answer}")
    material = break_control_tokens("\n\n".join(parts))
    return prompts.load(JUDGE_PROMPT).fill({"material": material, "mark": fence_word(material)})


def read_judgement(reply: Reply) -> Judgement | Unscored:
    """The reply as a judgement: thinking and a code fence around it aside, one JSON object in the form asked for."""
    if reply.is_cut_off:
        return Unscored(unscored="the judge's reply was cut off")
    text = inside_fence(without_thinking(reply.text).strip())
    try:
        value = parse_json(text.encode("utf-8", "replace"), where="the judge's reply")
        judgement = Judgement.model_validate_json(json.dumps(value), strict=True)
    except InputError as error:
        return Unscored(unscored=str(error))
    except ValidationError as error:
        said = form_error(error, Judgement)
        return Unscored(unscored=f"the judge's reply is not in the form asked for: {said}")
    for n, listed in enumerate(judgement.errors, start=1):
        if denies_fault(listed.reason):
            return Unscored(unscored=f"the judge's reply lists an error {n} and says that it is none")
    return judgement
