"""Values that follow from those of given texts."""

from __future__ import annotations

import pytest

from eirene.text.values.derived import Derivations

SHOP = "The shop sold 80 loaves on Monday and 120 on Tuesday. A loaf costs 3 euros. It is open from 09:00 to 17:30."
TOWN = "Founded in 1843, the town had 4,000 people in 1900 and 5,000 in 1950. Of these, 40 percent farmed."
FAIR = "The fair runs from 7 to 9 May 2021. Its field is 1.2 hectares large. It has rides, food stalls and a stage."


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("It sold 200 loaves in all.", SHOP),
        ("On Tuesday it sold 40 more than on Monday.", SHOP),
        ("On average it sold 100 loaves a day.", SHOP),
        ("On Monday it took in 240 euros.", SHOP),
        ("It sold 50 percent more on Tuesday.", SHOP),
        ("It is open for eight and a half hours.", SHOP),
        ("It sold over 100 loaves on Tuesday.", SHOP),
        ("Fewer than 100 loaves were sold on Monday.", SHOP),
        ("The town grew by 1,000 people.", TOWN),
        ("The town grew by a quarter.", TOWN),
        ("In 1900 the town was 57 years old.", TOWN),
        ("Some 2,000 people farmed in 1950.", TOWN),
        ("The other 60 percent did not.", TOWN),
        ("The fair lasts three days.", FAIR),
        ("Its field has 12,000 square metres.", FAIR),
        ("It offers three things.", FAIR),
        ("The price doubled.", "It cost 40 euros in March and 80 euros in June."),
        ("In a week that makes 350 euros.", "A day costs 50 euros."),
        ("For half the guests take 300 g of rice.", "Take 600 g of rice."),
    ],
)
def test_values_that_follow_from_the_given_ones_are_derivable(sentence: str, passage: str) -> None:
    assert Derivations([passage]).carried(sentence).chance is not None


@pytest.mark.parametrize(
    ("sentence", "passage"),
    [
        ("It sold 230 loaves in all.", SHOP),
        ("It sold over 300 loaves on Tuesday.", SHOP),
        ("In 1900 the town was 71 years old.", TOWN),
        ("The fair lasts six days.", FAIR),
        ("It sold 80 loaves on Monday.", SHOP),  # nothing is to be derived
        ("It sells bread.", SHOP),
        ("It sold 200 loaves in all.", "The shop is open."),
    ],
)
def test_other_values_are_not(sentence: str, passage: str) -> None:
    assert Derivations([passage]).carried(sentence).chance is None
