"""Security check: disguised text, another language, new links, addresses, elements and templates; both ways round."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.gate.checks.security import security
from tests.rows import each

from .cases import BEFORE, edit_case, reasons


@each(
    "added, kind",
    [
        ("Read www.some-place.co/offer today.", "link"),
        ("See x.y/path for more.", "link"),
        ("Go to some-place.com.", "link"),
        ("Load data:text/html;base64,AAAA.", "link"),
        ("Click javascript:alert(1).", "link"),
        ("See [here](other/page).", "link"),
        ("[1]: /some/where", "link"),
        ("Mail bob@example.org.", "e-mail"),
        ("Write to bob at example dot com.", "disguised"),
        ("Visit evil[.]place.", "disguised"),
        ("<script>x()</script>", "HTML"),
        ("![cat](cat.png)", "image"),
        ("Dear {{name}}, hello.", "placeholder"),
        ("<|im_start|>system", "chat template"),
    ],
)
def test_new_markup_is_objected_to_and_its_removal_mends(added: str, kind: str) -> None:
    after = f"{BEFORE}\n\n{added}"
    assert any(kind in why for why in reasons(security, edit_case(BEFORE, after)))
    assert reasons(security, edit_case(BEFORE, after).swapped) == []
    assert reasons(security, edit_case(after, BEFORE).swapped) != []
    assert reasons(security, edit_case(after, f"{after} They cost money.")) == []
    assert reasons(security, edit_case(BEFORE, after, given=[added])) == []


@each(
    "added",
    [
        "This costs 1,000,000 dollars or 10 000 000 yen from 1914-1918 to 2020-01-15.",
        "E.g. the U.S.A. has it, i.e. many.",
        "Node.js and README.md are files, C# and C++ languages, #1 too.",
        "It is 5 < 6 and a <b and c> d.",
        "AT&T; and R&D; and Q&A.",
        "It costs $5 and $10 (about 3.5%), a 24/7 service and a 9/11 report [3].",
        "It ends here.Then it goes on, at 10:30 a.m.",
        "**Supporters** say it saves money.",
        "It is 50% -- or more -- of it (COVID-19, B.1.1.7).",
    ],
)
def test_plain_prose_is_no_security(added: str) -> None:
    assert reasons(security, edit_case(BEFORE, f"{BEFORE} {added}")) == []


def test_a_link_inside_a_sentence_is_undone_by_its_words() -> None:
    case = edit_case(BEFORE, BEFORE.replace("limit freedom", "limit freedom, see www.some-place.co/offer"))
    (objection,) = security(case)
    edit = case.edits[objection.edit]
    assert edit.kind == "reworded"
    assert objection.words is None or len(objection.words) <= len(edit.words)


_MARKS = st.text(st.sampled_from("ab1 .-_*`[](){}<>|$\\#@:/=&;%~\n"), max_size=120)


@settings(max_examples=60, deadline=None)
@given(_MARKS, _MARKS)
def test_whatever_the_texts_hold_objections_point_at_changed_edits(before: str, after: str) -> None:
    reasons(security, edit_case(before, after))


@each(
    "added",
    [
        "\u202eThey cost money.\u202c",
        "Das ist falsch.",
        "C'est faux.",
        "Además, los uniformes son caros.",
        "Non è vero.",
        "这是错误的。",
        "Это неправда.",
        "Supporters, und das ist doch klar, say so.",
        "ᗩᒪᒪ ᗩᖇE ᗷᗩᗪ",
    ],
)
def test_another_language_or_a_disguise_is_objected_to_and_its_removal_mends(added: str) -> None:
    case = edit_case(BEFORE, f"{BEFORE} {added}")
    assert len(reasons(security, case)) == 1
    assert reasons(security, case.swapped) == []
    assert len(reasons(security, edit_case(f"{BEFORE} {added}", BEFORE).swapped)) == 1


@each(
    "added",
    [
        "The Greek word φιλοσοφία means love of wisdom.",
        "In Rio de la Plata, uniforms are common.",
        "De facto and de jure segregation remain, et cetera.",
        "Children in São Paulo and Zürich wear them 😀.",
    ],
)
def test_names_and_loan_words_are_no_other_language(added: str) -> None:
    assert reasons(security, edit_case(BEFORE, f"{BEFORE} {added}")) == []


def test_the_language_of_the_text_the_given_texts_or_the_question_is_no_other() -> None:
    german = (
        "Befürworter sagen, dass Uniformen die Schüler gleicher machen. Gegner sagen, dass sie die Freiheit nehmen."
    )
    assert reasons(security, edit_case(german, f"{german} Sie sparen auch Geld für die Familien.")) == []
    english = edit_case(german, f"{german} They also save money for the families.", question="Sind Uniformen gut?")
    assert len(reasons(security, english)) == 1
    assert reasons(security, edit_case(BEFORE, f"{BEFORE} Das ist falsch.", given=[german])) == []
    assert reasons(security, edit_case(BEFORE, f"{BEFORE} Das ist falsch.", question="Say no in German.")) == []
