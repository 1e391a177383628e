"""The alignment: which argument is said where, what is missing, foreign, misplaced or said twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from eirene.alignment import Placement, align, bearing_sentences, load_constants, placement, repeats
from eirene.alignment.comparison import compare_sides, passage_sentences
from eirene.alignment.features import WordWeights, mutual_alignment, overlap
from eirene.models.encoder import Encoder, load_encoder

QUESTION = "Should cities close their centres to cars?"
PRO = ("The air in town becomes cleaner without cars.", "Children can walk to school safely.")
CON = ("Shops lose customers who come by car.", "People who can hardly walk depend on their cars.")
ARGUMENTS = (*PRO, *CON)
AIR = "Supporters argue that pollution falls when no cars drive downtown."
SAFE = "They add that kids get to school without danger."
SHOPS = "Opponents argue that stores would sell less because drivers stay away."
FRAIL = "They also say that the frail cannot do without a car."


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return load_encoder(threads=1)


class Letters:
    """A stand-in encoder for laws that hold for any vectors: counts of letters."""

    digest = "letters"

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        counts = np.array([[text.count(c) for c in "abcde"] for text in texts], np.float32).reshape(-1, 5)
        norms = np.linalg.norm(counts, axis=1, keepdims=True)
        return np.divide(counts, norms, out=np.zeros_like(counts), where=norms > 0)


def test_each_argument_is_found_where_it_is_said(encoder: Encoder) -> None:
    found = align(ARGUMENTS, " ".join([AIR, SAFE, SHOPS, FRAIL]), encoder, question=QUESTION)
    assert [found.units[u].sentence for u in found.best_unit] == [0, 1, 2, 3]
    assert found.p_missing.max() < 0.5 and found.p_unsupported.max() < 0.5


def test_an_argument_left_out_is_missing_and_a_foreign_sentence_unsupported(encoder: Encoder) -> None:
    found = align(ARGUMENTS, f"{AIR} {SHOPS} {FRAIL} Nuclear plants need much water.", encoder, question=QUESTION)
    assert found.p_missing.argmax() == 1 and found.p_missing[1] > 0.5
    assert found.p_unsupported_sentences.argmax() == 3 and found.p_unsupported_sentences[3] > 0.5


def test_a_foreign_clause_marks_its_sentence(encoder: Encoder) -> None:
    found = align(ARGUMENTS, f"{AIR[:-1]}, and that nuclear plants need much water.", encoder, question=QUESTION)
    assert len(found.atoms[0]) == 2
    assert found.p_unsupported_sentences[0] == found.p_unsupported[found.atoms[0][1]] > 0.5


def test_a_sentence_that_claims_nothing_is_not_unsupported(encoder: Encoder) -> None:
    found = align(ARGUMENTS, f"This has been debated for decades. {AIR}", encoder, question=QUESTION)
    assert found.p_claimless_sentences[0] > 0.5 > found.p_claimless_sentences[1]
    assert found.p_unsupported_sentences[0] < 0.5


def placed(answer: str, encoder: Encoder, *sides: tuple[str, tuple[str, ...]]) -> Placement:
    found = compare_sides(sides or (("pro", PRO), ("con", CON)), answer, encoder, question=QUESTION)
    return placement(found, encoder)


def test_an_argument_among_those_of_the_other_side_stands_elsewhere(encoder: Encoder) -> None:
    found = placed(f"{AIR} {FRAIL} {SAFE} {SHOPS}", encoder)
    assert found.elsewhere.argmax() == 1 and found.elsewhere[1] > 0.5 > np.delete(found.elsewhere, 1).max()
    assert found.disorder == pytest.approx(float(found.elsewhere.sum() / found.said.sum()))


def test_right_places_are_left_alone(encoder: Encoder) -> None:
    found = placed(f"{AIR} {SAFE} {SHOPS} {FRAIL}", encoder)
    assert found.elsewhere.max() < 0.2 and not found.again.any()


def test_one_perspective_has_no_wrong_side(encoder: Encoder) -> None:
    assert placed(f"{AIR} {SAFE}", encoder, ("pro", PRO)).elsewhere.max() == 0.0


def test_an_argument_of_both_sides_stands_nowhere_else(encoder: Encoder) -> None:
    both = (("pro", (*PRO, CON[1])), ("con", CON))
    assert placed(f"{AIR} {FRAIL} {SAFE} {SHOPS}", encoder, *both).elsewhere[1] < 0.2


def test_who_speaks_is_told_by_words_and_never_guessed(encoder: Encoder) -> None:
    for answer, told in [
        (f"{AIR} {SAFE} {SHOPS} {FRAIL}", ["pro", "pro", "con", "con"]),
        ("The air gets cleaner. Children walk to school safely.", [None, None]),
        ("Supporters say that the air gets cleaner. However, shops lose customers.", ["pro", None]),
        (
            "Supporters say that the air gets cleaner; critics object that shops lose customers. They add that frail "
            "people need cars.",
            ["pro", "con", "con"],
        ),
        ("Supporters say that the air gets cleaner, whereas shopkeepers fear that customers stay away.", ["pro", None]),
        ("While supporters say that the air gets cleaner, opponents reply that shops lose customers.", [None]),
        (
            "Supporters say that children walk safely, but critics reply that the frail cannot walk. They add that "
            "cars are needed.",
            [None, None],
        ),
    ]:
        found = compare_sides((("pro", PRO), ("con", CON)), answer, encoder, question=QUESTION)
        assert [found.told[u] for atoms in found.alignment.atoms for u in atoms] == told


def test_a_side_by_any_name_speaks_where_it_is_said_to(encoder: Encoder) -> None:
    for answer, told in [
        ("Residents say that the air gets cleaner, traders that shops lose customers.", [None]),
        ("Residents say that the air gets cleaner. Traders fear shops lose customers.", ["residents", "traders"]),
        ("Residents: The air gets cleaner.\n\n**Traders:** Shops lose customers.", ["residents", "traders"]),
        ("Residents say that the air gets cleaner. For traders, shops lose customers.", ["residents", None]),
        ("Residents say that traders lose customers who come by car.", ["residents"]),
    ]:
        found = compare_sides((("residents", PRO), ("traders", CON)), answer, encoder, question=QUESTION)
        assert [found.told[u] for atoms in found.alignment.atoms for u in atoms] == told


def test_beside_the_others_is_no_wrong_place(encoder: Encoder) -> None:
    """A sentence that weighs one side against the other names nobody."""
    answer = "The air in town becomes cleaner without cars, but shops lose customers who come by car."
    assert placed(answer, encoder).elsewhere.max() == 0.0


def test_an_argument_that_is_said_twice_is_found_the_second_time(encoder: Encoder) -> None:
    again = "The air in town gets cleaner without any cars."
    found = align(ARGUMENTS, f"{PRO[0]} {SAFE} {SHOPS} {again}", encoder, question=QUESTION)
    (twice,) = repeats(found)
    assert (twice.argument, found.units[twice.earlier].sentence, found.units[twice.unit].sentence) == (0, 0, 3)


def test_a_copy_of_an_argument_changes_nothing(encoder: Encoder) -> None:
    once = align(ARGUMENTS, f"{AIR} {SHOPS}", encoder)
    copied = align((*ARGUMENTS, PRO[0]), f"{AIR} {SHOPS}", encoder)
    np.testing.assert_allclose(copied.p_missing[:4], once.p_missing, atol=1e-5)
    assert copied.p_missing[4] == pytest.approx(copied.p_missing[0], abs=1e-5)


def test_three_perspectives_each_have_their_part(encoder: Encoder) -> None:
    sides = (("residents", PRO), ("traders", CON), ("treasury", ("The state earns less from fuel taxes.",)))
    answer = f"{AIR} {SAFE} {SHOPS} {FRAIL} The treasury says that it collects less tax on petrol."
    found = compare_sides(sides, answer, encoder, question=QUESTION)
    assert found.stands == ("residents", "residents", "traders", "traders", "treasury")


def test_the_order_of_arguments_and_the_company_of_texts_do_not_matter(encoder: Encoder) -> None:
    answer = f"{AIR} {SHOPS}"
    forward, backward = align(ARGUMENTS, answer, encoder), align(ARGUMENTS[::-1], answer, encoder)
    np.testing.assert_allclose(forward.p_missing, backward.p_missing[::-1], atol=1e-5)
    np.testing.assert_allclose(forward.p_unsupported, backward.p_unsupported, atol=1e-5)


def test_passages_give_their_sentences_as_evidence_and_those_on_the_question_as_arguments(encoder: Encoder) -> None:
    passages = ("Oslo banned most cars from its centre in 2019. The city lies on a fjord.", "Whales are mammals.")
    bearing = bearing_sentences(passages, "When did Oslo ban cars?", encoder)
    assert bearing[0] == "Oslo banned most cars from its centre in 2019." and "Whales are mammals." not in bearing
    found = align(bearing, "Whales are mammals.", encoder, evidence=passage_sentences(passages))
    assert found.p_unsupported[0] < 0.5 < found.p_missing[0]


def test_mutual_alignment_agrees_with_the_formula() -> None:
    closeness = np.array([[0.8, 0.1], [0.7, 0.6]], np.float32)
    odds = np.exp(closeness / 0.05)
    expected = closeness * odds / odds.sum(axis=0)
    alone = np.eye(2, dtype=bool)
    np.testing.assert_allclose(mutual_alignment(closeness, alone, 0.05), expected, rtol=1e-5)


def test_overlap_agrees_with_a_computation_by_hand() -> None:
    """ "tax" is asked about (weight 0.1), "rent" is given twice (weight 1/2), all others weigh 1."""
    weight = WordWeights(["tax rent harm", "rent rise"], "tax?")
    found = overlap(["tax rent harm", "rent rise"], ["rent harm cat"], weight)
    np.testing.assert_allclose(found.recall[:, 0], [1.5 / 1.6, 0.5 / 1.5], rtol=1e-6)
    np.testing.assert_allclose(found.precision[:, 0], [1.5 / 2.5, 0.5 / 2.5], rtol=1e-6)
    assert overlap([], ["rent"], weight).f1.shape == (0, 1)


@settings(max_examples=50)
@given(
    st.lists(st.text(alphabet="abcde .", max_size=12), max_size=4),
    st.text(alphabet="abcde .;\n", max_size=60),
    st.none() | st.lists(st.text(alphabet="abcde ", max_size=8), max_size=3),
)
def test_any_text_gives_finite_numbers_in_range(arguments: list[str], answer: str, evidence: list[str] | None) -> None:
    found = align(arguments, answer, Letters(), question="abc", evidence=evidence)
    n_units, n_sentences = len(found.units), len(found.sentences)
    assert found.p_says.shape == found.features.cosine.shape == (len(arguments), n_units)
    for table, size in (
        (found.missing, len(arguments)), (found.p_missing, len(arguments)), (found.unsupported, n_units),
        (found.p_unsupported, n_units), (found.p_claimless, n_units),
        (found.p_unsupported_sentences, n_sentences), (found.p_claimless_sentences, n_sentences),
    ):  # fmt: skip
        assert table.shape == (size,) and np.isfinite(table).all()
        assert ((table >= 0) & (table <= 1)).all()
    sides = (("x", arguments[::2]), ("y", arguments[1::2]))
    places = placement(compare_sides(sides, answer, Letters(), question="abc"), Letters())
    assert ((places.wrong >= 0) & (places.wrong <= 1)).all() and 0 <= places.disorder <= 1


@pytest.mark.slow
def test_a_200000_word_answer_is_aligned_whole() -> None:
    sentences = [" ".join([word] * 20) + "." for word in ("abc", "ede", "bad")]
    answer = " ".join(sentences[n % 3] for n in range(10_000))
    found = align(["abc abc", "ede ede"], answer, Letters(), evidence=["abc", "ede", "bad"] * 200)
    assert len(found.sentences) == 10_000 and found.sentences[-1].end == len(answer)
    sides = (("pro", ["abc abc"]), ("con", ["ede ede"]))
    places = placement(compare_sides(sides, answer, Letters(), question="abc"), Letters())
    assert len(places.atoms) == 10_000 and 0 <= places.disorder <= 1


def test_the_constants_belong_to_the_shipped_encoder(encoder: Encoder) -> None:
    """New weights need new constants: python benchmarks/fit_alignment.py."""
    assert load_constants().encoder == encoder.digest
