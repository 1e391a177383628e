"""How often English text is taken for another language, and how often another language is told.

    python benchmarks/languages_told.py DATA_DIR [--each N] [--texts N] [--seed S]

DATA_DIR holds folders with JSON Lines, all of it English but for a few texts (which are printed, for a person to look
at). Up to N rows of each file are drawn, and every text in them that has more than one word. The other languages are
the sentences of `tests/text/languages.json`: `chosen` was looked at when the thresholds were set, `aside` only
afterwards: two of its 78 were missed at a least length of 30 letters, which was then lowered to 24.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from eirene.text.language import LETTERS, SURE, other_language
from eirene.text.sentences import split_sentences

SENTENCES = Path(__file__).parents[1] / "tests" / "text" / "languages.json"
LONG = 25
"""Words from which a text counts as an answer here."""


def main() -> None:
    """Reads the arguments, looks at all texts, prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--each", type=int, default=700, help="rows of a file")
    parser.add_argument("--texts", type=int, default=8000, help="texts of a kind; sentences: 2.5 times as many")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"threshold {SURE}, from {LETTERS} letters on")
    rng = np.random.default_rng(options.seed)
    texts = sorted({text for file in sorted(options.data.glob("*/*.jsonl")) for text in drawn(file, options.each, rng)})
    texts = [texts[i] for i in rng.permutation(len(texts))]
    answers = [text for text in texts if len(text.split()) >= LONG][: options.texts]
    sentences = sorted({s.text for text in answers for s in split_sentences(text) if s.text})
    sentences = [sentences[i] for i in rng.permutation(len(sentences))][: options.texts * 5 // 2]
    look(f"texts of {LONG} words or more", answers)
    look("shorter texts", [text for text in texts if len(text.split()) < LONG][: options.texts])
    look("sentences", sentences)
    languages = json.loads(SENTENCES.read_text(encoding="utf-8"))
    for part in ("chosen", "aside"):
        tell(part, [(name, text) for name, parts in languages.items() for text in parts[part]])


def drawn(file: Path, rows: int, rng: np.random.Generator) -> Iterator[str]:
    """The texts of a sample of a file's rows, those of one word left out."""
    lines = file.read_text(encoding="utf-8").splitlines()
    for i in rng.permutation(len(lines))[:rows]:
        yield from (text for text in _texts(json.loads(lines[i])) if " " in text.strip())


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def look(name: str, texts: Sequence[str]) -> None:
    """Prints how many English texts are taken for another language, and which."""
    start = time.perf_counter()
    alarms = [(language, text) for text in texts if (language := other_language(text))]
    each_ms = 1000 * (time.perf_counter() - start) / max(len(texts), 1)
    print(f"{name}: {len(alarms)} of {len(texts)} taken for another language, {each_ms:.2f} ms each")
    for language, text in alarms:
        print(f"    {language}: {text[:120]!r}")


def tell(part: str, sentences: Sequence[tuple[str, str]]) -> None:
    """Prints how many sentences in other languages are told, and how many by their right name."""
    found = [(name, other_language(text)) for name, text in sentences]
    told = sum(language is not None for _, language in found)
    right = sum(language == name for name, language in found)
    print(f"{part}: {told} of {len(found)} sentences told ({len(dict(found))} languages), {right} by the right name")


if __name__ == "__main__":
    main()
