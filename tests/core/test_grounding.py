"""What an answer is compared with: perspectives, else context, else what the critique gives."""

from __future__ import annotations

from eirene.core.critique import Critique, TaggedSentence
from eirene.core.grounding import ArgumentGroup, Grounding, grounding_for
from eirene.core.records import Item, Perspective

SIDES = [Perspective(name="pro", arguments=["a", "a"]), Perspective(name="con", arguments=["b"])]


def item(*, perspectives: list[Perspective] | None = None, context: list[str] | None = None) -> Item:
    return Item(question="Q?", answer="One is here. Two is there.", perspectives=perspectives, context=context)


def critique(*reasons: str | None) -> Critique:
    sentences = tuple(
        TaggedSentence(n=n, text=text, start=0, end=1, tag="Complete" if r is None else "Incomplete", reason=r)
        for n, (text, r) in enumerate(zip(("One is here.", "Two is there."), reasons, strict=True), start=1)
    )
    return Critique(sentences=sentences, tag_consistency=1, reason_consistency=1, n_drawn=3, n_valid=3, n_requested=3)


def test_perspectives_come_before_context_and_critique() -> None:
    given = grounding_for(item(perspectives=SIDES, context=["passage"]), critique(None, "Why?"))
    assert given == Grounding("perspectives", (ArgumentGroup("pro", ("a", "a")), ArgumentGroup("con", ("b",))))
    assert given.arguments == ("a", "a", "b")


def test_context_comes_before_the_critique() -> None:
    assert grounding_for(item(context=["p1", "p2"]), critique(None, "Why?")) == Grounding(
        "context", (ArgumentGroup("context", ("p1", "p2")),)
    )


def test_without_given_text_the_good_sentences_and_the_reasons_are_the_groups() -> None:
    assert grounding_for(item(), critique(None, "Why?")).groups == (
        ArgumentGroup("kept", ("One is here.",)),
        ArgumentGroup("asked", ("Why?",)),
    )


def test_a_derived_group_without_texts_is_left_out() -> None:
    assert grounding_for(item(), critique(None, None)).groups == (
        ArgumentGroup("kept", ("One is here.", "Two is there.")),
    )
    assert grounding_for(item(), critique("Why?", "How?")).groups == (ArgumentGroup("asked", ("Why?", "How?")),)


def test_without_a_critique_every_sentence_is_to_be_kept() -> None:
    given = grounding_for(item())
    assert given == Grounding("derived", (ArgumentGroup("kept", ("One is here.", "Two is there.")),))
