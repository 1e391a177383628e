"""Requests and tokens of the loop with a chat model: by stopping rule, where `n` is taken and where it is refused.

    python benchmarks/loop_requests.py [--rows 20] [--tokenizer tokenizer.json]

The real `langchain-openai` client against a scripted server on loopback. A row has two sides of three arguments and an
answer of five sentences; a critique is the most common one in nine of ten, as its seed says; rewrites of four rows of
five say what is missing, the others nothing new. Replies have the form that the request asks for (the schema's, without
spaces). Tokens are those of the messages and replies by the tokenizer, else by rule of thumb; those of a schema, which
providers count in ways of their own, are not among them. "known": tokens of prompts that begin like an earlier one.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from compare_loopback import CLAIMS, item

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.agent.run import arefine
from eirene.agent.settings import Settings
from eirene.core.errors import InputError
from eirene.models.costs import rough_count
from eirene.testing.loopback import LoopbackServer, NPolicy
from eirene.testing.script import ScriptedRequest

SHARE = 0.9
REASONS = (
    "The noise while they are built is missing, which opponents name as a cost.",
    "It leaves out that they are noisy while they are built.",
    "The argument about noise during building is not given, so the side is incomplete.",
)
RIVALS = ((2,), (), (4, 5))
"""Which sentences the less common critiques find incomplete."""


def beginning(one: list[str] | list[int], other: list[str] | list[int]) -> int:
    """How many first tokens two prompts have in common."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@dataclass
class Sent:
    """What the server was sent and gave, in tokens."""

    count: Callable[[str], list[str] | list[int]]
    prompt: int = 0
    known: int = 0
    completion: int = 0
    prompts: dict[str, list[str] | list[int]] = field(default_factory=dict)

    def asked(self, text: str) -> None:
        """Counts a prompt, and how much of it an earlier one had."""
        tokens = self.prompts.get(text)
        shared = max((beginning(self.tokens(text), known) for known in self.prompts.values()), default=0)
        self.prompts[text] = tokens = self.tokens(text)
        self.prompt += len(tokens)
        self.known += shared

    def tokens(self, text: str) -> list[str] | list[int]:
        """The tokens of a text."""
        return self.prompts.get(text) or self.count(text)

    def gave(self, text: str) -> str:
        """Counts a reply."""
        self.completion += len(self.count(text))
        return text


def critique(request: ScriptedRequest, index: int) -> str:
    """One critique in the form that is asked for: a function of the seed, which n replies count on from."""
    rng = np.random.default_rng([request.body["seed"], index])
    faulty = (4,) if rng.random() < SHARE else RIVALS[rng.integers(len(RIVALS))]
    said = {n: REASONS[rng.integers(len(REASONS))] for n in faulty}
    schema = request.body.get("response_format")
    if schema is None:
        return "\n".join(
            f"{n}. [Incomplete] Reasons: {said[n]}" if n in said else f"{n}. [Complete]" for n in range(1, 6)
        )
    if '"tag"' in json.dumps(schema):  # the form until version 0.1's last months
        entries = {
            n: {"tag": "Incomplete", "reason": said[n]} if n in said else {"tag": "Complete"} for n in range(1, 6)
        }
        return json.dumps(entries, separators=(",", ":"))
    flat = {n: f"Incomplete: {said[n]}" if n in said else "Complete" for n in range(1, 6)}
    return json.dumps(flat, separators=(",", ":"))


def rewrite(request: ScriptedRequest) -> str:
    """The answer with the missing arguments; for every fifth row the answer as it is, in other words."""
    text = request.text
    begin, end = text.index("People disagree about"), text.index("for figures.") + len("for figures.")
    answer = text[begin:end]
    subject = answer.removeprefix("People disagree about the ").split(".", 1)[0]
    if int(subject.rsplit(" ", 1)[1]) % 5 == 4:
        return answer.replace("Both sides have asked", "Both of the sides asked")
    more = [f" {who} say as well that {CLAIMS[side][2].format(s=f'the {subject}')}."
            for who, side in (("Supporters", "for"), ("Opponents", "against"))]  # fmt: skip
    return answer + "".join(more)


async def run(rows: int, policy: NPolicy, stop: str, tokenize: Callable[[str], list[str] | list[int]]) -> str:
    """One line of the table: means of a row."""
    sent, n = Sent(tokenize), 0

    def script(request: ScriptedRequest, index: int) -> str:
        if index == 0:
            sent.asked(request.text)
        is_rewrite = "Write the improved answer now" in request.text
        return sent.gave(rewrite(request) if is_rewrite else critique(request, index))

    statuses, drawn = Counter[str](), 0
    with LoopbackServer(script, n=policy) as server:
        parts = resolve_backend("openai:test", BackendOptions(base_url=server.base_url))
        settings = Settings.of(stop=stop)
        for number in range(rows):
            record = await arefine(item(number), backend=parts, settings=settings)
            statuses[record.status] += 1
            drawn += record.rounds[0].critique.n_drawn if record.rounds and record.rounds[0].critique else 0
        n = server.calls
    sums = (sent.prompt, sent.known, sent.completion, sent.prompt + sent.completion)
    tokens = " | ".join(f"{total / rows:,.0f}" for total in sums)
    return (
        f"| {policy} | `{stop}` | {n / rows:.2f} | {drawn / rows:.1f} | {tokens} | {statuses['accepted']} of {rows} |"
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--tokenizer", type=Path)
    options = parser.parse_args()
    tokenize: Callable[[str], list[str] | list[int]] = lambda text: ["x"] * rough_count(text)  # noqa: E731
    if options.tokenizer is not None:
        from tokenizers import Tokenizer

        known = Tokenizer.from_file(str(options.tokenizer))
        tokenize = lambda text: known.encode(text, add_special_tokens=False).ids  # noqa: E731
    print("| `n` | stop | requests | samples | prompt | known | reply | tokens | accepted |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    policies: tuple[NPolicy, ...] = ("takes", "refuses")
    for policy in policies:
        for stop in ("none", "beta", "auto"):
            try:
                print(asyncio.run(run(options.rows, policy, stop, tokenize)), flush=True)
            except InputError as error:
                print(f"| {policy} | `{stop}` | {error} |")


if __name__ == "__main__":
    main()
