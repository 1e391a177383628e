"""Quotations of an answer in its passages: word for word, but for some words, or not there."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.core.verification import QuotationCheck
from eirene.text.sentences import split_sentences
from eirene.verification.quotations import check_quotations
from tests.test_linear_time import grows

PASSAGES = (
    "The bridge is old. Rain fell on the valley for three days.",
    "The mayor said that the bridge costs $1,200 a day, and that nobody pays for it. The town won't close it.",
)


def checks(answer: str, passages: tuple[str, ...] = PASSAGES) -> tuple[QuotationCheck, ...]:
    sentences = [s for s in split_sentences(answer) if s.text]
    found = check_quotations(answer, sentences, passages, [f"p{n}" for n in range(len(passages))])
    for one in found:
        assert answer[one.start : one.end] == one.text
        if one.evidence is not None:
            assert passages[one.evidence.passage - 1][one.evidence.start : one.evidence.end] == one.evidence.text
    return found


def check(quotation: str) -> QuotationCheck:
    (found,) = checks(f"It says {quotation}.")
    return found


def test_a_quotation_is_exact_whatever_its_case_spacing_and_marks() -> None:
    found = [
        check(quotation)
        for quotation in [
            '"the bridge costs $1,200 a day"',
            "“The bridge   COSTS $1,200, a day”",
            "«the bridge costs $1,200 a day»",
            '"The town won’t close it"',
            '"the bridge costs ... nobody pays for it"',
            '"The mayor said [...] nobody pays for it. The town won\'t close it"',
        ]
    ]
    assert {(one.verdict, one.changes, one.evidence and (one.evidence.passage, one.evidence.id)) for one in found} == {
        ("exact", (), (2, "p1"))
    }


def test_an_altered_quotation_says_which_words_differ() -> None:
    for quotation, changes, evidence in [
        ('"the bridge costs $1,300 a day"', [("1,300", "1,200")], "the bridge costs $1,200 a day"),
        ('"the bridge costs €1,200 a day"', [("€", "$")], "the bridge costs $1,200 a day"),
        ('"the town will close it"', [("will", "won't")], "The town won't close it"),
        ('"the bridge really costs $1,200"', [("really", "")], "the bridge costs $1,200"),
        ('"the bridge $1,200 a day"', [("", "costs")], "the bridge costs $1,200 a day"),
        ('"Snow fell on the valley"', [("Snow", "Rain")], "Rain fell on the valley"),
        ('"the valley for three weeks"', [("weeks", "days")], "the valley for three days"),
    ]:
        found = check(quotation)
        assert (found.verdict, [(c.quoted, c.passage) for c in found.changes]) == ("altered", changes), quotation
        assert found.evidence is not None and found.evidence.text == evidence, quotation


def test_what_no_passage_has_is_not_found() -> None:
    found = [check(quotation) for quotation in ['"bees like every kind of honey"', '"of the people"', '"in the north"']]
    assert {(one.verdict, one.evidence, one.changes) for one in found} == {("not found", None, ())}


def test_pieces_in_another_order_or_in_two_passages_are_altered() -> None:
    found = [
        check(quotation)
        for quotation in [
            '"nobody pays for it ... the bridge costs $1,200"',
            '"Rain fell on the valley ... nobody pays for it"',
        ]
    ]
    assert {(one.verdict, one.changes, one.evidence is None) for one in found} == {("altered", (), False)}


def test_a_piece_that_is_nowhere_makes_it_not_found() -> None:
    assert check('"the bridge costs $1,200 ... and bees like it"').verdict == "not found"


def test_one_or_two_words_in_quotation_marks_are_no_quotation() -> None:
    assert checks('The "old bridge" is "nice".') == ()


def test_short_ones_are_named_where_a_passage_has_them() -> None:
    assert [c.verdict for c in checks('The "bridge" is "nobody pays" cheap, not "lovely".')] == ["exact", "exact"]


FACTS = (
    "At dawn it was -12 degrees on the pass. Values > 15 are high, values < 3 are low. The pass is open.",
    "The prisoner was at no time armed. The garden, which is not large, is open to all. It did not rain. We stayed.",
)


def test_signs_sentence_ends_and_a_not_that_is_left_out_count() -> None:
    rows = [
        ('"it was -12 degrees on the pass"', "exact", []),
        ('"it was −12 degrees"', "exact", []),
        ('"it was 12 degrees"', "altered", [("", "-")]),
        ('"12 degrees on the pass"', "altered", [("", "-")]),
        ('"Values < 15 are high"', "altered", [("<", ">")]),
        ('"Values > 15 are high"', "exact", []),
        ('"values < 3 are low. The pass is open"', "exact", []),
        ('"values < 3 are low the pass is open"', "altered", [("", ".")]),
        ('"The prisoner was ... armed"', "altered", [("", "no")]),
        ('"The garden ... is open to all"', "exact", []),
        ('"The garden [...] We stayed"', "exact", []),
        ('"The garden, which is not\nlarge, is open"', "exact", []),
        ("'the garden, which is not large'", "exact", []),
        ("‘It did not rain’", "exact", []),
        ("'the garden which isn't large'", "altered", [("isn't", "is not")]),
    ]
    found = [checks(f"It says {quotation}.", FACTS)[0] for quotation, _, _ in rows]
    got = [(one.verdict, [(c.quoted, c.passage) for c in one.changes]) for one in found]
    assert got == [(verdict, changes) for _, verdict, changes in rows]


def test_a_quotation_of_any_length_is_looked_up() -> None:
    long = "; ".join(f"the {n}th stone of the wall was laid by hand" for n in range(60))
    for marks in ['"{}"', "“{}”", "'{}'", "‘{}’"]:
        assert [c.verdict for c in checks(f"It says: {marks.format(long)}.", (long,))] == ["exact"]
        one_more = long.replace("the 40th stone", "the 40th old stone")
        (found,) = checks(f"It says: {marks.format(one_more)}.", (long,))
        assert (found.verdict, [(c.quoted, c.passage) for c in found.changes]) == ("altered", [("old", "")])


def test_apostrophes_and_inches_are_no_quotation_marks() -> None:
    answers = [
        "It's the dogs' favourite beach, and the '90s café isn't far from the owners' house.",
        "The boards' edges are 5' long and 6' wide, the members' that is.",
        'A 5" pipe and a\n\n6" pipe meet here.',
    ]
    assert [answer for answer in answers if checks(answer)] == []


def test_what_is_too_much_to_compare_is_not_checked() -> None:
    many = " ".join(f'It says "the bridge costs {n} a day".' for n in range(700))
    found = checks(many)
    assert (found[0].verdict, found[-1].verdict) == ("altered", "not checked")
    unknown = checks('It says "' + "one two three " * 1000 + '".')
    assert [c.verdict for c in unknown] == ["not checked"]


def test_the_time_goes_with_the_answer_and_the_passages_not_with_their_product() -> None:
    def look_up(text: str) -> None:
        passages = text.split("\n")
        answer = " ".join(f'It says "{p[:40]} not {p[41:80]}".' for p in passages)
        sentences = [s for s in split_sentences(answer) if s.text]
        check_quotations(answer, sentences, passages, [None] * len(passages))

    def text_of(n: int) -> str:
        return "\n".join(" ".join(f"w{k * 37 % n}" for k in range(m, m + 40)) for m in range(n // 40))

    assert not grows(look_up, text_of, 40_000)


def test_each_quotation_names_the_sentence_that_it_begins_in() -> None:
    answer = 'The town is poor. It says "the bridge is old. Rain fell", and "nobody pays for it".'
    assert [c.n for c in checks(answer)] == [2, 2]
    assert [c.verdict for c in checks(answer)] == ["exact", "exact"]


def test_words_inside_other_words_are_not_the_quotation() -> None:
    (found,) = checks('It says "art of war".', ("The start of warfare.",))
    assert found.verdict == "not found"


PIECES = ["the", "bridge", "...", "[x]", "“", "”", '"', "1,2", "$", "é", " ", "\n"]


@given(st.lists(st.sampled_from(PIECES), max_size=40))
@settings(max_examples=200)
def test_any_quotation_has_a_verdict_and_a_place(pieces: list[str]) -> None:
    text = " ".join(pieces)
    for found in checks(f'So "{text}" it says.', (*PASSAGES, text or "-")):
        assert (found.evidence is None) == (found.verdict == "not found")
