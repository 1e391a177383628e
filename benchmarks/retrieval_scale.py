"""How fast passages are found among many, what that takes of memory, and how often they are the exact nearest.

    EIRENE_THREADS=2 python benchmarks/retrieval_scale.py --passages 1000000 --folder /tmp/retrieval

Two steps, each a process of its own, so that the memory of the one is not counted to the other:

- `fill`: indexing speed is that of the real pipeline (rows read from a file, cut into passages, encoded, stored) over
  `--real` passages. Encoding a million takes hours, so that the index of `--passages` is then made with vectors that
  are given: around each real one as many as it takes, mixed with a second real one and with noise, of length 1, so that
  there are near and far neighbours as in a corpus. All else of it is real: the texts on disk, the names.
- `ask`: questions whose words are not in the corpus in that order, encoded anew. Times are those of `Retriever.find`
  (encoding, signs, names, cosines, texts from disk), and of the same with the vectors at hand; recall is against exact
  cosines over all vectors.

Passages are 100 words of made-up sentences on 200 subjects; names in them are as unequally common as in real text
(Zipf's law), since a name that many passages share is what costs time.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from harness import arguments
from numpy.typing import NDArray

from eirene.models.encoder import load_encoder
from eirene.retrieval import Retriever, open_index
from eirene.retrieval import index as indexes
from eirene.retrieval.passages import Passage, read_corpus

THINGS, DOINGS, KINDS, SYLLABLES = (
    tuple(words.split())
    for words in (
        """river stone market engine harbour council library forest signal copper garden village bridge theory poem
        voyage island treaty glacier festival museum railway orchestra painter senator novel desert canal tower comet
        vaccine protein enzyme lattice neutron algebra equation satellite telescope battery turbine castle abbey""",
        "built found wrote led won lost moved joined named called opened closed sold bought taught restored",
        "old new long short early late northern southern famous quiet large small first last rapid slow ancient",
        "ba den ri lo ker mas tun vel or gan ish mer dal sto pra lin fe hol wick mont sa bur",
    )
)
FORMS = (
    "{a} {did} the {kind} {thing} of {b} in {year}.",
    "In {year} the {thing} near {b} was {did} by {a}, who had seen a {kind} {other} there.",
    "The {kind} {thing} and the {other} of {a} are older than those of {b}.",
    "It stands {number} kilometres from {b}, beside a {kind} {other}.",
    "Many visitors come for the {thing}, which {a} {did} after the {kind} {other} was lost.",
)
SUBJECTS, SENTENCES = 200, 200


def name_of(number: int) -> str:
    """A made-up name of three syllables or more: one for each number."""
    found = ""
    for _ in range(3):
        number, at = divmod(number, len(SYLLABLES))
        found += SYLLABLES[at]
    return (found + (f"{number:x}" if number else "")).capitalize()


def sentences_of(subject: int, seed: int) -> list[str]:
    """Sentences on one subject: a few things and names of its own, and others."""
    own, rng = np.random.default_rng([9, subject]), np.random.default_rng([seed, subject])
    things, names = own.choice(THINGS, 6), [name_of(int(k)) for k in own.integers(0, 10_000, 3)]
    found = []
    for _ in range(SENTENCES):
        others = [name_of(int(k) % 200_000) for k in rng.zipf(1.2, 2) - 1]
        pick = [int(k) for k in rng.integers(0, 1 << 30, 8)]
        sentence = FORMS[pick[0] % len(FORMS)].format(
            a=names[pick[1] % 3] if pick[1] & 64 else others[0], b=others[1], did=DOINGS[pick[2] % len(DOINGS)],
            kind=KINDS[pick[3] % len(KINDS)], thing=things[pick[4] % 6], other=things[pick[5] % 6],
            year=1500 + pick[6] % 500, number=pick[7] % 1000,
        )  # fmt: skip
        found.append(sentence)
    return found


def texts(count: int, seed: int) -> Iterator[str]:
    """Passages of some 100 words: sentences on one subject, and one that no other passage has."""
    pools = [sentences_of(subject, seed) for subject in range(SUBJECTS)]
    rng = np.random.default_rng(seed)
    for n in range(count):
        pool = pools[int(rng.integers(SUBJECTS))]
        said = [f"This is note {n} of the archive."]
        words = 7
        for at in rng.integers(0, SENTENCES, 12):
            words += pool[at].count(" ") + 1
            if words > 100:
                break
            said.append(pool[at])
        yield " ".join(said)


class Filler:
    """An encoder that gives prepared vectors while the index is filled: the real ones, then such as lie around them."""

    def __init__(self, real: NDArray[np.float32], digest: str) -> None:
        self.digest = digest
        self._real, self._at, self._rng = real, 0, np.random.default_rng(1)

    def encode(self, some: Sequence[str]) -> NDArray[np.float32]:
        if list(some) == [""]:
            return self._real[:1]
        start, self._at = self._at, self._at + len(some)
        known = self._real[start : start + len(some)]
        return np.concatenate([known, self._around(len(some) - len(known))]) if len(known) < len(some) else known

    def _around(self, count: int) -> NDArray[np.float32]:
        first, second = self._rng.integers(0, len(self._real), (2, count))
        share = self._rng.uniform(0.5, 1.0, (count, 1)).astype(np.float32)
        width = self._real.shape[1]
        noise = self._rng.normal(0, 0.5 / np.sqrt(width), (count, width)).astype(np.float32)
        vectors = share * self._real[first] + (1 - share) * self._real[second] + noise
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def as_written(place: str) -> Iterator[Passage]:
    """The rows as they are: each is one passage already."""
    with open(place) as file:
        for line in file:
            yield Passage(**json.loads(line))


def fill(folder: Path, count: int, real: int) -> None:
    """Measures indexing on the first `real` passages, and makes the index of all."""
    corpus, sample = folder / "corpus.jsonl", folder / "sample.jsonl"
    if not corpus.exists():
        making = folder / "corpus.part"  # a file that was not finished must not be taken for the corpus
        with making.open("w") as out:
            out.writelines(json.dumps({"id": str(n), "text": t}) + "\n" for n, t in enumerate(texts(count, 0)))
        making.rename(corpus)
    with corpus.open() as lines, sample.open("w") as out:
        out.writelines(line for line, _ in zip(lines, range(real), strict=False))
    encoder = load_encoder(cached_texts=0)
    began, used = time.perf_counter(), time.process_time()
    first = open_index(str(sample), encoder, folder=folder / "sample")
    wall, cpu = time.perf_counter() - began, time.process_time() - used
    print(
        f"indexing {len(first):,} passages from their file: {len(first) / wall:.0f} a second of wall time, "
        f"{1000 * cpu / len(first):.1f} ms of processor time a passage",
        flush=True,
    )
    used = time.process_time()
    cut = sum(1 for _ in read_corpus(str(sample)))
    print(f"of that reading and cutting: {1000 * (time.process_time() - used) / cut:.2f} ms a passage", flush=True)
    vectors = np.asarray(first.vectors, np.float32)[first.rows]
    indexes.read_corpus = as_written  # type: ignore[assignment]  # the rows are passages: cutting was measured above
    began = time.perf_counter()
    open_index(str(corpus), Filler(vectors, encoder.digest), folder=folder / "index")
    print(f"all but encoding, for {count:,} passages: {time.perf_counter() - began:.0f} s; {memory()}", flush=True)


class AtHand:
    """Vectors of the questions, encoded beforehand."""

    def __init__(self, digest: str, texts: Sequence[str], vectors: NDArray[np.float32]) -> None:
        self.digest = digest
        self._known = dict(zip(texts, vectors, strict=True))

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self._known[text] for text in texts])


def questions(count: int) -> list[str]:
    """A question and an answer of three sentences, on the corpus's subjects and in its words."""
    answers = (". ".join(text.split(". ")[1:4]) for text in texts(count, 7))
    return [f"What is known of the {THINGS[n % len(THINGS)]}?\n{answer}." for n, answer in enumerate(answers)]


