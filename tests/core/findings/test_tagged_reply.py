"""A model's tagged reply, read against the answer that it is about."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eirene.core.findings.edits import apply_findings
from eirene.core.findings.tagged_reply import findings_in_reply
from eirene.core.findings.tags import write_tagged
from tests.core.findings.test_tags import TEXTS, tagged

ANSWER = "The Ferro tower was built in 1889 by Jean Roux. It is 300 metres high. Everybody loves it."


@given(tagged(), TEXTS)
def test_no_reply_raises_or_reaches_outside_its_findings(case: tuple[str, tuple[object, ...]], noise: str) -> None:
    """Whatever the reply, findings lie in the answer, and edits without mending change nothing outside them."""
    text, findings = case
    for reply in (noise, write_tagged(text, findings) + noise, noise + write_tagged(text, findings)):  # type: ignore[arg-type]
        read = findings_in_reply(reply, text)
        assert all(0 <= f.start <= f.end <= len(text) for f in read.findings) and 0.0 <= read.kept <= 1.0
        for operation in apply_findings(text, read.findings, mend=False).operations:
            spans = [(f.start, f.end) for f in operation.findings]
            assert operation.start == spans[0][0] and operation.end == spans[-1][1]


@given(st.lists(st.sampled_from(["one", "two", "three", "four", "five.", "six"]), min_size=1, max_size=12), st.data())
def test_a_faithful_reply_is_read_whole(words: list[str], data: st.DataObject) -> None:
    """Where the model copied the answer, each tag around words is a finding at just that place."""
    at = data.draw(st.integers(0, len(words) - 1))
    reply = " ".join(f"<entity><delete>{w}</delete><mark>new</mark></entity>" if i == at else w
                     for i, w in enumerate(words))  # fmt: skip
    answer = "  ".join(words)  # the model did not copy the white space
    read = findings_in_reply(reply, answer)
    start = len("  ".join([*words[:at], ""]))
    assert [(f.start, f.end, f.edit) for f in read.findings] == [(start, start + len(words[at]), "new")]
    assert (read.kept, read.changed, read.unplaced) == (1.0, 0, 0)


def test_what_the_model_changed_besides_is_ignored_and_counted() -> None:
    """A preamble, a word changed without a tag, a tag around words that the answer has not: none becomes an edit."""
    reply = (
        "Here you are: The Ferro tower was erected in <entity><mark>1890</mark><delete>1889</delete></entity> by Jean "
        "Roux. It is <relation><delete>400 metres</delete><mark>400 feet</mark></relation> high. "
        "<subjective>Everybody loves it.</subjective>"
    )
    read = findings_in_reply(reply, ANSWER)
    assert [(f.kind, ANSWER[f.start : f.end], f.edit) for f in read.findings] == [
        ("entity", "1889", "1890"), ("subjective", "Everybody loves it.", "")
    ]  # fmt: skip
    assert read.unplaced == 1 and read.changed == 4 + 2 + 2 and 0.8 < read.kept < 1.0


def test_an_insertion_stands_between_its_neighbours() -> None:
    """New words without old ones have the place between the words around them."""
    read = findings_in_reply(ANSWER.replace("It is ", "It is <relation><mark>not </mark></relation>"), ANSWER)
    assert apply_findings(ANSWER, read.findings).text == ANSWER.replace("It is ", "It is not ")


def test_a_reply_of_another_text_says_nothing() -> None:
    """A refusal gives nothing back of the answer, and so has no finding."""
    read = findings_in_reply("I cannot help with <entity>that</entity> request!", ANSWER)
    assert read.findings == () and read.kept < 0.2


def test_words_of_a_script_without_spaces_are_found() -> None:
    """A fault of a few characters inside of a sentence has its place, and an insertion brings no spaces."""
    answer = "这座塔建于1889年。它很受喜爱。"
    tags = "<entity><delete>1889年</delete><mark>1887年</mark></entity>"
    read = findings_in_reply(
        answer.replace("1889年", tags).replace("很受", "<relation><mark>不</mark></relation>很受"), answer
    )
    assert [(f.start, f.end, f.edit) for f in read.findings] == [(5, 10, "1887年"), (12, 12, "不")]
    assert apply_findings(answer, read.findings).text == "这座塔建于1887年。它不很受喜爱。"


def test_long_texts_are_read_where_what_differs_is_short() -> None:
    """A copy of any length has its findings; one that differs from end to end is too long, and says so."""
    answer = "word " * 30_000 + "end"
    read = findings_in_reply(answer.replace("end", "<invented>end</invented>"), answer)
    assert [answer[f.start : f.end] for f in read.findings] == ["end"]
    assert read.no_copy is None
    assert findings_in_reply("Here: " + answer, answer).no_copy is None
    assert "too long" in (findings_in_reply("Here: " + answer + " That is it.", answer).no_copy or "")


def test_a_refusal_is_no_copy_and_a_preamble_is_no_fault() -> None:
    """What counts as a copy is measured in the words of the answer, in scripts without spaces in its characters."""
    assert "another text" in (findings_in_reply("I cannot help with that.", ANSWER).no_copy or "")
    assert findings_in_reply("Here it is: " + ANSWER, ANSWER).no_copy is None
    chinese = "这座塔建于1889年。它很受喜爱。"
    assert findings_in_reply("好的，这是加了标记的文本：" + chinese, chinese).no_copy is None
