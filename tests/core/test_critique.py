"""A sample is whole or invalid, an Incomplete has a reason, and a critique knows what it found."""

from __future__ import annotations

from typing import Any

import pytest

from eirene.core.critique import Critique, Finding, Sample, TaggedSentence
from eirene.core.errors import InputError
from tests.rows import each


@each(
    "fields, says",
    [
        ({"tags": ["Complete"], "reasons": []}, "1 tags and 0 reasons"),
        ({"tags": ["Incomplete"], "reasons": [None]}, "sentence 1 is Incomplete and needs a reason"),
        ({"tags": ["Complete", "Incomplete"], "reasons": [None, "  "]}, "sentence 2 is Incomplete"),
        ({"tags": ["complete"], "reasons": [None]}, "'Complete' or 'Incomplete'"),
        ({"tags": ["Complete"], "reasons": [None], "invalid": "cut off"}, "carries no tags"),
        ({"tags": ["Complete"], "reasons": [None], "score": 1}, "unknown key 'score'; known keys: tags, reasons,"),
    ],
)
def test_a_sample_that_is_neither_whole_nor_invalid_cannot_be_built(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        Sample.model_validate(fields)


def test_an_invalid_sample_has_its_reason_and_no_vote() -> None:
    assert not Sample(invalid="refused").is_valid
    assert Sample(tags=("Complete",), reasons=(None,)).is_valid


def test_samples_and_critiques_come_back_from_json() -> None:
    found = Finding(kind="unsupported", start=0, end=3, reason="not given", edit="")
    sample = Sample(tags=("Incomplete",), reasons=("Why?",), findings=(found,))
    assert Sample.model_validate_json(sample.model_dump_json()) == sample
    assert Critique.model_validate_json(critique("Incomplete").model_dump_json()) == critique("Incomplete")


def test_a_finding_has_a_known_kind_and_no_negative_place() -> None:
    for fields in ({"kind": "typo"}, {"start": -1}, {"end": -1}):
        with pytest.raises(InputError):
            Finding.model_validate({"kind": "entity", "start": 0, "end": 1, "reason": "r", **fields})


def critique(*tags: str) -> Critique:
    return Critique(
        sentences=tuple(
            TaggedSentence.model_validate(
                {
                    "n": n,
                    "text": "x",
                    "start": n,
                    "end": n + 1,
                    "tag": tag,
                    "reason": tag[:2] if tag[0] == "I" else None,
                }
            )
            for n, tag in enumerate(tags, start=1)
        ),
        tag_consistency=None,
        reason_consistency=None,
        n_drawn=0,
        n_valid=0,
        n_requested=0,
    )


def test_a_critique_is_complete_when_no_sentence_is_incomplete() -> None:
    assert critique("Complete", "Complete").is_complete and critique().is_complete
    mixed = critique("Complete", "Incomplete", "Incomplete")
    assert not mixed.is_complete and [s.n for s in mixed.incomplete] == [2, 3]


def test_a_tagged_sentence_without_its_reason_cannot_be_built() -> None:
    with pytest.raises(InputError, match="sentence 3 is Incomplete and needs a reason"):
        TaggedSentence(n=3, text="x", start=0, end=1, tag="Incomplete", reason=" ")


@each("frozen", [Sample(invalid="x"), critique("Complete"), critique("Complete").sentences[0]])
def test_values_are_frozen(frozen: Any) -> None:
    with pytest.raises(InputError, match="frozen"):
        setattr(frozen, next(iter(type(frozen).model_fields)), None)
