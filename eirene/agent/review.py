"""Human review: the step at which a person sees the critique before the answer is rewritten, and may change it.

The graph stops there with LangGraph's `interrupt`. What it asks is plain JSON (`question`), what it takes back a
`Review` in its JSON form; one that does not fit is asked for again, with the reason, and nothing is lost.
"""

from __future__ import annotations

from langgraph.types import interrupt

from eirene.agent.critics import blank_critique
from eirene.agent.ending import ended, stopped
from eirene.agent.nodes import Step
from eirene.agent.settings import Settings
from eirene.agent.state import Json, State, best_text, item_of, load_critique, load_samples
from eirene.core.critique import Critique, Review, TaggedSentence, parse_review
from eirene.core.errors import InputError
from eirene.core.usage import Meter
from eirene.text.sentences import split_sentences

NOTHING_INCOMPLETE = "a person found nothing incomplete, so nothing was rewritten"


def review_step(settings: Settings) -> Step:
    """The node `review`: asks, and asks again while the answer does not fit the critique."""

    async def review(state: State, meter: Meter) -> Json:
        """Waits for a person's answer to the critique of the best text so far."""
        critique = critique_to_review(state)
        asked = question(state, critique, settings)
        draft: Json | None = None
        error: str | None = None
        while True:
            answer = interrupt({**asked, "draft": draft, "error": error})
            try:
                given = parse_review(answer)
                edited = reviewed(critique, given)
            except InputError as problem:
                error = str(problem)
                continue
            if given.action != "save":
                return _changes(state, given, edited)
            draft, error = given.model_dump(mode="json"), None

    return review


def critique_to_review(state: State) -> Critique:
    """The selected critique; where none could be selected, one in which no sentence is faulty yet."""
    selected = load_critique(state)
    if selected is not None:
        return selected
    samples = load_samples(state)
    valid = sum(sample.is_valid for sample in samples)
    return blank_critique(split_sentences(best_text(state)), n_drawn=len(samples), n_valid=valid)


def question(state: State, critique: Critique, settings: Settings) -> Json:
    """What a person is shown, as plain JSON.

    `text` is what the critique speaks of: the answer, or an accepted rewrite of it. `otherwise` is what happens if
    nothing is changed: `refine`, or the status in which the run ends, with `why`. Each sentence of the critique carries
    its `votes`: how many of the drawn critiques called it incomplete, of how many; null where no vote counted. The node
    adds the `draft`, the review that was saved last, and the `error` of an answer that did not fit, null at first.
    """
    item = item_of(state)
    samples = load_samples(state)
    sentences = []
    for i, sentence in enumerate(critique.sentences):
        bad = sum(s.is_valid and i < len(s.tags) and s.tags[i] == "Incomplete" for s in samples)
        votes = {"incomplete": bad, "drawn": len(samples)} if critique.n_valid else None
        sentences.append({**sentence.model_dump(mode="json"), "votes": votes})
    ends = bool(state.get("status")) or critique.is_complete
    return {
        "id": item.id,
        "question": item.question,
        **({} if item.history is None else {"history": [turn.model_dump(mode="json") for turn in item.history]}),
        "text": best_text(state),
        "mode": settings.mode,
        "round": state.get("round", 1),
        "critique": {**critique.model_dump(mode="json", exclude={"review"}), "sentences": sentences},
        "otherwise": (state.get("status") or "complete") if ends else "refine",
        "why": state.get("why", "") if ends else "",
    }


def critique_in(asked: Json) -> Critique:
    """The critique in a question, as it can be shown and edited."""
    shown = asked["critique"]
    sentences = [{key: value for key, value in s.items() if key != "votes"} for s in shown["sentences"]]
    return Critique.model_validate({**shown, "sentences": sentences})


def reviewed(critique: Critique, review: Review) -> Critique:
    """The critique after a person's review, which it carries.

    A reason that is replaced takes the sentence's findings with it, since a refiner would act on them as before; one
    that is added stands after what was there. Raises `InputError` where the review names a sentence that is not there,
    or drops one that has no reason.
    """
    count = len(critique.sentences)
    for n in [*(note.sentence for note in (*review.replace, *review.add)), *review.drop]:
        if n > count:
            raise InputError(f"there is no sentence {n}: the answer has {count}", field="review")
    for n in review.drop:
        if critique.sentences[n - 1].tag == "Complete":
            raise InputError(f"sentence {n} is complete already, so there is nothing to drop", field="review")
    if review.action == "all complete":
        sentences = tuple(_complete(s) for s in critique.sentences)
    else:
        sentences = tuple(_sentence(s, review) for s in critique.sentences)
    return critique.model_copy(update={"sentences": sentences, "review": review})


def _sentence(sentence: TaggedSentence, review: Review) -> TaggedSentence:
    if sentence.n in review.drop:
        return _complete(sentence)
    replaced = [note.reason.strip() for note in review.replace if note.sentence == sentence.n]
    added = review.added(sentence.n)
    if not replaced and not added:
        return sentence
    before = replaced or ([sentence.reason.strip()] if sentence.reason else [])
    reason = " ".join([*before, *([added] if added else [])])
    findings = () if replaced else sentence.findings
    return sentence.model_copy(update={"tag": "Incomplete", "reason": reason, "findings": findings})


def _complete(sentence: TaggedSentence) -> TaggedSentence:
    return sentence.model_copy(update={"tag": "Complete", "reason": None, "findings": ()})


def _changes(state: State, review: Review, edited: Critique) -> Json:
    if review.action == "stop":
        return {**_kept(state, edited), **stopped(state, edited)}
    if state.get("status") and review.action == "go on" and not review.has_edits:
        # Nothing was selected, or nothing was incomplete, and the person leaves it at that.
        return _kept(state, edited)
    if edited.is_complete:  # a person has looked at all of it
        edited = edited.model_copy(update={"unchecked": None})
    changes: Json = {"critique": edited.model_dump(mode="json"), "status": "", "why": ""}
    return {**changes, **ended(state, "complete", NOTHING_INCOMPLETE)} if edited.is_complete else changes


def _kept(state: State, edited: Critique) -> Json:
    """The critique for the record, where there was one: an empty form that nobody filled in is no critique."""
    return {"critique": edited.model_dump(mode="json")} if state.get("critique") is not None else {}
