"""Arguments that an answer denies, asks or supposes are not said by it, nor the other way round."""

from __future__ import annotations

from eirene.alignment import align
from eirene.models.encoder.runtime import shipped_encoder

OTHER = "Trams are quiet and clean."


def p_missing(argument: str, said: str) -> float:
    answer = f"Supporters say that trams are quiet and clean. They add that {said}"
    return float(align([argument, OTHER], answer, shipped_encoder(), question="Trams?").p_missing[0])


def test_a_bare_statement_does_not_say_what_is_framed_nor_the_other_way_round() -> None:
    for frame in [
        "It is untrue that {}.",
        "The belief that {} is a misconception.",
        "Few can prove it, but the rumour that {} will not die.",
        "Nobody has shown that {}.",
        "Imagine that {}.",
        "If {}, the town pays.",
    ]:
        for claim in ["trams wear out the streets", "sugar makes children restless"]:
            framed = frame.format(claim)
            assert p_missing(framed, f"{claim}.") > 0.5
            assert p_missing(framed, f"{framed[:1].lower()}{framed[1:]}") < 0.5
            assert p_missing(f"{claim.capitalize()}.", f"it is untrue that {claim}.") > 0.5


def test_another_wording_of_a_framed_argument_says_it() -> None:
    for argument, said in [
        ("It is a myth that trams wear out the streets.", "trams do not wear out the streets."),
        ("There is no proof that uniforms raise grades.", "uniforms hardly raise grades."),
        ("If the fare is free, more people will travel by tram.", "a free fare would bring more people into trams."),
        ("Nobody denies that trams are cheap.", "trams are cheap."),
    ]:
        assert p_missing(argument, said) < 0.5
