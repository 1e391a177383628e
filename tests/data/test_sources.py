"""What a name stands for."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eirene.cli.data_flags import FormatName
from eirene.core.errors import InputError
from eirene.data import check_outside, open_source
from eirene.data.open import FORMATS
from eirene.data.source import PipedBytes, read_source, read_text

ROWS = [{"question": f"Why {n}?", "answer": "So."} for n in range(5)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
CSV = b"question,answer\n" + b"".join(f"{row['question']},{row['answer']}\n".encode() for row in ROWS)
ARRAY = json.dumps(ROWS, indent=1).encode()


def parquet() -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(ROWS), out)
    return out.getvalue()


FILES = {
    "x.jsonl": LINES,
    "x.ndjson": LINES,
    "x.jsonl.gz": gzip.compress(LINES),
    "gzipped.jsonl": gzip.compress(LINES),
    "x.json": ARRAY,
    "lines.json": LINES,
    "x.json.gz": gzip.compress(ARRAY),
    "x.csv": CSV,
    "X.CSV": CSV,
    "x.csv.gz": gzip.compress(CSV),
    "x.tsv": CSV.replace(b",", b"\t"),
    "x.parquet": parquet(),
    "x": LINES,
    "x.data": gzip.compress(ARRAY),
    "parquet-of-no-ending": parquet(),
    "with@sign.jsonl": LINES,
    "ünï cödé.jsonl": LINES,
}


def test_every_form_gives_the_same_rows(subtests: pytest.Subtests, tmp_path: Path) -> None:
    cases: list[str] = FILES
    for name in cases:
        with subtests.test(case=name):
            (tmp_path / name).write_bytes(FILES[name])
            source = open_source(str(tmp_path / name))
            assert [row.data for row in source.rows()] == ROWS
            assert [row.data for row in source.rows()] == ROWS  # a second time
            assert source.count() == len(ROWS)
            assert [row.data for row in source.rows(take=[1, 4])] == [ROWS[1], ROWS[4]]


def test_a_format_may_be_named(subtests: pytest.Subtests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[tuple[str, bytes]] = [("csv", CSV), ("jsonl", LINES), ("json", ARRAY), ("parquet", parquet())]
    for format, data in cases:
        with subtests.test(case=format):
            (tmp_path / "x.txt").write_bytes(data)
            assert [row.data for row in open_source(str(tmp_path / "x.txt"), format=format).rows()] == ROWS
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
            assert [row.data for row in open_source("-", format=format).rows()] == ROWS


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(InputError, match="format must be one of auto, json, jsonl, csv, tsv, parquet, got 'xls'"):
        open_source("x", format="xls")
    with pytest.raises(InputError, match="--out is empty; name a file or folder") as caught:
        check_outside(" ", "x")
    assert caught.value.field == "out"
    assert get_args(FormatName) == FORMATS
    with pytest.raises(InputError, match=r"^hf-dataset:a/b: is a dataset, .*; leave --format csv out"):
        open_source("hf-dataset:a/b", format="csv")


def test_a_text_is_read_like_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gzipped or not, from a file or standard input: without the byte order mark, with plain line breaks."""
    data = "\ufeffä\r\nb\rc\n".encode()
    for name, held in (("x.txt", data), ("X.TXT.GZ", gzip.compress(data))):
        (tmp_path / name).write_bytes(held)
        assert read_text(str(tmp_path / name)) == "ä\nb\rc\n"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert read_text("-") == "ä\nb\rc\n"
    for held, said in (
        (data, "cannot be unpacked: Not a gzipped file"),
        (gzip.compress(b"\xff"), "is not UTF-8 (byte 0xff"),
    ):
        (tmp_path / "x.gz").write_bytes(held)
        with pytest.raises(InputError) as caught:
            read_text(str(tmp_path / "x.gz"))
        assert str(caught.value).startswith(f"{tmp_path / 'x.gz'}: {said}")


