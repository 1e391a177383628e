"""Frames: which statements of a text are denied, asked or supposed, and which are said."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.text.frames import frame_of, frames_of
from eirene.text.sentences import split_sentences
from tests.rows import each

SAID = "The harbour froze in 1709."
FRAMED = [
    ("denied", "It is not the case that the harbour froze in 1709."),
    ("denied", "The story that the harbour froze in 1709 is a fabrication."),
    ("denied", "Visitors are often wrongly told that the harbour froze in 1709."),
    ("denied", "The archive has refuted the claim that the harbour froze in 1709."),
    ("denied", "Those who believe that the harbour froze in 1709 are mistaken."),
    ("denied", "Contrary to the notion that the harbour froze in 1709, ships sailed all winter."),
    ("denied", 'The statement "the harbour froze in 1709" is untrue.'),
    ("denied", "That the harbour froze in 1709 is nonsense."),
    ("denied", "Myth: the harbour froze in 1709."),
    ("open", "Hardly anyone thinks that the harbour froze in 1709."),
    ("open", "The log does not show that the harbour froze in 1709."),
    ("open", "Sailors gossip that the harbour froze in 1709."),
    ("open", "It is doubtful whether the harbour froze in 1709."),
    ("condition", "If the harbour froze in 1709, no ship would leave."),
    ("open", "Ships could not leave if the harbour froze in 1709."),
    ("open", "Let us assume that the harbour froze in 1709."),
    ("open", "Scholars wonder if the harbour froze in 1709."),
    ("open", "The harbour supposedly froze in 1709."),
    ("open", "Had the harbour frozen in 1709?"),
    ("open", "Historians disagree on whether the harbour froze in 1709."),
    ("condition", "Had the harbour frozen in 1709, ships would have stayed away."),
    ("denied", "The captain lied when he wrote that the harbour froze in 1709."),
    ("denied", "The guide is mistaken in stating that the harbour froze in 1709."),
    ("open", "Gossip tells that the harbour froze in 1709."),
    ("loose", "The pilots had hoped that the harbour froze in 1709."),
    ("loose", "For long people believed the harbour froze in 1709."),
    ("loose", "The merchants tried to sell their ice when the harbour froze in 1709."),
    ("affirmed", "Nobody denies that the harbour froze in 1709."),
    ("affirmed", "It is beyond doubt that the harbour froze in 1709."),
    ("affirmed", "Few visitors are not aware that the harbour froze in 1709."),
]


@pytest.mark.parametrize(("kind", "sentence"), FRAMED)
def test_what_governs_a_statement_is_found_with_its_words(kind: str, sentence: str) -> None:
    found = frame_of(sentence)
    assert found is not None
    assert (found.kind, "arbour fr" in found.statement, "1709" in found.rest) == (kind, True, False)


@each(
    "sentence",
    [
        SAID,
        "The log says that the harbour froze in 1709.",
        "It is true that the harbour froze in 1709.",
        "The harbour, planned in 1690, froze in 1709.",
        "The town rejected a harbour that froze in 1709.",
        "The supposedly safe harbour froze in 1709.",
        "No ship left the harbour that froze in 1709.",
        "As the pilots had expected, the harbour froze in 1709.",
        "The harbour sought shelter from the accused town, due to ice that was expected.",
        "Nearly 300 ships were in the harbour that froze in 1709.",
        "Drillings and tests showed that the harbour froze in 1709.",
        "An investigation revealed that the harbour froze in 1709.",
        "The committee rejected the bill and noted that the harbour froze in 1709.",
        "The forged and discredited map proves that the harbour froze in 1709.",
        "The reason lies in the fact that the harbour froze in 1709.",
        "In a debate, asked by students, the speaker argued that the harbour froze in 1709.",
        "The mayor told the press that the harbour froze in 1709 and was the object of a debate and an investigation.",
        "Why did the harbour freeze in 1709?",
        "The harbour does not freeze as often as it did in 1709.",
        "",
        "!",
    ],
)
def test_what_is_said_or_reported_has_no_frame(sentence: str) -> None:
    assert frame_of(sentence) is None


@each(
    "text, kinds",
    [
        (f"The next sentence is untrue. {SAID}", ["loose", "denied"]),
        (f"{SAID} That turned out to be a hoax. Ships sailed.", ["denied", "loose", None]),
        (f"{SAID} The museum has since retracted this claim.", ["denied", None]),
        (f"{SAID} This was an error in the guide.", ["open", None]),
        (
            f"Popular misconceptions:\n- {SAID}\n- Whales lived in it.\n\nIt is deep.",
            [None, "denied", "denied", None],
        ),
        (f"Did the harbour freeze in 1709? No. {SAID}", ["denied", None, None]),
        ("Did the harbour freeze in 1709? Yes, for a month.", ["affirmed", None]),
        (f"{SAID} It is wrong to call that rare.", [None, None]),
        (f"{SAID} It is unclear when it thawed.", [None, None]),
        (f"Good question! {SAID} Thanks for asking.", [None, None, None]),
        (f"Here is the answer to the question:\n- {SAID}\n- Whales lived in it.", [None, None, None]),
        ("Some say that the harbour froze in 1709, but that is untrue.", ["denied"]),
        ("Thieves sold a painting, but that was a fake.", ["loose"]),
        (f"You may have read that. {SAID} That's untrue.", [None, "denied", None]),
        (f"{SAID} It is a myth that whales lived in it.", [None, "denied"]),
        (f"It is a myth that whales lived in it. {SAID}", ["denied", None]),
    ],
)
def test_the_sentence_beside_may_frame_one(text: str, kinds: list[str | None]) -> None:
    frames = frames_of([s.text for s in split_sentences(text) if s.text])
    assert [frame and frame.kind for frame in frames] == kinds


def test_a_plan_of_the_past_is_not_what_happened() -> None:
    found = frame_of("The harbour, which was meant to freeze, stayed open.")
    assert found is not None
    assert (found.kind, found.rest) == ("open", "The harbour, stayed open.")


WORDS = [
    "it",
    "is",
    "false",
    "that",
    "not",
    "if",
    "the",
    "myth",
    "whether",
    "was",
    "planned",
    "to",
    ",",
    ":",
    "?",
    '"',
    "who",
    "no",
]


@given(st.lists(st.lists(st.sampled_from(WORDS), max_size=25).map(" ".join), max_size=4))
@settings(max_examples=200)
def test_any_words_are_read(sentences: list[str]) -> None:
    assert len(frames_of(sentences)) == len(sentences)
