"""`eirene synth fava --backend`: journals of rows and of dropped passages, resume, and the summary."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from eirene.cli.data_flags import CorpusFlags
from eirene.cli.model_flags import is_named
from eirene.cli.progress import watch
from eirene.cli.terminal import say
from eirene.core.errors import BackendError, InputError
from eirene.core.usage import Usage

if TYPE_CHECKING:
    from eirene.agent.batch.control import Limits
    from eirene.cli.batch.flags import Stop
    from eirene.cli.model_flags import CallFlags
    from eirene.models.chat import ChatModel
    from eirene.synth.fava.pipeline import PassageOutcome
    from eirene.synth.fava.recipe import FavaRecipe, FavaTotals, Neighbours, PassagePlan


@dataclass(frozen=True, slots=True)
class Order:
    """What the command was told beside the recipe and the model."""

    corpus: str
    out: str
    limit: int
    encoder: str
    concurrency: int
    grace_s: float
    limits: Limits
    force: bool


def by_model(order: Order, recipe: FavaRecipe, made: FavaTotals, *, backend: str, calls: CallFlags) -> None:
    """Makes the rows that are missing; raises `typer.Exit` with 130 where the user stopped it."""
    from eirene.data.output import STDOUT
    from eirene.models.resolve import ChatOptions, resolve_chat
    from eirene.synth.fava.pipeline import signature_of
    from eirene.synth.fava.recipe import neighbours_by

    money = order.limits.max_cost_usd
    if order.out == STDOUT:
        raise InputError("with a backend the rows are a journal: name a file", field="out")
    price = calls.price_of(backend, base_url=calls.base_url)
    if money is not None and price is None and is_named(backend):
        raise InputError(f"--max-cost needs to know what the tokens of {backend} cost: give --price", field="max-cost")
    options = ChatOptions(
        base_url=calls.base_url, concurrency=order.concurrency, timeout_s=calls.timeout, price=price,
        cache=calls.open_cache(),
    )  # fmt: skip
    writes = resolve_chat(backend, options=options)
    flags = CorpusFlags(corpus_encoder=order.encoder, passages=recipe.references)
    # In this thread, which Ctrl-C ends at once, and before a file is touched: it reads the corpus to its end.
    neighbours = neighbours_by(lambda: flags.retriever(order.corpus), references=recipe.references)
    with ExitStack() as stack:
        journals = _Journals(made, signature_of(recipe, writes))
        journals.open(order.out, stack, anew=order.force)
        try:
            stop = asyncio.run(_run(order, recipe, writes, journals, neighbours))
        except (BackendError, OSError) as error:
            left = journals.left()
            if isinstance(error, BackendError):  # where the disk is full, a card does not fit either
                _write_card(order, recipe, writes, journals, is_finished=False)
            say(f"{made.rows} rows are there; {left:,} passages are left; run the same command again to resume")
            raise
        left = 0 if stop.control.reason is None else journals.left()
        _write_card(order, recipe, writes, journals, is_finished=not left)
    for line in made.told():
        say(line)
    if left:
        command = "the same command" if stop.by_user else "with a higher limit the same command"
        say(f"stopped ({stop.control.reason}): {left:,} passages are left; {command} resumes")
    if stop.by_user:
        raise typer.Exit(130)


def _write_card(order: Order, recipe: FavaRecipe, writes: ChatModel, journals: _Journals, *, is_finished: bool) -> None:
    from eirene.data.output import write_text
    from eirene.synth.fava.pipeline import writer_version

    made = journals.made
    card = {
        "corpus": Path(order.corpus).name, "model": writes.name, "version": writer_version(writes),
        "signature": journals.signature, "kinds": list(recipe.kinds), "most": recipe.most,
        "references": recipe.references, "clean_share": recipe.clean, "genres_asked": list(recipe.genres),
        "tries": recipe.tries, "seed": recipe.seed, "passages": made.passages, "finished": is_finished, **made.card(),
    }  # fmt: skip
    write_text(f"{order.out}.card.json", json.dumps(card, ensure_ascii=False, indent=1) + "\n", force=True)


async def _run(
    order: Order, recipe: FavaRecipe, writes: ChatModel, journals: _Journals, neighbours: Neighbours
) -> Stop:
    """Makes rows until none is left, a limit is reached, or the user stops it."""
    from eirene.agent.batch.control import Budget
    from eirene.agent.batch.rows import run_rows
    from eirene.cli.batch.flags import stoppable
    from eirene.synth.fava.pipeline import asynthesise

    under_way: dict[str, PassagePlan] = {}
    with stoppable(grace_s=order.grace_s, under_way=lambda: len(under_way)) as stop, watch(0) as progress:

        def run(planned: Iterable[PassagePlan | None]) -> AsyncGenerator[PassageOutcome, None]:
            return asynthesise(planned, recipe, writes, neighbours=neighbours, concurrency=order.concurrency)

        def on_written(outcome: PassageOutcome) -> None:
            journals.count(outcome)
            made = journals.made
            progress.count(made.rows + made.dropped.total() + made.failed, f"{made.rows} rows made; passages")

        await run_rows(
            run, journals.missing(order, recipe), write=journals.write, on_written=on_written, control=stop.control,
            budget=Budget(order.limits, journals.spent, journals.spent_now), under_way=under_way,
        )  # fmt: skip
        return stop


def _is_card(path: Path) -> bool:
    """Whether the file is one that the run may write over: there is none, or it is an earlier run's."""
    if not path.exists():
        return True
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and {"corpus", "signature"} <= found.keys()


