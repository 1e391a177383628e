"""A chat model that lists an answer's errors and weighs them, in the manner of TigerScore.

Whether an answer has an error, and how grave its errors are together, is what `compare` counts before and after. What
cannot be read is unscored, with the cause: it never counts as an answer without errors.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eirene.checked import form_error
from eirene.denied_fault import denies_fault
from eirene.errors import InputError
from eirene.eval.base import Case
from eirene.models.chat import ChatModel, Sampling
from eirene.prompts import Message, load_prompt
from eirene.prompts.untrusted import defused, mark_for
from eirene.scores import Unscored
from eirene.strict_json import parse_json

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from eirene.models.replies import Reply
    from eirene.usage import Meter

JUDGE_PROMPT = "judge_errors"
MIN_PENALTY, MAX_PENALTY = 0.5, 5.0
_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"\A```(?:json)?[ \t]*\n(.*)\n[ \t]*```\Z", re.DOTALL | re.IGNORECASE)


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class JudgedError(_Reply):
    """One error: the faulty words (empty where something is missing), its kind, why, and its weight."""

    place: str
    kind: Literal["factual", "unsupported", "missing", "irrelevant", "contradiction", "unclear"]
    reason: Annotated[str, Field(min_length=1)]
    penalty: Annotated[float, Field(ge=MIN_PENALTY, le=MAX_PENALTY)]


class Judgement(_Reply):
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
    to do this; here any model is asked in our own words, so that figures of two judges do not compare.
    """

    def __init__(self, model: BaseChatModel | ChatModel, *, temperature: float = 0.0) -> None:
        self._chat = model if isinstance(model, ChatModel) else ChatModel(model)
        self._temperature = temperature

    @property
    def name(self) -> str:
        """The model's name."""
        return self._chat.name

    @property
    def version(self) -> str:
        """What a judgement hangs on beside the answer: the model, the prompt's wording, the temperature."""
        return f"{self.name},prompt={load_prompt(JUDGE_PROMPT).digest},t={self._temperature:g}"

    async def judge(self, case: Case, *, seed: int, meter: Meter) -> Judgement | Unscored:
        """The errors of `case.answer`. Raises `BackendError` where the model cannot be reached."""
        sampling = Sampling(temperature=self._temperature, seed=seed)
        replies = await self._chat.ask(judge_messages(case), sampling=sampling, meter=meter)
        return read_judgement(replies[0])


def judge_messages(case: Case) -> tuple[Message, ...]:
    """The request. Given arguments or passages are shown; what was derived from a critique is not."""
    parts = [f"Question:\n{case.question}"]
    if case.given.source == "perspectives":
        for group in case.given.groups:
            parts.append("\n".join([f"Arguments given for {group.name}:", *(f"- {a}" for a in group.arguments)]))
    elif case.given.source == "context":
        passages = (f"{n}. {text}" for n, text in enumerate(case.given.arguments, start=1))
        parts.append("\n".join(["Passages given:", *passages]))
    parts.append(f"Answer:\n{case.answer}")
    material = defused("\n\n".join(parts))
    return load_prompt(JUDGE_PROMPT).fill({"material": material, "mark": mark_for(material)})


def read_judgement(reply: Reply) -> Judgement | Unscored:
    """The reply as a judgement: thinking and a code fence around it aside, one JSON object in the form asked for."""
    if reply.is_cut_off:
        return Unscored(unscored="the judge's reply was cut off")
    text = _THINKING.sub("", reply.text).strip()
    fenced = _FENCED.match(text)
    try:
        value = parse_json((fenced[1] if fenced else text).encode("utf-8", "replace"), where="the judge's reply")
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
