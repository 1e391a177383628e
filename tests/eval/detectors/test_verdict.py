"""Reading a judge's reply: a corpus of our own, ordinary ends of the thinking, and what holds for any reply."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from eirene.eval.detectors.judge import read_verdict
from eirene.models.replies import Reply

CORPUS = [
    json.loads(line)
    for line in Path(__file__).with_name("verdict_replies.jsonl").read_text("utf-8").split("\n")
    if line.strip()
]
CLOSINGS = (
    "All of it is there.",
    "Nothing in the passages says so.",
    "Claim 2 is not in any passage.",
    "Claim 3 is never mentioned.",
    "The year cannot be found in the texts.",
    "I found no support for the last claim.",
    "None of the claims lacks support.",
    "Every claim is supported.",
    "No claim is unsupported.",
    "There is no hallucination in the first sentence.",
    "There is no passage that gives this number.",
    "The answer does not add anything.",
    "The answer doesn't say who built it, which is no hallucination.",
    "It is not clear from passage 1 alone, but passage 2 settles it.",
    "This was not given.",
    "That is neither said nor implied.",
    "The passage never names the mayor.",
    "The two dates do not agree.",
    "It hardly matters which passage it is from.",
    "A careful reader would not find it.",
    "A careful reader would find it after all.",
    "The claim about the price is not supported.",
    "The claim about the price is supported by passage 3.",
    "So the answer is not fully grounded.",
    "So the answer is fully grounded.",
    "It cannot be inferred.",
    "It can be inferred of necessity.",
    "The rest is a fair summary and not a new claim.",
    "What is missing is no fault here.",
    "The quotation is not verbatim, but its sense is.",
    "The name is spelled in another way, which changes nothing.",
    "Nobody said this in the texts.",
    "One claim has no source.",
    "No source is needed for the opening phrase.",
    "The answer contradicts passage 1.",
    "The answer does not contradict passage 1.",
    "Not one number differs.",
    "The number differs.",
    "If the year were wrong there would be a hallucination.",
    "Without the last sentence all would be supported.",
    "Whether it is true in the world does not matter.",
    "The statement is true, but it was not given.",
    "The judgement on claim 4 took a second look.",
    "The final answer of the mayor is quoted in passage 2.",
    "I hesitated over claim 2 and found it in the end.",
    "I am not sure of claim 1, which is vague.",
    "Yes and no are both said of it in the passages.",
    "The reader may say yes, and the passage does too.",
    '"No," says the passage of the same plan.',
    "There are no other claims.",
    "This holds for the second claim, too.",
    "Claims 1 to 4 hold; claim 5 does not.",
    "The answer stops here.",
    "Only the introduction is left, and it claims nothing.",
    "Hence the attribution is right.",
    "Hence the attribution is wrong.",
    "It is invented.",
    "It is not invented.",
    "The cause that it gives is fabricated.",
    "Both sides are given as they were.",
)
"""Last sentences of a thinking: with or without a "not", a "no", or a word for a fault."""
QUOTED = ("It ends in </s> and says so.", "It names <think> blocks.", "Its </think> is spoken of.", "One {brace.")
"""What only a whole reply in JSON can quote: elsewhere these end a reply or its thinking."""


def verdict(text: str) -> bool | None:
    return read_verdict(Reply(text)).error


def test_the_last_line_decides_and_the_field_of_the_json() -> None:
    """Whatever the thinking before it says last: no verdict is lost, and none turned round."""
    wrong = []
    for closing in CLOSINGS:
        for said, error in (("yes", True), ("no", False)):
            thinking = f"1. Trams are quiet: passage 1.\n2. {closing}"
            in_json = json.dumps({"thinking": thinking, "verdict": said})
            replies = (f"{thinking}\n\nVerdict: {said}", f"{closing}\n**Verdict: {said.title()}**", in_json)
            replies = (*replies, f"```json\n{in_json}\n```")
            replies = (*replies, *(json.dumps({"thinking": quoted, "verdict": said}) for quoted in QUOTED))
            wrong += [(reply, verdict(reply)) for reply in replies if verdict(reply) is not error]
    assert not wrong


def test_the_corpus_is_read_as_a_careful_reader_would_or_not_at_all() -> None:
    wrong = []
    for row in CORPUS:
        found = read_verdict(Reply(row["reply"], row.get("finish_reason", "stop")))
        if (
            found.error is not row["error"]
            or found.text != row["reply"]
            or (found.unread is None) is (row["error"] is None)
        ):
            wrong.append((row["name"], row["reply"], row["error"], found.error))
    assert not wrong
    assert {True, False, None} == {row["error"] for row in CORPUS} and len(CORPUS) >= 60


def test_json_without_a_verdict_and_what_a_reply_quotes_decide_nothing() -> None:
    assert verdict('{"thinking": "It is not in the text. Verdict: no", "verdict": "yes"}') is True
    assert verdict('{"thinking": "", "verdict": "perhaps"}') is None
    assert verdict('The answer holds {"verdict": "no"}, which is text to be examined.\nVerdict: yes') is True


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200), st.booleans())
def test_a_labelled_last_line_is_read_whatever_stands_before_it(before: str, error: bool) -> None:
    """Unless what stands before opens a block of thinking, or ends the reply."""
    if not any(mark in before for mark in "<[|"):
        assert verdict(f"{before}\n\nVerdict: {'yes' if error else 'no'}") is error


@given(st.text(max_size=200))
def test_without_the_words_yes_and_no_there_is_no_verdict(text: str) -> None:
    folded = "".join(c for c in text.casefold() if c.isalpha())
    if "yes" not in folded and "no" not in folded and text.isascii():
        assert verdict(text) is None


@given(st.text(max_size=300))
def test_no_reply_is_too_odd_to_be_read(text: str) -> None:
    found = read_verdict(Reply(text))
    assert found.text == text and found.error in (True, False, None)


def test_a_very_long_reply_is_read_in_time() -> None:
    """Regular expressions that go back and forth would take minutes here, and the suite would notice."""
    pieces = (
        "a",
        "no ",
        "verdict: ",
        "<think>",
        "\n",
        "the ",
        "my final ",
        "so, ",
        "(",
        "is ",
        "- ",
        '"verdict":',
        "{",
        "not ",
    )
    for piece in pieces:
        assert verdict(piece * 20_000 + "\n\nVerdict: yes") is (None if piece == "<think>" else True), piece
        read_verdict(Reply(piece * 20_000 + "\n\nand so on"))
