"""Detectors on chat models trained as judges (Bespoke-MiniCheck, Lynx, Granite Guardian, TIGERScore, FAVA), each asked
as it was trained.

Their prompts have no fence, as their training had none: chat control tokens in the texts are broken up, and no more.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import NamedTuple

from eirene.core.errors import PERMANENT_ERRORS, BackendError
from eirene.core.findings.tagged_reply import findings_in_reply
from eirene.core.scores import Score, Scores, SentenceScore, Unscored, probability
from eirene.core.usage import Meter
from eirene.eval.base import NO_COVERAGE, Case, uncheckable
from eirene.eval.detectors.chunks import together
from eirene.eval.detectors.heads import declare, needs_of
from eirene.eval.detectors.judge import MAX_PENALTY, bounded
from eirene.eval.resources import Resources
from eirene.models.chat import ChatModel, Sampling
from eirene.models.local.heads import FIELD
from eirene.models.protocols import Protocol
from eirene.models.replies import Reply
from eirene.models.token_choice import TOP, TokenChoice, first_alone
from eirene.prompts import Message, load_prompt
from eirene.prompts.fence import break_control_tokens
from eirene.text.sentences import split_sentences


class TrainedJudge:
    """Asks a chat model that was trained to find hallucinations, in the words of its training.

    Score: hallucination of a sentence, or of the answer where the protocol reads it whole = the probability of the
        verdict's word against the other one, where the model gives probabilities of tokens; else 1 or 0, as the
        verdict says. Of an answer read by sentences = its worst sentence. A reply without a verdict is unscored, and
        so is coverage. TIGERScore: x / (x + 5) of x = the sum of its errors' score reductions (raw `reduction`), of a
        sentence of those located in it, where all are located. FAVA: 1 for a sentence with a tagged error, else 0. A
        reply that lists other errors than it announces, or that is no tagged copy of the answer, is unscored.
    Needs: given text, which is read whole (TIGERScore: if any), and the model, on a server or on this machine.
    Reference: `eirene.models.protocols` has each protocol's source.
    """

    def __init__(self, row: Protocol, chat: ChatModel) -> None:
        self._row = row
        self._chat = chat
        self._choice = TokenChoice(chat, row.words or ("Yes", "No"))
        self._verdict = re.compile(row.verdict, re.IGNORECASE)
        self.name = row.name
        self.needs = needs_of(row)
        self.version = f"{chat.version},prompt={load_prompt(row.prompt).digest}"

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `PERMANENT_ERRORS`, which every answer would meet."""
        if (why := uncheckable(case)) is not None and (self._row.needs_given or not case.answer.strip()):
            return Scores.none(why)
        if self._row.kind in ("chat errors", "chat tags"):
            return await self._by_errors(case, meter)
        sentences = [] if self._row.is_whole else [s for s in split_sentences(case.answer) if s.text]

        async def one(text: str) -> Score:
            return await self._risk(judge_messages(self._row, case, text), meter)

        found = await first_alone(one, [s.text for s in sentences] or [case.answer])
        return Scores(
            hallucination=together(found),
            coverage=NO_COVERAGE,
            sentences=tuple(SentenceScore(n=s.n, hallucination=e) for s, e in zip(sentences, found, strict=False)),
        )

    async def _by_errors(self, case: Case, meter: Meter) -> Scores:
        sampling = Sampling(temperature=0.0, seed=0, max_tokens=self._row.reply_tokens)
        try:
            reply = await self._chat.ask(judge_messages(self._row, case, case.answer), sampling=sampling, meter=meter)
        except PERMANENT_ERRORS:
            raise
        except BackendError as error:
            return Scores.none(f"the call failed: {error.kind}: {error}")
        read = _errors_listed if self._row.kind == "chat errors" else _errors_tagged
        errors = Unscored(unscored="the reply was cut off") if reply.is_cut_off else read(reply.text, case.answer)
        if isinstance(errors, Unscored):
            return Scores.none(errors.unscored)
        places = [(e.start, e.end, e.weight) for e in errors if e.start is not None]
        sentences = split_sentences(case.answer) if len(places) == len(errors) else []
        inside = [[w for a, b, w in places if a < s.end and (b > s.start or a >= s.start)] for s in sentences]
        reduction = {"reduction": math.fsum(e.weight for e in errors)} if self._row.kind == "chat errors" else {}
        return Scores(
            hallucination=_weighed([error.weight for error in errors]),
            coverage=NO_COVERAGE,
            sentences=tuple(
                SentenceScore(n=s.n, hallucination=_weighed(w)) for s, w in zip(sentences, inside, strict=True)
            ),
            raw={"errors": float(len(errors)), **reduction},
        )

    async def _risk(self, messages: tuple[Message, ...], meter: Meter) -> Score:
        try:
            if self._row.kind == "chat first token":
                odds = await self._choice.ask(messages, meter=meter)
                if isinstance(odds, float) or self._choice.is_readable:
                    return odds if isinstance(odds, Unscored) else probability(-odds)
            sampling = Sampling(temperature=0.0, seed=0, top_logprobs=TOP, max_tokens=self._row.reply_tokens)
            return self._read(await self._chat.ask(messages, sampling=sampling, meter=meter))
        except PERMANENT_ERRORS:
            raise
        except BackendError as error:
            return Unscored(unscored=f"the call failed: {error.kind}: {error}")

    def _read(self, reply: Reply) -> Score:
        """The risk by a reply's last verdict, and by the probabilities of the token that it is, if these were sent."""
        verdicts = list(self._verdict.finditer(reply.text))
        if not verdicts:
            return Unscored(unscored=f"the reply has no verdict: {reply.text.strip()[:60]!r}")
        word, at, begin = verdicts[-1][1].casefold(), verdicts[-1].start(1), 0
        for token in reply.tokens:
            if begin <= at < begin + len(token.text) and token.text.strip().casefold() == word:
                odds = self._choice.odds_of(token)
                if isinstance(odds, float):
                    return probability(-odds)
            begin += len(token.text)
        return 1.0 if word == self._row.words[1].casefold() else 0.0