def ask(folder: Path, count: int) -> None:
    """Times, memory and recall of searching."""
    encoder = load_encoder(cached_texts=0)
    index = open_index(str(folder / "corpus.jsonl"), encoder, folder=folder / "index")
    asked = questions(count)
    vectors = encoder.encode(asked)
    at_hand = Retriever(index, AtHand(encoder.digest, asked, vectors))
    whole = Retriever(index, encoder)
    for query in asked[:5]:  # the first touch of the mapped files
        whole.find(query)
    print(f"{len(asked)} questions of {np.mean([len(q.split()) for q in asked]):.0f} words, {len(index):,} passages")
    for name, retriever in (("whole search", whole), ("without encoding the question", at_hand)):
        spent = [timed(retriever, query) for query in asked]
        for kind, values in zip(("wall", "processor"), np.array(spent).T, strict=True):
            p50, p95, p99 = 1000 * np.quantile(values, [0.5, 0.95, 0.99])
            print(f"{name}, {kind} time: p50 {p50:.1f} ms, p95 {p95:.1f} ms, p99 {p99:.1f} ms", flush=True)
    print(memory())
    hits = recalled(Retriever(index, AtHand(encoder.digest, asked, vectors), names="none"), asked, vectors)
    print(f"recall@5 against exact cosines over all vectors: {np.mean(hits):.4f}, lowest of a question {min(hits):.1f}")


def timed(retriever: Retriever, query: str) -> tuple[float, float]:
    began, used = time.perf_counter(), time.process_time()
    retriever.find(query)
    return time.perf_counter() - began, time.process_time() - used


def recalled(retriever: Retriever, asked: Sequence[str], vectors: NDArray[np.float32]) -> list[float]:
    """The share of each question's exact five nearest passages that are found."""
    index = retriever.index
    best: list[tuple[Any, Any]] = [(np.zeros(0, np.float32), np.zeros(0, np.int64))] * len(asked)
    for start in range(0, len(index), 65_536):
        block = np.asarray(index.vectors[index.rows[start : start + 65_536]], np.float32) @ vectors.T
        for q, (kept, known) in enumerate(best):
            values, numbers = np.append(kept, block[:, q]), np.append(known, np.arange(start, start + len(block)))
            top = np.argsort(-values, kind="stable")[:5]
            best[q] = values[top], numbers[top]
    exact = [{p.id for p in index.passages(numbers.tolist())} for _, numbers in best]
    return [len(e & {h.passage.id for h in retriever.find(q)}) / len(e) for e, q in zip(exact, asked, strict=True)]


def memory() -> str:
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    now, most, mapped = (int(lines[key].split()[0]) / 2**20 for key in ("VmRSS", "VmHWM", "RssFile"))
    return f"resident memory: {now:.2f} GiB now (of that {mapped:.2f} mapped files), {most:.2f} GiB at most"


def main() -> None:
    parser = arguments(__doc__, data=None)
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--real", type=int, default=5000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--step", choices=("fill", "ask"))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.step == "fill":
        fill(given.folder, given.passages, given.real)
    elif given.step == "ask":
        ask(given.folder, given.questions)
    else:
        for step in ("fill", "ask"):
            subprocess.run([sys.executable, *sys.argv, "--step", step], check=True)


if __name__ == "__main__":
    main()
