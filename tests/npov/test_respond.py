"""From a query to a response, and from a response to an item."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import eirene
from eirene.core.errors import InputError, NoTopicError
from eirene.core.records import parse_item
from eirene.data.topics import parse_topic
from eirene.eval.base import case_of
from eirene.eval.registry import build_detectors
from eirene.eval.resources import Resources
from eirene.eval.scoring import Scorer
from eirene.models.encoder.runtime import shipped_encoder
from eirene.npov import KnowledgeBase, arespond, load_topics, respond
from eirene.text.sentences import split_sentences
from tests.rows import each

EXAMPLES = str(Path(__file__).parents[2] / "examples" / "topics.jsonl")


def test_the_item_holds_question_text_and_arguments_and_how_it_was_made() -> None:
    response = respond("Should cities ban cars downtown?", EXAMPLES, seed=4)
    item = response.item()
    assert (item.question, item.answer) == ("Should private cars be kept out of city centres?", response.text)
    assert [(p.name, len(p.arguments)) for p in item.perspectives or ()] == [("pro", 4), ("con", 4)]
    facts = item.meta["npov"]
    assert isinstance(facts, dict)
    assert (facts["query"], facts["topic"], facts["seed"]) == (
        "Should cities ban cars downtown?",
        "car-free-centres",
        4,
    )
    assert facts["argument_ids"] == [[f"car-free-centres-{n + side}" for n in range(1, 5)] for side in (0, 4)]
    assert parse_item(json.loads(item.model_dump_json())) == item


async def test_detectors_read_the_main_response_alone_and_name_places_in_the_whole_text() -> None:
    """NPOV, figure 1: "error detection methods focus on the NPOV main response"; appendix C scores its words."""
    response = await arespond("Should shops be allowed to refuse cash?", EXAMPLES)
    item = response.item()
    scorer = Scorer(build_detectors(["rouge", "alignment", "arrangement"], Resources()))
    whole, main = await scorer.score(case_of(item)), await scorer.score(case_of(item, answer=response.main))
    length, before = len(item.answer) - len(response.main), len(split_sentences(response.introduction))
    assert length > before == 1
    for name, found in whole.items():
        alone = main[name].scores
        assert (found.scores.hallucination, found.scores.coverage) == (alone.hallucination, alone.coverage)
        assert [s.n - before for s in found.scores.sentences] == [s.n for s in alone.sentences]
        assert [w.start - length for w in found.scores.words] == [w.start for w in alone.words]
    changed = item.answer.replace(response.introduction, "Cash is dirty.")
    assert case_of(item, answer=changed).answer == changed
    assert case_of(item.model_copy(update={"meta": {"npov": {"introduction": item.answer}}})).answer == item.answer


def test_the_same_query_seed_and_file_give_the_same_item_but_for_its_seconds() -> None:
    one, other = (respond("cashless shops", EXAMPLES, seed=2).item() for _ in range(2))
    assert (one.id, one.answer) == (other.id, other.answer)
    assert one.id != respond("cashless shops", EXAMPLES, seed=3).item().id


def test_the_loop_finds_nothing_to_mend_in_an_embedded_response() -> None:
    """On all examples: no argument is left out, none is invented, and the introduction claims nothing."""
    for topic in load_topics(EXAMPLES):
        record = eirene.refine(respond(topic.question, EXAMPLES).item())
        assert record.status == "complete", (topic.id, record.why)


def test_a_query_that_fits_no_topic_is_an_error_that_lists_the_nearest() -> None:
    with pytest.raises(NoTopicError, match=r"no topic fits .*nearest: 'Should") as error:
        respond("Is tea better than coffee?", EXAMPLES, k=2)
    assert len(error.value.nearest) == 2


def test_no_model_is_asked_when_no_topic_fits() -> None:
    from eirene.models.scripted import ScriptedChatModel

    model = ScriptedChatModel([])
    with pytest.raises(NoTopicError):
        respond("Is tea better than coffee?", EXAMPLES, backend=model)
    assert model.calls == []


def test_copies_of_an_argument_are_said_once_and_counted() -> None:
    sides = [{"name": "pro", "arguments": ["It helps.", "It helps!"]}, {"name": "con", "arguments": ["It helps."]}]
    base = KnowledgeBase([parse_topic({"question": "Is it good?", "perspectives": sides})], shipped_encoder())
    response = respond("Is it good?", base)
    assert response.copies == 1
    assert response.main.count("It helps") == 2


def test_it_works_inside_a_running_loop_and_async() -> None:
    async def inside() -> tuple[str, str]:
        return respond("cashless shops", EXAMPLES).text, (await arespond("cashless shops", EXAMPLES)).text

    one, other = asyncio.run(inside())
    assert one == other


@each("options, said", [({"per_side": 0}, "per_side"), ({"seed": -1}, "seed"), ({"k": 0}, "k ")])
def test_numbers_out_of_range_are_refused(options: dict[str, int], said: str) -> None:
    with pytest.raises(InputError, match=said):
        respond("cashless shops", EXAMPLES, **options)
