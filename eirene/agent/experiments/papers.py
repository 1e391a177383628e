"""Tables of the papers, measured: what a table prints beside what the experiments of this folder give on your data.

`papers.toml` has the tables: printed figures, data sets, and where in a run's report each figure stands. A run is one
of the experiments that have commands of their own, with their rows and journals.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import Annotated, Any, TypeVar

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.critics import readout_of
from eirene.agent.experiments.compare import ComparePlan, acompare
from eirene.agent.experiments.compare_summary import summarise as compared
from eirene.agent.experiments.critic import aevaluate_feedback, arun_critic, found_by
from eirene.agent.experiments.detectors import Evaluated, EvaluateOptions, aevaluate_detectors, summarise
from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.core.concurrency import run_bounded
from eirene.core.errors import InputError, MissingExtraError
from eirene.core.records import Item, parse_item
from eirene.core.scores import Scores, Unscored, number
from eirene.core.signature import digest
from eirene.core.usage import Meter
from eirene.data import open_source
from eirene.data.dataset import sampled
from eirene.data.haluquestqa import overlapping
from eirene.data.output import make_folder, write_text
from eirene.data.published import has_keys
from eirene.eval.base import NO_COVERAGE, Case, Detector, Need, case_of
from eirene.eval.datasets import Labelled, read_labelled
from eirene.eval.datasets.annotated import read_annotated
from eirene.eval.datasets.base import FeedbackCase, parse_feedback_case, with_own_ids
from eirene.eval.detectors.judge import ErrorJudge
from eirene.eval.detectors.samples import SampleSource
from eirene.eval.metrics.bootstrap import Resamples, means
from eirene.eval.metrics.detectors import EvaluationPlan
from eirene.eval.metrics.feedback import feedback_report
from eirene.eval.metrics.findings import findings_report
from eirene.eval.registry import DETECTORS, build_detector
from eirene.eval.resources import Resources
from eirene.text.sentences import split_sentences

Json = dict[str, Any]
T = TypeVar("T")
EMBEDDED = "embedded"
NO_FIGURE = "no such figure of this line"
_HERE = ("hf:", "gguf:")
_FAULTY = 0.5
"""A sentence of this error or more is not supported."""
_PATIENCE_S = 7200.0  # for a reply and for a row: a server without a GPU takes many at once, and each waits for all


@cache
def papers() -> Json:
    """All of `papers.toml`: `papers`, `data` and `tables` by their names."""
    text = files("eirene.agent.experiments").joinpath("papers.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@dataclass(frozen=True, kw_only=True)
class PaperRun:
    """What a table is measured with.

    `model` writes, finds and is read from; it also judges, unless a `judge` is named. `size`: rows of each data set,
    drawn by `seed` (0: all). `samples`: draws of whatever the table draws, None for what the paper takes. `out` keeps
    the rows: the same run goes on from there.
    """

    data: Path
    out: Path
    model: str = EMBEDDED
    judge: str | None = None
    base_url: str | None = None
    size: int = 0
    seed: int = 0
    samples: int | None = None
    on_row: Callable[[Any], None] = lambda _: None

    @cached_property
    def resources(self) -> Resources:
        """The models as detectors take them."""
        named = None if self.model == EMBEDDED else self.model
        here = named if named is not None and named.startswith(_HERE) else None
        draws: Json = {} if self.samples is None else {"polls": max(3, self.samples), "samples": self.samples}
        return Resources(
            judge_model=self.judge or named, base_url=self.base_url, local=here, seed=self.seed, timeout_s=_PATIENCE_S,
            classifiers_named=(here,) if here is not None and here.startswith("hf:") and "+" in here else (), **draws,
        )  # fmt: skip

    @cached_property
    def parts(self) -> Parts:
        """The model as a backend."""
        return resolve_backend(self.model, BackendOptions(base_url=self.base_url, timeout_s=_PATIENCE_S))

    @property
    def workers(self) -> int:
        """Rows at once: a model on this machine answers one after the other."""
        return 1 if self.model.startswith((EMBEDDED, *_HERE)) else 8

    def settings(self, **more: Any) -> Settings:
        """Settings of the loop, with the draws that are wanted."""
        more |= {} if self.samples is None else {"samples": self.samples}
        return Settings.of(seed=self.seed, deadline_s=_PATIENCE_S, **more)

    def drawn(self, cases: Sequence[T]) -> list[T]:
        """The rows that are measured, in their order."""
        return [cases[n] for n in sampled(len(cases), self.size, seed=self.seed)] if self.size else list(cases)

    def find(self, block: Json) -> Path | None:
        """The first file of a block's data set below the folder of data."""
        names = papers()["data"][block["data"]]["files"] if "data" in block else []
        return next((found for name in names for found in sorted(self.data.rglob(name)) if found.is_file()), None)


