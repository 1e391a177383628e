"""The word around untrusted texts: short, made of all of them, and without a look-alike in any."""

from __future__ import annotations

import pytest

from eirene.prompts.fence import fence_word

SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvwxz" for vowel in "aeio"]
EVERY_SHORT = [f"TEXT-{one}{other}" for one in SYLLABLES for other in SYLLABLES]
CYRILLIC = str.maketrans("TEXaeopxtmk", "ТЕХаеорхтмк")
GREEK = str.maketrans("TEXaioktn", "ΤΕΧαιοκτη")


def test_a_fence_is_a_short_word_made_of_all_texts() -> None:
    """Every fence line costs its tokens. Who writes one of the texts, and knows all others, cannot tell the word."""
    assert fence_word("a", "b") == fence_word("a", "b")
    assert len({fence_word("a", "b"), fence_word("a", "c"), fence_word("b", "a"), fence_word("a", "b", "c")}) == 4
    assert len(fence_word("a", "b")) == len("TEXT-") + 4


def test_a_fence_that_is_made_from_a_shared_part_gives_way_where_a_text_has_its_like() -> None:
    """Prompts that begin alike share a server's cache; who works the word out and writes it gains nothing."""
    shared = fence_word("q", "one", made_from="q")
    assert fence_word("q", "two", made_from="q") == shared
    for guessed in (shared, shared.lower(), "\u200b".join(shared), shared.translate(CYRILLIC)):
        others = {fence_word("q", f"{n} {guessed}", made_from="q") for n in range(3)}
        assert len(others) == 3 and shared not in others


def test_no_text_holds_what_looks_like_its_fence(subtests: pytest.Subtests) -> None:
    """Texts that hold something like every short word are fenced by a longer one."""
    for disguised in [
        str,
        str.lower,
        "\u200b".join,
        lambda word: word.replace("-", "\u2011"),
        lambda word: word.replace("-", " "),
        lambda word: "".join(chr(ord(c) + 0xFEE0) for c in word),  # full width
        lambda word: "".join(c + "\u0301" for c in word),  # accents
        lambda word: word.replace("TEXT", "ᴛᴇxᴛ").replace("o", "ø"),
        lambda word: word.translate(CYRILLIC),
        lambda word: word.translate(GREEK),
        lambda word: word.replace("TEXT", "ᎢᎬXᎢ").replace("o", "օ"),
        lambda word: word.replace("TEXT", "🅃🄴🅇🅃"),
    ]:
        with subtests.test(disguised=disguised):
            assert len(fence_word(" ".join(map(disguised, EVERY_SHORT)))) > len("TEXT-") + 4
