"""Parquet: a batch's journal as a Parquet file, streamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json

from eirene.core.errors import InputError
from eirene.data import check_outside
from eirene.data.arrow import check_pyarrow
from eirene.data.json_rows import reason
from eirene.data.line_checksum import DamagedError, check_seal, without_seal
from eirene.data.output import check_output

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_AT_ONCE = 1000


def check_parquet(path: str | None, *, out: str, data: str) -> None:
    """Raises `InputError` or `MissingExtraError` where the file could not be written, before anything is spent.

    One that is there is written over only if it is a batch's: `data`, which is read, and all else stays.
    """
    if path is None:
        return
    check_pyarrow()
    if Path(path).resolve() == Path(out).resolve():
        raise InputError("is the journal itself; name another file for --parquet", where=path)
    check_outside(path, data, flag="--parquet")
    check_output(path, force=True)
    if Path(path).is_file() and not _is_a_batchs(path):
        raise InputError("is there already, and not of a batch; name another file for --parquet", where=path)


def write_parquet(journal: str | Path, path: str | Path) -> int:
    """Writes the whole lines of a journal as rows, all of them or no file; returns how many.

    Nested parts (rounds, scores) are JSON texts: what they hold differs from row to row. A file that is there is
    written over (see `check_parquet`): it is made of the journal.
    """
    import pyarrow.parquet as pq

    target = Path(path).resolve()
    n = 0
    try:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:100]}.")
        os.close(handle)
        try:
            with pq.ParquetWriter(name, _schema(), compression="zstd") as writer:
                for rows in _batches(Path(journal)):
                    writer.write_batch(rows)
                    n += rows.num_rows
            os.chmod(name, 0o644 if not target.exists() else target.stat().st_mode)
            os.replace(name, target)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name)
    except OSError as error:
        raise InputError(f"cannot be written: {reason(error)}", where=str(path)) from None
    except DamagedError as error:
        raise InputError(f"has a line that {error}", where=str(journal)) from None
    return n


def _is_a_batchs(path: str) -> bool:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return {"original", "signature", "hash"} <= set(pq.read_schema(path).names)
    except (OSError, pa.ArrowException):
        return False


def _schema() -> pa.Schema:
    import pyarrow as pa

    texts = ("id", "question", "original", "answer", "status", "why", "mode", "backend", "signature", "hash")
    numbers = ("seed", "calls", "retries", "cache_hits", "input_tokens", "output_tokens", "cached_tokens")
    nested = ("history", "rounds", "scores", "error_kind", "error_message")
    return pa.schema(
        [
            *((name, pa.string()) for name in texts),
            *((name, pa.int64()) for name in numbers),
            ("cost_usd", pa.float64()),
            ("seconds", pa.float64()),
            *((name, pa.string()) for name in nested),
        ]
    )


def _batches(journal: Path) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    rows: list[dict[str, Any]] = []
    with journal.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            check_seal(line)
            rows.append(_flat(from_json(line)))
            if len(rows) == _ROWS_AT_ONCE:
                yield pa.RecordBatch.from_pylist(rows, schema=_schema())
                rows = []
    yield pa.RecordBatch.from_pylist(rows, schema=_schema())


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    import json

    row = without_seal(row)
    error = row.pop("error", None) or {}
    nested = {name: json.dumps(row.pop(name), ensure_ascii=False) for name in ("rounds", "scores")}
    if "history" in row:
        nested["history"] = json.dumps(row.pop("history"), ensure_ascii=False)
    return {**row, **row.pop("usage"), **nested, "error_kind": error.get("kind"), "error_message": error.get("message")}
