"""What the graph itself costs per round: scripted parts that do nothing, timed with the loop around them and without.

python benchmarks/graph_cost.py [--runs 200]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time

import eirene
from eirene.agent.graph import compile_graph, initial_state
from eirene.agent.settings import Settings
from eirene.core.critique import Sample
from eirene.core.grounding import grounding_for
from eirene.core.scores import Scores
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.sampling import draw_samples
from eirene.feedback_model.vote import select
from eirene.refiners.base import RefineTask
from eirene.testing.parts import scripted_parts
from eirene.text.sentences import split_sentences

ANSWER = " ".join(f"Statement number {n} says something of its own." for n in range(12))
ITEM = eirene.Item(
    id="cost",
    question="What does the graph cost?",
    answer=ANSWER,
    perspectives=[eirene.Perspective(name="pro", arguments=["It is fast."])],
)
SAMPLE = Sample(tags=("Incomplete",) + ("Complete",) * 11, reasons=("It lacks a figure.",) + (None,) * 11)
SCORES = {ANSWER: Scores(hallucination=0.5, coverage=0.5), "worse": Scores(hallucination=0.9, coverage=0.5)}


def parts(rounds: int, runs: int = 1) -> eirene.Parts:
    rewrites = ["worse" if n == 0 else f"worse {n}" for n in range(rounds)]
    table = SCORES | {r: SCORES["worse"] for r in rewrites}
    return scripted_parts(samples=[SAMPLE] * 20 * runs, rewrites=rewrites * runs, scores=table)


async def bare(models: eirene.Parts, rounds: int) -> None:
    """The same calls of the same parts, one after the other, without a graph."""
    sentences, meter = split_sentences(ANSWER), Meter()
    request = FeedbackRequest(ITEM, ANSWER, sentences, 0)
    drawn = await draw_samples(models.feedback_model, request, n=20, stop="none", meter=meter)
    critique = select(drawn.samples, sentences, n_requested=20).critique
    for _ in range(rounds):
        rewrite = await models.refiner.refine(RefineTask(ITEM, ANSWER, "fine-grained", critique, (), 0), meter=meter)
        for text in (ANSWER, rewrite):
            case = Case(ITEM.question, text, grounding_for(ITEM, critique))
            await models.detectors[0].score(case, meter=meter)


async def measure(runs: int, rounds: int) -> tuple[float, float]:
    """Median seconds of a run with the graph (compiled once, as `refine` does for the same parts) and without."""
    settings = Settings(max_rounds=rounds, patience=rounds)
    with_graph, without = [], []
    graph = compile_graph(parts(rounds, runs), settings)
    for _ in range(runs):
        start = initial_state(ITEM, 0)
        began = time.perf_counter()
        state = await graph.ainvoke(start)  # type: ignore[arg-type]  # the input goes past the reducers
        with_graph.append(time.perf_counter() - began)
        if len(state["rounds"]) != rounds:
            raise RuntimeError(f"the run took {len(state['rounds'])} rounds, not {rounds}")
        models = parts(rounds)
        began = time.perf_counter()
        await bare(models, rounds)
        without.append(time.perf_counter() - began)
    return statistics.median(with_graph), statistics.median(without)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    runs = parser.parse_args().runs
    for rounds in (1, 2, 5):
        graph_s, bare_s = asyncio.run(measure(runs, rounds))
        own = (graph_s - bare_s) / rounds
        print(
            f"{rounds} rounds: {graph_s * 1e3:.2f} ms with the graph, {bare_s * 1e3:.2f} ms without, "
            f"{own * 1e3:.2f} ms a round of its own (n={runs} runs, medians)"
        )


if __name__ == "__main__":
    main()
