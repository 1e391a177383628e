"""Words: the ROUGE tokenisation, against NLTK's stemmer and for scripts other than Latin."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from eirene.text.words import STOP_WORDS, content_words, lower_words, stem, stems, word_spans
from tests.rows import each


def test_words_are_split_at_white_space_and_punctuation_and_stop_words_are_dropped() -> None:
    assert stems("The well-known cats' claims: don't RUN!") == ("well", "known", "cat", "claim", "run")


def test_offsets_point_at_the_words_themselves() -> None:
    text = "«Naïve» policies, e.g. ÉTÉ"
    assert [text[word.start : word.end] for word in content_words(text)] == ["Naïve", "policies", "e", "g", "ÉTÉ"]


@each(
    "text, words",
    [
        ("नमस्ते दुनिया", ["नमस्ते", "दुनिया"]),  # vowel signs are marks inside words
        ("مرحبا بالعالم،", ["مرحبا", "بالعالم"]),
        ("你好，世界", ["你", "好", "世", "界"]),  # no white space: each ideograph counts
        ("می‌خواهم", ["می‌خواهم"]),  # a zero-width non-joiner is part of the word
        ("Привет, мир!", ["Привет", "мир"]),
        ("e\u0301te\u0301", ["e\u0301te\u0301"]),
        ("😀 — !?", []),
    ],
)
def test_other_scripts_survive(text: str, words: list[str]) -> None:
    assert [text[start:end] for start, end in word_spans(text)] == words


def test_composed_and_decomposed_letters_are_one_word() -> None:
    assert stems("été") == stems("e\u0301te\u0301")


def test_stemming_agrees_with_nltk_in_its_original_mode() -> None:
    from nltk.stem import PorterStemmer

    other = PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)
    text = """caresses ponies ties cats feed agreed plastered bled motoring sing conflated troubled sized hopping tanned
        falling hissing fizzed failing filing happy sky relational conditional rational valency digitizer conformably
        radically differently vilely analogously vietnamization predication operator feudalism decisiveness hopefulness
        callousness formality sensitivity sensibility triplicate formative formalize electricity electrical hopeful
        goodness revival allowance inference airliner gyroscopic adjustable defensible irritant replacement adjustment
        dependent adoption homologou communism activate angularity homologous effective bowdlerize probate rate cease
        controll roll argument arguments supporters democracy policies organisation enforcement vaccinated"""
    words = text.split()
    assert [stem(word) for word in words] == [other.stem(word) for word in words]


def test_no_stop_word_holds_a_mark_at_which_words_are_split() -> None:
    assert all(word.isalpha() and word.islower() for word in STOP_WORDS)
    assert len(STOP_WORDS) == 153  # 179 entries, 26 of them with an apostrophe


@given(st.text(max_size=60))
def test_words_are_ordered_disjoint_and_inside_any_text(text: str) -> None:
    spans = list(word_spans(text))
    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


@given(st.text(alphabet=st.sampled_from("aBs The 1'.-_\t\n\x1f\x7f"), max_size=40))
def test_the_short_way_through_plain_text_gives_what_the_long_way_gives(text: str) -> None:
    spans = [(text[a:b].lower(), a, b) for a, b in word_spans(text)]
    assert list(content_words(text)) == [(stem(word), a, b) for word, a, b in spans if word not in STOP_WORDS]


@each(
    "text, tokens",
    [
        ("", []),
        ("?! … —", []),
        ("The Answer, the-answer!", ["the", "answer", "the", "answer"]),
        ("It doesn't, it doesn’t", ["it", "doesnt", "it", "doesnt"]),
        ("3.5% of 2,000", ["3", "5", "of", "2", "000"]),
        ("snake_case", ["snake", "case"]),
        ("café cafe\u0301", ["café", "café"]),
        ("हिन्दी में।", ["हिन्दी", "में"]),
        ("السَّلام عليكم؟", ["السَّلام", "عليكم"]),
        ("数据abc 12", ["数", "据", "abc", "12"]),
        ("ไม่มี", ["ไ", "ม่", "มี"]),
        ("👍🏽 ok", ["ok"]),
        ("ΟΔΟΣ", ["οδος"]),
    ],
)
def test_lower_words(text: str, tokens: list[str]) -> None:
    assert lower_words(text) == tokens


@given(st.text())
def test_lower_words_hold_letters_marks_and_digits_alone(text: str) -> None:
    assert all(unicodedata.category(c)[0] in "LMN" for w in lower_words(text) for c in w)
    assert all(lower_words(text))


@given(st.text(st.characters(max_codepoint=0x24F)))
def test_lower_words_of_latin_text_are_what_a_regular_expression_finds(text: str) -> None:
    folded = re.sub("['’]", "", unicodedata.normalize("NFC", text.lower()))
    spaced = "".join(c if unicodedata.category(c)[0] in "LMN" else " " for c in folded)
    assert lower_words(text) == spaced.split()
