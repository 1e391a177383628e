"""Given text in chunks: nothing is lost, everything fits, and cuts fall where a text has its joints."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Unscored
from eirene.eval.detectors.chunks import Piece, part_of, sentences_of, share_out, whole
from eirene.text.sentences import split_sentences

SENTENCES = st.sampled_from(["Wind is clean.", "Birds die.", "Does it cost little?", "It is so and so and so!", "\n"])
TEXTS = st.lists(st.lists(SENTENCES, max_size=8).map(" ".join), max_size=6)


def words_in(texts: Sequence[str], *, beside: int = 0) -> Callable[[Sequence[Piece]], int]:
    """A model that reads a word as a token, `beside` of them whatever the pieces are."""
    return lambda some: beside + sum(len(piece.of(texts).split()) for piece in some)


@settings(max_examples=50)
@given(TEXTS, st.integers(1, 12), st.integers(0, 5))
def test_the_chunks_have_every_character_once_in_order_and_each_fits(texts: list[str], room: int, beside: int) -> None:
    found = share_out(whole(texts), texts, words_in(texts, beside=beside), limit=beside + room)
    assert not isinstance(found, Unscored)
    pieces = [piece for chunk in found for piece in chunk]
    at = [(piece.text, piece.start) for piece in pieces]
    assert at == sorted(at)
    for n, text in enumerate(texts):
        assert "".join(piece.of(texts) for piece in pieces if piece.text == n) == text
    assert all(words_in(texts, beside=beside)(chunk) <= beside + room for chunk in found)


@settings(max_examples=50)
@given(TEXTS, st.integers(1, 12))
def test_a_text_that_fits_is_not_cut_and_neither_is_a_sentence(texts: list[str], room: int) -> None:
    """A cut within a text means that the text does not fit; one within a sentence, that the sentence does not."""
    found = share_out(whole(texts), texts, words_in(texts), limit=room)
    assert not isinstance(found, Unscored)
    for piece in (piece for chunk in found for piece in chunk if piece.start > 0):
        assert len(texts[piece.text].split()) > room
        around = [s for s in split_sentences(texts[piece.text]) if s.start < piece.start < s.end]
        assert all(len(s.text.split()) > room for s in around)


@settings(max_examples=50)
@given(TEXTS)
def test_what_fits_is_one_chunk_and_without_a_limit_nobody_counts(texts: list[str]) -> None:
    def uncounted(some: Sequence[Piece]) -> int:
        raise AssertionError("there is no limit to count for")

    assert share_out(whole(texts), texts, words_in(texts), limit=1000) == [whole(texts)]
    assert share_out(whole(texts), texts, uncounted, limit=None) == [whole(texts)]


def test_a_cut_falls_between_arguments_then_between_sentences_then_between_words() -> None:
    texts = ["One two.", "Three four. Five six. Seven eight.", "nine ten eleven twelve"]
    chunks = share_out(whole(texts), texts, words_in(texts), limit=4)
    assert not isinstance(chunks, Unscored)
    assert [[piece.of(texts).strip() for piece in chunk] for chunk in chunks] == [
        ["One two."], ["Three four."], ["Five six. Seven eight."], ["nine ten eleven twelve"],
    ]  # fmt: skip
    chunks = share_out(whole(texts)[2:], texts, words_in(texts), limit=3)
    assert not isinstance(chunks, Unscored)
    assert [piece.of(texts).strip() for (piece,) in chunks] == ["nine ten", "eleven twelve"]


def test_what_fills_the_model_by_itself_is_unscored_with_the_numbers() -> None:
    texts = ["a b c"]
    for beside, why in ((5, "have 5 tokens, more than the 4 that fit"), (4, "have 4 of the 4 tokens that fit")):
        found = share_out(whole(texts), texts, words_in(texts, beside=beside), limit=4)
        assert isinstance(found, Unscored)
        assert why in found.unscored and "nothing is cut off" in found.unscored


def test_a_part_of_what_was_given_keeps_groups_and_whole_texts_as_they_are() -> None:
    sides = Grounding("perspectives", (ArgumentGroup("pro", (" A b. ", "C. D.")), ArgumentGroup("con", ("E.",))))
    assert part_of(sides, whole(sides.arguments)) == sides
    assert part_of(sides, [Piece(1, 2, 5), Piece(2, 0, 2)]) == Grounding(
        "perspectives", (ArgumentGroup("pro", ("D.",)), ArgumentGroup("con", ("E.",)))
    )
    assert part_of(sides, []) == Grounding("perspectives", ())


def test_sentences_as_pieces_leave_out_blank_ones() -> None:
    texts = ["Wind is clean. Birds die.", "  ", "It costs little."]
    assert [piece.of(texts) for piece in sentences_of(texts)] == ["Wind is clean.", "Birds die.", "It costs little."]
