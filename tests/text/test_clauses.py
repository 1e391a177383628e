"""Units: what is taken off as an opening, where sentences are cut, and that offsets stay true."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eirene.text.clauses import clause_spans, core_text, units_of
from eirene.text.sentences import split_sentences
from tests.rows import each


def _clauses(text: str) -> list[str]:
    return [text[start:end] for start, end in clause_spans(text)]


@each(
    "text, core",
    [
        ("Supporters argue that taxes are fair.", "taxes are fair."),
        ("Some economists, however, disagree.", "Some economists, however, disagree."),
        ("It has also been pointed out that trains are slow.", "trains are slow."),
        ("Moreover, defenders of the plan maintain that it pays.", "it pays."),
        ("The main objection to this is that nobody asked.", "nobody asked."),
        ("On the other hand, rents rise.", "rents rise."),
        ("According to its critics, the law failed.", "the law failed."),
        ("2. A further advantage is that streets stay clean.", "streets stay clean."),
        ("and that prices fall", "prices fall"),
        ("and that costs rise quickly", "costs rise quickly"),
        ("- That rents rise fast.", "rents rise fast."),
        ("Critics say that it's unfair to all.", "it's unfair to all."),
        ("Critics say that is unfair to all.", "that is unfair to all."),
        ("But that does not mean much.", "that does not mean much."),
        ("Wind power is cheap.", "Wind power is cheap."),
        ("They argue that", "They argue that"),
        ("Die Gegner sagen, dass es teuer ist.", "Die Gegner sagen, dass es teuer ist."),
        ("反对者认为这太贵了。", "反对者认为这太贵了。"),
        ("", ""),
    ],
)
def test_openings_that_say_nothing_are_taken_off(text: str, core: str) -> None:
    assert core_text(text) == core


@each(
    "text",
    [
        "There is no reason to believe that vaccines harm.",
        "It is wrong to say that taxes help.",
        "Nobody has shown that it works.",
    ],
)
def test_an_opening_that_denies_what_follows_stays(text: str) -> None:
    assert core_text(text) == text


@each(
    "text",
    [
        "That is why rents rise.",
        "That isn’t so simple.",
        "That also means more cars.",
        "That leaves no money for schools.",
        "That kind of tax hurts the poor.",
        "That they may vote is fair.",
        "How can this be paid for?",
    ],
)
def test_a_that_or_how_which_begins_the_statement_is_no_opening(text: str) -> None:
    assert core_text(text) == text


@each(
    "text, clauses",
    [
        (
            "Critics say that it is slow; also, it costs money.",
            ["Critics say that it is slow", "also, it costs money."],
        ),
        (
            "They hold that rents rise fast, and that people move out.",
            ["They hold that rents rise fast", "people move out."],
        ),
        ("It saves lives, as well as that it creates jobs.", ["It saves lives", "it creates jobs."]),
        ("Buses are cheap and trains are fast.", ["Buses are cheap", "trains are fast."]),
        ("Advocates praise it, whereas the poor pay for it.", ["Advocates praise it", "the poor pay for it."]),
    ],
)
def test_sentences_are_cut_where_another_statement_begins(text: str, clauses: list[str]) -> None:
    assert _clauses(text) == clauses


@each(
    "text",
    [
        "Parental controls and privacy settings make it safe.",
        "It is cheap and safe for all.",
        "The plan reduces waste and helps to save the planet.",
        "It is the difference between war and peace that counts.",
        "People may raise their children as they like but that does not bind the state.",
        "He left and therefore they lost the vote.",
        "Yes; no.",
        "Il pleut et il fait froid ici.",
    ],
)
def test_what_belongs_together_is_not_cut(text: str) -> None:
    assert _clauses(text) == [text]


def test_a_sentence_comes_before_its_clauses_and_only_if_it_has_more_than_one() -> None:
    answer = "Opinions differ. Buses are cheap; trains are fast."
    units = units_of(answer, split_sentences(answer))
    assert [(u.sentence, u.is_clause, u.text) for u in units] == [
        (0, False, "Opinions differ."),
        (1, False, "Buses are cheap; trains are fast."),
        (1, True, "Buses are cheap"),
        (1, True, "trains are fast."),
    ]


@given(st.text(alphabet=st.sampled_from("ab ,;.\n-–and that is 1)é中"), max_size=80) | st.text(max_size=60))
def test_offsets_point_into_the_answer_whatever_it_holds(answer: str) -> None:
    sentences = split_sentences(answer)
    units = units_of(answer, sentences)
    assert [u.sentence for u in units if not u.is_clause] == list(range(len(sentences)))
    for unit in units:
        piece = answer[unit.start : unit.end]
        assert unit.text in piece and piece == piece.strip() and bool(unit.text) == bool(piece)
        whole = sentences[unit.sentence]
        assert whole.text_start <= unit.start <= unit.end <= whole.text_end


def test_a_very_long_sentence_is_cut_in_linear_time() -> None:
    """A joint is judged by what stands near it: 20,000 joints in one sentence take about a second, not an hour."""
    text = "rents are high and wages are low and " * 10_000 + "that is it"
    spans = list(clause_spans(text))
    assert len(spans) > 10_000 and spans[-1][1] == len(text)
