"""Readout: critiques from a model's token probabilities, a yes or no for each sentence in place of a vote of samples.

Each sentence is asked about by itself, for one token: with passages whether these support all of it and whether it
helps to answer the question, without any whether it says enough. Small models call sound sentences faulty when they are
asked for faults, and answer at random under a whole answer; so they are asked for what is good, and shown a sentence
alone. Reasons are drawn for faulted sentences alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from eirene.core.critique import Sample, Tag
from eirene.core.scores import Unscored, probability
from eirene.core.usage import Meter
from eirene.feedback_model.base import LONGEST_LACK, FeedbackRequest
from eirene.feedback_model.citation import resolved
from eirene.feedback_model.sampling import Says, with_usable_votes
from eirene.models.chat import ChatModel, Sampling
from eirene.models.structured import ReplyForm, json_object, object_schema, text_schema
from eirene.models.token_choice import TokenChoice
from eirene.prompts import SHIPPED, Message, PromptSet
from eirene.prompts.fence import one_line, shown_line
from eirene.prompts.material import MATERIAL_PROMPT, material_of

QUESTIONS = {
    "readout_support": "The passages do not support all of it.",
    "readout_help": "It does not help to answer the question.",
    "readout_enough": "It does not say enough for the question.",
}
"""What a sentence is asked, by the prompt's name, and what a No to it says where no usable reason was drawn."""
REASONS_PROMPT = "readout_reasons"
READOUT_PROMPTS = (*QUESTIONS, REASONS_PROMPT, MATERIAL_PROMPT)
FAULTED = 0.5
"""Probability of being Incomplete from which a sentence is."""


def verdict_messages(request: FeedbackRequest, question: str, prompts: PromptSet = SHIPPED) -> Iterator[list[Message]]:
    """The prompts that ask `question` (a prompt's name) of each sentence, in order; they begin alike."""
    material = material_of(request.item, request.sentences, request.evidence, prompts=prompts)
    for sentence in request.sentences:
        values = {"given": material.given, "mark": material.mark, "claim": shown_line(sentence.text)}
        yield list(prompts.load(question).fill(values))


def chances_of(odds: Mapping[str, Sequence[float]]) -> tuple[float, ...]:
    """P(Incomplete) of each sentence, in (0, 1), from the log-odds of Yes to each question; the worst counts."""
    return tuple(1.0 - min(map(probability, own)) for own in zip(*odds.values(), strict=True))


async def read_out(
    chat: ChatModel,
    choice: TokenChoice,
    request: FeedbackRequest,
    *,
    meter: Meter,
    prompts: PromptSet = SHIPPED,
    says: Says | None = None,
) -> Sample:
    """One sample with `chances`, whose tags are read from these; invalid where the model gives no probabilities.

    `choice` asks `chat` for Yes or No. A sentence is Incomplete from a chance of `FAULTED`. Its reason is drawn by one
    request for all such sentences; one that is missing or cannot count (`with_usable_votes`, with `says`) is put by
    what the question was. Raises `BackendError` when the model cannot be reached.
    """
    odds: dict[str, list[float]] = {}
    for question in ("readout_support", "readout_help") if request.item.context else ("readout_enough",):
        found = await choice.log_odds([*verdict_messages(request, question, prompts)], meter=meter)
        failed = next((one.unscored for one in found if isinstance(one, Unscored)), None)
        if failed is not None:
            return Sample(invalid=f"{failed}; take the readout by vote (critic_readout)")
        odds[question] = [one for one in found if not isinstance(one, Unscored)]
    chances = chances_of(odds)
    faulted = [n for n, chance in enumerate(chances, start=1) if chance >= FAULTED]
    drawn = await _reasons(chat, request, faulted, meter, prompts) if faulted else {}
    standing = {n: QUESTIONS[min(odds.items(), key=lambda own: own[1][n - 1])[0]] for n in faulted}
    return sample_of_chances(chances, {n: drawn.get(n) or standing[n] for n in faulted}, standing, says)


def sample_of_chances(
    chances: Sequence[float], reasons: Mapping[int, str], standing: Mapping[int, str], says: Says | None = None
) -> Sample:
    """The sample of these chances, with the reasons by number; `standing` ones where a reason cannot count."""
    tags: list[Tag] = ["Incomplete" if n in reasons else "Complete" for n in range(1, len(chances) + 1)]
    said = Sample(tags=tuple(tags), reasons=tuple(reasons.get(n) for n in range(1, len(tags) + 1)))
    usable = with_usable_votes(said, says)
    void = {note.sentence for note in usable.unusable}
    kept = tuple(standing[n] if n in void else reason for n, reason in enumerate(usable.reasons, start=1))
    return Sample(tags=said.tags, reasons=kept, chances=tuple(chances))


async def _reasons(
    chat: ChatModel, request: FeedbackRequest, faulted: Sequence[int], meter: Meter, prompts: PromptSet
) -> dict[int, str]:
    """What the model says is wrong with these sentences, by number; those alone that it gives a text for."""
    material = material_of(request.item, request.sentences, request.evidence, prompts=prompts)
    values = {"material": material.block, "statements": ", ".join(map(str, faulted)), "first": str(faulted[0])}
    messages = prompts.load(REASONS_PROMPT).fill(values)
    schema = object_schema({str(n): text_schema(LONGEST_LACK) for n in faulted})
    sampling = Sampling(temperature=0.0, seed=request.seed, form=ReplyForm.of("reasons", schema, messages))
    held = json_object((await chat.ask(messages, sampling=sampling, meter=meter)).text) or {}
    said = {n: held.get(str(n)) for n in faulted}
    ids = request.shown.ids
    return {n: resolved(one_line(own), ids) for n, own in said.items() if isinstance(own, str) and own.strip()}
