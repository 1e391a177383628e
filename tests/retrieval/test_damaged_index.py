"""An index whose files are not what was written: never other passages without a word, never an error without a way."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from eirene.core.errors import EncoderError, InputError
from eirene.retrieval import Hit, Retriever, open_index
from tests.retrieval.corpora import ROWS, Counting, Spread, write

VIEW = ["about.json", "codes.npy", "passages.jsonl", "rows.npy", "keys.npy", "owners.npy", "spans.npy"]
STORE = ["vectors.f16", "digests.bin", "store.json"]
QUERY = "What is the capital of Norway?"


def flip(data: bytes) -> bytes:
    return data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a flipped bit": flip,
    "a flipped last bit": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "cut in half": lambda data: data[: len(data) // 2],
    "a byte less": lambda data: data[:-1],
    "empty": lambda data: b"",
    "NULs": lambda data: bytes(len(data)),
    "NaN": lambda data: np.full(len(data) // 2 + 1, np.nan, np.float16).tobytes()[: len(data)],
    "no JSON": lambda data: b"something else",
    "other JSON": lambda data: b'{"rows": 6, "version": 2}',
    "a list": lambda data: b"[]",
    "nested": lambda data: b"[" * 100_000,
}


class Made:
    """An index on disk, the encoder that made it, and what it finds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.encoder = Counting(Spread())
        self.corpus = write(folder / "c.jsonl", ROWS)
        self.hits = self.find()
        (self.home,) = (folder / "i").iterdir()
        self.encoder.texts.clear()

    def open(self) -> Retriever:
        return Retriever(open_index(self.corpus, self.encoder, folder=self.folder / "i"), self.encoder)

    def find(self) -> list[Hit]:
        return self.open().find(QUERY)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", VIEW)
