"""The protocols of published hallucination detectors: what each model reads, in which layout, and where its score is.

`protocols.toml` has a row for each; its name is that of a detector. `eirene.eval.detectors.heads` runs the classifiers,
and `eirene.eval.detectors.trained_judges` the chat models.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

Kind = Literal[
    "sequence head", "sequence head on samples", "seq2seq first token", "token head", "chat first token", "chat reply",
    "chat errors", "chat tags",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How one published detector is asked; `source` is the paper, and the code that was read.

    `hub`: the checkpoint, unless another is named; None where one has to be. `layout`: what a classifier reads, `end`
    is its tokenizer's end token; None is the tokenizer's own layout of a pair. `prompt`: a file of `eirene.prompts`,
    in the words of the training. `label`: the number of the label that is read, of `labels`; None is the one named
    entailment. `tokens`: the ids that a first token is chosen from, in order of labels. `is_whole`: the answer is read
    whole, not by sentences; `needs_given`: there must be given text to hold it against; `is_mean`: it is as its mean
    sentence, not as its worst; `covers`: arguments are held against the answer too. `of_two`: entailment counts against
    contradiction alone, whatever other labels there are. `window`: given text is read in chunks of whole sentences of
    at most so many words, or tokens, and the best chunk counts. `longest`: tokens that are read at once, where that is
    not what the tokenizer says. `base`: where configuration and tokenizer are, if not with the weights. `renamed`:
    beginnings of the tensors' names, and what they are here. `words`: the verdict on a supported text, and on one that
    is not; `verdict`: where it stands in a reply of up to `reply_tokens`, the last one counts. Replies of kind "chat
    errors" are TIGERScore's lists of errors, those of "chat tags" copies of the answer with FAVA's tags.
    """

    name: str
    kind: Kind
    about: str
    source: str
    hub: str | None = None
    layout: str | None = None
    prompt: str = ""
    label: int | None = None
    labels: int | None = None
    tokens: tuple[int, ...] = ()
    is_whole: bool = False
    needs_given: bool = True
    is_mean: bool = False
    covers: bool = False
    of_two: bool = False
    window: int | None = None
    counts: Literal["words", "tokens"] = "words"
    longest: int | None = None
    base: str | None = None
    renamed: tuple[tuple[str, str], ...] = ()
    words: tuple[str, ...] = ()
    verdict: str = ""
    reply_tokens: int = 1


def _read(name: str, row: dict[str, Any]) -> Protocol:
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Protocol(name=name, **values)


_TABLE = tomllib.loads((resources.files("eirene.models") / "protocols.toml").read_text("utf-8"))
PROTOCOLS = {name: _read(name, row) for name, row in _TABLE.items()}
"""Every protocol by the name of its detector."""


def split_name(spec: str) -> tuple[str | None, str]:
    """Reads `NAME=MODEL`, the model of one detector; None and the model where no detector is named."""
    name, _, model = spec.partition("=")
    return (name, model) if name in PROTOCOLS else (None, spec)
