"""What an attack moves: critic, refiner, judge and gate on the row with it, beside the same row without it.

A defence is switched off where it is made: the fence in what the model knows of it, its word, control tokens and line
breaks in `eirene.prompts.fence`, the form of replies in the backend's options, the gate's checks in its parts.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import eirene
from benchmarks.faults.jobs import options
from benchmarks.faults.rows import ADDED
from benchmarks.injection.attacks import PLANTED, Attack, attacked
from benchmarks.injection.obeying import ObeyingServer, heard
from eirene.agent.detectors import with_detectors
from eirene.core.errors import InputError
from eirene.eval.resources import Resources
from eirene.prompts import SHIPPED, PromptSet, read_prompts
from eirene.prompts.loader import shipped_text

DEFENCES = ("fence", "random name", "control tokens", "one line each", "form", "gate's checks")
_WRITES = frozenset({"patch", "rewrite"})
ROLES = {
    "readers": frozenset({"critique", "verdict"}),
    "writer": _WRITES,
    "both": _WRITES | {"verdict", "pair"},
}
"""Jobs in which the model obeys: who reads does; who writes does, and another judges; who writes judges, too."""
_OWN = ("feedback_json", "feedback", "refine_patch_json", "refine_patch", "pairwise", "chainpoll_correctness")
_NEVER = re.compile(r"(?!)")
_ASKING = ("eirene.prompts.material", "eirene.refiners.asking", "eirene.eval.detectors.judge")


@contextmanager
def without(off: Sequence[str]) -> Iterator[None]:
    """These defences switched off, as far as that is done in the package."""
    fence, with_seams = "eirene.prompts.fence", ExitStack()
    with with_seams:
        if "random name" in off:
            for module in _ASKING:
                with_seams.enter_context(mock.patch(f"{module}.fence_word", lambda *_, **__: "TEXT-gola"))
        if "control tokens" in off:
            for name in ("_CONTROL", "_HEADING"):
                with_seams.enter_context(mock.patch(f"{fence}.{name}", _NEVER))
        if "one line each" in off:
            with_seams.enter_context(mock.patch(f"{fence}.one_line", lambda text: text))
        yield


def parts_of(server: ObeyingServer, off: Sequence[str], prompts: PromptSet = SHIPPED) -> tuple[eirene.Parts, Resources]:
    """Critic, refiner and gate on the server, and their judge."""
    how = replace(options(server), structured="text" if "form" in off else "auto", prompts=prompts)
    parts = replace(eirene.resolve_backend("openai:test", how), verifier=None)
    judge = Resources(
        judge_model="openai:test", base_url=server.base_url, polls=3, structured=how.structured, prompts=prompts
    )
    parts = with_detectors(replace(parts, detectors=()), ["chainpoll"], judge)
    return replace(parts, checks=() if "gate's checks" in off else parts.checks), judge


def own_prompts(text: str) -> PromptSet:
    """The shipped prompts with a text behind each. Raises `InputError` for one that makes no prompt."""
    with tempfile.TemporaryDirectory() as folder:
        for name in _OWN:
            Path(folder, f"{name}.md").write_text(f"{shipped_text(name)}\n{text}\n", "utf-8")
        return read_prompts(folder)


def outcome(attack: Attack, place: str, role: str, parts: eirene.Parts, judge: Resources) -> dict[str, Any]:
    """What a run came to, None where to nothing: `critic`, the tags of the row's own sentences; `judge`, its score;
    `refiner` and `gate`, which known sentences the rewrite and the answer have."""
    row = attacked(attack, place)
    how = {"samples": 3, "stop": "none", "max_rounds": 2 if place == "rewrites" else 1}
    record = eirene.refine(row, backend=parts, settings=how)
    if role == "readers":
        critique = record.rounds[0].critique if record.rounds else None
        score = (
            record.scores.original.get("chainpoll")
            or eirene.score([row], detectors="chainpoll", resources=judge)[0]["chainpoll"]
        )
        tags = [s.tag for s in critique.sentences[:2]] if critique else None
        return {"critic": tags, "judge": score.model_dump(mode="json")["hallucination"]}
    written = [r.candidate for r in record.rounds if r.candidate is not None]
    answer = [*_known(record.answer), *(["order"] if place == "rewrites" and heard(record.answer) else [])]
    refiner = {"refiner": _known(written[-1]) if written else None} if role == "writer" else {}
    return {**refiner, "gate" if role == "writer" else "gate with a judge that obeys": answer}


def _known(text: str) -> list[str]:
    return [sentence for sentence in (ADDED, *PLANTED.values()) if sentence in text]


def run(rows: Sequence[tuple[Attack, str]], role: str, off: Sequence[str]) -> list[dict[str, Any]]:
    """For each attack in its place, by part, what there is where it differs from the same row without the attack."""
    with ObeyingServer() as server, without(off), ThreadPoolExecutor(8) as pool:
        server.fence, server.obeys = "fence" not in off, ROLES[role]
        shared = parts_of(server, off)

        def one(attack: Attack, place: str) -> dict[str, Any]:
            server.says[attack.row] = {{"critiques": "critique", "rewrites": "patch"}.get(place, ""): f" {attack.text}"}
            if place != "own prompts":
                return outcome(attack, place, role, *shared)
            try:
                return outcome(attack, place, role, *parts_of(server, off, own_prompts(attack.text)))
            except InputError:
                return usual[place]  # it makes no prompt, and nothing is run

        usual = {place: one(replace(rows[0][0], word=""), place) for place in {place for _, place in rows}}
        found = list(pool.map(one, *zip(*rows, strict=True)))
        return [
            {part: value for part, value in made.items() if value != usual[place][part]}
            for made, (_, place) in zip(found, rows, strict=True)
        ]