def table_named(name: str) -> Json:
    """A table that has a command; raises `InputError` for any other, with the names of those that have one."""
    tables = papers()["tables"]
    table: Json = tables.get(name, {"why": "there is no such table"})
    if "run" not in table:
        known = ", ".join(key for key, one in tables.items() if "run" in one)
        raise InputError(f"{name} has no command: {table['why']}; tables with one: {known}", field="table")
    return table


async def measure(name: str, run: PaperRun) -> Json:
    """A table's blocks with each figure: `printed`, and `ours` as an estimate or `unscored` with its reason.

    Raises `InputError` for a table without a command, one that needs a model where none is named, where no data set of
    it is there, and for rows of another set under a set's name.
    """
    table, sets = table_named(name), papers()["data"]
    if not any(map(run.find, table["blocks"])):
        wanted = [sets[data] for data in dict.fromkeys(b["data"] for b in table["blocks"] if "data" in b)]
        said = "; ".join(f"{' or '.join(one['files'])} ({one['about']})" for one in wanted)
        raise InputError(f"has no data set of {name}; wanted: {said}", field="data", where=str(run.data))
    if "needs" in table and (run.judge is None or table["needs"] == "model") and run.model == EMBEDDED:
        raise InputError(f"{name} asks a chat model: give --model provider:model, hf:... or gguf:FILE", field="model")
    return {"table": name, "blocks": [await _block(table, block, run) for block in table["blocks"]]}


async def _block(table: Json, block: Json, run: PaperRun) -> Json:
    known, place = papers()["data"].get(block.get("data"), {}), run.find(block)
    report: Json = {"unscored": block.get("why")}
    if place is not None:
        folder = make_folder(run.out / block.get("name", "rows"))
        report = await _RUNS[table["run"]](table, block, str(place), replace(run, out=folder))
    elif known:
        report = {"unscored": f"no {' or '.join(known['files'])} in the data: {known['about']}"}
    lacks, rows = known.get("lacks", "the run gives no such figure"), []
    for row in block["rows"]:
        paths = [path.replace("{}", row["of"]) for path in table["ours"]] if "of" in row else row.get("ours")
        ours = [look(report, path, row.get("why"), lacks) for path in paths or [""] * len(table["columns"])]
        rows.append({"name": row["name"], "printed": row.get("printed", []), "ours": ours})
    return {
        "name": block.get("name", ""), "data": place and place.name, "read": report.get("read"), "rows": rows,
    }  # fmt: skip


def look(report: Json, path: str, why: str | None, lacks: str) -> Json:
    """The figure at a path of a report, names apart by dots; or unscored, with the reason that stands nearest."""
    if why or (not path and "unscored" not in report):
        return {"unscored": why or NO_FIGURE}
    found: Any = report
    for name in path.split("."):
        reasons = found.get("unscored") if isinstance(found, dict) else None
        if reasons and name not in found:
            return {"unscored": reasons if isinstance(reasons, str) else max(reasons, key=reasons.__getitem__)}
        found = found.get(name) if isinstance(found, dict) else None
    if isinstance(found, float):
        return {"value": found}
    return found if isinstance(found, dict) and ("value" in found or "unscored" in found) else {"unscored": lacks}


