"""The `factscore` detectors: the share of an answer's atomic claims that nothing supports.

FAVA's editing task (Mishra et al. 2024, section 6.2) measures what an edit gains by it: `eirene compare` with one of
them prints the difference before and after.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from statistics import fmean
from typing import TYPE_CHECKING, cast

from eirene.core.memo import Memo
from eirene.core.scores import Scores, Unscored
from eirene.core.usage import Meter
from eirene.eval.base import GIVEN, NO_COVERAGE, Case, Need, unmet
from eirene.eval.detectors.judge import asked_each, is_given, judge_request
from eirene.eval.detectors.token_judge import claim_messages
from eirene.eval.registry import detector
from eirene.eval.resources import Resources
from eirene.models.chat import ChatModel, Sampling
from eirene.models.replies import Reply
from eirene.models.structured import ReplyForm, json_object, object_schema
from eirene.prompts import SHIPPED, Message, PromptSet
from eirene.prompts.history import HISTORY_PROMPT
from eirene.text.refusals import is_refusal
from eirene.verification.judging import FAULTED, judge_of, version_of

if TYPE_CHECKING:
    from eirene.models.encoder.runtime import ReadsTokens
    from eirene.models.verifier.runtime import Verifier

CLAIMS_PROMPT = "factscore_claims"
_FORM = ReplyForm.of("claims", object_schema({"claims": {"type": "array", "items": {"type": "string"}}}))
_KEPT = 256  # answers whose claims are kept


class FactScore:
    """The share of an answer's atomic claims that is not supported: 1 - FActScore.

    Score: hallucination = 1 - supported / read, raw `supported` (that share), `claims` and `unread`. Claims without a
        verdict are left out; where less than half has one, where the claims cannot be read, and where the answer
        refuses or claims nothing, it is unscored. Coverage is unscored.
    Needs: a judge, which breaks the answer into claims that stand alone, by one request, and then gives a verdict on
        each: whether the given text supports it, or where none was given whether it is true. With `verifier` that
        gives the verdicts, and text must have been given.
    Reference: Min et al. 2023 (FActScore), sections 3.1 and 4; without the length penalty of the authors' package.
        Prompts of our own.
    """

    def __init__(self, chat: ChatModel, *, verifier: Verifier | None = None, prompts: PromptSet = SHIPPED) -> None:
        self._chat = chat
        self._verifier = verifier
        self._prompts = prompts
        self._claims: Memo[tuple[Message, ...], tuple[str, ...] | Unscored] = Memo(_KEPT)
        self.name = "factscore" if verifier is None else "factscore-verifier"
        self.needs = _JUDGE if verifier is None else _JUDGE | GIVEN
        names = [CLAIMS_PROMPT, HISTORY_PROMPT]
        names += ["judge_adherence", "judge_correctness"] if verifier is None else []
        by = "" if verifier is None else f",{version_of(verifier)}"
        self.version = f"{chat.version},prompt={prompts.digests(names)},structured={chat.structured},t=0{by}"

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The scores of one answer. Raises `BackendError` where the model cannot be reached."""
        if self._verifier is not None and not is_given(case):
            return Scores.none(unmet("given"))
        if not case.answer.strip() or is_refusal(case.answer):
            return Scores.none("the answer is empty" if not case.answer.strip() else "the answer refuses")
        messages = judge_request(CLAIMS_PROMPT, case, with_given=False, prompts=self._prompts)
        claims = await self._claims.get_or_await(
            messages, lambda: self._split(messages, meter), worth=lambda found: not isinstance(found, Unscored)
        )
        if isinstance(claims, Unscored):
            return Scores.none(claims.unscored)
        if not claims:
            return Scores.none("the answer claims nothing")
        return share_of(await self._verdicts(case, claims, meter))

    async def _split(self, messages: tuple[Message, ...], meter: Meter) -> tuple[str, ...] | Unscored:
        sampling = Sampling(temperature=0.0, form=_FORM)
        return read_claims(await self._chat.ask(messages, sampling=sampling, meter=meter))

    async def _verdicts(self, case: Case, claims: Sequence[str], meter: Meter) -> list[bool | None]:
        """Whether each claim is supported; None where it could not be told."""
        if self._verifier is not None:
            return await asyncio.to_thread(_read_by, self._verifier, case, claims)
        requests = [claim_messages(case, claim, self._prompts) for claim in claims]
        return [poll.error for poll in await asked_each(self._chat, requests, meter=meter)]  # yes: it is supported


def _read_by(verifier: Verifier, case: Case, claims: Sequence[str]) -> list[bool | None]:
    are_sides = case.given.source == "perspectives"
    question = "" if are_sides else case.query
    judge = judge_of(tuple(case.given.arguments), verifier, question=question, are_sides=are_sides)
    found = judge.judge(" ".join(claims), claims)
    return [None if own.risk is None else own.risk <= FAULTED for own in found]


def read_claims(reply: Reply) -> tuple[str, ...] | Unscored:
    """The claims of a reply, each once, in order; unscored with the reason where it is not in the form asked for."""
    if reply.is_cut_off or reply.is_filtered:
        how = "was cut off" if reply.is_cut_off else "was ended by the provider's filter"
        return Unscored(unscored=f"the list of claims {how}")
    claims = (json_object(reply.text) or {}).get("claims")
    if not isinstance(claims, list) or not all(isinstance(claim, str) and claim.strip() for claim in claims):
        return Unscored(unscored='the list of claims is not in the form asked for, {"claims": ["...", ...]}')
    return tuple(dict.fromkeys(" ".join(claim.split()) for claim in claims))


def share_of(verdicts: Sequence[bool | None]) -> Scores:
    """The scores by the verdicts on all claims, of which there is one at least."""
    read = [float(verdict) for verdict in verdicts if verdict is not None]
    if 2 * len(read) < len(verdicts):
        return Scores.none(f"{len(read)} of {len(verdicts)} claims have a verdict, half of them are needed")
    raw = {"supported": fmean(read), "claims": float(len(verdicts)), "unread": float(len(verdicts) - len(read))}
    return Scores(hallucination=1.0 - fmean(read), coverage=NO_COVERAGE, raw=raw)


_JUDGE: frozenset[Need] = frozenset({"judge"})


@detector("factscore", needs=_JUDGE, about="share of atomic claims that are not supported, by a judge (FActScore)")
def _build(resources: Resources) -> FactScore:
    return FactScore(resources.judge, prompts=resources.prompts)


@detector("factscore-verifier", needs=_JUDGE | GIVEN, about="the same with the verifier's verdicts on the claims")
def _build_verifier(resources: Resources) -> FactScore:
    from eirene.models.verifier.runtime import load_verifier

    verifier = resources.once("verifier", lambda: load_verifier(cast("ReadsTokens", resources.encoder)))
    return FactScore(resources.judge, verifier=verifier, prompts=resources.prompts)
