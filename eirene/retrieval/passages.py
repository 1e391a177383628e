"""Cuts a corpus into passages of some hundred words, each with an id that leads back to its document."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eirene.core.coercion import TEXT_KEYS, passage_text, passage_title
from eirene.core.errors import InputError
from eirene.data import open_source
from eirene.data.json_rows import Row, cannot_read
from eirene.data.source import read_text
from eirene.text.sentences import split_sentences
from eirene.text.unicode import with_title

WORDS = 100
"""Words of a passage at most; it ends where a sentence does, as far as sentences are no longer than that."""

_PLAIN = (".txt", ".md", ".text", ".rst")
_ROWS = (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".pq")
_NUMBERED = re.compile(r"#\d+\Z")
_IDS = ("id", "_id", "passage_id", "doc_id")


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage: `id` (the document's, with `#2` and so on from its second passage on), its text, and a title.

    An id is unique in its corpus: where two would be the same (`a#2`), the later has one mark more.
    """

    id: str
    text: str
    title: str = ""

    @property
    def shown(self) -> str:
        """What is encoded and shown: the title before the text, unless the text begins with it."""
        return with_title(self.title, self.text)

    @property
    def digest(self) -> bytes:
        """16 bytes that stand for what is encoded."""
        return hashlib.blake2b(self.shown.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def corpus_files(place: str) -> list[Path]:
    """The files of a corpus, in the order in which they are read; raises `InputError` where there are none."""
    root = Path(place)
    try:
        if root.is_file():
            return [root]
        if not root.is_dir():
            raise InputError("no such file or folder", field="corpus", where=place)
        shown = (p for p in root.rglob("*") if not any(part.startswith(".") for part in p.relative_to(root).parts))
        found = sorted(p for p in shown if p.is_file() and _is_known(p))
    except (OSError, ValueError) as error:
        raise cannot_read(place, error) from None
    if not found:
        endings = ", ".join((*_PLAIN, *_ROWS))
        raise InputError(f"is a folder without a file that can be read ({endings})", field="corpus", where=place)
    return found


def read_corpus(place: str) -> Iterator[Passage]:
    """The passages of a file or folder, one at a time; ids are unique.

    Rows (JSON Lines, CSV, Parquet, Arrow) have a `text` (or `page_content`, `passage`, `contents`, `content`, `body`)
    and may have an `id` and a `title`; text files are cut at blank lines. Raises `InputError` that names the
    file and the row.
    """
    seen: set[bytes] = set()
    numbered: set[str] = set()
    root = Path(place)
    for file in corpus_files(place):
        name = file.name if file == root else file.relative_to(root).as_posix()
        documents = _plain(file, name) if _unpacked(file).endswith(_PLAIN) else _rows(file, name)
        for where, document in documents:
            key = hashlib.blake2b(document.id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
            if key in seen:
                raise InputError(f"the id {document.id!r} occurs twice in the corpus", field="id", where=where)
            seen.add(key)
            if "\0" in document.id + document.title + document.text:  # no item may hold one
                raise InputError("contains a NUL character; remove it", field="text", where=where)
            for n, text in enumerate(cut(document.text), start=1):
                yield Passage(_passage_id(document.id, n, numbered), text, document.title)


def _passage_id(document: str, n: int, taken: set[str]) -> str:
    """The document's id, with the passage's number from the second on; `taken` are those so far that end in one."""
    found, marks = (document, 0) if n == 1 else (f"{document}#{n}", 1)
    if n == 1 and not _NUMBERED.search(document):
        return document
    while found in taken:
        marks += 1
        found = f"{document}{'#' * marks}{n}"
    taken.add(found)
    return found


def cut(text: str, *, words: int = WORDS) -> Iterator[str]:
    """The text in pieces of at most `words` words, whole sentences together as far as they fit."""
    held: list[str] = []
    for sentence in split_sentences(text):
        own = sentence.raw.split()
        if held and len(held) + len(own) > words:
            yield " ".join(held)
            held = []
        whole = max(len(own) - 1, 0) // words * words  # all pieces but the last, which others may join
        for at in range(0, whole, words):
            yield " ".join(own[at : at + words])
        held += own[whole:]
    if held:
        yield " ".join(held)


def _plain(file: Path, name: str) -> Iterator[tuple[str, Passage]]:
    blocks = (block for block in read_text(str(file)).split("\n\n") if block.strip())
    for n, block in enumerate(blocks, start=1):
        yield f"{name}, paragraph {n}", Passage(f"{name}:{n}", block)


def _rows(file: Path, name: str) -> Iterator[tuple[str, Passage]]:
    for n, row in enumerate(open_source(str(file)).rows(), start=1):
        yield row.where, _document(row, f"{name}:{n}")


def _document(row: Row, default: str) -> Passage:
    if isinstance(row.data, str):
        return Passage(default, row.data)
    if not isinstance(row.data, dict):
        raise InputError("a row of a corpus must be an object with 'text', or a text", where=row.where)
    text = passage_text(row.data)
    if text is None:
        raise InputError(
            f"a row of a corpus needs a text under one of {', '.join(TEXT_KEYS)}", field="text", where=row.where
        )
    named: Any = next((row.data[name] for name in _IDS if row.data.get(name) not in (None, "")), default)
    return Passage(str(named), text, passage_title(row.data))


def _is_known(file: Path) -> bool:
    return _unpacked(file).endswith((*_PLAIN, *_ROWS))


def _unpacked(file: Path) -> str:
    """The file's name in lower case, as it is when it is unpacked."""
    return file.name.lower().removesuffix(".gz")
