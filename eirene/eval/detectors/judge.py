"""Judges: what a chat model is shown to judge an answer, in a fence, and how its verdict is read.

The JSON of a reply that is held to a schema has its thinking before the verdict, as replies in text have: a judge that
must decide first has nothing to go by. `ErrorJudge` lists an answer's errors and weighs them, in the manner of
TigerScore. What cannot be read is unscored, with the cause: it never counts as an answer without errors.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from eirene.core.errors import PERMANENT_ERRORS, BackendError, InputError
from eirene.core.history import HistoryTurn
from eirene.core.json import parse_json
from eirene.core.scores import Poll, Unscored
from eirene.core.signature import digest
from eirene.core.validation import form_error
from eirene.eval.base import Case
from eirene.models import reply_text
from eirene.models.chat import ChatModel, Sampling
from eirene.models.drawing import Drawing, draw_replies
from eirene.models.replies import Reply
from eirene.models.structured import ReplyForm, choice_schema, json_object, object_schema, text_schema
from eirene.models.token_choice import first_alone
from eirene.prompts import SHIPPED, Message, PromptSet
from eirene.prompts.fence import break_control_tokens, fence_word
from eirene.prompts.history import HISTORY_PROMPT, history_part
from eirene.text.refusals import denies_fault
from eirene.text.thinking import without_thinking

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from eirene.core.usage import Meter

VERDICT_JSON_PROMPT = "verdict_json"
JUDGE_PROMPT = "judge_errors"
QUORUM = 3
"""A judge's replies are a quorum where at least so many can be read, and half of those asked for."""


