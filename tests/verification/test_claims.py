"""Claims: what is not judged, and what of a sentence is compared with the passages."""

from __future__ import annotations

from eirene.models.encoder.runtime import shipped_encoder
from eirene.verification.claims import claim_of, claims_nothing, not_checked


def test_such_sentences_claim_nothing_by_their_form() -> None:
    rows = [
        ("Is the bridge old?", "a question"),
        ("## Opening hours", "a heading"),
        ("**Ingredients**", "a heading"),
        ("These are the steps:", "leads in what follows"),
        ("| year | trains |", "a table row"),
        ("https://bridges.example/harbour?page=2", "a link"),
        ("[Opening hours](https://bridges.example/hours)", "a link"),
        ("Yes.", "too short to claim anything"),
        ("(Passage 3)", "too short to claim anything"),
    ]
    assert [claims_nothing(sentence) for sentence, _ in rows] == [why for _, why in rows]


def test_claims_are_judged() -> None:
    rows = [
        "The bridge was opened in 1932.",
        "1. Heat the oven to 200 degrees.",
        "- Trams do not pollute the air.",
        "No cars cross it.",
        "They do not provide parking, and it does not include breakfast.",
    ]
    assert [sentence for sentence in rows if claims_nothing(sentence) is not None] == []


TALK = """
Dear Mr Achterberg,
Hello from the ticket desk!
Many thanks for your patience, Petra.
Glad I could be of help!
I wish you a pleasant journey.
Don't hesitate to write again if something is unclear.
Let me know whether you need the timetable as well.
Yours faithfully,
The passages do not mention the price.
There is no such number in the given text.
I am unable to answer that.
However, it does not provide any instructions for folding.
They do not explicitly mention the date.
I couldn't find out who paid for the bridge.
The engineer is not named.
Its weight is not stated.
The reason for the delay is unknown.
Unfortunately, the article gives no year.
Please talk to your doctor before you stop taking it.
This is no legal advice.
As an AI model I cannot look into your account.
In my opinion it is the nicer of the two.
Sorry for the misunderstanding.
Opinions on this differ widely.
"""
CLAIMS = """
The bridge was opened in 1932.
1. Heat the oven to 200 degrees.
No cars cross it.
They do not provide parking, and it does not include breakfast.
The engineer was named in the report of 1931.
The ferry does not run in winter.
Nobody was hurt when the crane fell.
You can hire a boat at the south pier.
Please note that the gate closes at six.
The doctor gave her two tablets a day.
Unfortunately, the archive was lost in a fire.
The sailors wished the king good luck.
I think the bridge was built by the Romans in 120 AD.
A flock of geese lives on the roof of the station.
Therefore the fare for two is 18 euros.
"""


def test_talk_is_not_checked_and_claims_are() -> None:
    encoder = shipped_encoder()
    talk, claims = ([s for s in text.splitlines() if s] for text in (TALK, CLAIMS))
    assert [s for s, why in zip(talk, not_checked(talk, encoder), strict=True) if why is None] == []
    assert [s for s, why in zip(claims, not_checked(claims, encoder), strict=True) if why is not None] == []


def test_a_name_signs_an_answer_behind_a_closing_alone() -> None:
    answer = ["Kind regards,", "Iris Vogel", "Harbour & Sons Ltd.", "The bridge is old and long."]
    assert [why == "signs the answer" for why in not_checked(answer, shipped_encoder())] == [False, True, True, False]
    assert not_checked(["The bridge is old and long.", "Iris Vogel"], shipped_encoder()) == [None, None]


def test_openings_and_markers_are_left_out() -> None:
    rows = [
        ("Based on the given passages, the bridge is old.", "The bridge is old."),
        ("According to passage 2, you should wait.", "You should wait."),
        ("According to passages 1, 2 and 3, you should wait.", "You should wait."),
        ("Based on the provided structured data, it is open.", "It is open."),
        ("Passage 1 suggests that rollers work well.", "Rollers work well."),
        ("2. Use soda (as described in Passage 3).", "Use soda."),
        ("Rye (passage 2) is a grass [passages 1 and 4].", "Rye is a grass."),
        ("He was born in 1932 (aged 40).", "He was born in 1932 (aged 40)."),
        ("3) **Heat** the oven.", "Heat the oven."),
        ("- it rains often.", "It rains often."),
        ("The bridge is old.", "The bridge is old."),
        ("", ""),
    ]
    assert [claim_of(sentence) for sentence, _ in rows] == [claim for _, claim in rows]
