"""Another language than English is told, and is never checked as if it were English."""

from __future__ import annotations

import asyncio
import errno
import json
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from py3langid.langid import MODEL_FILE, LanguageIdentifier

import eirene
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.records import Item
from eirene.core.scores import Unscored
from eirene.core.usage import Meter
from eirene.data.topics import parse_topic
from eirene.eval.base import Case, case_of
from eirene.eval.detectors.alignment import AlignmentDetector, ArrangementDetector
from eirene.eval.detectors.rouge import score_rouge
from eirene.models.encoder import Encoder, load_encoder
from eirene.npov.writers import check
from eirene.text import language
from eirene.text.language import language_of, other_language, unsupported_language
from tests.rows import each

LANGUAGES: dict[str, dict[str, list[str]]] = json.loads(
    Path(__file__).with_name("languages.json").read_text(encoding="utf-8")
)
"""Sentences of our own: `chosen` were looked at when the thresholds were set, `aside` were not."""
ENGLISH = [
    "Supporters say that the air in town gets cleaner without cars. Opponents fear for the shops.",
    "Uniforms make pupils more equal and save families money.",
    "Cheaper. Faster. Cleaner.",
    "No.",
    "See `für i in liste: drucke(i)` and ```\nüber = größe / länge\n``` below.",
    "The Germans call it „Wer früh einkauft, findet auf dem Markt noch frisches Gemüse“ and mean it.",
    'A sign says "Die Züge fahren nachts nicht mehr, weil das Personal fehlt", which is wrong.',
    "Angela Merkel, Gerhard Schröder and François Mitterrand met in Sankt Peter-Ording.",
    "The kanji 校服 means school uniform, and 制服 is a uniform of any kind.",
    "λ = c / ν, and Δx ≥ ħ / 2Δp, so that α, β and γ are small.",
    "> Das ist ein langes Zitat in deutscher Sprache, das niemand übersetzt hat.\n\nThis quotation is about trains.",
    "https://example.org/wer-frueh-einkauft/findet-auf-dem-markt/noch-frisches-gemuese.html says so.",
]
QUESTION = "Should cities close their centres to cars?"
PERSPECTIVES = [
    {"name": "pro", "arguments": ["The air in town becomes cleaner.", "Children can walk to school safely."]},
    {"name": "con", "arguments": ["Small shops lose customers who come by car."]},
]


@lru_cache(maxsize=1)
def encoder() -> Encoder:
    return load_encoder(threads=1)


def item(answer: str, **more: Any) -> Item:
    return Item.model_validate({"question": QUESTION, "answer": answer, "perspectives": PERSPECTIVES, **more})


def answer_in(language: str) -> str:
    return " ".join(LANGUAGES[language]["aside"])


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_answer_in_another_language_is_told(language: str) -> None:
    told = {other_language(" ".join(LANGUAGES[language][part])) for part in ("chosen", "aside")}
    assert told <= ({"Indonesian", "Malay"} if language == "Indonesian" else {language})


@pytest.mark.parametrize("text", ENGLISH)
def test_an_english_answer_stays_english_whatever_it_quotes(text: str) -> None:
    assert other_language(text) is None


def test_what_stands_in_quotation_marks_whole_is_still_read() -> None:
    assert other_language('"Wer früh einkauft, findet auf dem Markt noch frisches Gemüse."') == "German"


def test_too_short_a_text_is_in_no_language() -> None:
    assert language_of("Ja, sicher.") is None and language_of("") is None
    assert language_of(ENGLISH[0]) == "English"


@given(st.text(max_size=400))
def test_any_text_has_a_language_or_none(text: str) -> None:
    assert language_of(text) is None or language_of(text) == language_of(text + " ")


@pytest.mark.parametrize("mode", ["fine-grained", "generic", "improve", "human"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_an_answer_in_another_language_comes_back_unchecked(language: str, mode: str) -> None:
    notes = [{"sentence": 1, "reason": "Remove this."}] if mode == "human" else None
    given_item = item(answer_in(language), feedback=notes)
    record = eirene.refine(given_item, mode=mode)
    assert (record.status, record.answer) == ("flagged" if notes else "not_checked", given_item.answer)
    assert "not checked: this reads as" in record.why and "the embedded default reads English" in record.why


def test_a_sentence_in_another_language_inside_an_english_answer_is_not_taken_out() -> None:
    german = LANGUAGES["German"]["chosen"][2]
    english = "Supporters say that the air in town becomes cleaner and that children can walk to school safely."
    answer = f"{english} {german} Opponents say that small shops lose customers who come by car."
    assert german in eirene.refine(item(answer)).answer
    assert "whales" not in eirene.refine(item(answer.replace(german, "Blue whales sing at night."))).answer


def test_english_cannot_be_held_against_arguments_in_another_language() -> None:
    sides = [{"name": "pro", "arguments": LANGUAGES["German"]["aside"]}]
    record = eirene.refine(item("Supporters say that the air gets cleaner when there are no cars.", perspectives=sides))
    assert record.status == "not_checked" and "what was given reads as German" in record.why


def test_a_hallucination_critic_does_not_read_it_either() -> None:
    record = eirene.refine(item(answer_in("French")), critic="hallucination", mode="edit")
    assert record.status == "not_checked" and "reads as French" in record.why


@each("detector", [AlignmentDetector, ArrangementDetector])
def test_a_detector_leaves_it_unscored_and_says_why(detector: type[AlignmentDetector | ArrangementDetector]) -> None:
    answer = answer_in("German")
    scores = asyncio.run(detector(encoder()).score(case_of(item(answer)), meter=Meter()))
    assert scores.hallucination == scores.coverage == Unscored(unscored=unsupported_language(answer) or "")
    assert not scores.arguments and not scores.sentences


def test_rouge_counts_words_in_any_language_but_not_across_two() -> None:
    german, english = LANGUAGES["German"]["aside"], PERSPECTIVES[0]["arguments"]
    same = score_rouge(Case("?", german[0], Grounding("perspectives", (ArgumentGroup("pro", tuple(german)),))))
    across = score_rouge(
        Case("?", " ".join(german), Grounding("perspectives", (ArgumentGroup("pro", tuple(english)),)))
    )
    assert same.hallucination == 0.0
    assert isinstance(across.hallucination, Unscored) and "German" in across.hallucination.unscored


def test_a_response_in_another_language_is_not_checked_against_its_topic() -> None:
    topic = parse_topic({"id": "t", "question": QUESTION, "perspectives": PERSPECTIVES})
    assert check(topic, answer_in("Spanish"), encoder()) is None


def test_the_model_is_loaded_as_its_package_loads_it_and_without_a_temporary_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    theirs = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    texts = [" ".join(sentences["aside"]) for sentences in LANGUAGES.values()]

    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    ours = language._loaded.__wrapped__()
    assert [ours.rank(text) for text in texts] == [theirs.rank(text) for text in texts]
