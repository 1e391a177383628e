"""`eirene synth fava --backend`: the journals of rows and of what was dropped, the way on from them, and Ctrl-C."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from eirene.cli.progress import Watch, watch
from eirene.cli.synth_fava import neighbours_in, passages_of, tell
from eirene.cli.terminal import say
from eirene.errors import InputError

if TYPE_CHECKING:
    from eirene.agent.batch.control import Control
    from eirene.cli.call_flags import CallFlags
    from eirene.synth.fava import Made, Outcome, Plan, Recipe
    from eirene.synth.fava.asking import Writes


@dataclass(frozen=True, slots=True)
class Order:
    """What the command was told beside the recipe and the model."""

    corpus: str
    out: str
    limit: int
    encoder: str
    concurrency: int
    grace_s: float
    force: bool


def by_model(order: Order, recipe: Recipe, made: Made, *, backend: str, base_url: str | None, calls: CallFlags) -> None:
    """Makes the rows that are missing; raises `typer.Exit` with 130 where the user stopped it."""
    from eirene.models.resolve import ChatOptions
    from eirene.output import STDOUT, write_text
    from eirene.synth.fava.asking import resolve_writes
    from eirene.synth.fava.pipeline import signature_of

    if order.out == STDOUT:
        raise InputError("with a backend the rows are a journal: name a file", field="out")
    price = calls.price_of(backend, base_url=base_url)
    options = ChatOptions(base_url=base_url, concurrency=order.concurrency, price=price, cache=calls.open_cache())
    writes = resolve_writes(backend, options)
    if order.force:
        for path in (order.out, _dropped(order.out)):
            Path(path).unlink(missing_ok=True)
    with ExitStack() as stack:
        journals = _Journals(made, signature_of(recipe, writes))
        journals.open(order.out, stack)
        stopped = asyncio.run(_run(order, recipe, writes, journals))
    card = {
        "corpus": Path(order.corpus).name, "model": writes.name, "version": writes.version,
        "signature": journals.signature, "kinds": list(recipe.kinds), "most": recipe.most,
        "references": recipe.references, "clean_share": recipe.clean, "genres_asked": list(recipe.genres),
        "tries": recipe.tries, "seed": recipe.seed, "passages": made.passages, "finished": not stopped, **made.card(),
    }  # fmt: skip
    write_text(f"{order.out}.card.json", json.dumps(card, ensure_ascii=False, indent=1) + "\n", force=True)
    if stopped:
        tell(made)
        say("stopped; the same command goes on from here")
        raise typer.Exit(130)


async def _run(order: Order, recipe: Recipe, writes: Writes, journals: _Journals) -> bool:
    """Whether the user stopped it."""
    from eirene.agent.batch.control import until_over
    from eirene.cli.batch_stop import stoppable
    from eirene.synth.fava import asynthesise

    neighbours = await asyncio.to_thread(neighbours_in, order.corpus, recipe.references, order.encoder)
    under_way: set[str] = set()
    with stoppable(grace_s=order.grace_s, under_way=lambda: len(under_way)) as stop, watch(0) as progress:
        planned = journals.missing(order, recipe, stop.control, under_way)

        async def pull() -> None:
            async for outcome in asynthesise(
                planned, recipe, writes, neighbours=neighbours, concurrency=order.concurrency, keep=journals.keep
            ):
                under_way.discard(outcome.key)
                _show(journals.made, progress)

        try:
            await until_over(pull(), stop.control)
        finally:
            stop.control.close()
        return stop.by_user


def _show(made: Made, progress: Watch) -> None:
    progress.count(made.rows + made.dropped.total() + made.failed, f"{made.rows} rows made; passages")


def _dropped(out: str) -> str:
    return f"{out}.dropped"


@dataclass(slots=True)
class _Journals:
    """Rows in one file, in the other why there is none of a passage and what that has cost; counted as they are read.

    Of a finished passage its key is held; one whose call failed is tried again.
    """

    made: Made
    signature: str
    done: set[bytes] = field(default_factory=set)
    failed: set[bytes] = field(default_factory=set)
    _append: dict[bool, Callable[[dict[str, Any]], None]] = field(default_factory=dict)
    _mutex: threading.Lock = field(default_factory=threading.Lock)

    def open(self, out: str, stack: ExitStack) -> None:
        """Opens both and reads them."""
        from eirene.agent.line_journal import LineJournal

        rows = stack.enter_context(LineJournal(out, on_line=self._row, key_of=_key))
        dropped = stack.enter_context(LineJournal(_dropped(out), on_line=self._drop))
        self._append = {True: rows.append, False: dropped.append}

    def missing(self, order: Order, recipe: Recipe, control: Control, under_way: set[str]) -> Iterator[Plan]:
        """The plans that are not done, until the run is stopped."""
        from eirene.synth.fava import plans

        # Twins among the passages are found anew by each run: of earlier lines nothing is known of them.
        for plan in plans(passages_of(order.corpus, order.limit), recipe, self.made):
            if control.reason is not None:
                return
            if bytes.fromhex(plan.key) not in self.done:
                under_way.add(plan.key)
                yield plan

    def keep(self, outcome: Outcome) -> None:
        """Puts an outcome on disk, and counts it. Several threads may call it."""
        made = outcome.item is not None
        line = self._line(outcome)
        self._append[made](line)
        with self._mutex:
            (self._row if made else self._drop)(line)

    def _line(self, outcome: Outcome) -> dict[str, Any]:
        if outcome.item is not None:
            return {k: v for k, v in outcome.item.model_dump(mode="json").items() if v is not None}
        return {
            "key": outcome.key, "id": outcome.id, "why": outcome.why, "failed": outcome.failed,
            "refused": dict(outcome.refused), "signature": self.signature, "usage": outcome.usage.model_dump(),
        }  # fmt: skip

    def _row(self, line: dict[str, Any]) -> None:
        meta = line["meta"]
        self._count(meta)
        self.made.rows += 1
        self.made.clean += not meta["findings"]
        self.made.errors.update(finding["kind"] for finding in meta["findings"])
        self.made.genres.update([meta["genre"]] if meta.get("genre") else [])
        self._finished(bytes.fromhex(meta["key"]))

    def _drop(self, line: dict[str, Any]) -> None:
        self._count(line)
        key = bytes.fromhex(line["key"])
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
        from eirene.usage import Usage

        if said.get("signature") != self.signature:
            raise ValueError("it was made with other settings or another model; name another file for --out")
        self.made.refused.update(said["refused"])
        self.made.usage = self.made.usage + Usage.model_validate(said["usage"])


def _key(line: dict[str, Any]) -> str:
    key = line["meta"].get("key") if isinstance(line.get("meta"), dict) else None
    if not isinstance(key, str):
        raise ValueError("has no 'meta.key'")
    return key