def _cases(block: Json, place: str) -> list[FeedbackCase]:
    """The answers of HaluQuestQA, QA-Feedback or ELI5. Raises `InputError` for a row that is of another set."""
    known, found = papers()["data"][block["data"]], []
    for row in open_source(place).rows():
        if not isinstance(row.data, dict) or not has_keys(row.data, known["keys"]):
            raise InputError(f"is no row of {known['about']}: it needs {known['keys']}", where=row.where)
        if known["keys"] == "question,answer":
            found.append(FeedbackCase(parse_item(row.data, where=row.where), (), lacks=False))
        else:
            found.append(parse_feedback_case(row))
    return list(with_own_ids(found))


async def _feedback(table: Json, block: Json, place: str, run: PaperRun) -> Json:
    cases, settings = run.drawn(_cases(block, place)), run.settings()
    if readout_of(run.parts, settings) == "vote":  # of probabilities there are no samples that could stop early
        settings = run.settings(**table["settings"])
    made = await aevaluate_feedback(
        cases, run.parts, settings=settings, journal=run.out / "rows.jsonl", concurrency=run.workers,
        on_row=run.on_row,
    )  # fmt: skip
    return {"read": len(cases), **feedback_report(made.rows)}


async def _critic(_: Json, block: Json, place: str, run: PaperRun) -> Json:
    read = read_annotated(place, reader=papers()["data"][block["data"]].get("reader"))
    only = block["use"]["only"]
    cases = run.drawn([case for case in read.cases if only in case.item.id])
    if not cases:
        return {"unscored": f"no answer of {only} in {Path(place).name}"}
    made = await arun_critic(
        cases, run.parts, settings=run.settings(critic="hallucination"), journal=run.out / "rows.jsonl",
        concurrency=run.workers, on_row=run.on_row,
    )  # fmt: skip
    return {"read": len(cases), **findings_report(found_by(cases, made), read.taxonomy)}


async def _detectors(table: Json, block: Json, place: str, run: PaperRun) -> Json:
    known = papers()["data"][block["data"]]
    cases = run.drawn(read_labelled(place, reader=known.get("reader")).cases)
    if known.get("sides") and not all(case.item.perspectives for case in cases):
        raise InputError(f"holds answers without the arguments of sides; wanted: {known['about']}", where=place)
    built, lacking = _built(table["detectors"], run)
    found = await _scored(cases, built, run)
    report: Json = {"read": len(cases), "polls": {"unread": _unread(found)}}
    for level in summarise(found, EvaluationPlan(seed=run.seed))["levels"]:
        entries = {**lacking, **level["detectors"], "floors": level["floors"]}
        report.setdefault(level["error"], {})[level["level"]] = entries
    return report


def _built(names: Sequence[str], run: PaperRun) -> tuple[list[Detector], Json]:
    """The detectors that the models allow, and why the others are not there."""
    built, lacking = list[Detector](), dict[str, Any]()
    for name in names:
        missing = run.resources.lacks(DETECTORS[name].needs)
        try:
            if missing:
                raise InputError(f"needs a {' and a '.join(missing)} (--model)".replace("_", " "))
            built.append(build_detector(name, run.resources))
        except (InputError, MissingExtraError) as error:
            lacking[name] = {"unscored": str(error).replace(run.model, "the model named")}
    return built, lacking


async def _scored(cases: Sequence[Labelled], built: Sequence[Detector], run: PaperRun) -> Evaluated:
    work = EvaluateOptions(seed=run.seed, concurrency=run.workers)
    return await aevaluate_detectors(cases, built, out=run.out, work=work, on_row=run.on_row)


def _unread(found: Evaluated) -> Json:
    """The share of polls of a judge without a verdict."""
    replies = [p.error is None for row in found.rows.values() if row.scores.polls for p in row.scores.polls.replies]
    return {"value": fmean(replies), "n": len(replies)} if replies else {"unscored": "no judge was polled"}


