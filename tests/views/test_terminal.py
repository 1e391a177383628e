"""A record on a terminal."""

from __future__ import annotations

import io
import re
from pathlib import Path

from rich.console import Console, RenderableType

from eirene.core.critique import Critique, Finding, Review, TaggedSentence
from eirene.core.records import STATUSES, BeforeAfter, Record
from eirene.core.scores import Scores, Unscored
from eirene.views.facts import consistency, score_table, visible
from eirene.views.faults import NO_FAULT
from eirene.views.terminal import critique_table, render
from tests.views.records import ANSWER, record


def shown(result: Record, *, width: int = 80, colour: bool = False) -> str:
    return text_of(render(result), width=width, colour=colour)


def text_of(what: RenderableType, *, width: int = 80, colour: bool = False) -> str:
    console = Console(
        file=io.StringIO(), width=width, force_terminal=colour, markup=False, emoji=False, highlight=False
    )
    console.print(what)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # the StringIO above
    return text


def test_every_status_fits_80_columns_and_names_itself() -> None:
    for status in STATUSES:
        text = shown(record(status))
        assert status.replace("_", " ").upper() in text
        assert max(len(line) for line in text.splitlines()) <= 80


def test_colour_adds_nothing_but_colour() -> None:
    """With the escape sequences taken out, both outputs are the same: no mark is made by colour alone."""
    for status in STATUSES:
        result = record(status)
        assert re.sub(r"\x1b\[[0-9;]*m", "", shown(result, colour=True)) == shown(result)


def test_an_accepted_rewrite_is_shown_with_its_reasons() -> None:
    text = shown(record("accepted"))
    for part in ("- Cages make the moon shine.", "+ Critics reply that", "2/4", "because: It says nothing",
                 "because: No argument", "-0.700 better", "Round 1: accepted", "3 of 4 critiques"):  # fmt: skip
        assert part in text


def test_every_round_is_shown_with_its_scores() -> None:
    text = shown(record("kept"))
    for part in ("round 1", "round 2", "Round 1: rejected", "Round 2: rejected", "not accepted"):
        assert part in text


def test_a_changed_sentence_marks_its_words_with_signs() -> None:
    text = shown(record("accepted", better=ANSWER.replace("moon", "room")))
    assert "~ Cages make the [-moon-]{+room+} shine." in text


def test_what_a_detector_never_gives_has_no_row() -> None:
    """One that gives a single error has one row; one that gives none has a note, once."""
    made = record("accepted")
    side = Scores(hallucination=0.25, coverage=Unscored(unscored="not its business"))
    silent = Scores.none("needs two perspectives")
    scores = {**made.scores.original, "sides": side, "silent": silent}
    table = score_table(made.model_copy(update={"scores": BeforeAfter(original=scores, final=scores)}))
    rows = [(row.detector, row.error) for row in table.rows]
    assert rows == [("scripted", "hallucination"), ("scripted", "coverage"), ("sides", "hallucination")]
    assert table.notes == ("Unscored: silent: needs two perspectives",)


def test_a_detector_that_read_the_given_text_in_parts_says_so() -> None:
    made = record("accepted")
    long = Scores(hallucination=0.25, coverage=0.5, chunks=3)
    table = score_table(made.model_copy(update={"scores": BeforeAfter(original={"nli": long}, final={"nli": long})}))
    assert table.notes[-1].startswith("Read in 3 parts") and table.notes[-1].endswith("nli")


def test_words_of_the_record_are_no_markup() -> None:
    reason = "[bold]x[/bold] [/] :smile: \x1b[31mred\x07"
    text = shown(record("accepted", reason=reason))
    assert "[bold]x[/bold] [/] :smile: ␛[31mred␇" in text
    assert "\x1b" not in text


def test_the_rewrite_that_is_shown_is_one_that_changed_something() -> None:
    """A last round that gave the original back says nothing of what was tried."""
    result = record("kept")
    same = result.rounds[-1].model_copy(update={"candidate": result.original})
    text = shown(result.model_copy(update={"rounds": (result.rounds[0], same)}))
    assert "+ Critics reply that" in text


def test_a_long_answer_shows_what_matters() -> None:
    """Of 500 sentences that nobody finds fault with, most are only counted; the one with a fault is always shown."""
    text = shown(record("accepted", item={"answer": " ".join([ANSWER, *["Birds sing in every tree."] * 500])}))
    assert "(496 more sentences: no fault found)" in text
    assert "because: It says nothing" in text
    assert len(re.findall(r"^ +[\d]+  no fault found ", text, re.MULTILINE)) == 5


