"""Flags and links of pairs: what they say of small examples, and that the two sides mirror each other."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.models.encoder import Encoder
from eirene.models.verifier.runtime import MOST_TOKENS, PairTokens, TokenText, pair_of, token_text
from recipes.verifier.columns import FLAGS, LINKS
from tests.rows import each


def read(encoder: Encoder, text: str) -> TokenText:
    return token_text(text, encoder.tokens([text])[0])


def paired(encoder: Encoder, premise: str, claim: str) -> PairTokens:
    return pair_of([read(encoder, premise)], read(encoder, claim))


def flagged(encoder: Encoder, premise: str, claim: str, flag: str) -> str:
    """The tokens of the claim that have a flag, as they are written."""
    text = read(encoder, claim)
    column = paired(encoder, premise, claim).claim_flags[:, FLAGS.index(flag)]
    return " ".join(claim[a:b] for (a, b), has in zip(text.tokens.spans, column, strict=True) if has)


@each(
    "premise, claim, flag, tokens",
    [
        ("Cats sleep.", "Cats bark.", "same word", "Cats ."),
        ("Cats sleep.", "A cat sleeping.", "same stem", "cat sleeping ."),
        ("Cats sleep.", "A cat sleeping.", "same word", "."),
        ("Cats sleep.", "Dogs sleep", "content word not there", "Dogs"),
        ("He owes 1,500 pounds.", "He owes 1500 pounds.", "number not there", ""),
        ("He owes 1,500 pounds.", "He owes 1600 pounds.", "number not there", "1600"),
        ("He owns three cars.", "He owns 3 cars.", "same word", "He owns 3 cars ."),
        ("It fell by 2.50 %.", "It fell by 2.5 %.", "number not there", ""),
        ("It fell.", "It fell by two.", "number", "two"),
        ("It fell.", "It did not fall.", "negation", "not"),
        ("It fell.", "It didn’t fall and nobody saw it.", "negation", "didn ’ t nobody"),
        ("Ann met Bob.", "Later Ann met Carl.", "name", "Ann Carl"),
        ("Ann met Bob.", "Later Ann met Carl.", "name not there", "Carl"),
        ("Ann met Bob.", "It is of no use.", "function word", "It is of"),
        ("Cats sleep.", "Cats sleep late.", "same word after the same word", "sleep"),
    ],
)
def test_flags_of_small_examples(encoder: Encoder, premise: str, claim: str, flag: str, tokens: str) -> None:
    assert flagged(encoder, premise, claim, flag) == tokens


def test_wordpieces_after_the_first_go_on(encoder: Encoder) -> None:
    text = read(encoder, "An antidisestablishmentarian spoke")
    goes_on = paired(encoder, "A text.", "An antidisestablishmentarian spoke").claim_flags[:, FLAGS.index("goes on")]
    assert goes_on.tolist() == [0, 0, *[1] * (len(text.words) - 3), 0]
    assert len(text.words) > 4


def test_links_join_the_same_words_and_their_neighbours(encoder: Encoder) -> None:
    links = paired(encoder, "The buyer paid the seller.", "The seller paid the buyer.").links

    def joined(kind: str) -> list[tuple[int, int]]:
        return [(int(c), int(p)) for c, p in np.argwhere(links[:, :, LINKS.index(kind)])]

    assert (1, 4) in joined("same token") and (1, 1) not in joined("same token")
    assert joined("same token") == joined("same word or stem")
    assert (4, 1) in joined("same word or stem") and (4, 1) in joined("after the same word")
    assert (1, 4) not in joined("before the same word")  # the seller paid; the seller ended the sentence


@each("one, other", [
        ("employer", "employee"), ("understood", "understand"), ("Alexander", "Alexandra"), ("contract", "contrast"),
        ("published", "publisher"), ("12345678", "12345679"), ("democracy", "democrat"),
    ])  # fmt: skip
def test_words_that_begin_alike_are_two_words(encoder: Encoder, one: str, other: str) -> None:
    assert flagged(encoder, f"seen: {one}", other, "same word") == ""
    assert flagged(encoder, f"seen: {one}", one, "same word") != ""


def test_tokens_before_the_first_word_belong_to_none(encoder: Encoder) -> None:
    """An underscore is no word; it must not pass for the last one."""
    text = read(encoder, "_ 1901")
    assert text.words.tolist() == [-1, 0]
    assert flagged(encoder, "It was built in 1901", "_ 1901", "same word") == "1901"
    assert flagged(encoder, "It was built", "_ 1901", "number") == "1901"
    assert flagged(encoder, "_", "_", "same word") == ""


def test_a_premise_of_some_sentences_is_read_as_one_row(encoder: Encoder) -> None:
    texts = [read(encoder, text) for text in ("Rain fell.", "Cats sleep.")]
    pair = pair_of(texts, read(encoder, "Cats sleep late."))
    assert pair.premise_flags[:, FLAGS.index("first of its sentence")].tolist() == [1, 0, 0, 1, 0, 0]
    assert pair.premise_flags[:, FLAGS.index("same word")].tolist() == [0, 0, 1, 1, 1, 1]
    assert pair.links.shape == (4, 6, len(LINKS))


def test_what_stands_after_the_most_tokens_is_not_read(encoder: Encoder) -> None:
    pair = paired(encoder, "rain fell here " * 300, "Rain fell. " * 300)
    assert pair.links.shape == (MOST_TOKENS, MOST_TOKENS, len(LINKS))
    assert pair.claim_flags.shape == pair.premise_flags.shape == (MOST_TOKENS, len(FLAGS))


texts = st.lists(
    st.sampled_from(
        [
            "Cats",
            "cat",
            "sleep",
            "not",
            "3",
            "three",
            "1,000",
            "Ann",
            "_",
            "’",
            ".",
            "🙂",
            "\x00",
            "�",
            "employer",
            "employee",
            "它",
            "isn't",
        ]
    ),
    max_size=12,
).map(" ".join)


@settings(max_examples=60)
@given(texts | st.text(max_size=40), texts | st.text(max_size=40))
def test_the_two_sides_mirror_each_other(encoder: Encoder, one: str, other: str) -> None:
    there, back = paired(encoder, one, other), paired(encoder, other, one)
    assert np.array_equal(there.links, back.links.swapaxes(0, 1))
    assert np.array_equal(there.claim_flags, back.premise_flags)
    assert np.array_equal(there.premise_flags, back.claim_flags)
    for array in (there.links, there.claim_flags, there.premise_flags):
        assert array.dtype == np.uint8 and array.max(initial=0) <= 1


@settings(max_examples=30)
@given(texts | st.text(max_size=40))
def test_a_text_beside_itself_has_nothing_that_is_not_there(encoder: Encoder, text: str) -> None:
    flags = paired(encoder, text, text).claim_flags
    for name in ("number not there", "name not there", "content word not there"):
        assert not flags[:, FLAGS.index(name)].any()
    assert flags[:, FLAGS.index("same token")].all()