async def _compare(table: Json, block: Json, place: str, run: PaperRun) -> Json:
    items = [_item(case) for case in run.drawn(_cases(block, place))]
    items = [item for item in items if item.feedback or "human" not in block["use"]["modes"]]
    settings, modes = run.settings(**table["settings"]), block["use"]["modes"]
    plan = ComparePlan(modes, settings=settings, concurrency=run.workers, retry_failed=True)
    judge = ErrorJudge(run.resources.judge)
    found = await acompare(items, plan=plan, parts=run.parts, out=run.out, judge=judge, on_row=run.on_row)
    return {"read": len(items), **compared(found.rows, found.judgements, judge=found.judge)}


def _item(case: FeedbackCase) -> Item:
    """The case with its annotators' reasons as notes on the sentences that we cut, which are others than theirs."""
    tagged, ours = zip(case.sentences, case.tags or (), case.reasons, strict=False), split_sentences(case.item.answer)
    told = [(overlapping(ours, s.start, s.end), why) for s, tag, why in tagged if tag == "Incomplete"]
    notes = [{"sentence": n, "reason": why or "incomplete"} for n, why in told]
    return Item.model_validate({**case.item.model_dump(), "feedback": notes or None})


class _Errors:
    """The errors that a judge lists, as scores: 1 where there is any; raw `score` is EIR's hallucination score."""

    name = "errors"
    needs: frozenset[Need] = frozenset({"judge"})

    def __init__(self, judge: ErrorJudge) -> None:
        self._judge, self.version = judge, judge.version

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        found = await self._judge.judge(case, seed=0, meter=meter)
        if isinstance(found, Unscored):
            return Scores.none(found.unscored)
        raw = {"score": found.hallucination_score}
        return Scores(hallucination=float(found.has_error), coverage=NO_COVERAGE, raw=raw)


async def _answers(_: Json, block: Json, place: str, run: PaperRun) -> Json:
    """The model's own answers to the questions, judged, and held against further ones."""
    asked = run.drawn(list(dict.fromkeys(case.item.question for case in _cases(block, place))))
    source = SampleSource(run.resources.chat(run.model, field="model"), count=1 + run.resources.samples, seed=run.seed)
    kept = run.out / f"answers-{digest([source.version, run.base_url, run.seed])[:12]}.json"
    texts = _kept(kept) if kept.is_file() else {}

    async def draw(question: str) -> tuple[str, Sequence[str] | Unscored]:
        return question, await source.get(case_of(Item(question=question, answer="?")), meter=Meter())

    async for question, found in run_bounded((q for q in asked if q not in texts), draw, room=lambda: run.workers):
        if not isinstance(found, Unscored):
            texts[question] = list(found)
            write_text(str(kept), json.dumps(texts, ensure_ascii=False), force=True)
    said = [(question, texts[question]) for question in asked if question in texts]
    items = [Item(question=question, answer=first, meta={"samples": rest}) for question, (first, *rest) in said]
    built = (_Errors(ErrorJudge(run.resources.judge)), build_detector("selfcheck-prompt", run.resources))
    scored = await _scored([Labelled(item, item.question) for item in items], built, run)
    report: Json = {"read": len(asked)}
    for name, scores in scored.data.scores.items():
        why = next((s.hallucination.unscored for s in scores if isinstance(s.hallucination, Unscored)), "no answer")
        report[name] = {
            "hallucination": _mean([number(s.hallucination) for s in scores], why),
            "score": _mean([s.raw.get("score") for s in scores], why),
        }
    return report


def _kept(file: Path) -> dict[str, list[str]]:
    """The answers that a run has drawn, by question."""
    try:
        return TypeAdapter(dict[str, Annotated[list[str], Field(min_length=1)]]).validate_json(file.read_bytes())
    except ValidationError as error:
        why = error.errors()[0]["msg"]
        raise InputError(f"is damaged ({why}); delete it: its answers are drawn again", where=str(file)) from None


