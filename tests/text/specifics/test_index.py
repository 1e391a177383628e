"""Which specifics stand in a text, in any spelling."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from eirene.text.specifics.index import find_specifics, specifics_index
from tests.rows import each


def stands(text: str, source: str) -> bool:
    mentions = [m for m in find_specifics(text) if not m.is_weak]
    assert mentions, text
    return all(specifics_index(source).holds(m) for m in mentions)


@each(
    "text, source",
    [
        ("It had 1,000 members.", "It had a thousand members."),
        ("It had 1 000 members.", "It had one thousand members."),
        ("It cost 1.5 million.", "It cost 1,500,000."),
        ("About 50 % agree.", "Some fifty percent agree."),
        ("50 per cent agree.", "Half agree."),
        ("It cost $5.", "It cost 5 dollars."),
        ("It cost £8.74m.", "It cost 8.74 million pounds."),
        ("They came 3rd.", "They came third."),
        ("Two thirds agree.", "2/3 agree."),
        ("It is 5 km away.", "It is 5 kilometres away."),
        ("A dozen came.", "12 came."),
        ("It has 123 parts.", "It has one hundred and twenty-three parts."),
        ("It was the 100th.", "It was the hundredth."),
        ("Born on 12 May 2019.", "Born on May 12th, 2019."),
        ("Born on 2019-05-12.", "Born on 12 May 2019."),
        ("Born in 2019.", "Born on 12 May 2019."),
        ("Music of the nineties.", "Music of the 1990s."),
        ("Music of the 1990s.", "Music of 1994."),
        ("Built in the nineteenth century.", "Built in 1850."),
        ("It began in 1993.", "It was made in 1992-93."),
        ("It opens at 5 pm.", "It opens at 17:00."),
        ("It is 59 feet wide.", "It is 18 metres wide."),
        ("Bake at 356 °F.", "Bake at 180 degrees Celsius."),
        ("It lasts two years.", "It lasts 24 months."),
        ("It took 2 hours and 30 minutes.", "It took 150 minutes."),
        ("It takes 90 minutes.", "It takes an hour and a half."),
        ("It takes an hour and 45 minutes.", "It takes 105 minutes."),
        ("It takes two and a quarter hours.", "It takes 135 minutes."),
        ("It may weigh up to 22 pounds.", "It may weigh up to 10 kg."),
        ("It holds 75 cl.", "It holds 750 ml."),
        ("They earned $890 million.", "They earned USD 890,000,000."),
        ("It has 150,000 people.", "It has 1.5 lakh people."),
        ("Nearly 1.3 million live there.", "1,297,412 live there."),
        ("It is more than two kilometres long.", "It is 2,467 m long."),
        ("It runs at 90 km/h.", "It runs at 25 metres per second."),
        ("It has 12,000 square metres.", "It has 1.2 hectares."),
        ("It weighs 11 pounds.", "It weighs 5 kg."),
        ("Sales of the third quarter.", "Sales of Q3."),
        ("A stamp costs 85 pence.", "A stamp costs £0.85."),
        ("You need 750 ml.", "You need three quarters of a litre."),
        ("About a third of them came.", "33.4 percent came."),
        ("It leaves at a quarter to ten in the evening.", "It leaves at 21:45."),
        ("The room is at minus 20 °C.", "The room is at -4 °F."),
        ("It closes at midnight.", "It closes at 00:00."),
        ("It opens at nine in the morning.", "It opens at 09:00."),
        ("It opens at half past seven in the evening.", "It opens at 19.30."),
        ("It cost nearly a quarter of a million.", "It cost 247,300."),
        ("Louis the Fourteenth ruled.", "Louis XIV ruled."),
        ("Roast it at 425 °F.", "Roast at 218 °C."),
        ("It is free for those under 18.", "It is free for the under-18s."),
        ("The party met Miller.", "Sarah Miller was there."),
        ("They met Sarah Miller's team.", "SARAH MILLER"),
        ("They met sarah's friend José.", "jose came"),
        ("The rise of China.", "Chinese growth."),
        ("They left the EU.", "They left the European Union."),
        ("They left the European Union.", "They left the EU."),
        ("Those in America.", "Those in the United States."),
        ('They call it "a great leap forward".', "It was a great leap  forward, they said."),
        ("See https://www.example.com/a.", "http://example.com/a"),
    ],
)
def test_two_spellings_of_one_thing_stand_in_each_other(text: str, source: str) -> None:
    assert stands(text, source)


@each(
    "text, source",
    [
        ("It had 1,001 members.", "It had 1,000 members."),
        ("It is 5 km away.", "It is 5 miles away."),
        ("It cost $5.", "It cost 5 euros."),
        ("They came 4th.", "They came third."),
        ("Born on 12 May 2019.", "Born on 13 May 2019."),
        ("Born on 12 May 2019.", "Born on 12 May 2018."),
        ("Born in May 2019.", "Born in June 2019, and May is a month."),
        ("Music of the nineties.", "Music of the 1980s."),
        ("It opens at 5 pm.", "It opens at 5 am."),
        ("It opens at 5:00.", "It opens at 5 pm."),
        ("It opens at 11 pm.", "It is open from 11:00 to 15:00."),
        ("Louis the Fifteenth ruled.", "Louis XIV ruled."),
        ("It leaves at half past nine in the morning.", "It leaves at 21:30."),
        ("The room is at -20 °C.", "The room is at 20 °C."),
        ("A third of them came.", "40 percent came."),
        ("It is 62 feet wide.", "It is 18 metres wide."),
        ("Bake at 340 °F.", "Bake at 180 °C."),
        ("It lasts three years.", "It lasts 24 months."),
        ("1.4 million live there.", "1,297,412 live there."),
        ("It is more than three kilometres long.", "It is 2,467 m long."),
        ("Sales of the second quarter.", "Sales of Q3."),
        ("They met Sarah Kramer.", "Sarah Miller was there."),
        ("They left the EU.", "They left the union of states."),
        ('They call it "a great step forward".', "It was a great leap forward."),
        ("Write to me@example.org.", "Write to you@example.org."),
        ("Call +49 170 1234567.", "Call +49 170 1234568."),
        ("In 73 percent of cases.", "In most cases."),
    ],
)
def test_two_things_do_not_stand_in_each_other(text: str, source: str) -> None:
    assert not stands(text, source)


@each(
    "text",
    [
        "Supporters say that it is cheap. Execution helps.",
        "1. It is cheap.\n2. It lasts.",
        "You need 1. a rope, 2. a lamp and 3. a map.",
        "It is cheap [1], and it lasts [2, 3].",
        "However, I think it may help. The State must act.",
        "Collective Bargaining Hurts the Democratic Process",
        "We should not report crimes, and the evidence is here.",
        'They call it "free speech".',
    ],
)
def test_plain_words_are_no_specifics(text: str) -> None:
    assert [text[m.start : m.end] for m in find_specifics(text) if not m.is_weak] == []


def test_a_headline_says_nothing_about_the_sentences_after_it() -> None:
    text = "Boston. In May they met Tom Brown. In June they met Sarah Miller and Anna Kramer in Denver."
    assert [text[m.start : m.end] for m in find_specifics(text) if m.kind == "name" and not m.is_weak] == [
        "Tom Brown", "Sarah Miller", "Anna Kramer", "Denver",
    ]  # fmt: skip


def test_rough_numbers_stand_for_those_nearby() -> None:
    assert stands("About 1,500 came.", "1,498 came.")
    assert not stands("Exactly 1,500 came.", "1,498 came.")


def test_other_languages_give_figures_only() -> None:
    found = find_specifics("Im Jahr 2019 sagte die Regierung Nein zu one hundred.", english=False)
    assert [m.kind for m in found] == ["number"]


@each(
    "text, same, other",
    [
        ("它建于1974年", "1974", "1947"),  # a letter on each side is no code
        ("٤٬٢٠٠", "4200", "6300"),  # Arabic separators
        ("١٢٫٥", "12.5", "125"),
        ("و١٢", "12", "21"),  # "and" is written with the figure
        ("「時間が決して眠らない」", "時間が決して眠らない", "番人がいつも眠っている"),
        ("詳細はhttps://example.org/aへ", "https://example.org/a", "https://example.org/b"),
    ],
)
def test_scripts_without_spaces_and_digits_of_their_own_are_read(text: str, same: str, other: str) -> None:
    found = find_specifics(text, english=False)
    assert found and all(specifics_index(same).holds(m) for m in found)
    assert not any(specifics_index(other).holds(m) for m in found)


@given(st.text(max_size=300) | st.text(alphabet="0123456789.,/-:$%@ \n\"'aAtmhMay“”[]()", max_size=200))
def test_any_text_has_specifics_with_valid_offsets_that_stand_in_it(text: str) -> None:
    index = specifics_index(text)
    for mention in index.mentions:
        assert 0 <= mention.start < mention.end <= len(text)
        assert index.holds(mention) or not any(mention.asks)


@each("unit", ["1,", "[1, ", "A ", "half a ", '"a ', "a.b@", "12 May 2019 ", "0", "Xy-", "(0", "U.", "1/"])
def test_long_texts_without_an_end_are_read(unit: str) -> None:
    text = unit * 4000
    assert all(0 <= m.start < m.end <= len(text) for m in find_specifics(text))
