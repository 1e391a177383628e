"""The `judge` detector: log-odds of one token, Yes or No, for every sentence; `cascade` asks only where it must.

The cascade also reads the verifications of `verify` and `check` again where the verifier is unsure.
Where the model gives no token probabilities, its polls take their place (`eirene.eval.detectors.chainpoll`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.memo import Memo
from eirene.core.scores import ArgumentScore, Score, Scores, SentenceScore, Unscored, number, probability
from eirene.core.usage import Meter
from eirene.core.verification import FAULTY, ClaimVerdict, ClaimWord, Verification
from eirene.eval.base import GIVEN, Case, Detector, Need
from eirene.eval.detectors.chainpoll import ChainPoll
from eirene.eval.detectors.chunks import together
from eirene.eval.detectors.judge import Section, fenced, given_sections, is_given, question_sections
from eirene.eval.registry import build_detector, detector
from eirene.eval.resources import Resources
from eirene.models.token_choice import TokenChoice, first_alone
from eirene.prompts import SHIPPED, Message, PromptSet
from eirene.prompts.fence import shown_line
from eirene.prompts.history import HISTORY_PROMPT
from eirene.text.sentences import split_sentences
from eirene.verification.claims import not_checked
from eirene.verification.judging import FAULTED, answer_risk, log_odds

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import Encodes

BAND = (0.2, 0.6)
"""Risks by the verifier between which a sentence is asked about (`benchmarks/judges.py` has what that costs)."""
CONFIRMED = 0.5
"""Log-odds of No before a correction, and of Yes after it, from which it holds."""
UNJUDGED = "the judge gave no reading"
"""How the reason begins where the model said something else."""
_NO = 0.5
"""P(No) below which the model says Yes."""
NO_COVERAGE = "the judge looks for hallucinations, and for what a critique asked"
ASKED = "asked"
"""The group of a critique's reasons where nothing was given (`eirene.core.grounding`)."""
NO_CLAIM = "no sentence of the answer claims anything"
_KEPT = 1024  # claims whose odds are kept


