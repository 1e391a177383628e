"""Runs of all trials over processes: a task is one kind in one setting; finished tasks are kept in a journal."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from functools import cache
from itertools import chain, islice, zip_longest
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from gate.drafts import Subject
from gate.rows import mixed_subjects, qa_subjects, user_subjects
from gate.trials import CONTROL, SETTINGS, Bench, Setting, Trial
from gate.wordings import load_wordings
from harness import Journal
from rich.progress import track


@dataclass(frozen=True)
class Plan:
    """What every process must know to make the same subjects and the same choices."""

    data: str | None
    rows: str | None
    wordings: str
    seed: int
    limit: int


@dataclass(frozen=True)
class Task:
    """One kind in one setting; `rows` names the rows that may be used, None for all of the setting."""

    kind: str
    setting: str
    rows: frozenset[str] | None = None


def pool_of(setting: Setting, subjects: Sequence[Subject]) -> list[Subject]:
    """The setting's subjects in seeded order, of its pools in turn."""
    lines = [[s for s in subjects if s.pool == pool] for pool in setting.pools]
    return [s for s in chain(*zip_longest(*lines)) if s is not None]


@cache
def bench_of(plan: Plan) -> tuple[Bench, tuple[Subject, ...]]:
    """The loops and the subjects of a plan, once a process."""
    subjects: list[Subject] = []
    if plan.data is not None:
        data = Path(plan.data)
        subjects += mixed_subjects(data / "npov_perspectrum", "dev", plan.seed)
        if (data / "qa_feedback").exists():
            subjects += qa_subjects(data / "qa_feedback", plan.seed)
    if plan.rows is not None:
        subjects += user_subjects(Path(plan.rows), plan.seed)
    return Bench(load_wordings(Path(plan.wordings)), plan.seed), tuple(subjects)


@dataclass(frozen=True)
class Example:
    """A trial with the texts that it was about, to be looked at."""

    trial: Trial
    before: str
    rewrite: str
    shown: str


def run_task(plan: Plan, task: Task) -> list[Trial]:
    """The trials of one task."""
    bench, subjects = bench_of(plan)
    if task.kind == CONTROL:
        setting = SETTINGS[task.setting]
        return [t for s in pool_of(setting, subjects) if (t := bench.control(setting, s)) is not None]
    return [example.trial for example in examples(plan, task)]


def examples(plan: Plan, task: Task) -> Iterator[Example]:
    """The trials of a task on the first rows that give a hold for its kind, as many as the plan's limit."""
    bench, subjects = bench_of(plan)
    return islice(_tried(bench, task, subjects), plan.limit)


def _tried(bench: Bench, task: Task, subjects: Sequence[Subject]) -> Iterator[Example]:
    setting = SETTINGS[task.setting]
    for subject in pool_of(setting, subjects):
        if task.rows is not None and subject.id not in task.rows:
            continue
        if (attacked := bench.attacked(task.kind, setting, subject)) is not None:
            yield Example(attacked[0], subject.item.answer, attacked[2].text, attacked[1].answer)


def run_all(
    plan: Plan, kinds: Sequence[str], settings: Sequence[str], *, workers: int, journal: Journal
) -> list[Trial]:
    """The controls of the settings, then the attacks (with passages only on rows where the gain alone passes: few rows
    let anything pass there, and the others would flatter the gate).
    """
    controls = {s: Task(CONTROL, s) for s in settings if SETTINGS[s].with_gain}
    _run(plan, [*controls.values()], workers, journal, "controls")
    rows = {
        s: frozenset(t.row for t in _kept(plan, controls[s], journal) if t.gain)
        for s in settings if SETTINGS[s].pools == ("qa",)
    }  # fmt: skip
    attacks = [Task(kind, s, rows.get(s)) for kind in kinds for s in settings]
    _run(plan, attacks, workers, journal, "attacks")
    return [trial for task in (*controls.values(), *attacks) for trial in _kept(plan, task, journal)]


def _key(plan: Plan, task: Task) -> str:
    return json.dumps([*asdict(plan).values(), task.kind, task.setting])


def _kept(plan: Plan, task: Task, journal: Journal) -> list[Trial]:
    return [Trial(**trial) for trial in journal.rows[_key(plan, task)]["trials"]]


def _run(plan: Plan, tasks: Sequence[Task], workers: int, journal: Journal, title: str) -> None:
    left = [task for task in tasks if _key(plan, task) not in journal.rows]
    for task, trials in track(_results(plan, left, workers), title, total=len(left)):
        journal.add(_key(plan, task), trials=[asdict(t) for t in trials])


def _results(plan: Plan, tasks: Sequence[Task], workers: int) -> Iterator[tuple[Task, list[Trial]]]:
    if workers == 1:
        for task in tasks:
            yield task, run_task(plan, task)
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        futures: dict[Future[Any], Task] = {pool.submit(run_task, plan, task): task for task in tasks}
        for future in as_completed(futures):
            yield futures[future], future.result()
