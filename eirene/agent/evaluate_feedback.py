"""Runs a feedback model over labelled answers: a row each, on disk as it comes; `eirene.eval` makes figures of them."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from eirene.agent.settings import Settings
from eirene.agent.state import Parts
from eirene.errors import AuthError, BackendError, InputError, QuotaError, ScriptExhaustedError
from eirene.eval.feedback_data import FeedbackCase
from eirene.eval.feedback_rows import FeedbackRow, scored_row
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.sampling import draw_samples
from eirene.feedback_model.select import select
from eirene.records import digest
from eirene.seeds import derive_seed, signature
from eirene.usage import Meter

logger = logging.getLogger(__name__)

_HOPELESS = (AuthError, QuotaError, ScriptExhaustedError)
"""What the next answer would meet as well: the evaluation stops, and a rerun goes on from there."""

OnRow = Callable[[FeedbackRow], None]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The rows, in the order of the cases, and how many of them were in the journal already."""

    rows: tuple[FeedbackRow, ...]
    n_from_journal: int


async def aevaluate_feedback(
    cases: Sequence[FeedbackCase],
    parts: Parts,
    *,
    settings: Settings | None = None,
    journal: str | Path | None = None,
    concurrency: int = 8,
    retry_failed: bool = False,
    on_row: OnRow | None = None,
) -> Evaluation:
    """Draws, selects and compares with what is true, for every case.

    Of the settings, `samples`, `stop`, `min_consistency` and `seed` count. A case whose model fails is a `failed` row.
    With `journal`, each row is on disk before the next is begun in its place, and a rerun does what is missing (and
    what failed, with `retry_failed`). Raises `InputError` for a journal of other settings or data, `AuthError` and
    `QuotaError` from the model.
    """
    if concurrency < 1:
        raise InputError(f"concurrency must be at least 1, got {concurrency}", field="concurrency")
    settings = Settings() if settings is None else settings
    line = evaluation_signature(parts, settings)
    keys = [case_key(case, line) for case in cases]
    done = {} if journal is None else _read_journal(Path(journal), line)
    wanted = {k: c for k, c in zip(keys, cases, strict=True) if _is_missing(done.get(k), retry_failed)}
    n_known = len(set(keys) - set(wanted))
    slots = asyncio.Semaphore(concurrency)

    is_over = False  # a task that is waiting for its turn would begin before its cancellation reaches it

    async def one(key: str, case: FeedbackCase) -> None:
        nonlocal is_over
        async with slots:
            if is_over:
                return
            try:
                row = await _evaluate(case, parts, settings, key=key, line=line)
            except _HOPELESS:
                is_over = True
                raise
            write(row)
            done[key] = row
            if on_row is not None:
                on_row(row)

    with _writer(None if journal is None else Path(journal)) as write:
        try:
            async with asyncio.TaskGroup() as group:
                for key, case in wanted.items():
                    group.create_task(one(key, case))
        except* _HOPELESS as hopeless:
            raise hopeless.exceptions[0] from None
    return Evaluation(tuple(done[k] for k in keys), n_known)


def evaluate_feedback(
    cases: Sequence[FeedbackCase],
    parts: Parts,
    *,
    settings: Settings | None = None,
    journal: str | Path | None = None,
    concurrency: int = 8,
    retry_failed: bool = False,
    on_row: OnRow | None = None,
) -> Evaluation:
    """`aevaluate_feedback` for callers that are not async."""
    return asyncio.run(
        aevaluate_feedback(
            cases,
            parts,
            settings=settings,
            journal=journal,
            concurrency=concurrency,
            retry_failed=retry_failed,
            on_row=on_row,
        )
    )


def evaluation_signature(parts: Parts, settings: Settings) -> str:
    """The settings that made a row, as one line."""
    from eirene import __version__

    return signature(
        n=settings.samples,
        select="tag+reason",
        stop=settings.stop,
        min=settings.min_consistency or None,
        backend=parts.backend,
        critic=parts.feedback_model.name if parts.feedback_model.name != parts.backend else None,
        model=parts.version,
        seed=settings.seed,
        v=__version__,
    )


def case_key(case: FeedbackCase, line: str) -> str:
    """A hash of everything that a row hangs on: the item, its cut, its labels and the signature."""
    cut = [[s.start, s.end] for s in case.sentences]
    labels = [case.lacks, list(case.tags or ()), list(case.reasons)]
    return digest([case.item.model_dump(mode="json"), cut, labels, line])[:16]


async def _evaluate(case: FeedbackCase, parts: Parts, settings: Settings, *, key: str, line: str) -> FeedbackRow:
    seed = derive_seed(settings.seed, case.item.id, "feedback", 1)
    request = FeedbackRequest(case.item, case.item.answer, case.sentences, seed)
    meter = Meter()

    def unscored(status: str, why: str, *, n_drawn: int = 0, n_valid: int = 0) -> FeedbackRow:
        return FeedbackRow.model_validate(
            {"id": case.item.id, "key": key, "signature": line, "n_sentences": len(case.sentences), "gold": case.tags,
             "lacks": case.lacks, "status": status, "why": why, "n_drawn": n_drawn, "n_valid": n_valid,
             "usage": meter.total.model_dump()}
        )  # fmt: skip

    try:
        drawn = await draw_samples(
            parts.feedback_model,
            request,
            n=settings.samples,
            stop=settings.stop,
            meter=meter,
            min_consistency=settings.min_consistency,
        )
    except _HOPELESS:
        raise
    except BackendError as error:
        return unscored("failed", f"{error.kind}: {error}")
    chosen = select(
        drawn.samples,
        case.sentences,
        n_requested=settings.samples,
        min_consistency=settings.min_consistency,
        early_stop=drawn.early_stop,
    )
    if chosen.critique is None:
        n_valid = sum(s.is_valid for s in drawn.samples)
        why = chosen.abstained or "no critique"
        return unscored("abstained", why, n_drawn=len(drawn.samples), n_valid=n_valid)
    return scored_row(case, drawn.samples, chosen.critique, key=key, signature=line, usage=meter.total)


def _is_missing(row: FeedbackRow | None, retry_failed: bool) -> bool:
    return row is None or (retry_failed and row.status == "failed")


def _read_journal(file: Path, line: str) -> dict[str, FeedbackRow]:
    """The rows by key; of several with one key the last counts. A last line that was cut off is taken away."""
    if not file.exists():
        return {}
    try:
        data = file.read_bytes()
        if data and not data.endswith(b"\n"):
            data = data[: data.rfind(b"\n") + 1]
            os.truncate(file, len(data))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=str(file)) from None
    found: dict[str, FeedbackRow] = {}
    for n, text in enumerate(data.splitlines(), start=1):
        try:
            row = FeedbackRow.model_validate(json.loads(text))
        except (ValueError, ValidationError):
            raise InputError("is no row of an evaluation; name another file", where=f"{file}, line {n}") from None
        if row.signature != line:
            raise InputError(
                f"was made with other settings ({row.signature}), now asked for are {line}; name another file",
                where=f"{file}, line {n}",
            )
        found[row.key] = row
    return found


@contextlib.contextmanager
def _writer(file: Path | None) -> Iterator[OnRow]:
    """Gives a function that puts a row on disk before it returns."""
    if file is None:
        yield lambda _: None
        return
    try:
        handle = file.open("ab")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", where=str(file)) from None
    with handle:

        def write(row: FeedbackRow) -> None:
            text = json.dumps(row.model_dump(mode="json"), ensure_ascii=False, allow_nan=False)
            handle.write(text.encode("utf-8") + b"\n")
            handle.flush()
            os.fsync(handle.fileno())

        yield write