class TokenJudge:
    """Asks a chat model of every sentence that claims something: is it supported by what was given, or is it true?

    Score: hallucination of a sentence = P(No) by the log-odds of the first token; of the answer = that of its worst
        sentence, raw `log_odds` of Yes; unscored where a sentence could not be asked about. With `cheap`, a detector
        that costs no call, a sentence keeps its score outside of `BAND`, and within it the log-odds of both are
        added; the answer's is then the chance that one of its sentences would be marked, and raw `asked` the share of
        the sentences that the model judged. Coverage of a critique's reason, where
        nothing was given = P(No) that it is met now, of the answer = the worst; else unscored.
    Needs: a judge. It asks for adherence where text was given, else for correctness. A model without token
        probabilities is polled as `chainpoll` does, and `polls` of the scores say so.
    Reference: the probability of "True" as in Kadavath et al. 2022, section 3; prompts of our own.
    """

    def __init__(
        self,
        polling: ChainPoll,
        encoder: Encodes,
        *,
        cheap: Detector | None = None,
        prompts: PromptSet = SHIPPED,
    ) -> None:
        self.polling = polling
        self._choice = TokenChoice(polling.chat)
        self._encoder = encoder
        self._cheap = cheap
        self._prompts = prompts
        self._odds: Memo[tuple[Message, ...], float | Unscored] = Memo(_KEPT)
        self.name = "judge" if cheap is None else "cascade"
        self.needs: frozenset[Need] = frozenset({"judge"} if cheap is None else {"judge", "given"})
        worded = prompts.digests(["judge_adherence", "judge_correctness", "judge_reason", HISTORY_PROMPT])
        before = "" if cheap is None else f",{cheap.version},band={BAND[0]:g}-{BAND[1]:g}"
        self.version = f"{polling.version},token={worded},encoder={encoder.digest}{before}"

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `BackendError` where the model could not be asked at all."""
        is_by_sentence = self._choice.is_readable or self._cheap is not None
        found = await self._by_sentence(case, meter) if is_by_sentence else None
        return await self.polling.score(case, meter=meter) if found is None else found

    async def _by_sentence(self, case: Case, meter: Meter) -> Scores | None:
        """The scores by one token each; where it turns out that the model gives no probabilities, None, or of a cascade
        by polls of each sentence."""
        sentences = [s for s in split_sentences(case.answer) if s.text]
        nothing = await asyncio.to_thread(not_checked, [s.text for s in sentences], self._encoder)
        known = await self._known(case, meter)
        sure = {n for n, risk in known.items() if not BAND[0] < risk < BAND[1]}
        claims = [s for s, why in zip(sentences, nothing, strict=True) if why is None and s.n not in sure]
        reasons = [reason for group in case.given.groups if group.name == ASKED for reason in group.arguments]
        asked = [claim_messages(case, s.text, self._prompts) for s in claims]
        told = await self._ask([*asked, *(reason_messages(case, r, self._prompts) for r in reasons)], meter)
        if not self._choice.is_readable and any(isinstance(found, Unscored) for found in told):
            if self._cheap is None:
                return None
            told = await self._odds_of(case, [s.text for s in claims], meter)
        odds = dict(zip((s.n for s in claims), told, strict=False))
        scores = [
            SentenceScore(n=s.n, hallucination=_risk(why, odds.get(s.n), known.get(s.n)))
            for s, why in zip(sentences, nothing, strict=True)
        ]
        found = _scores(scores, odds, is_cascade=self._cheap is not None)
        return _with_reasons(found, told[len(claims) :]) if reasons else found

    async def reread(self, case: Case, found: Verification, *, meter: Meter) -> Verification:
        """A verification of the case's answer, with what the model says of the sentences of which the verifier is
        unsure: those with a risk within `BAND`, and those in a language that it does not read.

        A sentence of which the model gives no reading stays as it was, and says why. Raises `BackendError` where the
        model could not be asked.
        """
        doubted = [c for c in found.claims if c.unread or (c.risk is not None and BAND[0] < c.risk < BAND[1])]
        told = await self._odds_of(case, [claim.text for claim in doubted], meter)
        odds = {claim.n: o for claim, o in zip(doubted, told, strict=True)}
        claims = tuple(_reread(claim, odds[claim.n]) if claim.n in odds else claim for claim in found.claims)
        risks = [claim.risk for claim in claims if claim.risk is not None]
        risk = answer_risk(risks) if risks else None
        return found.model_copy(update={"claims": claims, "risk": risk, "verifier": self.version})

    async def confirms(self, given: str, before: str, after: str, *, meter: Meter) -> bool:
        """Whether a text supports a sentence `after` it was corrected, and not `before`, by clear odds. Raises
        `BackendError` where the model could not be asked."""
        case = Case("", after, Grounding("context", (ArgumentGroup("context", (given,)),)))
        old, new = await self._odds_of(case, [before, after], meter)
        return isinstance(old, float) and isinstance(new, float) and old <= -CONFIRMED and new >= CONFIRMED

    async def _odds_of(self, case: Case, claims: Sequence[str], meter: Meter) -> list[float | Unscored]:
        """The log-odds of Yes for each claim: by one token, or by polls where the model gives no probabilities."""
        if self._choice.is_readable:
            told = await self._ask([claim_messages(case, claim, self._prompts) for claim in claims], meter)
            if self._choice.is_readable:
                return told
        polled = [await self.polling.score(replace(case, answer=claim), meter=meter) for claim in claims]
        n = self.polling.polls  # as if there had been one more poll with each vote: none is sure
        shares = (scores.hallucination for scores in polled)
        return [s if isinstance(s, Unscored) else -log_odds((s * n + 1.0) / (n + 2.0)) for s in shares]

    async def _known(self, case: Case, meter: Meter) -> dict[int, float]:
        """The cheap detector's scores by sentence; empty where it has none, or where it is not there."""
        if self._cheap is None or not is_given(case):
            return {}
        scores = await self._cheap.score(case, meter=meter)
        found = ((s.n, number(s.hallucination)) for s in scores.sentences)
        return {n: risk for n, risk in found if risk is not None}

    async def _ask(self, prompts: Sequence[tuple[Message, ...]], meter: Meter) -> list[float | Unscored]:
        """The log-odds of each prompt, in order; what was asked before is not asked again."""

        async def one(messages: tuple[Message, ...]) -> float | Unscored:
            return await self._odds.get_or_await(
                messages, lambda: self._choice.ask(messages, meter=meter), worth=lambda o: isinstance(o, float)
            )

        return await first_alone(one, prompts)


def claim_messages(case: Case, claim: str, prompts: PromptSet = SHIPPED) -> tuple[Message, ...]:
    """What the judge is asked about one claim of an answer: what was given comes first, which all claims share."""
    question = "adherence" if is_given(case) else "correctness"
    shown = given_sections(case) if question == "adherence" else question_sections(case.question, case.history, prompts)
    return _about(f"judge_{question}", shown, claim, prompts)


