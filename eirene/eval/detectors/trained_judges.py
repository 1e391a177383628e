"""Detectors on chat models trained as judges (Bespoke-MiniCheck, Lynx, Granite Guardian), each asked as it was trained.

Their prompts have no fence, as their training had none: chat control tokens in the texts are broken up, and no more.
"""

from __future__ import annotations

import json
import re

from eirene.core.errors import PERMANENT_ERRORS, BackendError
from eirene.core.scores import Score, Scores, SentenceScore, Unscored
from eirene.core.usage import Meter
from eirene.eval.base import NO_COVERAGE, Case, uncheckable
from eirene.eval.detectors.chunks import together
from eirene.eval.detectors.heads import declare, needs_of
from eirene.eval.resources import Resources
from eirene.models.chat import ChatModel, Sampling
from eirene.models.local.heads import FIELD
from eirene.models.protocols import Protocol
from eirene.models.replies import Reply
from eirene.models.token_choice import TOP, TokenChoice, first_alone, probability
from eirene.prompts import Message, load_prompt
from eirene.prompts.fence import break_control_tokens
from eirene.text.sentences import split_sentences


class TrainedJudge:
    """Asks a chat model that was trained to find hallucinations, in the words of its training.

    Score: hallucination of a sentence, or of the answer where the protocol reads it whole = the probability of the
        verdict's word against the other one, where the model gives probabilities of tokens; else 1 or 0, as the
        verdict says. Of an answer read by sentences = its worst sentence. A reply without a verdict is unscored, and
        so is coverage.
    Needs: given text, which is read whole, and the model, on a server or on this machine.
    Reference: `eirene.models.protocols` has each protocol's source.
    """

    def __init__(self, row: Protocol, chat: ChatModel) -> None:
        self._row = row
        self._chat = chat
        self._choice = TokenChoice(chat, row.words)
        self._verdict = re.compile(row.verdict, re.IGNORECASE)
        self.name = row.name
        self.needs = needs_of(row)
        self.version = f"{chat.version},prompt={load_prompt(row.prompt).digest}"

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `PERMANENT_ERRORS`, which every answer would meet."""
        if (why := uncheckable(case)) is not None:
            return Scores.none(why)
        sentences = [] if self._row.is_whole else [s for s in split_sentences(case.answer) if s.text]

        async def one(text: str) -> Score:
            return await self._risk(judge_messages(self._row, case, text), meter)

        found = await first_alone(one, [s.text for s in sentences] or [case.answer])
        return Scores(
            hallucination=together(found),
            coverage=NO_COVERAGE,
            sentences=tuple(SentenceScore(n=s.n, hallucination=e) for s, e in zip(sentences, found, strict=False)),
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


def judge_messages(row: Protocol, case: Case, text: str) -> tuple[Message, ...]:
    """What the model is asked about a sentence of the answer, or about all of it, in the protocol's words."""
    given = [break_control_tokens(passage) for passage in case.given.arguments]
    documents = (json.dumps({"doc_id": str(n), "text": p}, ensure_ascii=False) for n, p in enumerate(given))
    said = {"answer": break_control_tokens(text), "question": break_control_tokens(case.question)}
    said |= {"passages": "\n".join(given), "documents": "\n".join(documents)}
    prompt = load_prompt(row.prompt)
    messages = prompt.fill({name: said[name] for name in prompt.placeholders})
    if "answer" in prompt.placeholders:
        return messages
    # The text to judge is the assistant's turn, and the question about it the user's next one.
    return *messages[:-1], Message("assistant", said["answer"]), messages[-1]


def _make(row: Protocol, resources: Resources) -> TrainedJudge:
    return TrainedJudge(row, resources.chat(resources.detector_model(row.name) or f"hf:{row.hub}", field=FIELD))


declare(_make, "chat first token", "chat reply")