def _mean(values: Sequence[float | None], why: str) -> Json:
    """A mean with its interval over answers."""
    there = [value for value in values if value is not None]
    return Resamples().estimate(len(there), means(np.array(there)))[0].to_json() if there else {"unscored": why}


async def _edits(_: Json, block: Json, place: str, run: PaperRun) -> Json:
    """Biographies edited beside passages that are found; the share of sentences that the verifier finds in the person's
    own text, before and after."""
    from eirene.models.encoder.runtime import shipped_encoder
    from eirene.retrieval import Retriever, open_index, with_context
    from eirene.retrieval.encoders import CrossEncoder

    read = {item.id: item for item in map(_biography, open_source(place).rows())}
    corpus, use, encoder = run.out / "references.jsonl", block["use"], shipped_encoder()
    titles = (i.question.rpartition(" about ")[2].strip(" :?") for i in read.values())  # whom a prompt ends with
    lines = (json.dumps({"text": i.gold, "title": t}) + "\n" for i, t in zip(read.values(), titles, strict=True))
    write_text(str(corpus), "".join(lines), force=True)
    try:
        reranker = CrossEncoder(use["rerank"]) if "rerank" in use else None
    except (InputError, MissingExtraError):
        return {"unscored": f"the reranker {use['rerank']} could not be loaded on this machine"}
    index = open_index(str(corpus), encoder, folder=make_folder(run.out / "index"))
    finds = Retriever(index, encoder, top=use["top"], reranker=reranker, names=use["names"])
    items = [with_context(item.model_copy(update={"gold": None}), finds) for item in run.drawn(list(read.values()))]
    plan = ComparePlan(["edit"], settings=run.settings(critic="hallucination"), concurrency=run.workers)
    made = await acompare(items, plan=plan, parts=run.parts, out=run.out, on_row=run.on_row)
    shares = []
    for side in ("original", "answer"):
        texts = [(row.id, getattr(row.record, side)) for row in made.rows]
        own = [Item(id=n, question=read[n].question, answer=text, context=[read[n].gold or ""]) for n, text in texts]
        shares.append(await _supported(own, replace(run, out=run.out / "scores")))
    changes = [None if a is None or b is None else b - a for a, b in zip(*shares, strict=True)]
    values = {"before": shares[0], "after": shares[1], "gain": changes}
    return {"read": len(items), **{name: _mean(own, "no sentence could be read") for name, own in values.items()}}


def _biography(row: Any) -> Item:
    """A row of WikiBio GPT-3, as published or with shorter names, or one of ours with `gold`."""
    try:
        text = row.data.get("gpt3_text") or row.data.get("passage") or row.data["answer"]
        gold = row.data.get("wiki_bio_text") or row.data.get("reference") or row.data["gold"]
    except (KeyError, AttributeError) as error:
        raise InputError(f"is no biography with its reference: no {error}", where=row.where) from None
    name = str(row.data.get("wiki_bio_test_idx", row.where))
    return Item(id=name, question=row.data.get("prompt") or "Who is this?", answer=text, gold=gold)


async def _supported(items: Sequence[Item], run: PaperRun) -> list[float | None]:
    """FActScore by the verifier where a model breaks answers into claims, else the share of sentences it finds."""
    cases = [Labelled(item, item.question) for item in items]
    by = "verifier" if run.resources.judge_model is None else "factscore-verifier"
    scores = (await _scored(cases, [build_detector(by, run.resources)], run)).data.scores[by]
    if by != "verifier":
        return [one.raw.get("supported") for one in scores]
    read = [[v for s in one.sentences if (v := number(s.hallucination)) is not None] for one in scores]
    return [fmean(value < _FAULTY for value in own) if own else None for own in read]


_RUNS: Mapping[str, Callable[[Json, Json, str, PaperRun], Awaitable[Json]]] = {
    "feedback": _feedback, "critic": _critic, "detectors": _detectors, "compare": _compare, "answers": _answers,
    "edits": _edits,
}  # fmt: skip