def reason_messages(case: Case, reason: str, prompts: PromptSet = SHIPPED) -> tuple[Message, ...]:
    """What the judge is asked about one reason of a critique: whether the answer meets it now."""
    shown = [*question_sections(case.question, case.history, prompts), Section("answer", case.answer)]
    return _about("judge_reason", shown, reason, prompts)


def _about(name: str, shown: Sequence[Section], claim: str, prompts: PromptSet) -> tuple[Message, ...]:
    """The prompt on a claim, which is one line: it can neither end the fence nor begin a question of its own."""
    material, _ = fenced(shown)
    return prompts.load(name).fill({"material": material, "claim": shown_line(claim)})


def risk_by(odds: float, cheap: float | None = None) -> float:
    """P(No) by the log-odds of Yes; where another detector's risk is known, by both together, as if independent."""
    return probability(-odds if cheap is None else log_odds(cheap) - odds)


def _risk(why: str | None, odds: float | Unscored | None, cheap: float | None) -> Score:
    """The score of a sentence that claims something (`why` None), or that the cheap detector has read."""
    if isinstance(odds, float):
        return risk_by(odds, cheap)
    return cheap if cheap is not None else odds or Unscored(unscored=why or "")


def _reread(claim: ClaimVerdict, odds: float | Unscored) -> ClaimVerdict:
    """A claim with what the judge says; one that a passage contradicts is not called supported by it."""
    if isinstance(odds, Unscored):
        return claim.model_copy(update={"why": f"{UNJUDGED}: {odds.unscored}"})
    risk, judged = risk_by(odds, claim.risk), risk_by(odds)
    word: ClaimWord = "supported" if judged < _NO and claim.verdict != "contradicted" else "unclear"
    if risk > FAULTED:
        word = claim.verdict if claim.is_faulty else "unsupported"
    return claim.model_copy(update={"verdict": word, "risk": risk, "judged": judged, "why": None, "unread": False,
                                    "words": claim.words if word in FAULTY else ()})  # fmt: skip


def _with_reasons(scores: Scores, odds: Sequence[float | Unscored]) -> Scores:
    """The scores with the coverage of what a critique asked for; of the answer that of the reason least met."""
    met: list[Score] = [o if isinstance(o, Unscored) else risk_by(o) for o in odds]
    arguments = tuple(ArgumentScore(group=ASKED, n=n, coverage=score) for n, score in enumerate(met, start=1))
    return scores.model_copy(update={"coverage": together(met), "arguments": arguments})


def _scores(sentences: list[SentenceScore], odds: dict[int, float | Unscored], *, is_cascade: bool) -> Scores:
    lost = next((s.hallucination for s in sentences if s.n in odds and isinstance(s.hallucination, Unscored)), None)
    numbers = [value for s in sentences if (value := number(s.hallucination)) is not None]
    of_answer = answer_risk if is_cascade else max
    worst: Score = of_answer(numbers) if numbers else Unscored(unscored=NO_CLAIM)
    read = [o for o in odds.values() if isinstance(o, float)]
    raw = {"log_odds": min(read)} if read and lost is None else {}
    if is_cascade and numbers:
        raw["asked"] = len(read) / len(numbers)
    return Scores(
        hallucination=worst if lost is None else lost,
        coverage=Unscored(unscored=NO_COVERAGE),
        sentences=tuple(sentences),
        raw=raw,
    )


_JUDGE: frozenset[Need] = frozenset({"judge"})


@detector("judge", needs=_JUDGE, about="P(No) of a model's first token, by sentence; polls where it gives none")
def _build(resources: Resources, *, cheap: Detector | None = None) -> TokenJudge:
    polling = build_detector("chainpoll", resources)
    assert isinstance(polling, ChainPoll)
    return TokenJudge(polling, resources.encoder, cheap=cheap, prompts=resources.prompts)


@detector("cascade", needs=_JUDGE | GIVEN, about="the verifier, and the judge where the verifier is unsure")
def _build_cascade(resources: Resources) -> TokenJudge:
    return _build(resources, cheap=build_detector("verifier", resources))


def cascade_of(resources: Resources) -> TokenJudge | None:
    """The judge of what the verifier is unsure of; None where the resources name no judge."""
    return None if resources.judge_model is None else _build_cascade(resources)
