"""Writes benchmarks/results/detectors.md: every detector that needs no model, on every labelled set.

    python benchmarks/results.py DATA               # about 15 minutes on two cores
    python benchmarks/results.py DATA --rows DIR    # keeps the rows: the same command goes on from there

DATA holds the sets in folders by name, as SETS says. The tables of the page are written anew; what follows from them
stands in docs/results.md. Areas are of all answers; thresholds for F1 are chosen on 30 % of the clusters, drawn by
seed 0. Detectors on a model of this machine are `eirene evaluate detectors SET --local-model hf:DIR`.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness import arguments, write_json, write_page

from eirene.agent.experiments.detectors import EvaluateOptions, aevaluate_detectors, summarise
from eirene.eval.base import MODEL_NEEDS
from eirene.eval.metrics.detectors import EvaluationPlan
from eirene.eval.registry import DETECTORS, build_detectors
from eirene.eval.resources import Resources
from eirene.views.detectors import evaluation_table
from recipes.labelled import read_set

PAGE = Path(__file__).parent / "results" / "detectors.md"
DRAWS, SEED = 2000, 0
TRAINED_HERE = {"verifier"}
"""What was trained on parts of these sets: `recipes.verifier` keeps the others."""


@dataclass(frozen=True)
class Set:
    """A set's title, its file, what is to be known of it, and the fields by which areas are given apart."""

    title: str
    file: str
    about: str


SETS = (
    Set("NPOV answers, balanced", "npov_perspectrum/mixed_dev.jsonl",
        "Perspectrum development claims; errors by construction, so that counting gives little away. No text of it was "
        "trained on."),
    Set("NPOV answers, plain", "npov_perspectrum/cases_dev.jsonl",
        "The same claims; one argument a sentence, so that counting helps. Answers with an argument on the wrong side "
        "are left out."),
    Set("NPOV equivalence", "npov_perspectrum/equivalence_dev.jsonl",
        "Two arguments of one side: does the second say the first?"),
    Set("ArgKP-2021", "argkp2021/pairs_dev.jsonl",
        "Does a crowd argument say a key point? Four positions: intervals are wide, and rough."),
    Set("QA-Feedback", "qa_feedback/feedback.jsonl",
        "Model answers to questions with passages. Hallucination: contradicts the passages or is not in them; "
        "coverage: annotators missed something. Half of the questions were seen when constants were fitted."),
    Set("RAGTruth", "ragtruth_subset/responses.jsonl",
        "Six models' answers, summaries and texts from data; spans marked by people."),
    Set("FRANK", "frank/summaries.jsonl",
        "Nine systems' summaries of news; an error if annotators found a sentence not factual."),
    Set("BEGIN", "begin/begin_dev.jsonl",
        "Dialogue turns, attributable to a snippet or not."),
    Set("ExpertQA", "expertqa/answers.jsonl",
        "Experts judged each claim against the evidence shown with it; the given text is all evidence of the answer."),
    Set("WikiBio GPT-3", "wikibio_gpt3/passages.jsonl",
        "Biographies by GPT-3, sentences judged; the given text is the Wikipedia article. 226 of 238 have an error."),
    Set("FacTool", "factool_kbqa/knowledge_qa.jsonl", "Nothing was given: only who knows the world can judge."),
    Set("HaluEval, general", "halueval_general/general.jsonl", "Nothing was given."),
    Set("HaluQuestQA, annotated answers", "haluquestqa/annotations.jsonl", "Nothing was given."),
    Set("HaluQuestQA, sentences", "haluquestqa/completeness_train.jsonl",
        "Nothing was given; all answers but one lack something, so that answers tell nothing."),
)  # fmt: skip


def measured(chosen: Set, data: Path, rows: Path) -> dict[str, Any]:
    """The summary of a set, its rows and whole tables in a folder of its own."""
    found = read_set(str(data / chosen.file))
    folder = rows / Path(chosen.file).parent.name / Path(chosen.file).stem
    folder.mkdir(parents=True, exist_ok=True)
    given = Resources(seed=SEED)
    own = [name for name, e in DETECTORS.items() if not e.needs & MODEL_NEEDS and not given.lacks(e.needs)]
    names = [name for name in own if name not in TRAINED_HERE]
    detectors = build_detectors(names, given)
    evaluated = asyncio.run(aevaluate_detectors(found.cases, detectors, out=folder, work=EvaluateOptions(seed=SEED)))
    print(f"{chosen.title}: {len(found.cases)} answers", flush=True)
    n = len(found.cases)
    about = {"name": chosen.file, "form": found.form, "drawn": n, "of": n, "left_out": dict(found.left_out)}
    plan = EvaluationPlan(draws=DRAWS, seed=SEED)
    return {"data": about, "dev": None, **summarise(evaluated, plan), "title": chosen.title, "about": chosen.about}


def tables(summaries: Sequence[dict[str, Any]]) -> str:
    """A part of the page for each set: what it is, and its tables."""
    whole = ((s, evaluation_table(s).partition("\n")[2]) for s in summaries)
    return "\n".join(f"## {s['title']}\n\n{s['about']}\n" + re.sub("(?m)^##", "###", text) for s, text in whole)


def main() -> None:
    """Measures and writes the page."""
    parser = arguments(__doc__)
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--sets", nargs="+", metavar="TITLE", help="these alone; the page is left as it is")
    options = parser.parse_args()
    chosen = [s for s in SETS if options.sets is None or s.title in options.sets]
    with tempfile.TemporaryDirectory() as temporary:
        summaries = [measured(one, options.data, options.rows or Path(temporary)) for one in chosen]
    write_json(options.json, summaries)
    if options.sets is None:
        write_page(PAGE, "results.py", tables(summaries))
    else:
        print(tables(summaries))


if __name__ == "__main__":
    main()
