"""The tables of the real-model benchmark, from a FOLDER of `compare` and `peers`.

    python -m benchmarks.real_model.page FOLDER [--markdown benchmarks/results/real_model.md] [--title WORDS]

Pairs for blind readers are made by `eirene compare --blind`. Intervals: 95 %; Wilson's for shares of rows, else
bootstrap by question.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness import mean, percent, share, shown, write_page

from benchmarks.faults.page import table
from benchmarks.real_model.results import USED, Arms, Result, read_results, wall
from benchmarks.real_model.rows import SETS

PAGE = Path(__file__).parents[1] / "results" / "real_model.md"
OURS = ("fine-grained", "human", "generic", "improve", "embedded")
ABOUT = {
    "qa": "QA-Feedback: answers with passages, by the text that a person made of them",
    "open": "HaluQuestQA: open questions, by the sentences that people tagged",
    "sides": "mixed_dev: answers on two sides, by the errors that were planted",
}
COLUMNS = {
    "qa": ("faulty stretches gone", "untrue stretches gone", "missing sentences said", "sound sentences lost"),
    "open": ("sound sentences lost", "words of the reasons said", "words"),
    "sides": ("missing arguments said", "foreign parts gone", "supported arguments lost"),
}
MEANS = {"qa": ("nearer",), "open": (), "sides": ("errors before", "errors left")}
RIVALS = ("one-shot", "self-refine", "reflection", "dspy")


def main() -> None:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--markdown", type=Path, default=PAGE, metavar="FILE")
    parser.add_argument("--title", default="", help="words on the model and the machine, above the tables")
    options = parser.parse_args()
    arms = read_results(options.folder)
    parts = [options.title, *(part for name in SETS for part in set_part(name, arms, wall(options.folder)))]
    parts += [failures_part(arms)]
    text = "\n\n".join(part for part in parts if part)
    write_page(options.markdown, "real_model", text)
    print(text)


def set_part(name: str, arms: Arms, times: dict[str, Any]) -> list[str]:
    """A set's tables: what became of the answers, what it cost, and Eirene less each peer."""
    order = [a for a in ("people", *OURS, *RIVALS) if (name, a) in arms]
    own = {arm: arms[name, arm] for arm in order if arms[name, arm]}
    if not own:
        return []
    title = f"## {ABOUT[name]}"
    quality = [row for arm, results in own.items() if (row := quality_row(name, arm, results))]
    heads = ["", "rows (failed)", "shown changed, %", *(["better : worse"] if name != "open" else []),
             *(m for m in MEANS[name]), *(f"{m}, %" for m in COLUMNS[name])]  # fmt: skip
    costs = [cost_row(name, arm, results, times) for arm, results in own.items() if arm != "people"]
    cost_heads = ["", "calls", "read", "of these cached", "written", "tokens", "seconds", "rows at once",
                  "wall clock, s", "CPU, s", "second rounds that repeat the first", "rows by status"]  # fmt: skip
    return [title, table(heads, quality), "What a row took:", table(cost_heads, costs), *differences(name, own)]


def quality_row(name: str, arm: str, results: Sequence[Result]) -> list[str]:
    """What became of the answers of one arm."""
    scored = [r for r in results if r.answer is not None]
    failed = len(results) - len(scored)
    cells = [arm, f"{len(results)} ({failed})", share(int(total(scored, "changed")[0]), len(scored))]
    if name != "open":
        cells.append(f"{total(scored, 'better')[0]:.0f} : {total(scored, 'worse')[0]:.0f}")
    groups = [r.case.group for r in scored]
    cells += [shown(mean([r.measured[m][0] for r in scored], groups)) for m in MEANS[name]]
    return cells + [
        shown(percent([r.measured[m] for r in scored], groups), 1) + f" of {total(scored, m)[1]:.0f}"
        for m in COLUMNS[name]
    ]  # fmt: skip


def total(results: Sequence[Result], name: str) -> tuple[float, float]:
    """Cases of a measure, and what they are out of."""
    pairs = [r.measured[name] for r in results]
    return sum(k for k, _ in pairs), sum(n for _, n in pairs)


def cost_row(name: str, arm: str, results: Sequence[Result], times: dict[str, Any]) -> list[str]:
    """What a row of one arm took; failed rows count where they say what they took."""
    told = [r.used for r in results if "seconds" in r.used]
    each = {key: sum(used[key] for used in told) / max(len(told), 1) for key in (*USED, "seconds")}
    clock = times.get(f"{name}.{arm}")
    again, rounds = total([r for r in results if r.answer is not None], "second rounds that repeat the first")
    return [
        arm, f"{each['calls']:.1f}", *(f"{each[key]:.0f}" for key in USED[1:]),
        f"{each['input_tokens'] + each['output_tokens']:.0f}", f"{each['seconds']:.1f}",
        *(("-",) * 3 if clock is None else (
            str(clock["concurrency"]), *(f"{clock[key] / clock['rows']:.2f}" for key in ("seconds", "cpu_s"))
        )),
        f"{again:.0f} of {rounds:.0f}" if arm in OURS else "-",
        ", ".join(f"{n} {status}" for status, n in Counter(r.status for r in results).most_common()),
    ]  # fmt: skip


def differences(name: str, own: dict[str, list[Result]]) -> list[str]:
    """Better less worse of Eirene's default and each peer's, and their difference on the rows that both have."""
    if name == "open" or "fine-grained" not in own:
        return []
    ours = {r.case.id: r for r in own["fine-grained"] if r.answer is not None}
    rows = []
    for arm in (a for a in own if a not in ("fine-grained", "people")):
        pairs = [(ours[r.case.id], r) for r in own[arm] if r.answer is not None and r.case.id in ours]
        groups = [r.case.group for r, _ in pairs]
        found = [mean([net(r) for r in side], groups) for side in zip(*pairs, strict=True)] if pairs else []
        if found:
            less = mean([net(a) - net(b) for a, b in pairs], groups)
            rows.append([arm, str(len(pairs)), *(shown(f, 2) for f in found), shown(less, 2)])
    return ["Better less worse, a row:", table(["beside", "rows", "Eirene", "the other", "difference"], rows)]


def net(result: Result) -> float:
    """1 for an answer made better, -1 for worse."""
    return result.measured["better"][0] - result.measured["worse"][0]


def failures_part(arms: Arms) -> str:
    """The failed rows, which have no figure, by reason."""
    failed = [(s, a, r) for (s, a), results in arms.items() for r in results if r.why is not None]
    lines = [f"- {s}, {a}, {r.case.id}: {' '.join(str(r.why).split())[:160]}" for s, a, r in failed]
    return "\n".join(["## Failed rows", "", *lines]) if lines else ""


if __name__ == "__main__":
    main()
