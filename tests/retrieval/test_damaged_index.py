"""An index whose files are not what was written is made again: never other passages, and a line that says so."""

from __future__ import annotations

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

QUERY = "What is the capital of Norway?"
VIEW = ["codes.npy", "passages.jsonl", "rows.npy", "keys.npy", "owners.npy", "spans.npy"]
STORE = ["vectors.f16", "digests.bin"]
DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "a flipped bit": lambda data: (
        data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :]
    ),
    "a byte less": lambda data: data[:-1],
    "empty": lambda data: b"",
    "NaN": lambda data: np.full(len(data) // 2 + 1, np.nan, np.float16).tobytes()[: len(data)],
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
        (home,) = (folder / "i").iterdir()
        self.view = home / "view"
        self.encoder.texts.clear()

    def find(self) -> list[Hit]:
        return Retriever(open_index(self.corpus, self.encoder, folder=self.folder / "i"), self.encoder).find(QUERY)

    def encoded(self) -> int:
        """How many passages were encoded since it was last asked."""
        texts = [text for text in self.encoder.texts if text != QUERY]
        self.encoder.texts.clear()
        return len(texts)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


def test_a_damaged_index_finds_what_it_found_before(made: Made, caplog: pytest.LogCaptureFixture) -> None:
    """Each file by another damage, or gone; vectors that are whole are not made again."""
    ways = list(DAMAGES.items())
    for n, file in enumerate([*VIEW, *STORE]):
        for name, damage in [ways[n % len(ways)], ways[(n + 1) % len(ways)], ("gone", None)]:
            place = made.view / file
            if damage is None:
                place.unlink()
            else:
                place.write_bytes(damage(place.read_bytes()))
            caplog.clear()
            with caplog.at_level(logging.WARNING, "eirene"):
                assert made.find() == made.hits, (file, name)
            assert f"{place} is damaged; the index is made again" in caplog.text, (file, name)
            assert made.encoded() == (0 if file in VIEW else len(ROWS)), (file, name)


def test_a_damaged_description_is_no_index(made: Made) -> None:
    place = made.view / "about.json"
    for name, damage in DAMAGES.items():
        place.write_bytes(damage(place.read_bytes()))
        assert made.find() == made.hits, name


def test_files_of_another_index_are_not_taken_for_this_ones(made: Made, tmp_path: Path) -> None:
    rows = [{**row, "text": f"{str(row['text'])[::-1]}"} for row in ROWS]
    (tmp_path / "other").mkdir()
    open_index(write(tmp_path / "other" / "c.jsonl", rows), Spread(), folder=tmp_path / "other" / "i")
    (other,) = (tmp_path / "other" / "i").iterdir()
    for file in [*VIEW, *STORE]:
        shutil.copyfile(other / "view" / file, made.view / file)
        assert made.find() == made.hits, file
    shutil.rmtree(made.view)
    shutil.copytree(other / "view", made.view)
    assert made.find() == made.hits


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_that_are_no_numbers_never_reach_the_disk(tmp_path: Path, value: float) -> None:
    """An encoder whose weights are spoilt is named; there is no index afterwards."""

    class Spoilt(Spread):
        def encode(self, texts: object) -> NDArray[np.float32]:
            return np.full((len(list(texts)), 128), value, np.float32)  # type: ignore[call-overload]  # any texts

    with pytest.raises(EncoderError, match="the encoder spread is damaged"):
        open_index(write(tmp_path / "c.jsonl", ROWS), Spoilt(), folder=tmp_path / "i")
    assert not list((tmp_path / "i").rglob("about.json"))


def test_what_a_crash_cut_off_is_encoded_again(made: Made) -> None:
    """A build that was killed goes on from the vectors whose digests are on disk too; what is torn does not count."""
    making = made.view.parent / "making"
    making.mkdir()
    for file, size, kept in (("vectors.f16", 256, 5), ("digests.bin", 16, 4)):
        (making / file).write_bytes((made.view / file).read_bytes()[: kept * size + 7])
    write(Path(made.corpus), [*ROWS, {"id": "new", "text": "Something new."}])
    assert made.find()[-1] == made.hits[-1]
    assert made.encoded() == 3
    assert not making.exists()


def test_files_that_are_overwritten_under_an_open_index_are_an_error(made: Made) -> None:
    """A server has its index open for weeks: what is overwritten meanwhile does not end it."""
    for file in ("passages.jsonl", "vectors.f16", "codes.npy", "keys.npy"):
        retriever = Retriever(open_index(made.corpus, made.encoder, folder=made.folder / "i"), made.encoder)
        place = made.view / file
        place.write_bytes(b"x" * place.stat().st_size if file == "passages.jsonl" else b"")
        with pytest.raises(InputError, match="overwritten while it was in use"):
            retriever.find(QUERY)
