"""Writes benchmarks/results/detectors.md: every detector that runs without a paid model, on every labelled set.

    python benchmarks/results.py DATA                        # about 15 minutes on two cores
    python benchmarks/results.py DATA --rows DIR             # keeps the rows: the same command goes on from there
    python benchmarks/results.py DATA --local-model hf:... --page FILE   # and the detectors that look inside a model

DATA holds the sets in folders by name, as SETS says. The page is written anew; what follows from it
stands in docs/results.md. The whole tables (slices, every pair, all floors) are written into DIR, a folder a
set. Areas are of all answers; thresholds for F1 are chosen on 30 % of the clusters, drawn by seed 0.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from results_page import page

from eirene.agent.experiments.detectors import EvaluateOptions, aevaluate_detectors, summarise
from eirene.core.scores import Scores
from eirene.core.signature import rng_for
from eirene.core.usage import Meter
from eirene.eval.base import MODEL_NEEDS, Case, Detector, Need, case_of
from eirene.eval.datasets import read_labelled
from eirene.eval.metrics.detectors import EvaluationPlan
from eirene.eval.metrics.ranking import average_precision, roc_auc
from eirene.eval.registry import DETECTORS, build_detectors
from eirene.eval.resources import Resources
from eirene.views.detectors import evaluation_table

PAGE = Path(__file__).parent / "results" / "detectors.md"
DRAWS, SEED, SHORT = 2000, 0, 3000


@dataclass(frozen=True)
class Set:
    """A set's title, its file, what is to be known of it, and the fields by which areas are given apart.

    Of a `slow` set, where most texts are long, detectors on a local model score a quarter as many answers, and only
    such as have, with all that was given, at most `SHORT` characters: gradients take minutes for longer ones.
    """

    title: str
    file: str
    about: str
    slices: tuple[str, ...] = ()
    slow: bool = False


SETS = (
    Set("NPOV answers, balanced", "npov_perspectrum/mixed_dev.jsonl",
        "Perspectrum development claims; errors by construction, so that counting gives little away. No text of it was "
        "trained on.", ("error_type",)),
    Set("NPOV answers, plain", "npov_perspectrum/cases_dev.jsonl",
        "The same claims; one argument a sentence, so that counting helps. Answers with an argument on the wrong side "
        "are left out.", ("error_type",)),
    Set("NPOV equivalence", "npov_perspectrum/equivalence_dev.jsonl",
        "Two arguments of one side: does the second say the first?", ("side",)),
    Set("ArgKP-2021", "argkp2021/pairs_dev.jsonl",
        "Does a crowd argument say a key point? Four positions: intervals are wide, and rough.", ("side",)),
    Set("QA-Feedback", "qa_feedback/feedback.jsonl",
        "Model answers to questions with passages. Hallucination: contradicts the passages or is not in them; "
        "coverage: annotators missed something. Half of the questions were seen when constants were fitted."),
    Set("RAGTruth", "ragtruth_subset/responses.jsonl",
        "Six models' answers, summaries and texts from data; spans marked by people.", ("task", "model", "label_type"),
        slow=True),
    Set("FRANK", "frank/summaries.jsonl",
        "Nine systems' summaries of news; an error if annotators found a sentence not factual.",
        ("dataset", "error"), slow=True),
    Set("BEGIN", "begin/begin_dev.jsonl",
        "Dialogue turns, attributable to a snippet or not.", ("data_source", "model_name")),
    Set("ExpertQA", "expertqa/answers.jsonl",
        "Experts judged each claim against the evidence shown with it; the given text is all evidence of the answer.",
        ("system",), slow=True),
    Set("WikiBio GPT-3", "wikibio_gpt3/passages.jsonl",
        "Biographies by GPT-3, sentences judged; the given text is the Wikipedia article. 226 of 238 have an error."),
    Set("FacTool", "factool_kbqa/knowledge_qa.jsonl", "Nothing was given: only who knows the world can judge."),
    Set("HaluEval, general", "halueval_general/general.jsonl", "Nothing was given."),
    Set("HaluQuestQA, annotated answers", "haluquestqa/annotations.jsonl", "Nothing was given.", ("source",)),
    Set("HaluQuestQA, sentences", "haluquestqa/completeness_train.jsonl",
        "Nothing was given; all answers but one lack something, so that answers tell nothing."),
)  # fmt: skip


ON_MODELS = ("salience", "salience-sum", "salience-entropy", "classifier", "nli", "gptscore", "pseudo-entropy")
"""What looks inside a model of this machine. Other answers are not drawn from it: a stand-in's would measure the
stand-in, and not the metric."""

TRAINED_HERE = ("verifier",)
"""What was trained on parts of these sets: `verifier_data.py --report` keeps the others."""


@dataclass(frozen=True)
class Run:
    """What is measured with: `local` has this machine's models, `plain` none, so that nothing is drawn from them."""

    plain: Resources
    local: Resources
    most: int | None

    def detectors(self) -> list[Detector]:
        """Every detector whose models are there; one that compares with samples shows that no set has any."""
        on = [name for name in ON_MODELS if not self.local.lacks(DETECTORS[name].needs)]
        if self.local.local is None:  # then it reads what the rows bring
            on.remove("pseudo-entropy")
        plain = [name for name, e in DETECTORS.items() if name not in on and not self.plain.lacks(e.needs)]
        plain = [name for name in plain if name not in TRAINED_HERE]
        return [*build_detectors(plain, self.plain), *(build_detectors(on, self.local) if on else ())]

    def not_run(self) -> dict[str, list[Need]]:
        """The others, with what they would need."""
        run = {detector.name for detector in self.detectors()}
        left = {name: e for name, e in DETECTORS.items() if name not in run and name not in TRAINED_HERE}
        return {name: self.local.lacks(e.needs) or ["samples"] for name, e in left.items()}


