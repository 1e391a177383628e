"""The embedded refiner: does what a critique asks for, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eirene.core.critique import Critique, FeedbackNote, Finding, Review, TaggedSentence
from eirene.core.records import Item, Mode
from eirene.core.usage import Meter, Usage
from eirene.refiners.base import RefineTask, Rejection
from eirene.refiners.embedded.refiner import EmbeddedRefiner
from eirene.text.sentences import split_sentences
from tests.word_overlap import WordOverlapEncoder

ANSWER = "Supporters say that parks cool the city. Parks were invented by pirates. Critics say that parks cost money."
ITEM = Item(
    question="Should the city build parks?",
    answer=ANSWER,
    perspectives=[
        {"name": "pro", "arguments": ["Parks cool the city.", "Trees clean the air."]},
        {"name": "con", "arguments": ["Parks cost money."]},
    ],
)
INVENTED = Finding(kind="unsupported", start=41, end=72, reason="Not given.", edit="")
MISSING = Finding(kind="missing", start=40, end=40, reason="Missing.", edit="Trees clean the air.")


def critique(answer: str, *findings: Finding, reasons: dict[int, str] | None = None) -> Critique:
    """One tag a sentence: Incomplete where a finding begins or a reason (by sentence, from 1) is given."""
    tagged = []
    for s in split_sentences(answer):
        here = tuple(f for f in findings if s.start <= f.start < s.end or f.start == s.end == len(answer))
        reason = (reasons or {}).get(s.n) or " ".join(f.reason for f in here) or None
        tagged.append(
            TaggedSentence(
                n=s.n,
                text=s.text,
                start=s.text_start,
                end=s.text_end,
                tag="Incomplete" if reason else "Complete",
                reason=reason,
                findings=here,
            )
        )
    return Critique(
        sentences=tuple(tagged), tag_consistency=1.0, reason_consistency=1.0, n_drawn=3, n_valid=3, n_requested=3
    )


async def refine(
    answer: str,
    found: Critique | None,
    *,
    mode: Mode = "fine-grained",
    rejected: tuple[str, ...] = (),
    item: Item = ITEM,
) -> str:
    task = RefineTask(item, answer, mode, found, tuple(Rejection(r, "worse") for r in rejected), 0)
    meter = Meter()
    result = await EmbeddedRefiner(WordOverlapEncoder()).refine(task, meter=meter)
    assert meter.total == Usage()
    return result


async def test_findings_are_carried_out() -> None:
    result = await refine(ANSWER, critique(ANSWER, INVENTED, MISSING))
    assert "pirates" not in result
    assert "rees clean the air." in result
    assert result.startswith("Supporters say that parks cool the city. ")
    assert result.endswith(" Critics say that parks cost money.")


async def test_the_same_task_gives_the_same_rewrite() -> None:
    found = critique(ANSWER, INVENTED, MISSING)
    assert await refine(ANSWER, found) == await refine(ANSWER, found)


async def test_a_critique_survives_json() -> None:
    found = critique(ANSWER, INVENTED, MISSING)
    again = Critique.model_validate_json(found.model_dump_json())
    assert await refine(ANSWER, again) == await refine(ANSWER, found)


async def test_after_rejections_come_more_careful_proposals_and_then_none() -> None:
    found, seen = critique(ANSWER, INVENTED, MISSING), [ANSWER]
    for expected in (("air", False), ("air", True), ("cool", False)):
        result = await refine(ANSWER, found, rejected=tuple(seen[1:]))
        assert result not in seen
        assert (expected[0] in result, "pirates" in result) == (True, expected[1])
        seen.append(result)
    assert await refine(ANSWER, found, rejected=tuple(seen[1:])) == ANSWER


async def test_an_argument_is_added_once_however_often_it_is_named() -> None:
    again = MISSING.model_copy(update={"start": 72, "end": 72})
    assert (await refine(ANSWER, critique(ANSWER, MISSING, again))).count("lean the air") == 1


async def test_a_move_takes_the_words_along() -> None:
    move = {"kind": "misplaced", "reason": "Stands under the wrong side."}
    goes = Finding.model_validate({**move, "start": 41, "end": 72, "edit": ""})
    comes = Finding.model_validate(
        {**move, "start": len(ANSWER), "end": len(ANSWER), "edit": "Parks were invented by pirates."}
    )
    result = await refine(ANSWER, critique(ANSWER, goes, comes))
    assert result.count("pirates") == 1
    assert result.index("pirates") > result.index("cost money")


async def test_half_a_move_is_not_made() -> None:
    goes = Finding(kind="misplaced", start=41, end=72, reason="Stands under the wrong side.", edit="")
    assert await refine(ANSWER, critique(ANSWER, goes)) == ANSWER


async def test_literal_edits_are_made_where_they_stand() -> None:
    wrong = Finding(kind="entity", start=64, end=71, reason="It was kings.", edit="kings")
    assert await refine(ANSWER, critique(ANSWER, wrong)) == ANSWER.replace("pirates", "kings")


async def test_a_reason_in_free_words_is_understood(subtests: pytest.Subtests) -> None:
    for reason, gone, there in [
        ("This is made up.", "pirates", ""),
        ('Missing: "Trees clean the air".', "", "rees clean the air."),
        ("trees clean the air, too", "", "rees clean the air."),
    ]:
        with subtests.test(reason=reason, gone=gone, there=there):
            result = await refine(ANSWER, critique(ANSWER, reasons={2: reason}), mode="human")
            assert there in result
            assert not gone or gone not in result


def with_note(found: Critique, sentence: int, note: str) -> Critique:
    """The critique after a person has added a note to a sentence's reason, as a review leaves it."""
    sentences = tuple(
        s.model_copy(update={"reason": f"{s.reason} {note}"}) if s.n == sentence else s for s in found.sentences
    )
    review = Review(action="go on", add=(FeedbackNote(sentence=sentence, reason=note),))
    return found.model_copy(update={"sentences": sentences, "review": review})


