"""The settings of the loop, each declared once: type, bounds, default and help.

`eirene.Settings`, the command line's flags and the table in docs/reference/settings.md are made from these
fields. Nothing heavy is imported, so that `--help` need not wait for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from annotated_types import Ge, Gt, Le

from eirene.core.signature import MAX_SEED

Mode = Literal["improve", "generic", "fine-grained", "human", "edit"]
MODES: tuple[Mode, ...] = get_args(Mode)
StopRule = Literal["none", "exact", "beta"]
Stop = Literal["auto", "none", "exact", "beta"]
"""When drawing ends: by one of the rules, or by the one that `auto` picks for how the model is asked."""
Structured = Literal["auto", "schema", "text"]
"""How replies are asked for: by JSON schema while the server takes it, by schema or not at all, or as text."""
Readout = Literal["vote", "probabilities"]
"""What a critique is read from: samples that vote, or a model's probabilities of a yes or no for each sentence."""
Critic = Literal["completeness", "hallucination", "both"]
RewriteForm = Literal["patch", "sentences", "whole"]
"""What a model writes: changes to numbered sentences, each faulty sentence by itself, or the whole answer."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What people are told of a setting: its help, the group that it stands in, and its flag where that is another; ""
    where it has none, and is set in Python alone.
    """

    help: str
    group: str = "The loop"
    flag: str | None = None

    def flag_of(self, name: str) -> str:
        """The flag of the setting of this name, such as `--max-rounds`; "" where it has none."""
        return f"--{name.replace('_', '-')}" if self.flag is None else self.flag


@dataclass(kw_only=True)
class LoopSettings:
    """The fields; `eirene.Settings` checks them."""

    mode: Annotated[
        Mode,
        Setting(
            "What the refiner is told: nothing (improve), that the answer is not complete (generic), the critique, or "
            "the row's feedback (human); edit applies the critique's edits and asks no model to write."
        ),
    ] = "fine-grained"
    rewrite: Annotated[
        Literal["auto", "patch", "sentences", "whole"],
        Setting(
            "How a language model rewrites: by a list of changes (patch), each faulty sentence by itself, or the whole "
            "answer, as mode improve always does; auto takes sentences for a model that runs here, else patch."
        ),
    ] = "auto"
    candidates: Annotated[
        int,
        Ge(0),
        Le(20),
        Setting("Rewrites drawn in one request, of which the best counts (0: 3 from a model that runs here, else 1)."),
    ] = 0
    rewrite_temperature: Annotated[
        float, Ge(0), Le(2), Setting("Temperature of several candidates; one alone is drawn at 0.", flag="")
    ] = 0.7
    retry_temperature: Annotated[
        float, Ge(0), Le(2), Setting("Temperature of the rewrites after one that was turned down.", flag="")
    ] = 1.0
    samples: Annotated[int, Ge(3), Le(10_000), Setting("Critiques drawn for each vote (EIR: 20).")] = 20
    stop: Annotated[
        Stop,
        Setting(
            "When to stop drawing early: exact never changes the winning tags, beta stops at a posterior of 0.95, none "
            "draws all at once (EIR); auto is beta for language models (exact with a floor on consistency)."
        ),
    ] = "auto"
    max_rounds: Annotated[int, Ge(1), Le(100), Setting("Rounds at most; each draws rewrites anew.")] = 2
    patience: Annotated[int, Ge(0), Setting("Rejected rewrites in a row after which one more is tried.", flag="")] = 1
    after_accept: Annotated[
        Literal["stop", "continue"],
        Setting("What follows an accepted rewrite: the end, or a new critique of it while rounds are left."),
    ] = "stop"
    min_consistency: Annotated[
        float,
        Ge(0),
        Le(1),
        Setting("Tag consistency in [0, 1] under which the run abstains (0 is off).", "The gate"),
    ] = 0.0
    gate_risk: Annotated[
        float,
        Gt(0),
        Le(0.5),
        Setting("With passages: the share of accepted rewrites that may be worse than the answer.", "The gate"),
    ] = 0.05
    tolerance: Annotated[
        float,
        Ge(0),
        Le(1),
        Setting("How much worse an error score in [0, 1] may get before a rewrite counts as harm.", "The gate"),
    ] = 0.02
    min_gain: Annotated[
        float, Ge(0), Le(1), Setting("How much better one error score must get, as a difference.", flag="")
    ] = 0.02
    partial: Annotated[
        Literal["undo", "reject"],
        Setting(
            "What to do with a rewrite that has rejected edits: undo those edits, or reject all of it.",
            "The gate",
        ),
    ] = "undo"
    when_gain_unmeasured: Annotated[
        Literal["accept", "keep"],
        Setting("Accept a harmless rewrite whose gain cannot be measured, or keep the original.", flag=""),
    ] = "keep"
    judge_risk: Annotated[
        float,
        Ge(0),
        Le(0.5),
        Setting(
            "Where nothing was given: a rewrite is accepted that the model finds better with probability 1 - this (0 "
            "does not ask).",
            "The gate",
        ),
    ] = 0.25
    evidence: Annotated[
        int,
        Ge(0),
        Le(1_000),
        Setting("With passages: how many of their sentences models are shown, those that bear most (0 is all)."),
    ] = 16
    critic: Annotated[
        Critic,
        Setting("What critiques look for; mode edit takes hallucination (six kinds, with edits) or both."),
    ] = "completeness"
    critic_readout: Annotated[
        Literal["auto", "vote", "probabilities"],
        Setting(
            "What decides on a sentence: the vote of samples, or the probabilities of a yes or no for each sentence, "
            "for models that give them (auto: probabilities of a gguf: model, else the vote)."
        ),
    ] = "auto"
    removal: Annotated[
        Literal["remove", "mark"],
        Setting("In mode edit: remove faulty text that has no replacement, or mark it in brackets."),
    ] = "remove"
    deadline_s: Annotated[
        float,
        Gt(0),
        Setting("Seconds for one item; past them the run fails with the original answer.", flag="--item-deadline"),
    ] = 600.0
    seed: Annotated[int, Ge(0), Le(MAX_SEED), Setting("The same seed gives the same record.")] = 0