def quorum_of(requested: int) -> int:
    """How many of the replies asked for must be read."""
    return max(QUORUM, -(-requested // 2))


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
    return [*before, *([Section("question", question)] if question.strip() else [])]


def is_given(case: Case) -> bool:
    """Whether the row brought text to hold the answer against; what was derived from a critique is none."""
    return case.given.source != "derived" and bool(case.given.arguments)


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


def judge_request(name: str, case: Case, *, with_given: bool, prompts: PromptSet = SHIPPED) -> tuple[Message, ...]:
    """The prompt of this name with question, given text (where it is asked for) and answer in a fence."""
    asked = question_sections(case.question, case.history, prompts)
    given = given_sections(case) if with_given else []
    material, mark = fenced([*asked, *given, Section("answer", case.answer)])
    return prompts.load(name).fill({"material": material, "mark": mark})


_TEXT = {"type": "string"}


def verdict_form(messages: Sequence[Message], prompts: PromptSet = SHIPPED) -> ReplyForm:
    """Thinking, then yes or no. `messages` ask for the same in text."""
    schema = object_schema({"thinking": _TEXT, "verdict": choice_schema(["yes", "no"])})
    asked = [*messages[:-1], *prompts.load(VERDICT_JSON_PROMPT).fill({"request": messages[-1].content})]
    return ReplyForm.of("verdict", schema, asked)


async def asked_often(
    chat: ChatModel, messages: Sequence[Message], sampling: Sampling, seeds: Sequence[int], meter: Meter
) -> list[Reply | BackendError]:
    """A reply, or why there is none, for each seed."""
    replies = draw_replies(chat, Drawing(messages, sampling, seeds), meter=meter)
    async with aclosing(replies):
        return [reply async for reply in replies]


async def asked_each(chat: ChatModel, requests: Sequence[Sequence[Message]], *, meter: Meter) -> list[Poll]:
    """The verdict on each request, asked once at temperature 0; the first by itself, then the others together.

    Raises `BackendError` where no request succeeds, and for what the next one would meet as well.
    """
    form = ReplyForm.of("verdict", object_schema({"verdict": choice_schema(["yes", "no"])}))
    sampling = Sampling(temperature=0.0, form=form)

    failed: list[BackendError] = []

    async def one(messages: Sequence[Message]) -> Poll:
        try:
            return read_verdict(await chat.ask(messages, sampling=sampling, meter=meter))
        except PERMANENT_ERRORS:
            raise
        except BackendError as error:
            failed.append(error)
            return read_verdict(error)

    polls = await first_alone(one, requests)
    if failed and len(failed) == len(polls):
        raise failed[-1]
    return polls


def raise_where_all_failed(replies: Sequence[Reply | BackendError]) -> None:
    """Raises the last error where no reply came back at all."""
    failures = [reply for reply in replies if isinstance(reply, BackendError)]
    if failures and len(failures) == len(replies):
        raise failures[-1]


_QUOTES = str.maketrans("“”„«»‘’‚‹›", '"' * 5 + "'" * 5)
_MARKUP = re.compile(r"[*_`~]+|^[ \t]*#{1,6}[ \t]+|</\w{1,20}>|\\text\b", re.MULTILINE)
_NEW_LINE = re.compile(r", (?=(?:because|as|since)\b)|\\boxed\b", re.IGNORECASE)
_LONGEST = 400  # characters of a line, from its end
_VERDICT = re.compile(
    r"[^\w?>]{0,8}(?:(?P<label>(?:[^>].{0,400}(?:[.!:]|,(?= (?:so|thus|hence|therefore)\b)) )?"
    r"(?:(?:so|thus|hence|therefore),? )?(?:(?:final|my|the) ){0,2}verdict(?: is)?[^\w?]{1,8})"
    r"|(?:final )?answer: {0,8})?(?P<value>yes|no)[^\w?]{0,8}",
    re.IGNORECASE,
)
_TAKEN_BACK = re.compile(r"\bverdict\b|\b(?:yes|no)\W*\Z", re.IGNORECASE)
_AT_ODDS = re.compile(
    r"\bverdict(?: is)?[^\w?]{1,8}(yes|no)[^\w\"']+verdict(?: is)?[^\w?]{1,8}(?!\1)(?:yes|no)\W*\Z", re.IGNORECASE
)
_REVISED = re.compile(
    r"(?:\A|[.!?:;,] )\W*(?:but|however|actually|wait|correction|(?:so|thus|hence|therefore),? .{0,9}verdict)\b"
    r"|\b(?:after all|on second thoughts?|a second look|on reflection|revised|final(?:ly| verdict)|overall)\b",
    re.IGNORECASE,
)


def read_verdict(reply: Reply | BackendError) -> Poll:
    """The reply as a poll: `error` is True for yes, False for no, None with the cause where neither can be told.

    The field of the JSON decides; in text the last line "Verdict: yes" or "Verdict: no", where nothing below it
    takes it back, or the last line if it is that one word. What the thinking before it says does not count, nor a
    reason behind it. After the other verdict a last one counts only if it is final, or what stands between turns to it.
    """
    if isinstance(reply, BackendError):
        return Poll(error=None, unread=f"the call failed: {reply.kind}: {reply}")
    error, why = None, None
    text = reply_text.cleaned(unicodedata.normalize("NFKC", reply.text), inline=True)
    if reply.is_cut_off:
        why = "the reply was cut off"
    elif reply.is_filtered:
        why = "the provider's filter ended the reply"
    elif not text.strip():
        why = "nothing but thinking" if reply.text.strip() else "empty"
    else:
        # As it came first: what its thinking quotes (`</s>`, `<think>`) would be cut out of the cleaned text.
        held = json_object(reply.text) or json_object(text[max(text.find("{"), 0) :].rstrip("` \n")) or {}
        said = held.get("verdict")
        error = said if isinstance(said, bool) else _in_lines(f"Verdict: {said}" if "verdict" in held else _plain(text))
        why = "no clear verdict of yes or no" if error is None else None
    return Poll(error=error, text=reply.text, unread=why)


def _in_lines(text: str) -> bool | None:
    verdict, is_first, last, is_clear, turns = None, True, None, True, False
    lines = [line.strip()[-_LONGEST:] for line in _NEW_LINE.sub("\n", text).split("\n") if line.strip()]
    earlier: list[re.Match[str] | None] = []
    for n, (line, found) in enumerate(zip(lines, map(_VERDICT.fullmatch, lines), strict=True), start=1):
        says = found and found["value"].lower() == "yes"
        turns = turns or _REVISED.search(line) is not None
        if found and found["label"] and not _is_quoted(line, alone=is_first):
            is_clear = not _AT_ODDS.search(line) and (turns or (is_clear and last in (None, says)))
            verdict, last, is_first, turns = says if is_clear else None, says, False, False
        elif found and n == len(lines) and not found["label"]:
            is_told = line[0] == '"' and any(f and (f["value"].lower() == "yes") is not says for f in earlier)
            return says if (is_first or says is verdict) and not is_told else None
        elif _TAKEN_BACK.search(line):
            verdict = None
        earlier.append(found)
    return verdict


def _is_quoted(line: str, *, alone: bool) -> bool:
    """Whether a verdict stands in a quotation; one that is `alone`, and in it with nothing else, is the judge's."""
    before = line[: line.lower().rfind("verdict")].lstrip()
    return before.count('"') % 2 == 1 and not (alone and before == '"')


def cleaned(text: str) -> str:
    """A reply without its thinking, markup and invisible characters; quotation marks and colons in one form."""
    return _plain(reply_text.cleaned(unicodedata.normalize("NFKC", text), inline=True))


def _plain(text: str) -> str:
    return _MARKUP.sub("", text).translate(_QUOTES)


def bounded(raw: float, *, half: float) -> float:
    """A measure from 0 up as an error score in [0, 1): raw / (raw + half). It keeps the order; `half` gives 0.5."""
    return raw / (raw + half)


MIN_PENALTY, MAX_PENALTY = 0.5, 5.0
ErrorKind = Literal["factual", "unsupported", "missing", "irrelevant", "contradiction", "unclear"]


class _JudgeReply(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class JudgedError(_JudgeReply):
    """One error: the faulty words (empty where something is missing), its kind, why, and its weight."""

    place: str
    kind: ErrorKind
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
    def hallucination_score(self) -> float:
        """The penalty by the number of errors, 0 without one; EIR (Sachdeva et al. 2024, table 4) averages it."""
        return self.penalty / max(len(self.errors), 1)

    @property
    def has_error(self) -> bool:
        """Whether there is any."""
        return bool(self.errors)


class ErrorJudge:
    """Asks a chat model for the errors of an answer, once, at temperature 0.

    `model` is a LangChain chat model or a `ChatModel`. Reference: TigerScore (Jiang et al. 2023), which trains a model
    to do this; here any model is asked in the words of `prompts`, so that figures of two judges do not compare.
    """

    def __init__(self, model: BaseChatModel | ChatModel, *, prompts: PromptSet = SHIPPED) -> None:
        self._prompts = prompts
        self._chat = model if isinstance(model, ChatModel) else ChatModel(model)
        self.name = self._chat.name
        worded, form = prompts.digests([JUDGE_PROMPT, HISTORY_PROMPT]), digest([_errors_form().schema])[:8]
        self.version = f"{self._chat.version},prompt={worded},structured={self._chat.structured},form={form},t=0"

    async def judge(self, case: Case, *, seed: int, meter: Meter) -> Judgement | Unscored:
        """The errors of `case.answer`. Raises `BackendError` where the model cannot be reached."""
        sampling = Sampling(temperature=0.0, seed=seed, form=_errors_form())
        messages = judge_request(JUDGE_PROMPT, case, with_given=True, prompts=self._prompts)
        return read_judgement(await self._chat.ask(messages, sampling=sampling, meter=meter))


def _errors_form() -> ReplyForm:
    """The list of errors that the prompt asks for in JSON anyway, bounded: a small model would go on for ever."""
    kind, reason = choice_schema(get_args(ErrorKind)), text_schema(200)
    error = object_schema({"place": _TEXT, "kind": kind, "reason": reason, "penalty": {"type": "number"}})
    return ReplyForm.of("errors", object_schema({"errors": {"type": "array", "items": error, "maxItems": 8}}))


def read_judgement(reply: Reply) -> Judgement | Unscored:
    """The reply as a judgement: thinking and a code fence around it aside, one JSON object in the form asked for."""
    if reply.is_cut_off:
        return Unscored(unscored="the judge's reply was cut off")
    text = reply_text.inside_fence(without_thinking(reply.text).strip())
    try:
        value = parse_json(text.encode("utf-8", "replace"), where="the judge's reply")
        judgement = Judgement.model_validate_json(json.dumps(value), strict=True)
    except InputError as error:
        return Unscored(unscored=str(error))
    except ValidationError as error:
        said = form_error(error, Judgement, value)
        return Unscored(unscored=f"the judge's reply is not in the form asked for: {said}")
    for n, listed in enumerate(judgement.errors, start=1):
        if denies_fault(listed.reason):
            return Unscored(unscored=f"the judge's reply lists an error {n} and says that it is none")
    return Judgement(errors=tuple(dict.fromkeys(judgement.errors)))  # one that is said again, word for word, is one
