"""The table of detectors: names, needs, and what becomes of a need that is not met."""

from __future__ import annotations

import pytest

from eirene.core.errors import InputError
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.records import parse_item
from eirene.core.usage import Meter
from eirene.eval.base import Case, Need, case_of, unmet
from eirene.eval.detectors.samples import source_of
from eirene.eval.registry import DETECTORS, build_detector, build_detectors, parse_names
from eirene.eval.resources import Resources
from eirene.models.encoder import load_encoder

CASE = Case("Trams?", "Trams are quiet.", Grounding("perspectives", (ArgumentGroup("pro", ("Trams are quiet.",)),)))
OPTIONS = {
    "judge": "--judge", "local_model": "--local-model", "classifier": "--classifier",
    "detector_model": "--detector-model", "calibration": "--calibration",
}  # fmt: skip


async def test_without_models_each_is_built_or_says_which_option_it_lacks() -> None:
    resources = Resources(own_encoder=load_encoder(threads=1))
    for name, entry in DETECTORS.items():
        assert entry.about and "\n" not in entry.about
        if lacking := resources.lacks(entry.needs):
            with pytest.raises(InputError) as raised:
                build_detector(name, resources)
            assert all(OPTIONS[need] in str(raised.value) for need in lacking)
        elif "hub_model" in entry.needs:  # which no hub gives here
            with pytest.raises(
                InputError, match=rf"cannot be loaded: .* \(--detector-model {name}=MODEL names another"
            ):
                build_detector(name, resources)
        else:
            detector = build_detector(name, resources)
            await detector.score(CASE, meter=Meter())
            assert (detector.name, detector.needs) == (name, entry.needs)


def test_names_keep_their_order_and_stand_once() -> None:
    assert parse_names(" alignment,rouge, alignment ,") == ["alignment", "rouge"]


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    for names, message in (("rouge,nope", "unknown detector 'nope'; known: alignment, "), (" , ", "no detector")):
        with pytest.raises(InputError, match=message):
            parse_names(names)
        with pytest.raises(InputError, match=message):
            build_detectors([name.strip() for name in names.split(",") if name.strip()], Resources())


def test_what_is_shared_is_loaded_once() -> None:
    resources = Resources()
    assert resources.encoder is resources.encoder
    assert source_of(resources) is source_of(resources)
    assert resources.once("a part", list) is resources.once("a part", list)
    assert Resources().once("a part", list) is not resources.once("a part", list)


def test_impossible_numbers_are_refused() -> None:
    for given in ({"polls": 0}, {"samples": -1}, {"seed": -1}, {"concurrency": 0}):
        with pytest.raises(InputError, match=next(iter(given))):
            Resources(**given)  # type: ignore[arg-type]  # one of the numbers


def test_a_judge_is_named_as_a_chat_model_or_as_one_on_this_machine() -> None:
    for resources, message in [
        (Resources(judge_model="gpt"), "provider:model, hf:path-or-id or gguf:FILE, got 'gpt'"),
        (Resources(judge_model="gguf:no.gguf"), "'no.gguf' cannot be read"),
        (Resources(), "no judge is named"),
    ]:
        with pytest.raises(InputError, match=message):
            _ = resources.judge


def test_a_local_model_has_its_own_form_of_name() -> None:
    for name, said in [
        ("openai:gpt", "or gguf:FILE, got 'openai:gpt'"),
        ("gguf:a.gguf", "takes no GGUF file, got 'gguf"),
    ]:
        with pytest.raises(InputError, match=said):
            _ = Resources(local=name).local_model


def test_one_model_on_this_machine_is_judge_and_local_model() -> None:
    both = frozenset[Need]({"judge", "local_model"})
    for named in ({"judge_model": "gguf:a.gguf"}, {"local": "gguf:a.gguf"}, {"judge_model": "hf:a"}):
        resources = Resources(**named)  # type: ignore[arg-type]  # two of its names
        assert resources.lacks(both) == []
        assert [resources.idle(frozenset({need})) for need in both] == [[], []]
        assert resources.idle(frozenset({"classifier"})) == ["judge" if "judge_model" in named else "local_model"]
    assert Resources(judge_model="openai:a").lacks(both) == ["local_model"]
    assert Resources(judge_model="gguf:a.gguf", local="hf:b").idle(frozenset({"judge"})) == ["local_model"]


def test_a_detectors_own_model_goes_before_one_for_all() -> None:
    resources = Resources(detector_models=("hf:a?entails=1", "lynx=openai:b=c"))
    assert [resources.detector_model(name) for name in ("nli", "lynx")] == ["hf:a?entails=1", "openai:b=c"]
    assert Resources(detector_models=("lynx=openai:b",)).detector_model("nli") is None
    with pytest.raises(InputError, match="hf:a and hf:b are both for nli"):
        Resources(detector_models=("hf:a", "hf:b")).detector_model("nli")


def test_every_need_names_what_would_meet_it() -> None:
    for entry in DETECTORS.values():
        assert all(len(unmet(need)) > len("needs ") for need in entry.needs)


def test_samples_and_log_probabilities_come_from_meta_in_their_form_alone() -> None:
    row = {
        "question": "Trams?",
        "answer": "Yes.",
        "meta": {"samples": ["<think>Or yes?</think>No.", " "], "token_logprobs": [[-0.1, -2]]},
    }
    case = case_of(parse_item(row))
    assert (case.samples, case.token_logprobs) == (("No.",), ((-0.1, -2.0),))
    assert case_of(parse_item(row), answer="No.").token_logprobs == ()
    bad = {"samples": [1], "token_logprobs": [[0.5]]}
    case = case_of(parse_item({**row, "meta": bad}))
    assert (case.samples, case.token_logprobs) == ((), ())
