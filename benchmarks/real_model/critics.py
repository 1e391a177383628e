"""How well the critic tells which sentence of an answer is incomplete, by each way to read it, on HaluQuestQA.

    python -m benchmarks.real_model.critics --base-url URL --model NAME --data DIR --out FOLDER [--answers 51]
        [--readouts vote,probabilities] [--option NAME=VALUE] [--concurrency 16] [--minutes 10]

The answers are of the questions that `rows` holds out, drawn by seed 0. A readout is a value of the setting
`critic_readout`; each has a journal, and the same command goes on from there. Counting, which reads nothing, is the
floor: an earlier sentence, a longer one. ROC AUC with 95 % intervals by answer.
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from harness import drawn, shown, write_rows

from benchmarks.real_model.compare import arguments, named
from benchmarks.real_model.rows import Case, tagged_answers
from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.experiments.critic import aevaluate_feedback
from eirene.agent.settings import Settings
from eirene.data.haluquestqa import parse_tagged_answer
from eirene.data.json_rows import Row as DataRow
from eirene.eval.datasets.base import FeedbackCase, case_of
from eirene.eval.metrics.feedback import FeedbackRow, feedback_report

FLOORS: dict[str, Callable[[FeedbackCase, int], float]] = {
    "earlier sentence": lambda case, n: 1.0 - n / len(case.sentences),
    "longer sentence": lambda case, n: min(len(case.sentences[n].text) / 1000, 1.0),
}


def main() -> None:
    """Measures what is missing, and writes FOLDER/critics.json."""
    parser = arguments(__doc__)
    parser.add_argument("--answers", type=int, default=51)
    parser.add_argument("--readouts", default="vote,probabilities")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    cases = [critic_case(case) for case in drawn(list(tagged_answers(options.data)), options.answers, 0)]
    found = [figures(name, [counted(case, count) for case in cases]) for name, count in FLOORS.items()]
    for readout in options.readouts.split(","):
        rows = asyncio.run(read_out(cases, readout, options))
        found.append(figures(readout, rows))
        write_rows(options.out / "critics.json", found)
        print(found[-1], *Counter(row.why for row in rows if row.status != "scored").items(), sep="\n", flush=True)


def critic_case(case: Case) -> FeedbackCase:
    """A row as the evaluation of critics has it."""
    data = {"question": case.item["question"], "id": case.id, **case.known}
    return case_of(parse_tagged_answer(DataRow(case.id, data)))


async def read_out(cases: Sequence[FeedbackCase], readout: str, options: argparse.Namespace) -> Sequence[FeedbackRow]:
    """A row for each answer; when the time is up, those that were made."""
    loop, backend = named([f"critic_readout={readout}", *options.option] if readout != "vote" else options.option)
    given = {"base_url": options.base_url, "concurrency": options.concurrency, "timeout_s": 180.0, **backend}
    parts = resolve_backend(f"openai:{options.model}", BackendOptions(**given))
    rows: list[FeedbackRow] = []
    work = aevaluate_feedback(
        cases, parts, settings=Settings.of(**loop), journal=options.out / f"critics.{readout}.rows.jsonl",
        concurrency=options.concurrency, retry_failed=options.retry_failed, on_row=rows.append,
    )  # fmt: skip
    try:
        return (await asyncio.wait_for(work, 60 * options.minutes)).rows
    except TimeoutError:
        print(f"{options.minutes:g} minutes are over; the same command goes on from here")
        return rows


def counted(case: FeedbackCase, count: Callable[[FeedbackCase, int], float]) -> FeedbackRow:
    """What counting gives."""
    shares = tuple(count(case, n) for n in range(len(case.sentences)))
    return FeedbackRow(
        id=case.item.id, key=case.item.id, signature="", n_sentences=len(shares), gold=case.tags, lacks=case.lacks,
        status="scored", shares=shares, tags=tuple("Incomplete" if s > 0.5 else "Complete" for s in shares),
    )  # fmt: skip


def figures(readout: str, rows: Sequence[FeedbackRow]) -> dict[str, Any]:
    """A line of the table; failed and undecided answers enter no figure."""
    scored = [row for row in rows if row.status == "scored"]
    if not scored:
        return {"readout": readout, "answers": f"0 of {len(rows)}", "sentences": 0, "AUC within answers": "-",
                "AUC over all": "-", "tokens an answer": "-", "seconds an answer": "-"}  # fmt: skip
    report = feedback_report(scored, draws=2000)["sentences"]["model"]
    return {
        "readout": readout, "answers": f"{len(scored)} of {len(rows)}", "sentences": sum(r.n_sentences for r in scored),
        "AUC within answers": shown(report["within"]["auc"]), "AUC over all": shown(report["overall"]["auc"]),
        "tokens an answer": f"{sum(r.usage.tokens for r in scored) / len(scored):.0f}",
        "seconds an answer": f"{sum(r.usage.seconds for r in scored) / len(scored):.1f}",
    }  # fmt: skip


if __name__ == "__main__":
    main()
