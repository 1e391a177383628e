"""A record as a page: whole by itself, everything escaped, usable without eyes or mouse."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from eirene.core.records import STATUSES, EditDecision, Item, Record
from eirene.views import asset
from eirene.views.diff import diff, folds
from eirene.views.record import view_of
from eirene.views.report import render_page
from tests.views.records import ANSWER, ITEM, record

VOID = {"meta", "rect", "link", "img", "br", "input"}
NASTY = (
    "</script><script>alert(1)</script> <img src=x onerror=alert(1)> \"'`&amp; {{ 7*7 }} {% raw %} "
    "</title></style><style>*{display:none}</style> <!-- ]]> \x1b[31m \x00-free \u202e \u2028 javascript:alert(1)"
).replace("\x00", "")


class Page(HTMLParser):
    """What a browser would find: elements with attributes, the text of each kind, and whether all tags close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in self._open:
            self.texts[tag] = self.texts.get(tag, "") + data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]


def page(result: Record) -> Page:
    return Page(render_page(result, item=Item.model_validate({**ITEM, "answer": result.original})))


def nasty() -> Record:
    return record(
        "accepted", item={"question": NASTY, "answer": f"{ANSWER} {NASTY}", "id": NASTY}, reason=NASTY,
        better=f"{NASTY} Better.",
    )  # fmt: skip


def test_a_page_asks_for_nothing_from_outside() -> None:
    for status in STATUSES:
        found = page(record(status))
        allowed = {"a", "meta", "script", "style"}
        for tag, attributes in found.elements:
            assert tag not in {"link", "img", "iframe", "object", "embed", "base", "form", "video", "audio", "source"}
            for name, value in attributes.items():
                assert not name.startswith("on")
                assert name not in {"src", "srcset", "action", "background", "poster", "data", "style"}
                if name == "href":
                    assert tag in allowed and (value or "").startswith("#")
        assert not re.search(r"@import|url\(|//", found.texts["style"])


def test_only_the_page_s_own_style_and_script_may_run() -> None:
    """The policy names the two by their digests and forbids everything else."""
    for status in STATUSES:
        text = render_page(record(status))
        (policy,) = [
            m.get("content") for m in Page(text).all("meta") if m.get("http-equiv") == "Content-Security-Policy"
        ]
        assert policy is not None and policy.startswith("default-src 'none'; ")
        for kind, body in (("style", r"<style>(.*?)</style>"), ("script", r"<script>(.*?)</script>")):
            (source,) = re.findall(body, text, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
            assert f"{kind}-src 'sha256-{digest}'" in policy
        assert "unsafe" not in policy


def test_texts_of_the_record_stay_texts() -> None:
    plain, odd = page(record("accepted")), page(nasty())
    for tag in ("script", "style", "img", "title", "html", "body", "main"):
        assert len(odd.all(tag)) == len(plain.all(tag)), tag
    assert "49" not in odd.texts["h1"]
    assert "<img src=x onerror=alert(1)>" in odd.texts["h1"]
    assert not set(odd.texts["main"]) & set("\x1b\u202e\u2028")


def test_the_record_can_be_read_back_from_the_page() -> None:
    result = nasty()
    (data,) = re.findall(r'<script type="application/json" id="record">(.*?)</script>', render_page(result), re.DOTALL)
    assert not set(data) & set("<>&\u2028")
    assert Record.model_validate(json.loads(data)) == result


def test_a_page_can_be_used_without_eyes_or_mouse() -> None:
    for status in STATUSES:
        found = page(record(status))
        ids = [a["id"] for _, a in found.elements if "id" in a]
        levels = [int(tag[1]) for tag, _ in found.elements if re.fullmatch(r"h[1-6]", tag)]
        assert found.all("html")[0]["lang"] == "en"
        assert (
            len(found.all("main")) == len(found.all("h1")) == len(found.all("header")) == len(found.all("footer")) == 1
        )
        assert len(ids) == len(set(ids))
        assert levels[0] == 1 and all(b - a <= 1 for a, b in pairwise(levels))
        assert len(found.all("caption")) == len(found.all("table"))
        assert all(a.get("scope") in {"row", "col", "rowgroup"} for a in found.all("th"))
        assert all(a.get("role") for tag in ("table", "tr", "th", "td") for a in found.all(tag))
        assert all(a.get("data-label") for a in found.all("td"))
        assert all(a.get("aria-labelledby") in ids for a in found.all("section"))
        assert all(a.get("aria-label") for _, a in found.elements if a.get("role") == "img")
        assert any("skip" in (a.get("class") or "") for a in found.all("a"))


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, by the formula of WCAG 2.2 (relative luminance)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_every_text_stands_out_from_what_is_behind_it() -> None:
    """At least 4.5 to 1 for text, 3 to 1 for marks that say something."""
    for scheme in [0, 1]:
        palettes = re.findall(r":root \{(.*?)\}", asset("design.css"), re.DOTALL)
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", palettes[scheme]))
        words = [name.removesuffix("-back") for name in colours if name.endswith("-back")]
        texts = [(ink, behind) for ink in ("ink", "dim", "link", *words) for behind in ("paper", "card", "sunk")]
        texts += [(ink, f"{name}-back") for name in words for ink in (name, "ink")]
        texts += [("card", name) for name in words] + [("on-action", "action")]
        marks = [(mark, "card") for mark in ("vote", "link", "bar", "edge")]
        assert {"accepted", "kept", "unsupported", "missing"} < set(words)
        assert [pair for pair in texts if contrast(*(colours[name] for name in pair)) < 4.5] == []
        assert [pair for pair in marks if contrast(*(colours[name] for name in pair)) < 3] == []


def test_contrast_is_that_of_the_published_extremes() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)  # the best known near miss