class _Error(NamedTuple):
    """One error: where it stands in the answer (None: nowhere), and its weight, infinite for one that only is there."""

    start: int | None
    end: int
    weight: float


def _weighed(weights: Sequence[float]) -> float:
    total = math.fsum(weights)
    return 1.0 if total == math.inf else bounded(total, half=MAX_PENALTY)


def _errors_tagged(reply: str, answer: str) -> list[_Error] | Unscored:
    read = findings_in_reply(reply, answer)
    if read.no_copy is not None:
        return Unscored(unscored=read.no_copy)
    if read.unplaced:
        return Unscored(unscored=f"{read.unplaced} tagged errors have words that the answer does not have")
    if read.stray and not read.findings:
        return Unscored(unscored=f"{read.stray} tags of the reply have no other half, and no error could be read")
    return [_Error(finding.start, finding.end, math.inf) for finding in read.findings]


_HEAD = re.compile(r"contains (\d{1,3}) errors?, with a total score reduction of -?(\d{1,3}(?:\.\d{1,3})?)")
_FIELD = re.compile(
    r"^[ \t]*(Error location|Error aspect|Explanation|Severity|Score reduction) (\d{1,3}):[ \t]*(.*)$", re.MULTILINE
)
_FIELDS, _ROUNDING = 5, 0.05
_REDUCTION = re.compile(r"-?(\d(?:\.\d{1,3})?)")


def _errors_listed(reply: str, answer: str) -> list[_Error] | Unscored:
    """The errors of TIGERScore's list: location, aspect, explanation, severity and score reduction of each."""
    heads = dict.fromkeys(_HEAD.findall(reply))
    if len(heads) != 1:
        why = f"announces {len(heads)} totals" if heads else "does not say how many errors there are"
        return Unscored(unscored=f"the reply {why}: {reply.strip()[:60]!r}")
    [(n_errors, total)] = heads
    facts = dict.fromkeys(_FIELD.findall(reply))
    told: dict[int, dict[str, str]] = {}
    for name, n, said in facts:
        told.setdefault(int(n), {})[name] = said.strip()
    whole = [n for n, own in told.items() if len(own) == _FIELDS == sum(int(fact[1]) == n for fact in facts)]
    if whole != list(range(1, int(n_errors) + 1)) or len(whole) != len(told):
        return Unscored(
            unscored=f"the reply announces {n_errors} errors and describes {len(whole)} of {len(told)} once and whole"
        )
    errors = []
    for fields in told.values():
        found = _REDUCTION.fullmatch(fields["Score reduction"])
        if found is None or not 0 < float(found[1]) <= MAX_PENALTY:
            return Unscored(unscored=f"a score reduction is no number up to 5: {fields['Score reduction'][:20]!r}")
        words = fields["Error location"].strip("\"' ")
        at = answer.find(words) if words else -1
        errors.append(_Error(None if at < 0 else at, at + len(words), float(found[1])))
    if abs(math.fsum(error.weight for error in errors) - float(total)) > _ROUNDING:
        return Unscored(unscored=f"the reply's score reductions do not add up to the {total} that it announces")
    return errors


def judge_messages(row: Protocol, case: Case, text: str) -> tuple[Message, ...]:
    """What the model is asked about a sentence of the answer, or about all of it, in the protocol's words."""
    texts = () if case.given.source == "derived" else case.given.arguments
    given = [break_control_tokens(passage) for passage in texts]
    documents = (json.dumps({"doc_id": str(n), "text": p}, ensure_ascii=False) for n, p in enumerate(given))
    said = {"answer": break_control_tokens(text), "question": break_control_tokens(case.question)}
    said |= {"passages": "\n".join(given), "documents": "\n".join(documents)}
    said["source"] = "\n".join([said["question"], *given])
    said["references"] = "\n".join(f"Reference [{n}]: {passage}" for n, passage in enumerate(given, start=1))
    prompt = load_prompt(row.prompt)
    messages = prompt.fill({name: said[name] for name in prompt.placeholders})
    if "answer" in prompt.placeholders:
        return messages
    # The text to judge is the assistant's turn, and the question about it the user's next one.
    return *messages[:-1], Message("assistant", said["answer"]), messages[-1]


def _make(row: Protocol, resources: Resources) -> TrainedJudge:
    return TrainedJudge(row, resources.chat(resources.detector_model(row.name) or f"hf:{row.hub}", field=FIELD))


declare(_make, "chat first token", "chat reply", "chat errors", "chat tags")
