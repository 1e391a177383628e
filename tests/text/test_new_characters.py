"""Hidden, overriding and dressed-up characters go from a rewrite; what languages, emoji and sources need stays."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eirene.text.new_characters import without_new_characters
from tests.rows import each

BEFORE = "Supporters say that it is cheap."


@each(
    "after, clean",
    [
        ("Sup\u200bport\u200bers", "Supporters"),
        ("\u202eSupporters\u202c", "Supporters"),
        ("\u2067Supporters\u2069 say\ufeff\u2060\xad", "Supporters say"),
        ("Hi\U000e0041\U000e0042 there", "Hi there"),
        ("say \x1b[31mred\x00", "say [31mred"),
        ("one\u2028two", "one\ntwo"),
        ("a\xa0b\u2003c", "a b c"),
        ("𝕊upporters 𝓼𝓪𝔂", "Supporters say"),
        ("ｔｈｉｓ Ⓗⓔⓛⓛⓞ 🅷🅸", "this Hello HI"),
        ("ᴛʜɪs ɪs", "this is"),
        ("ᵗʰᵉ", "the"),
        ("Suppоrters sаy", "Supporters say"),
        ("z̸͓a̷͔l̵͖g̴o", "zalgo"),
        ("smile 😀\U000e0100\U000e0101\U000e0102", "smile 😀"),
    ],
)
def test_new_hidden_and_dressed_characters_go(after: str, clean: str) -> None:
    text, edits = without_new_characters(BEFORE, after, ())
    assert text == clean
    assert edits


@each(
    "after",
    [
        "👨\u200d👩\u200d👧 ❤️ 🏳️\u200d🌈 🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f 5️⃣ 🅰",
        "नमस्\u200dते می\u200cخواهم",
        "café cafe\u0301 Tiê\u0301ng Việt",
        "5ᵗʰ m² H₂SO₄ x¹⁰⁰ λ Москва",
        "\r\n\tone\r\ntwo\n",
        "don’t — “x” … naïve ﬁ",
    ],
)
def test_what_languages_and_emoji_need_stays(after: str) -> None:
    assert without_new_characters(BEFORE, after, ()) == (after, ())


def test_what_a_source_has_stays_in_its_place_alone() -> None:
    text, _ = without_new_characters("co\xadoperate 10\xa0kg", "co\xadoperate 10\xa0kg f\xadree", ["𝐱 is given"])
    assert text == "co\xadoperate 10\xa0kg free"


def test_edits_say_where_characters_stood_and_what_they_were() -> None:
    _, edits = without_new_characters(BEFORE, "ab\u200b\u200bc", ())
    assert [(e.start, e.end, e.instead, e.names) for e in edits] == [(2, 4, "", "U+200B ZERO WIDTH SPACE")]


_ODD = st.text(st.sampled_from("ab \u200b\u200d\u202e\xa0\ufe0f😀❤𝕊ｆа\u0301\u0336ᴛʜɪ\U000e0041\n\x00"), max_size=40)


@given(_ODD, _ODD)
def test_edits_rebuild_the_text_and_a_second_pass_is_idle(before: str, after: str) -> None:
    text, edits = without_new_characters(before, after, ())
    rebuilt, at = "", 0
    for edit in edits:
        assert at <= edit.start < edit.end <= len(after)
        rebuilt += after[at : edit.start] + edit.instead
        at = edit.end
    assert rebuilt + after[at:] == text
    assert without_new_characters(after, after, ()) == (after, ())