def test_a_damaged_view_is_made_again_with_a_warning(
    made: Made, file: str, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    """What is made of the corpus and the vectors costs no encoding: the same is found, and one line names the file."""
    place = made.home / "view" / file
    place.write_bytes(DAMAGES[damage](place.read_bytes()))
    with caplog.at_level(logging.WARNING, "eirene"):
        assert made.find() == made.hits
    assert [r.getMessage().partition(" is damaged")[0] for r in caplog.records] == [str(place)]
    assert [text for text in made.encoder.texts if text != QUERY] == []


@pytest.mark.parametrize("file", VIEW)
def test_a_missing_file_of_a_view_is_made_again(made: Made, file: str, caplog: pytest.LogCaptureFixture) -> None:
    (made.home / "view" / file).unlink()
    assert made.find() == made.hits
    assert file in caplog.text


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("file", STORE)
@pytest.mark.parametrize("grown", [False, True])
def test_damaged_vectors_are_an_error_that_names_file_and_remedy(
    made: Made, file: str, damage: str, grown: bool
) -> None:
    """Where the corpus is as it was and where it has grown; with the folder gone the index is made again."""
    place = made.home / file
    place.write_bytes(DAMAGES[damage](place.read_bytes()))
    if grown:
        write(Path(made.corpus), [*ROWS, {"id": "new", "text": "Something new."}])
    elif file == "store.json":
        assert made.find() == made.hits  # it is for whoever writes, and nothing is to be written
        return
    with pytest.raises(InputError, match=rf"{file}: is damaged .*; delete the folder {made.home}, and the next run"):
        made.find()
    assert [text for text in made.encoder.texts if text != QUERY] == []
    shutil.rmtree(made.home)
    assert made.find()[-1] == made.hits[-1]


@pytest.mark.parametrize("file", ["vectors.f16", "digests.bin"])
def test_vectors_that_are_gone_are_an_error(made: Made, file: str) -> None:
    (made.home / file).unlink()
    with pytest.raises(InputError, match=rf"{file}: is damaged \(it is not there\); delete the folder"):
        made.find()


def other(tmp_path: Path) -> Path:
    """The folder of another index, of as many passages by the same encoder."""
    rows = [{**row, "text": f"{str(row['text'])[::-1]}"} for row in ROWS]
    (tmp_path / "other").mkdir()
    open_index(write(tmp_path / "other" / "c.jsonl", rows), Spread(), folder=tmp_path / "other" / "i")
    (home,) = (tmp_path / "other" / "i").iterdir()
    return home


@pytest.mark.parametrize("files", [["view"], *([f"view/{name}"] for name in VIEW)])
def test_a_view_of_another_index_is_not_taken_for_this_ones(made: Made, tmp_path: Path, files: list[str]) -> None:
    """One file or the whole folder: what is found is what was found before."""
    for file in files:
        there = other(tmp_path) / file
        if there.is_dir():
            shutil.rmtree(made.home / file)
            shutil.copytree(there, made.home / file)
        else:
            shutil.copyfile(there, made.home / file)
    assert made.find() == made.hits


@pytest.mark.parametrize("files", [["vectors.f16"], ["digests.bin"], STORE])
def test_vectors_of_another_index_are_an_error(made: Made, tmp_path: Path, files: list[str]) -> None:
    """Even where all that speaks of them comes from there, too: the view knows what it was made of."""
    there = other(tmp_path)
    for file in files:
        shutil.copyfile(there / file, made.home / file)
    with pytest.raises(InputError, match=r"is damaged .*; delete the folder"):
        made.find()


def test_vectors_of_another_encoder_are_an_error(made: Made) -> None:
    """Another width, another digest: a store says whose its vectors are."""
    open_index(made.corpus, Counting(), folder=made.folder / "shipped")
    (there,) = (made.folder / "shipped").iterdir()
    for file in STORE:
        shutil.copyfile(there / file, made.home / file)
    shutil.rmtree(made.home / "view")
    with pytest.raises(InputError, match=r"vectors\.f16: is damaged \(vectors of 384 .*, wanted 128 by spread"):
        made.find()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_that_are_no_numbers_never_reach_the_disk(tmp_path: Path, value: float) -> None:
    """An encoder whose weights are spoilt is named; there is no index afterwards."""

    class Spoilt(Spread):
        def encode(self, texts: object) -> NDArray[np.float32]:
            return np.full((len(list(texts)), 128), value, np.float32)  # type: ignore[call-overload]  # any texts

    with pytest.raises(EncoderError, match="the encoder spread is damaged"):
        open_index(write(tmp_path / "c.jsonl", ROWS), Spoilt(), folder=tmp_path / "i")
    assert not list((tmp_path / "i").rglob("about.json"))


IN_USE: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "passages that are no JSON": ("view/passages.jsonl", lambda data: b"x" * len(data)),
    "passages that are NULs": ("view/passages.jsonl", lambda data: bytes(len(data))),
    "passages of other fields": ("view/passages.jsonl", lambda data: b'{"a": 1}\n' * (len(data) // 9 + 1)),
    "passages cut": ("view/passages.jsonl", lambda data: data[:9]),
    "no passages": ("view/passages.jsonl", lambda data: b""),
    "vectors cut": ("vectors.f16", lambda data: data[:9]),
    "vectors of NaN": ("vectors.f16", lambda data: np.full(len(data) // 2, np.nan, np.float16).tobytes()),
    "signs cut": ("view/codes.npy", lambda data: b""),
    "names cut": ("view/keys.npy", lambda data: data[:9]),
}


@pytest.mark.parametrize("name", IN_USE)
def test_files_that_change_under_an_open_index_are_an_error(made: Made, name: str) -> None:
    """A server has its index open for weeks: what is overwritten meanwhile neither ends it nor answers for it."""
    file, alter = IN_USE[name]
    retriever = made.open()
    place = made.home / file
    place.write_bytes(alter(place.read_bytes()))
    with pytest.raises(InputError, match=rf"{place.name}: is damaged .*; delete the folder {made.home}"):
        retriever.find(QUERY)


def test_what_a_crash_cut_off_is_no_damage(made: Made) -> None:
    """Rows behind those that count were never whole; they are cut off, and encoded when they are read again."""
    for file in ("vectors.f16", "digests.bin"):
        with (made.home / file).open("ab") as torn:
            torn.write(b"half a row")
    write(Path(made.corpus), [*ROWS, {"id": "new", "text": "Something new."}])
    assert made.find()[-1] == made.hits[-1]
    assert [text for text in made.encoder.texts if text != QUERY] == ["Something new."]
    assert json.loads((made.home / "store.json").read_text("utf-8"))["count"] == len(ROWS) + 1