def length_of(case: Case) -> int:
    """How many characters the answer has together with all that was given."""
    return len(case.answer) + sum(len(text) for text in case.given.arguments)


class OfSome:
    """A detector that scores some of the answers: those of slow models on large sets."""

    def __init__(self, detector: Detector, cases: Sequence[Case], *, most: int, longest: int | None) -> None:
        order = [cases[i] for i in rng_for(SEED, "results").permutation(len(cases))]
        self._detector = detector
        self._drawn = set([case for case in order if longest is None or length_of(case) <= longest][:most])
        self._why = f"not among the {most} answers of the set that were drawn for detectors on a local model"
        self.name, self.needs = detector.name, detector.needs
        self.version = f"{detector.version},drawn={most}" + ("" if longest is None else f",longest={longest}")

    async def score(self, case: Case, *, meter: Meter) -> Scores:
        """The detector's scores of the answers that were drawn."""
        return await self._detector.score(case, meter=meter) if case in self._drawn else Scores.none(self._why)


def measured(chosen: Set, data: Path, rows: Path, run: Run) -> dict[str, Any]:
    """The summary of a set, its rows and whole tables in a folder of its own."""
    found = read_labelled(str(data / chosen.file))
    folder = rows / Path(chosen.file).parent.name / Path(chosen.file).stem
    folder.mkdir(parents=True, exist_ok=True)
    detectors: Sequence[Detector] = run.detectors()
    some: dict[str, OfSome] = {}
    if run.most is not None and (chosen.slow or len(found.cases) > run.most):
        cases = [case_of(labelled.item) for labelled in found.cases]
        most, longest = (max(run.most // 4, 1), SHORT) if chosen.slow else (run.most, None)
        some = {d.name: OfSome(d, cases, most=most, longest=longest) for d in detectors if d.needs & MODEL_NEEDS}
        detectors = [some.get(d.name, d) for d in detectors]
    plan = EvaluationPlan(
        draws=DRAWS, seed=SEED, slices=[s for s in chosen.slices if any(s in c.slices for c in found.cases)]
    )
    evaluated = asyncio.run(aevaluate_detectors(found.cases, detectors, out=folder, work=EvaluateOptions(seed=SEED)))
    print(f"{chosen.title}: {len(found.cases)} answers", flush=True)
    n = len(found.cases)
    about = {"name": chosen.file, "form": found.form, "drawn": n, "of": n, "left_out": dict(found.left_out)}
    summary = {"data": about, "dev": None, **summarise(evaluated, plan)}
    if some:  # ten answers are compared with nothing, and make no test of the others harder to pass
        plain = replace(evaluated.data, scores={n: v for n, v in evaluated.data.scores.items() if n not in some})
        of_all = summarise(replace(evaluated, data=plain), replace(plan, slices=()))
        pairs = {(level["error"], level["level"]): level["pairs"] for level in of_all["levels"]}
        for level in summary["levels"]:
            level["pairs"] = pairs.get((level["error"], level["level"]), [])
    (folder / "summary.json").write_text(json.dumps(summary, indent=2, allow_nan=False) + "\n", "utf-8")
    (folder / "table.md").write_text(evaluation_table(summary), "utf-8")
    return {**summary, "title": chosen.title, "about": chosen.about}


def published_on_frank(file: Path, summaries: Path) -> dict[str, dict[str, float]]:
    """The metrics that FRANK's authors published for the same summaries: ROC AUC of all and by source, and average
    precision. A metric is higher for what is more factual, so that its negative is an error score.
    """
    faulty = {}
    for line in summaries.read_text("utf-8").splitlines():
        row = json.loads(line)
        faulty[row["hash"], row["model_name"]] = row["Factuality"] < 1
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    parts = {"all": rows, **{name: [r for r in rows if r["dataset"] == name] for name in ("cnndm", "bbc")}}
    found: dict[str, dict[str, float]] = {}
    for metric in (key for key, value in rows[0].items() if isinstance(value, float)):
        if all(isinstance(row.get(metric), float) for row in rows):
            for name, part in parts.items():
                labels = [faulty[row["hash"], row["model_name"]] for row in part]
                scores = [-row[metric] for row in part]
                found.setdefault(metric, {})[name] = roc_auc(labels, scores)
            labels = [faulty[row["hash"], row["model_name"]] for row in rows]
            found[metric]["ap"] = average_precision(labels, [-row[metric] for row in rows])
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measures and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--local-model")
    parser.add_argument("--classifier", action="append", default=[])
    parser.add_argument("--nli")
    parser.add_argument(
        "--most", type=int, help="answers of a set for the detectors on a local model (default: all); a quarter if slow"
    )
    parser.add_argument("--models", help="what these models are, for the page")
    parser.add_argument("--page", type=Path, default=PAGE)
    options = parser.parse_args(arguments)
    local = Resources(local=options.local_model, classifiers_named=options.classifier, nli_named=options.nli, seed=SEED)
    run = Run(Resources(seed=SEED), local, options.most)
    with tempfile.TemporaryDirectory() as temporary:
        rows = options.rows or Path(temporary)
        summaries = [measured(chosen, options.data, rows, run) for chosen in SETS]
    frank = options.data / "frank"
    published = published_on_frank(frank / "published_metric_scores.jsonl", frank / "summaries.jsonl")
    text = page(summaries, published=published, not_run=run.not_run(), models=options.models)
    options.page.write_text(f"{text}\n", "utf-8")
    print(f"wrote {options.page}")


if __name__ == "__main__":
    main()
