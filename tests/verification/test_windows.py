"""Windows: pieces cover a text, and what bears on a claim is found wherever it stands."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eirene.models.encoder.runtime import shipped_encoder
from eirene.models.verifier.runtime import shipped_verifier
from eirene.verification.context import LONGEST, MOST_WORDS, ContextReader, Rarity, cut_sentence, pick
from tests.rows import each

TARGET = "The lighthouse of Norra was painted green in 1874."
CLAIM = "In 1874 the Norra lighthouse was painted green."
THINGS = [
    "bread",
    "rain",
    "wool",
    "copper",
    "geese",
    "tea",
    "ink",
    "salt",
    "ferries",
    "apples",
    "wheat",
    "glass",
    "coal",
    "pepper",
    "boats",
]
OTHERS = [f"{thing.capitalize()} of region {n} costs less in {month} than traders say." for n, (thing, month) in
          enumerate((t, m) for t in THINGS for m in ("March", "June"))]  # fmt: skip

words = st.text("abcdefgh.,", min_size=1, max_size=8)


@given(st.lists(words, min_size=1, max_size=400).map(" ".join))
def test_every_piece_is_at_most_60_words_and_all_words_are_covered(sentence: str) -> None:
    pieces = cut_sentence(sentence)
    assert all(len(sentence[a:b].split()) <= LONGEST for a, b in pieces)
    covered = set().union(*(range(a, b) for a, b in pieces))
    assert [n for n, character in enumerate(sentence) if not character.isspace() and n not in covered] == []
    assert all(one[0] < other[0] < one[1] < other[1] for one, other in pairwise(pieces))


@given(st.integers(1, 300), st.integers(20, 90))
def test_pieces_overlap_and_have_whole_words(count: int, longest: int) -> None:
    sentence = " ".join(f"w{n}" for n in range(count))
    pieces = [sentence[a:b].split() for a, b in cut_sentence(sentence, longest=longest)]
    assert all(len(piece) == min(longest, count) for piece in pieces)
    assert all(len(set(one) & set(other)) >= 15 for one, other in pairwise(pieces))


def texts_of(texts: list[str]) -> tuple[str, ...]:
    return tuple(piece.text for piece in ContextReader(shipped_verifier(), texts).pieces)


def test_pieces_are_the_sentences_and_fields_in_order_without_copies_and_blanks() -> None:
    texts = [
        "One sentence. Another one.",
        " \n ",
        "Another one. A third.",
        'So:\n{"toll": "3 euros", "old": false}\nOk.',
    ]
    told = ("One sentence.", "Another one.", "A third.", "So:", "toll: 3 euros", "no old", "Ok.")
    assert texts_of(texts) == told
    assert texts_of(["", "  "]) == () == texts_of([])


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    return shipped_encoder().encode([CLAIM, TARGET, *OTHERS])


@each("by", ["words and meaning", "meaning"])
def test_a_piece_at_every_position_of_a_long_premise_is_found(by: str, vectors: np.ndarray) -> None:
    assert texts_of([" ".join(OTHERS)]) == tuple(OTHERS)
    for place in range(len(OTHERS) + 1):
        pieces = [*OTHERS[:place], TARGET, *OTHERS[place:]]
        rows = np.vstack([vectors[2 : 2 + place], vectors[1:2], vectors[2 + place :]])
        shares = Rarity(pieces).shares(CLAIM) if by == "words and meaning" else np.zeros(len(pieces))
        chosen = pick(rows @ vectors[0], shares, [len(piece.split()) for piece in pieces])
        assert place in chosen


def test_the_end_of_a_sentence_of_500_words_is_found() -> None:
    long = " ".join(other.rstrip(".") for other in OTHERS * 2) + " and " + TARGET
    pieces = texts_of([long])
    assert len(pieces) > 5
    shares = Rarity(pieces).shares(CLAIM)
    encoder = shipped_encoder()
    chosen = pick(encoder.encode(pieces) @ encoder.encode([CLAIM])[0], shares, [len(p.split()) for p in pieces])
    assert any("Norra was painted green in 1874." in pieces[n] for n in chosen)


numbers = st.floats(-1, 1, width=32)
rows = st.lists(st.tuples(numbers, st.floats(0, 1), st.integers(1, LONGEST)), max_size=40)


@given(rows)
def test_a_window_is_in_order_and_fits(pieces: list[tuple[float, float, int]]) -> None:
    cosines = np.array([cosine for cosine, *_ in pieces], np.float32)
    shares = np.array([share for _, share, _ in pieces], np.float64)
    lengths = [length for *_, length in pieces]
    chosen = pick(cosines, shares, lengths)
    assert chosen == sorted(set(chosen))
    assert sum(lengths[n] for n in chosen) <= MOST_WORDS
    assert bool(chosen) == bool(pieces)
    if pieces:
        assert int((cosines.astype(np.float64) + 0.6 * shares).argmax()) in chosen


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    pieces = ["the firm sold wool", "the firm sold bread", "the firm sold the Kestrel", "the firm closed"]
    shares = Rarity(pieces).shares("The firm sold the Kestrel.")
    assert shares.argmax() == 2
    assert shares[2] == pytest.approx(1.0)
    assert shares[2] - shares[0] > shares[0] - shares[3]


@each("claim", ["", "the of and", "?!"])
def test_a_claim_without_content_words_shares_nothing(claim: str) -> None:
    assert not Rarity(["The firm sold wool.", "Rain fell."]).shares(claim).any()


def test_no_pieces_share_nothing() -> None:
    assert Rarity([]).shares("A claim.").shape == (0,)


@each(
    "passages, claim, counter",
    [
        ("The tea lowers the pulse. Rents fell.", "The tea raises the pulse.", "!The tea lowers the pulse."),
        ("The goat chased the boar.", "The boar chased the goat.", "!The goat chased the boar."),
        ("Una taught Ole in Bonn.", "Ole taught Una.", "!Una taught Ole in Bonn."),
        ("Una taught Ole in Bonn.", "Una was taught by Ole in Bonn.", "!Una taught Ole in Bonn."),
        ("Una taught Ole in Bonn.", "Ole was taught by Una in Bonn.", None),
        ("Captain Una Holm relieved Captain Ole Berg.", "Captain Ole Berg relieved Captain Una Holm.",
         "!Captain Una Holm relieved Captain Ole Berg."),
        ("The old mill sits above the new weir.", "The new weir sits below the old mill.", None),
        ("Una married Ole in Bonn.", "Ole married Una in Bonn.", None),
        ("Una danced with Ole in Bonn.", "Ole danced with Una in Bonn.", None),
        ("Una opened the mill. It was built by Ole Berg.", "Una Holm built the mill.", "?It was built by Ole Berg."),
        ("Una opened the mill. It was built by Ole Berg.", "The mill was built by Ole Berg.", None),
        ("The clerk was Una Holm. Ole Berg was the cook.", "Ole Berg was the clerk.", "?The clerk was Una Holm."),
        ("Guests cannot dive without a pass.", "Guests can dive without a pass.",
         "!Guests cannot dive without a pass."),
        ("Guests cannot dive, because it is cold.", "Guests can dive.", "!Guests cannot dive, because it is cold."),
        ("The mill is not built of brick but of stone.", "The mill is built of stone.", None),
        ("The mill is above the weir.", "The weir is below the mill.", None),
        ("The mill is above the weir.", "The mill is below the weir.", "!The mill is above the weir."),
        ("Trout spawn in May, while pike hunt in June.", "Pike spawn in May, while trout hunt in June.",
         "!Trout spawn in May, while pike hunt in June."),
        ("Trout spawn in May, while pike hunt in June.", "In June pike hunt, while in May trout spawn.", None),
        ("Guests may dive with a pass.", "With a pass guests may dive.", None),
        ("Una owns the mill. Verdict: false.", "Una does not own the mill.", None),
        ("Parcel 12: sent on 4 June. Parcel 13: lost on 8 June.", "Parcel 12 was lost on 8 June.",
         "!Parcel 12: sent on 4 June."),
        ("Una plays the harp, and Ole plays the drum.", "Ole plays the harp and Una plays the drum.",
         "!Una plays the harp, and Ole plays the drum."),
        ("In May the mill grinds rye at the weir and oats near the quay.",
         "In May the mill grinds oats at the weir and rye near the quay.",
         "!In May the mill grinds rye at the weir and oats near the quay."),
        ("The mill grinds rye at the weir and oats at the quay.",
         "It grinds oats at the quay and rye at the weir.", None),
        ("Una built the hull and Ole sewed the sail.", "Ole sewed the sail and Una built the hull.", None),
        ("Una built the hull and Ole sewed the sail.", "Una sewed the sail and Ole built the hull.",
         "!Una built the hull and Ole sewed the sail."),
        ("Una built the hull, and Ole sewed its tall sail.", "Una sewed the sail. Ole built the hull.",
         "!Una built the hull, and Ole sewed its tall sail."),
        ("The crew painted the hull and the guests cheered for it.", "The guests painted it and the crew cheered.",
         "!The crew painted the hull and the guests cheered for it."),
        ("The guests were refused tea.", "The crew were refused tea by the guests.", "?The guests were refused tea."),
        ("Una was taught by Ole.", "Ole taught Una.", None),
        ("Una met Ole in Bonn. She was taught by Ole.", "Ole was taught by Una.", "?She was taught by Ole."),
        ("The mill was bought from Ole.", "The mill was sold to Ole.", "?The mill was bought from Ole."),
        ("Sand was carried from the weir to the mill.", "Sand was carried from the mill to the weir.",
         "!Sand was carried from the weir to the mill."),
        ("Sand was carried from the old weir to the new one.", "To the new weir sand was carried from the old one.",
         None),
        ("The inn was turned into a mill.", "A mill was turned into the inn.", "!The inn was turned into a mill."),
        ("The inn is linked to the mill.", "The mill is linked to the inn.", None),
        ("Older pupils teach the younger ones.", "The younger pupils are taught by the older ones.", None),
        ("The left lamp is lit when it is on. The right lamp is lit when it is off.",
         "The left lamp is lit when it is off.", "!The left lamp is lit when it is on."),
        ("Fold the right corner up. Fold the left corner up.", "Fold the left corner up.", None),
        ("People have their hands up on a ride.", "People on a ride have their hands up.", None),
    ],
)  # fmt: skip
def test_a_claim_is_countered_by_what_says_another_thing(passages: str, claim: str, counter: str | None) -> None:
    """Surely ("!"), or so that it may yet hold ("?")."""
    found = ContextReader(shipped_verifier(), [passages]).counter(claim)
    assert (found and f"{'?!'[found[1]]}{found[0].text}") == counter