def test_a_named_pipe_can_be_read_twice_and_a_device_only_as_standard_input(tmp_path: Path) -> None:
    """As of `eirene score <(zcat rows.gz)`; a device such as /dev/zero would fill the disk."""
    os.mkfifo(tmp_path / "pipe")
    thread = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(LINES,))
    thread.start()
    source = open_source(str(tmp_path / "pipe"))
    thread.join()
    assert [row.data for row in source.rows()] == [row.data for row in source.rows()] == ROWS
    kept, (pipe, end), null = os.dup(0), os.pipe(), os.open(os.devnull, os.O_RDONLY)
    try:
        for standard_input, said in ((pipe, "is a device; name a file or a pipe"), (null, "is empty")):
            os.dup2(standard_input, 0)
            with pytest.raises(InputError, match=f"{os.devnull}: {said}"):
                list(open_source(os.devnull).rows())
            with pytest.raises(InputError, match=f"{os.devnull}: {said}"):
                list(read_source(os.devnull).rows())
    finally:
        os.dup2(kept, 0)
        for file in (kept, pipe, end, null):
            os.close(file)


def test_what_comes_through_a_pipe_is_kept_on_disk_where_it_is_large() -> None:
    contents = PipedBytes("x", io.BytesIO(LINES), held_bytes=10)
    for _ in range(2):
        with contents.open() as file:
            assert file.read() == LINES


def test_rows_may_stand_under_a_key_of_one_object(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"version": 1, "data": ROWS, "one": ROWS[0], "none": []}))
    assert [(r.where, r.data) for r in open_source(f"{path}@data").rows(take=[1])] == [(f"{path}@data, row 2", ROWS[1])]
    assert open_source(f"{path}@data").count() == 5
    assert [row.data for row in open_source(f"{path}@one").rows()] == [ROWS[0]]
    for key, said in (("rows", "nothing under 'rows'; keys: 'version'"), ("none", "is an empty list")):
        with pytest.raises(InputError, match=said):
            list(open_source(f"{path}@{key}").rows())
    (tmp_path / "list.json").write_bytes(ARRAY)
    with pytest.raises(InputError, match="it is no object"):
        list(open_source(f"{tmp_path / 'list.json'}@data").rows())


def test_what_has_no_keys_says_so(subtests: pytest.Subtests, tmp_path: Path) -> None:
    cases: list[str] = ["x.csv", "x.parquet", "x.jsonl"]
    for name in cases:
        with subtests.test(case=name):
            (tmp_path / name).write_bytes(FILES[name])
            with pytest.raises(InputError, match="which has no key 'train'"):
                open_source(f"{tmp_path / name}@train")


def test_a_file_that_changes_between_two_readings_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(LINES)
    source = open_source(str(path))
    list(source.rows())
    path.write_bytes(LINES * 2)
    with pytest.raises(InputError, match="has changed since its rows were checked"):
        list(source.rows())


def test_a_damaged_archive_is_an_error(subtests: pytest.Subtests, tmp_path: Path) -> None:
    cases: list[tuple[bytes, str]] = [
        (gzip.compress(LINES, mtime=0)[:-12], "cannot be unpacked: "),
        (gzip.compress(LINES, mtime=0)[:40] + b"x" * 40, "cannot be unpacked: "),
    ]
    for data, said in cases:
        with subtests.test(case=data):
            path = tmp_path / "x.jsonl.gz"
            path.write_bytes(data)
            with pytest.raises(InputError, match=said):
                list(open_source(str(path)).rows())


def test_what_is_not_there_says_so(subtests: pytest.Subtests, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[tuple[str, str]] = [
        ("missing.csv", "no such file"),
        ("missing.json@train", "no such file"),
        ("a\0b", "cannot be read"),
        ("x" * 5000, "cannot be read: File name too long"),
    ]
    for name, said in cases:
        with subtests.test(case=name):
            monkeypatch.chdir(tmp_path)
            with pytest.raises(InputError, match=said):
                open_source(name)


def test_nothing_is_written_over_or_among_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("set").mkdir()
    Path("set/a.jsonl").write_bytes(LINES)
    Path("x.json").write_text(json.dumps({"train": ROWS}))
    Path("link.json").symlink_to("x.json")
    for out, name in (("x.json", "x.json@train"), ("./x.json", "x.json"), ("link.json", "x.json"), ("set", "set")):
        with pytest.raises(InputError, match="is the input itself"):
            check_outside(out, name)
    for out in ("set/a.jsonl", "set/new.jsonl", "set/../set/b.csv"):
        with pytest.raises(InputError, match="would be one of the files of the input"):
            check_outside(out, "set")
    for out, name in (
        ("-", "x.json"),
        ("x.json", "-"),
        ("set/out", "set"),
        ("y.json", "x.json"),
        ("x", "hf-dataset:x"),
    ):
        check_outside(out, name)
