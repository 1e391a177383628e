"""The loop: its state machine, its gate, and everything that runs them. Detectors, refiners, critics are elsewhere."""

from eirene.agent.graph import Graph, compile_graph, initial_state, mermaid
from eirene.agent.loop import Loop
from eirene.agent.record import make_record, run_signature
from eirene.agent.run import arefine, build_graph, refine
from eirene.agent.settings import Settings
from eirene.agent.state import Event, Parts, State
from eirene.gate import Verdict, judge

__all__ = [
    "Event",
    "Graph",
    "Loop",
    "Parts",
    "Settings",
    "State",
    "Verdict",
    "arefine",
    "build_graph",
    "compile_graph",
    "initial_state",
    "judge",
    "make_record",
    "mermaid",
    "refine",
    "run_signature",
]