@dataclass(slots=True)
class _Spent:
    """How many lines there are, and what they took."""

    rows: int = 0
    usage: Usage = field(default_factory=Usage)

    def add(self, usage: Usage) -> None:
        self.rows += 1
        self.usage = self.usage + usage


@dataclass(slots=True)
class _Journals:
    """Rows in one file, in the other why there is none of a passage and what that has cost; counted as they are read.

    Of a finished passage its key is held; one whose call failed is tried again. `spent` is what all lines took,
    `spent_now` those of this run.
    """

    made: FavaTotals
    signature: str
    spent: _Spent = field(default_factory=_Spent)
    spent_now: _Spent = field(default_factory=_Spent)
    done: set[bytes] = field(default_factory=set)
    failed: set[bytes] = field(default_factory=set)
    _append: dict[bool, Callable[[list[dict[str, Any]]], None]] = field(default_factory=dict)
    _rest: Iterator[PassagePlan] = field(default_factory=lambda: iter(()))
    _unfinished: int = 0

    def open(self, out: str, stack: ExitStack, *, anew: bool) -> None:
        """Opens both and reads them, or with `anew` empties them.

        Raises `InputError` for a file beside the rows that is none of such a run: it was not named, and stays.
        """
        from eirene.data.journal import open_journal

        drops, card = f"{out}.dropped", f"{out}.card.json"
        if Path(drops).exists():
            open_journal(drops, on_line=_key).close()
        if not anew and not _is_card(Path(card)):
            raise InputError("exists already and is no card; name another file for --out", where=card)
        rows = stack.enter_context(open_journal(out, on_line=self._row, anew=anew))
        dropped = stack.enter_context(open_journal(drops, on_line=self._drop, anew=anew))
        self._append = {True: rows.append, False: dropped.append}

    def missing(self, order: Order, recipe: FavaRecipe) -> Iterator[PassagePlan]:
        """The plans that are not done."""
        from eirene.synth.fava.recipe import passages_of, plans

        # Twins among the passages are found anew by each run: of earlier lines nothing is known of them.
        self._rest = plans(passages_of(order.corpus, order.limit), recipe, self.made)
        for plan in self._rest:
            if bytes.fromhex(plan.key) not in self.done:
                self._unfinished += 1
                yield plan

    def left(self) -> int:
        """How many passages are not finished."""
        before = self.made.passages, Counter(self.made.dropped)
        left = self._unfinished + sum(bytes.fromhex(plan.key) not in self.done for plan in self._rest)
        self.made.passages, self.made.dropped = before  # what was read to be counted alone is no part of the run
        return left

    def write(self, outcomes: Sequence[PassageOutcome]) -> None:
        """Puts outcomes on disk."""
        for made, append in self._append.items():
            lines = [self._line(outcome) for outcome in outcomes if (outcome.item is not None) == made]
            if lines:
                append(lines)

    def count(self, outcome: PassageOutcome) -> None:
        """Counts an outcome that is on disk."""
        (self._row if outcome.item is not None else self._drop)(self._line(outcome))
        self.spent_now.add(outcome.usage)
        self._unfinished -= not outcome.failed

    def _line(self, outcome: PassageOutcome) -> dict[str, Any]:
        if outcome.item is not None:
            return {k: v for k, v in outcome.item.model_dump(mode="json").items() if v is not None}
        return {
            "key": outcome.key, "id": outcome.id, "why": outcome.why, "failed": outcome.failed,
            "refused": dict(outcome.refused), "signature": self.signature, "usage": outcome.usage.model_dump(),
        }  # fmt: skip

    def _row(self, line: dict[str, Any]) -> None:
        key, meta = _key(line.get("meta")), line["meta"]
        self._count(meta)
        self.made.rows += 1
        self.made.clean += not meta["findings"]
        self.made.errors.update(finding["kind"] for finding in meta["findings"])
        self.made.genres.update([meta["genre"]] if meta.get("genre") else [])
        self._finished(key)

    def _drop(self, line: dict[str, Any]) -> None:
        key = _key(line)
        self._count(line)
        if line["failed"]:
            self.failed.add(key)
            self.made.failed = len(self.failed)
            return
        self.made.dropped[line["why"]] += 1
        self._finished(key)

    def _finished(self, key: bytes) -> None:
        self.done.add(key)
        self.failed.discard(key)
        self.made.failed = len(self.failed)

    def _count(self, said: dict[str, Any]) -> None:
        if said.get("signature") != self.signature:
            raise ValueError("it was made with other settings or another model; name another file for --out")
        self.made.refused.update(said["refused"])
        self.spent.add(Usage.model_validate(said["usage"]))
        self.made.usage = self.spent.usage


def _key(line: Any) -> bytes:
    key = line.get("key") if isinstance(line, dict) else None
    if not isinstance(key, str):
        raise ValueError("it has no key of a passage")
    return bytes.fromhex(key)
