"""Texts for the tests of edits: pairs that have much in common, of sentences, lists, other scripts and odd signs."""

from __future__ import annotations

from hypothesis import strategies as st

_BITS = [
    "Zoos teach children.", "zoos teach children", "They cost money!", "Zoos teach small children a lot.", "- one",
    "1. One is here.", "2. Two is here.", "\n", "\n\n", "\r\n", " ", "  ", "\n- ", "\n1. ", "# Title\n", "動物。", "🦁",
    "-", "\x85", "e\u0301", "\u200b", "\u202e", "[-x-]", "```\n", "| a | b |\n", "“Quoted,” they say, and more.",
    ".", "a",
]  # fmt: skip
_PROSE = st.lists(st.sampled_from(_BITS), max_size=12).map("".join)
_SENTENCES = st.lists(st.sampled_from(_BITS), max_size=8).map(" ".join)
TEXTS = st.one_of(_PROSE, _SENTENCES, st.text(max_size=40))