def test_white_space_around_a_change_stays_where_it_was() -> None:
    """And is not marked."""
    text = render_page(record("kept", better="Zoos teach children about animals. Cages really make the moon shine."))
    part = text.partition('id="changes"')[2].partition("</section>")[0]
    assert "Cages really make the moon shine." in re.sub(r"<span class=.unseen.>.*?</span>|<[^>]+>", "", part)


def test_white_space_at_the_end_of_a_change_is_not_marked() -> None:
    found = page(record("kept"))
    assert all(not text.endswith(" ") for text in re.findall(r"\[added: (.*?)\]", found.texts["ins"]))


def test_changes_are_marked_in_words_as_well() -> None:
    found = page(record("accepted"))
    assert "[removed: Cages make the moon shine.]" in found.texts["del"]
    assert "[added: Critics reply that cages make animals suffer.]" in found.texts["ins"]


def test_a_sentence_shows_every_vote() -> None:
    """Two say incomplete, one complete, one is not valid."""
    found = page(record("accepted"))
    cells = [a["class"] for a in found.all("span") if (a.get("class") or "").startswith("cell")]
    assert cells[4:8] == ["cell n", "cell n", "cell y", "cell b"]
    assert "2 of 4 critiques find a fault, 1 not valid" in found.texts["li"]


def test_given_arguments_stand_in_words_beside_their_scores() -> None:
    table = page(record("accepted")).texts["table"]
    assert "Cages make animals suffer.0.9000.200-0.700 better" in re.sub(r"\s+(?=\d)", "", table)


def test_without_the_item_arguments_are_numbered() -> None:
    assert "argument 1" in Page(render_page(record("accepted"))).texts["table"]


def headings(result: Record) -> list[str]:
    return re.findall(r"<h2[^>]*>(.*?)</h2>", render_page(result, item=Item.model_validate(ITEM)))


def test_a_reader_finds_what_matters_first_and_tables_folded_below() -> None:
    """Outcome, answer, what changed, what is still wrong; every table and vote stands in a closed fold."""
    assert headings(record("accepted")) == [
        "Outcome", "Answer", "What changed", "What is still missing or at fault", "Details"
    ]  # fmt: skip
    assert "What was tried and not accepted" in headings(record("kept"))
    text = render_page(record("accepted"), item=Item.model_validate(ITEM))
    before, _, after = text.partition('<h2 id="details">')
    assert "<table" not in before and 'class="votes"' not in before
    assert "<details open" not in after and after.count("<details>") >= 4


def test_what_a_rewrite_says_now_and_what_is_still_wrong_is_said_in_words() -> None:
    item = Item.model_validate(ITEM)
    good, kept = view_of(record("accepted"), item), view_of(record("kept"), item)
    assert good.now_said == ('Now said for "pro": "Cages make animals suffer."',)
    assert good.open == ()
    assert [(o.word, o.text) for o in kept.open] == [
        ("missing", 'for "pro": Cages make animals suffer.'), ("unsupported", "Cages make the moon shine."),
    ]  # fmt: skip
    assert kept.summary == "nothing: 2 rewrites rejected"
    assert good.summary == "1 sentence added, 1 removed"


def test_each_changed_sentence_says_what_was_wrong_with_it() -> None:
    lines = view_of(record("accepted")).diff
    assert [(line.kind, line.faults) for line in lines] == [
        ("same", ()), ("gone", ("unsupported",)), ("new", ())
    ]  # fmt: skip


def test_what_was_undone_stands_with_its_reason() -> None:
    undone = EditDecision(
        kind="added", before=None, after=(0, 5), old="", new="Fools.", taken=False, check="support", why="not given"
    )
    made = record("accepted")
    found = made.model_copy(update={"rounds": (made.rounds[0].model_copy(update={"edits": (undone,)}),)})
    text = render_page(found)
    part = text.partition('id="undone"')[2].partition("</section>")[0]
    assert "left out: &#34;Fools.&#34;" in part and "not given" in part and "support" not in part
    assert 'id="undone"' not in render_page(made)


def test_a_long_comparison_is_folded_and_whole() -> None:
    """Of 300 new sentences 40 are in sight; none is left out."""
    better = f"{ANSWER} " + " ".join(f"Again it says {n}." for n in range(300))
    text = render_page(record("flagged", better=better))
    assert "more changed sentences</summary>" in text
    assert text.count('<li class="d-new"') >= 300


def test_folds_lose_no_line() -> None:
    for same, new in [(0, 0), (1, 39), (6, 41), (7, 100), (30, 41), (30, 0), (7, 39)]:
        lines = diff("A b. " * same + "Old.", "A b. " * same + " ".join(f"New {n}." for n in range(new)))
        runs = list(folds(lines))
        assert [line for _, run in runs for line in run] == list(lines)
        assert all(run for _, run in runs)
        assert sum(line.kind != "same" for title, run in runs if not title for line in run) <= 40
