"""What a backend's signature says: everything that its rows hang on, so that rows of different fits never mix."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from eirene import refine
from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.experiments.compare import ComparePlan, acompare
from eirene.agent.experiments.critic import evaluation_signature
from eirene.agent.record import run_signature
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.alignment.align import SCORING, load_constants, parse_constants
from eirene.core.errors import EncoderError, InputError
from eirene.core.records import Item
from eirene.feedback_model.embedded.evidence import load_critic, parse_critic
from eirene.models.scripted import ScriptedChatModel

ITEM = Item.model_validate({
    "id": "trams",
    "question": "Trams or buses?",
    "answer": "Trams are quiet.",
    "perspectives": [{"name": "trams", "arguments": ["Trams are quiet.", "Trams pollute less than buses do."]}],
})  # fmt: skip


def content(package: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(files(package).joinpath(name).read_text("utf-8"))
    return found


CONSTANTS = content("eirene.alignment", "constants.json")
CRITIC = content("eirene.feedback_model.embedded", "critic.json")


def chat() -> Parts:
    return resolve_backend(ScriptedChatModel([]))


def test_a_signature_names_the_encoder_the_scoring_and_the_fit_of_its_detectors() -> None:
    for backend in ["embedded", "chat"]:
        parts = chat() if backend == "chat" else resolve_backend(backend)
        for line in (run_signature(parts, Settings()), evaluation_signature(parts, Settings())):
            assert f"encoder={load_constants().encoder}" in line
            assert f"scoring={SCORING},constants={load_constants().digest}" in line
            assert (f"critic={load_critic().digest}" in line) == (backend == "embedded")


def test_the_detectors_version_names_their_fit_as_well() -> None:
    versions = {d.name: d.version for d in resolve_backend("embedded").detectors}
    assert versions["alignment"].endswith(f",constants={load_constants().digest}")


def test_another_fit_has_another_digest() -> None:
    for parse, data, change in [
        (parse_constants, CONSTANTS, {"bearing": 0.123}),
        (parse_constants, CONSTANTS, {"says": {**CONSTANTS["says"], "bias": 0.123}}),
        (parse_critic, CRITIC, {"operating_point": {**CRITIC["operating_point"], "missing": 0.123}}),
        (parse_critic, CRITIC, {"claimless": {**CRITIC["claimless"], "bias": 0.123}}),
    ]:
        assert parse({**data, **change}).digest != parse(data).digest
        assert parse(dict(reversed(data.items()))).digest == parse(data).digest


def test_constants_of_another_form_are_refused() -> None:
    for parse, data in [
        (parse_constants, {**CONSTANTS, "words": True}),
        (parse_constants, {**CONSTANTS, "says": 1.0}),
        (parse_constants, {**CONSTANTS, "says": {"weights": CONSTANTS["says"]["weights"]}}),
        (parse_critic, {**CRITIC, "missing": None}),
        (parse_critic, {**CRITIC, "operating_point": {**CRITIC["operating_point"], "missing": "0.5"}}),
        (parse_critic, {}),
    ]:
        with pytest.raises(EncoderError, match=r"(constants|critic)\.json: "):
            parse(data)


@pytest.mark.parametrize("changed", [load_constants().digest, load_critic().digest])
def test_a_comparison_is_not_resumed_with_another_fit(tmp_path: Path, changed: str) -> None:
    parts = resolve_backend("embedded")
    assert parts.version is not None
    plan = ComparePlan(modes=("fine-grained",), settings=Settings.of(samples=4, max_rounds=1))
    before = asyncio.run(acompare([ITEM], plan=plan, parts=parts, out=tmp_path))
    other = replace(parts, version=parts.version.replace(changed, "01234567"))
    with pytest.raises(InputError, match=rf"other settings: .*={changed}.* there, .*=01234567.* now"):
        asyncio.run(acompare([ITEM], plan=plan, parts=other, out=tmp_path))
    assert asyncio.run(acompare([ITEM], plan=plan, parts=parts, out=tmp_path)).rows == before.rows


def test_a_number_of_calls_that_is_none_is_refused_where_it_is_given() -> None:
    for given in ["x", 0, -1, 1.5, True, None]:
        with pytest.raises(InputError, match="concurrency must be at least 1, a whole number, got") as caught:
            BackendOptions(concurrency=given)
        assert caught.value.field == "concurrency"
        with pytest.raises(InputError, match="concurrency must be"):
            refine({"question": "Trams?", "answer": "Quiet."}, backend_options={"concurrency": given})
