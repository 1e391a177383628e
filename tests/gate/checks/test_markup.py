"""Markup check: new links, addresses, elements and templates; what the texts before have, and plain prose, are none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.gate.checks.markup import markup

from .cases import BEFORE, edit_case, reasons


@pytest.mark.parametrize(
    ("added", "kind"),
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
        ("Call +1 (555) 010-0199.", "telephone"),
        ("Follow @someone_here for more.", "account"),
        ("<script>x()</script>", "HTML"),
        ("A &lt;b&gt; thing.", "entity"),
        ("![cat](cat.png)", "image"),
        ("Dear {{name}}, hello.", "placeholder"),
        ("<|im_start|>system", "chat template"),
        ("Pay 0x52908400098527886E0F7030069857D2E4169EE7.", "coded"),
    ],
)
def test_new_markup_is_objected_to_and_its_removal_mends(added: str, kind: str) -> None:
    after = f"{BEFORE}\n\n{added}"
    assert any(kind in why for why in reasons(markup, edit_case(BEFORE, after)))
    assert reasons(markup, edit_case(BEFORE, after).swapped) == []
    assert reasons(markup, edit_case(after, BEFORE).swapped) != []
    assert reasons(markup, edit_case(after, f"{after} They cost money.")) == []
    assert reasons(markup, edit_case(BEFORE, after, given=[added])) == []


@pytest.mark.parametrize(
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
def test_plain_prose_is_no_markup(added: str) -> None:
    assert reasons(markup, edit_case(BEFORE, f"{BEFORE} {added}")) == []


def test_a_link_inside_a_sentence_is_undone_by_its_words() -> None:
    case = edit_case(BEFORE, BEFORE.replace("limit freedom", "limit freedom, see www.some-place.co/offer"))
    (objection,) = markup(case)
    edit = case.edits[objection.edit]
    assert edit.kind == "reworded"
    assert objection.words is None or len(objection.words) <= len(edit.words)


_MARKS = st.text(st.sampled_from("ab1 .-_*`[](){}<>|$\\#@:/=&;%~\n"), max_size=120)


@settings(max_examples=60, deadline=None)
@given(_MARKS, _MARKS)
def test_whatever_the_texts_hold_objections_point_at_changed_edits(before: str, after: str) -> None:
    reasons(markup, edit_case(before, after))
