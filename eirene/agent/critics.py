"""The critics of a run: which are asked, the critique that their samples make together, and one of a person's notes."""

from __future__ import annotations

from collections.abc import Sequence

from eirene.agent.settings import Settings
from eirene.agent.state import Parts, State, best_text, load_samples
from eirene.core.critique import CriticKind, Critique, Sample, TaggedSentence
from eirene.core.errors import InputError
from eirene.core.loop_settings import Readout, StopRule
from eirene.core.records import Item
from eirene.core.usage import Meter
from eirene.feedback_model.base import FeedbackModel, FeedbackRequest, LimitedScope, ReadsOut, Scope
from eirene.feedback_model.finding_vote import joined_critiques, vote_on_findings
from eirene.feedback_model.sampling import DrawResult, OnSample, Says, draw_samples
from eirene.feedback_model.vote import VoteResult, critique_of_readout, select
from eirene.text.sentences import Sentence, split_sentences
from eirene.verification.context import ContextReader


def readout_of(parts: Parts, settings: Settings) -> Readout:
    """What critiques of completeness are read from."""
    return parts.readout if settings.critic_readout == "auto" else settings.critic_readout


def critics_of(parts: Parts, settings: Settings) -> list[tuple[CriticKind, FeedbackModel]]:
    """The critics that a run asks, in the order in which their samples stand in the record.

    Raises `InputError` for parts without a hallucination critic where one is asked for, and for a critic without
    probabilities where these are to be read.
    """
    found: list[tuple[CriticKind, FeedbackModel]] = []
    if settings.critic != "hallucination":
        if readout_of(parts, settings) == "probabilities" and not isinstance(parts.feedback_model, ReadsOut):
            raise InputError(
                f"the critic of {parts.backend!r} gives no probabilities; take critic_readout vote, or a model such as "
                "gguf:FILE that does",
                field="critic_readout",
            )
        found.append(("completeness", parts.feedback_model))
    if settings.critic != "completeness":
        if parts.hallucination_model is None:
            raise InputError(
                f"the backend {parts.backend!r} has no hallucination critic; take critic completeness, or parts with a "
                "hallucination_model",
                field="critic",
            )
        found.append(("hallucination", parts.hallucination_model))
    return found


async def criticise(
    kind: CriticKind,
    critic: FeedbackModel,
    request: FeedbackRequest,
    settings: Settings,
    *,
    parts: Parts,
    meter: Meter,
    on_sample: OnSample | None = None,
) -> DrawResult:
    """What a critic of `critics_of` says of an answer: the samples of a vote, or a readout as the one sample."""
    says = None if parts.verifier is None else _says(ContextReader(parts.verifier, [request.answer]))
    if kind == "completeness" and readout_of(parts, settings) == "probabilities":
        assert isinstance(critic, ReadsOut)
        sample = await critic.read_out(request, meter=meter, says=says)
        if on_sample is not None:
            on_sample(0, sample)
        return DrawResult((sample,), early_stop=False, stop=None)
    return await draw_samples(
        critic,
        request,
        n=settings.samples,
        stop=settings.stop if kind == "completeness" else "none",  # the rules count tag sequences, not findings
        meter=meter,
        on_sample=on_sample,
        min_consistency=settings.min_consistency,
        says=says if kind == "completeness" else None,
    )


def _says(reader: ContextReader) -> Says:
    return lambda statement: reader.read([statement], values=False)[0].supported


def selected(state: State, parts: Parts, settings: Settings) -> VoteResult:
    """The critique that the samples in a state give of its best text."""
    return chosen_critique(
        load_samples(state),
        split_sentences(best_text(state)),
        parts=parts,
        settings=settings,
        early_stop=state.get("early_stop", False),
        stop=state.get("stop"),
    )


def chosen_critique(
    samples: Sequence[Sample],
    sentences: Sequence[Sentence],
    *,
    parts: Parts,
    settings: Settings,
    early_stop: bool,
    stop: StopRule | None,
) -> VoteResult:
    """The critique that the samples give, of whichever critics were asked; see `select` and `vote_on_findings`."""
    n, floor = settings.samples, settings.min_consistency
    tagged = [s for s in samples if s.critic != "hallucination"]
    others = [s for s in samples if s.critic == "hallucination"]

    def first() -> VoteResult:
        if readout_of(parts, settings) == "probabilities":
            return critique_of_readout(tagged[0], sentences, min_consistency=floor)
        return select(tagged, sentences, early_stop=early_stop, stop=stop, n_requested=n, min_consistency=floor)

    if settings.critic == "completeness":
        return first()
    found = vote_on_findings(others, sentences, n_requested=n, min_consistency=floor)
    if settings.critic == "hallucination":
        return found
    return joined_critiques(first(), found, drawn=others, n_requested=n)


def critique_from_notes(item: Item, sentences: Sequence[Sentence], *, needed: bool = True) -> Critique:
    """The notes as a critique: a sentence with notes is Incomplete, its reasons joined in the order given.

    Raises `InputError` when one names a sentence that the answer does not have, and when there are no notes though
    they are `needed`.
    """
    if needed and not item.feedback:
        said = """mode human needs 'feedback' in the row: [{"sentence": 1, "reason": "..."}]"""
        raise InputError(f"{said} (or a review before the rewriting: eirene refine --interactive)", field="feedback")
    reasons: dict[int, list[str]] = {}
    for at, note in enumerate(item.feedback or ()):
        if note.sentence > len(sentences):
            raise InputError(
                f"'feedback[{at}].sentence' is {note.sentence}, but the answer has {len(sentences)} sentences",
                field=f"feedback[{at}].sentence",
            )
        reasons.setdefault(note.sentence, []).append(note.reason.strip())
    return blank_critique(sentences, reasons={n: " ".join(texts) for n, texts in reasons.items()})


def blank_critique(
    sentences: Sequence[Sentence], *, reasons: dict[int, str] | None = None, n_drawn: int = 0, n_valid: int = 0
) -> Critique:
    """A critique that nobody voted on: every sentence Complete but those that `reasons` names by number."""
    said = reasons or {}
    tagged = tuple(
        TaggedSentence(
            n=s.n,
            text=s.text,
            start=s.text_start,
            end=s.text_end,
            tag="Incomplete" if s.n in said else "Complete",
            reason=said.get(s.n),
        )
        for s in sentences
    )
    return Critique(
        sentences=tagged,
        tag_consistency=None,
        reason_consistency=None,
        n_drawn=n_drawn,
        n_valid=n_valid,
        n_requested=n_drawn,
    )


def critique_scope(critique: Critique, item: Item, parts: Parts, settings: Settings) -> Scope:
    """What was looked for in an answer, and what was not: by the critics that voted, or by a person."""
    if settings.mode == "human":
        return Scope("no sentence has a note")
    vote = critique.hallucination
    no_vote = {
        "completeness": critique.abstained is not None,
        "hallucination": vote is not None and vote.abstained is not None,
    }
    found = {kind: _reach(kind, critic, item) for kind, critic in critics_of(parts, settings) if not no_vote[kind]}
    first = found.get("completeness")
    if first is None:
        return found["hallucination"]
    if "hallucination" in found and first.unchecked is None:
        return Scope("no fault was found")
    if no_vote["hallucination"] and first.unchecked is None:
        return Scope(first.nothing_found, "whether something said is false")
    return first


def _reach(kind: str, critic: object, item: Item) -> Scope:
    limited = critic.scope(item) if isinstance(critic, LimitedScope) else None
    if limited is not None:
        return limited
    if kind == "hallucination":
        return Scope("no hallucination was found", "whether something is missing")
    return Scope("nothing incomplete was found")
