"""The comparison of two answers."""

from hypothesis import given
from hypothesis import strategies as st

from eirene.views.diff import diff

words = st.lists(
    st.sampled_from(["Zoos", "teach", "children.", "They", "cost", "money!", "\n- ", " ", "動物。", "[-x-]"])
)
texts = st.one_of(st.text(max_size=60), words.map(" ".join))


def kinds(old: str, new: str) -> list[str]:
    return [line.kind for line in diff(old, new)]


@given(old=texts, new=texts)
def test_the_pieces_give_both_texts_back(old: str, new: str) -> None:
    pieces = [p for line in diff(old, new) for p in line.pieces]
    assert "".join(p.text for p in pieces if p.kind != "new") == old
    assert "".join(p.text for p in pieces if p.kind != "gone") == new


@given(text=texts)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert set(kinds(text, text)) <= {"same"}


def test_an_added_sentence_is_a_line_of_its_own() -> None:
    old = "Zoos teach children. They cost money."
    assert kinds(old, old + " They save species.") == ["same", "same", "new"]


def test_a_reworded_sentence_is_compared_word_by_word() -> None:
    (line,) = diff("Zoos teach small children a lot.", "Zoos teach young children a lot.")
    assert [(p.kind, p.text) for p in line.pieces if p.kind != "same"] == [("gone", "small"), ("new", "young")]


def test_sentences_with_little_in_common_are_replaced_whole() -> None:
    assert kinds("Zoos teach children.", "Cages make animals ill and sad.") == ["gone", "new"]


def test_a_moved_sentence_is_named_as_moved() -> None:
    a, b, c = "Zoos teach children.", "Cages drive animals mad.", "Breeding saves rare species."
    assert sorted(kinds(f"{a} {b} {c}", f"{b} {c} {a}")) == ["moved away", "moved here", "same", "same"]


def test_a_very_long_answer_is_compared_without_delay() -> None:
    """Thousands of new sentences are shown as replaced: they are not compared pair by pair."""
    old = " ".join(f"Sentence number {n} is old." for n in range(2_000))
    assert set(kinds(old, old.replace("old", "quite new"))) == {"gone", "new"}
