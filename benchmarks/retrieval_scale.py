"""How fast passages are found among many, what that takes of memory, and how often they are the exact nearest.

    EIRENE_THREADS=2 python benchmarks/retrieval_scale.py --passages 1000000 --folder /tmp/retrieval

The first `--real` passages (100 words of generated text each) are encoded for real, which gives the indexing speed; the
vectors of the others are mixtures of two real ones with noise, of length 1, since encoding a million takes hours. Texts
of all stand on disk and are read by offset. Queries are encoded anew, and are the first words of passages that are not
in the index. Times are wall times of `Retriever.find`, query encoding and reading the texts included; recall is against
exact cosines over all vectors.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from eirene.encoder import load_encoder
from eirene.retrieval import Retriever, open_index
from eirene.retrieval import index as indexes
from eirene.retrieval.passages import Passage

WORDS = """
    river stone market engine harbour winter council library forest signal copper garden village bridge theory
    poem voyage island treaty glacier festival museum railway orchestra painter senator novel desert canal tower
    comet vaccine protein enzyme lattice neutron algebra equation satellite telescope battery turbine reactor
    built found wrote led won lost moved joined named called opened closed grew sold bought taught learned sailed
    old new long short early late northern southern famous quiet large small first last rapid slow ancient modern
"""


def texts(count: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    found = []
    for n in range(count):
        topic = rng.choice(WORDS.split(), 12)
        words = [f"Name{rng.integers(50_000)}", str(rng.integers(1500, 2020)), *rng.choice(topic, 98)]
        found.append(f"{' '.join(words)} {n}.")
    return found


def mixed(real: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    i, j = rng.integers(0, len(real), (2, count))
    share = rng.uniform(0.5, 1.0, (count, 1)).astype(np.float32)
    noise = rng.normal(0, 0.6 / np.sqrt(real.shape[1]), (count, real.shape[1])).astype(np.float32)
    vectors = share * real[i] + (1 - share) * real[j] + noise
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class Filler:
    """An encoder that gives prepared vectors while the index is filled."""

    def __init__(self, real: np.ndarray, digest: str) -> None:
        self.digest = digest
        self._real, self._at, self._rng = real, 0, np.random.default_rng(1)

    def encode(self, some: list[str]) -> np.ndarray:
        if some == [""]:
            return self._real[:1]
        start, self._at = self._at, self._at + len(some)
        if start + len(some) <= len(self._real):
            return self._real[start : start + len(some)]
        return mixed(self._real, len(some), self._rng)


def written(place: str, words: int) -> Iterator[Passage]:
    with open(place) as file:
        for line in file:
            yield Passage(**json.loads(line))


def fill(folder: Path, count: int, real: int) -> tuple[float, str]:
    """Makes the corpus and its index; returns the seconds of processor time for a real passage, and the corpus."""
    encoder = load_encoder(cached_texts=0)
    first = texts(real, 0)
    began = time.process_time()
    vectors = np.concatenate([encoder.encode(first[i : i + 256]) for i in range(0, real, 256)])
    spent = (time.process_time() - began) / real
    corpus = folder / "corpus.jsonl"
    if not corpus.exists():
        with corpus.open("w") as out:
            for n in range(count):
                text = first[n % real] if n < real else f"{first[n % real]} Copy{n}."
                out.write(json.dumps({"id": str(n), "text": text}) + "\n")
    # The passages are written straight into the index: cutting a million texts into sentences is not measured here.
    indexes.read_corpus = written  # type: ignore[assignment]
    began = time.perf_counter()
    open_index(str(corpus), Filler(vectors, encoder.digest), folder=folder / "index")
    print(f"index of {count:,} made or opened in {time.perf_counter() - began:.0f} s, vectors given")
    return spent, str(corpus)


def recall(index: indexes.Index, encoder: object, queries: list[str]) -> float:
    hits = 0
    retriever = Retriever(index, encoder, by_names=False)  # type: ignore[arg-type]
    asked = encoder.encode(queries)  # type: ignore[attr-defined]
    best = [(np.zeros(0, np.float32), np.zeros(0, np.int64)) for _ in queries]
    for start in range(0, len(index), 65_536):
        block = np.asarray(index.vectors[start : start + 65_536], np.float32) @ asked.T
        for q, (kept, known) in enumerate(best):
            values = np.concatenate([kept, block[:, q]])
            numbers = np.concatenate([known, np.arange(start, start + len(block))])
            top = np.argsort(-values, kind="stable")[:5]
            best[q] = values[top], numbers[top]
    for query, (_, numbers) in zip(queries, best, strict=True):
        exact = {p.id for p in index.passages(numbers.tolist())}
        hits += len(exact & {hit.passage.id for hit in retriever.find(query)})
    return hits / (5 * len(queries))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--passages", type=int, default=1_000_000)
    parser.add_argument("--real", type=int, default=2000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--folder", type=Path, required=True)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    spent, corpus = fill(given.folder, given.passages, given.real)
    print(
        f"encoding: {1000 * spent:.1f} ms of processor time a passage of 100 words, {1 / spent:.0f} a second and core"
    )
    encoder = load_encoder(cached_texts=0)
    index = open_index(corpus, encoder, folder=given.folder / "index")
    retriever = Retriever(index, encoder)
    queries = [" ".join(text.split()[:25]) for text in texts(given.queries, 7)]
    wall, cpu = [], []
    for query in queries:
        began, used = time.perf_counter(), time.process_time()
        retriever.find(query)
        wall.append(time.perf_counter() - began)
        cpu.append(time.process_time() - used)
    for name, values in (("wall", wall), ("processor", cpu)):
        p50, p95 = 1000 * np.quantile(values, [0.5, 0.95])
        print(f"{len(queries)} queries over {len(index):,} passages, {name} time: p50 {p50:.1f} ms, p95 {p95:.1f} ms")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    status = Path("/proc/self/status").read_text()
    now = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) / 2**20
    print(f"resident memory: {now:.2f} GiB now (mapped pages included), {peak:.2f} GiB at most (filling included)")
    print(
        f"recall@5 against exact cosines, {min(50, len(queries))} queries: {recall(index, encoder, queries[:50]):.3f}"
    )


if __name__ == "__main__":
    main()
