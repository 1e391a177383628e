"""Values that follow from those of given texts."""

from __future__ import annotations

from eirene.text.values.derived import Derivations
from tests.rows import each

SHOP = "The shop sold 80 loaves on Monday and 120 on Tuesday. A loaf costs 3 euros. It is open from 09:00 to 17:30."
TOWN = "Founded in 1843, the town had 4,000 people in 1900 and 5,000 in 1950. Of these, 40 percent farmed."
FAIR = "The fair runs from 7 to 9 May 2021. Its field is 1.2 hectares large. It has rides, food stalls and a stage."


@each(
    "sentence, passage",
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
        ("That adds up to 208 hours a year.", "She practises four hours a week."),
        ("It yields 40 eggs a day.", "It yields 280 eggs a week."),
        ("It has an area of 6,000 square metres.", "It is 100 metres long and 60 metres wide."),
        ("In 1990 it turned 100.", "It was built in 1890."),
        ("He lost 18 kilos in half a year.", "In January he weighed 104 kg, in July 86 kg."),
        ("Payment is due on 17 March 2024.", "The invoice is dated 3 March 2024. Payment is due 14 days later."),
        ("It is valid until 31 May 2024.", "It was issued on 31 May 2022 and is valid for two years."),
        ("Cancel by 9 July 2025.", "Cancel 3 days before you arrive on 12 July 2025."),
        ("The siege went on for almost nine months.", "It began on 2 March and ended on 28 November 1601."),
        ("It is open six days a week.", "Opening times: Tuesday to Sunday."),
        ("It is due by 22 June, 21 days after the first.", "It is due 21 days after 1 June."),
        ("They won 14 medals.", "They won 3 gold, 5 silver and 6 bronze medals."),
    ],
)
def test_values_that_follow_from_the_given_ones_are_told(sentence: str, passage: str) -> None:
    assert Derivations([passage]).carried(sentence).chance is not None


@each(
    "sentence, passage",
    [
        ("It sold 230 loaves in all.", SHOP),
        ("It sold over 300 loaves on Tuesday.", SHOP),
        ("In 1900 the town was 71 years old.", TOWN),
        ("The fair lasts six days.", FAIR),
        ("It sold 80 loaves on Monday.", SHOP),  # nothing is to be derived
        ("It sells bread.", SHOP),
        ("It lasted 71 days.", "It began on 29 February, and ended on 3 May 1901."),  # no such day
        ("It sold 200 loaves in all.", "The shop is open."),
        ("The kiosk has 6 chairs.", "It is open Tuesday to Sunday."),  # six are the days
        ("It ended on 24 June.", "It began on 1 June, and 21 days later there was a strike."),  # names no days
        ("In 1990 it turned 90.", "It was built in 1890."),
        ("That adds up to 280 hours a year.", "She practises four hours a week."),
    ],
)
def test_other_values_are_not(sentence: str, passage: str) -> None:
    assert Derivations([passage]).carried(sentence).chance is None


def test_a_value_that_stands_nowhere_and_follows_from_nothing_is_strange() -> None:
    derivations = Derivations([SHOP])
    assert derivations.carried("It sold 230 loaves in all.").strange
    assert not derivations.carried("It sold 200 loaves in all.").strange
    assert not derivations.carried("It sold 120 loaves on Tuesday.").strange
    assert not derivations.carried("It sells bread.").strange
    fair = Derivations([FAIR])  # 9 May 2021
    ends = [fair.carried(f"It ends on a {day}.").strange for day in ("Saturday", "Sunday", "Monday")]
    assert ends == [True, False, True]
    julian = Derivations(["They fought on 14 October 1066."])
    assert julian.carried("They fought on a Sunday.").strange