def test_why_there_is_no_critique_is_said() -> None:
    assert "invalid: refused" in shown(record("abstained"))


def test_only_what_acts_is_made_visible() -> None:
    for text, expected in [
        ("plain\ttext\n", "plain\ttext\n"),
        ("a\r\nb\rc", "a\nb␍c"),
        ("\x1b[2J\x00\x7f\x9b", "␛[2J␀␡\\u009b"),
        ("\u202eabc\u2066\u2028", "\\u202eabc\\u2066\\u2028"),
        ("👩‍👧 می‌خواهم é", "👩‍👧 می‌خواهم é"),
    ]:
        assert visible(text) == expected


def test_the_views_stand_on_the_ground_alone() -> None:
    """They read records: no import of the loop, the models or the detectors."""
    import eirene.views

    for path in Path(eirene.views.__file__).parent.glob("*.py"):
        text = path.read_text(encoding="utf-8")
        for above in ("agent", "eval", "feedback_model", "refiners", "cli", "encoder", "alignment", "prompts"):
            assert f"eirene.{above}" not in text, path.name


def test_what_a_person_did_to_the_critique_is_said() -> None:
    for review, said in [
        ({"action": "go on"}, "; a person changed nothing"),
        ({"action": "stop"}, "; a person stopped here"),
        ({"action": "all complete"}, "; a person found every sentence complete"),
        (
            {"action": "go on", "drop": [2], "add": [{"sentence": 1, "reason": "Dear."}]},
            "; reasons changed by a person: 1 added, 1 dropped",
        ),
        (None, ""),
    ]:
        critique = record("accepted").rounds[0].critique
        assert critique is not None
        told = critique.model_copy(update={"review": None if review is None else Review.model_validate(review)})
        round_ = record("accepted").rounds[0].model_copy(update={"critique": told})
        assert consistency(round_).removeprefix(consistency(record("accepted").rounds[0])) == said


def test_of_many_complete_sentences_the_ends_are_shown() -> None:
    critique = Critique(
        sentences=tuple(TaggedSentence(n=n, text=f"S{n}.", start=0, end=3, tag="Complete") for n in range(1, 13)),
        tag_consistency=1.0, reason_consistency=None, n_drawn=3, n_valid=3, n_requested=3,
    )  # fmt: skip
    shown = text_of(critique_table(critique))
    assert "S6." not in shown and "(8 more sentences: no fault found)" in shown


def missing_after_the_first() -> Critique:
    missing = Finding(
        kind="missing", start=3, end=3, reason='Missing for "pro": "Trams are quiet".', edit="Trams are quiet."
    )
    first = TaggedSentence(
        n=1, text="S1.", start=0, end=3, tag="Incomplete", reason=missing.reason, findings=(missing,)
    )
    second = TaggedSentence(n=2, text="S2.", start=4, end=7, tag="Complete")
    return Critique(sentences=(first, second), tag_consistency=0.9, reason_consistency=1.0, n_drawn=20, n_valid=20,
                    n_requested=20)  # fmt: skip


def test_a_sentence_is_not_blamed_for_what_is_missing_after_it() -> None:
    """What is missing has a line behind the sentence, with the fraction of those that say so."""
    critique = missing_after_the_first()
    lines = [line.split() for line in text_of(critique_table(critique, [(18, 20), (0, 20)])).splitlines()]
    assert lines[0] == ["1", *NO_FAULT.split(), "S1."]
    assert " ".join(lines[1]) == 'missing here 18/20 for "pro": "Trams are quiet".'
    assert lines[2] == ["2", *NO_FAULT.split(), "0/20", "S2."]


def test_a_rewrite_that_went_astray_is_cut_with_a_note() -> None:
    for better, note in [
        (
            " ".join(f"Wholly other words number {n} stand here now." for n in range(300)),
            "More sentences changed. --html and --json hold the whole.",
        ),
        (f"{ANSWER} " + " ".join(f"Again it says {n}." for n in range(300)), "More sentences changed."),
        (f"{ANSWER} " + "and so on " * 3000, "more characters)"),
    ]:
        text = shown(record("flagged", better=better))
        assert note in " ".join(text.split())
        assert len(text.splitlines()) < 180