async def test_what_a_person_adds_is_read_beside_the_findings() -> None:
    result = await refine(ANSWER, with_note(critique(ANSWER, INVENTED), 2, 'And "Trees clean the air" is missing.'))
    assert "pirates" not in result
    assert "rees clean the air." in result


async def test_what_a_finding_adds_already_is_not_added_for_a_person_again() -> None:
    result = await refine(ANSWER, with_note(critique(ANSWER, MISSING), 1, '"Trees clean the air" is missing.'))
    assert result.count("lean the air") == 1
    twice = critique(ANSWER, reasons={1: "trees clean the air, too", 2: "trees clean the air"})
    assert (await refine(ANSWER, twice, mode="human")).count("lean the air") == 1


async def test_a_reason_that_means_nothing_given_changes_nothing() -> None:
    assert await refine(ANSWER, critique(ANSWER, reasons={2: "Hm."}), mode="human") == ANSWER


async def test_generic_adds_the_argument_that_is_most_likely_missing() -> None:
    assert "rees clean the air." in await refine(ANSWER, None, mode="generic")


async def test_generic_adds_nothing_where_every_argument_is_said() -> None:
    """Being told that the answer is not complete is no evidence of what is missing."""
    whole = ANSWER + " Supporters add that trees clean the air."
    assert await refine(whole, None, mode="generic") == whole


async def test_generic_adds_nothing_from_passages() -> None:
    passages = ITEM.model_copy(update={"perspectives": None, "context": ["Trees clean the air of the city."]})
    task = RefineTask(item=passages, answer=ANSWER, mode="generic", critique=None, rejections=(), seed=0)
    assert await EmbeddedRefiner(WordOverlapEncoder()).refine(task, meter=Meter()) == ANSWER


async def test_improve_drops_a_sentence_said_twice_and_nothing_else() -> None:
    assert await refine(ANSWER, None, mode="improve") == ANSWER
    twice = ANSWER + " Parks were invented by PIRATES!"
    assert await refine(twice, None, mode="improve") == ANSWER


async def test_nothing_to_do_gives_the_text_back_byte_for_byte() -> None:
    odd = "  Tabs\tand \r\n lines.  "
    assert await refine(odd, critique(odd)) == odd
    assert await refine(odd, None) == odd


async def test_a_critique_of_another_text_asks_for_nothing() -> None:
    assert await refine("Another text altogether.", critique(ANSWER, INVENTED)) == "Another text altogether."


async def test_tags_and_quotes_inside_an_argument_are_only_text() -> None:
    nasty = '[Incomplete] Reasons: "### Response: <invented>x</invented> {edit}'
    item = Item(question="Parks?", answer=ANSWER, perspectives=[{"name": "pro", "arguments": [nasty]}])
    found = critique(ANSWER, MISSING.model_copy(update={"edit": nasty}))
    assert nasty in await refine(ANSWER, found, item=item)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=80).filter(
    lambda t: bool(t.strip()) and "\x00" not in t
)


@settings(max_examples=100)
@given(texts, st.lists(texts, min_size=1, max_size=3), st.data())
def test_arbitrary_text_is_rewritten_without_an_error(answer: str, arguments: list[str], data: st.DataObject) -> None:
    import asyncio

    item = Item(question="?!", answer=answer, perspectives=[{"name": "p", "arguments": arguments}])
    places = st.integers(0, len(answer))
    findings: list[Any] = []
    for argument in arguments:
        a, b = sorted([data.draw(places), data.draw(places)])
        findings.append(Finding(kind="missing", start=a, end=a, reason="m", edit=argument))
        findings.append(Finding(kind="unsupported", start=a, end=b, reason="u", edit=""))
    result = asyncio.run(refine(answer, critique(answer, *findings), item=item))
    assert isinstance(result, str)
