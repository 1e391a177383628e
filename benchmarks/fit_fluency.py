"""Trains the network of `eirene/text/fluency.py` on sentences and their faults, and writes `fluency.npz`.

    python benchmarks/fit_fluency.py DATA_DIR [--epochs 6] [--seed 0] [--out FILE]

DATA_DIR is the folder of the data sets that `fluency_sentences.py` names, with their licences; the file holds frequent
words and weights, no sentence. One thread and one seed give the same file again, in about five minutes. Needs torch.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from fluency_faults import REARRANGED, Rng
from fluency_sentences import Said, is_aside, read_all
from numpy.typing import NDArray
from torch import nn

from eirene.text.fluency import DILATIONS, SHAPES, BoundaryModel, keys_of, token_matches

WORDS, ENDINGS = 6000, 700
SIZE, CHANNELS, HIDDEN = 24, 48, 32
OFTEN = {"perspectrum": 3, "argkp": 2, "mixed": 2, "haluquestqa": 2, "expertqa": 2}
"""Sets that are drawn more often: arguments and answers are what the check reads."""
PER_BATCH = 6000
Ids = NDArray[np.int64]
Example = tuple[Ids, NDArray[np.float32]]
_BEGIN, _END = BoundaryModel({}, {}, {}).ids([]).reshape(2, 1, 3)
_SHARES = np.array([share for share, _ in REARRANGED]) / sum(share for share, _ in REARRANGED)


class Network(nn.Module):
    """The same layers as `BoundaryModel`, for training."""

    def __init__(self) -> None:
        super().__init__()
        self.word = nn.Embedding(WORDS, SIZE)
        self.ending = nn.Embedding(ENDINGS, SIZE)
        self.shape = nn.Embedding(SHAPES, SIZE)
        for table in (self.word, self.ending, self.shape):
            nn.init.normal_(table.weight, std=0.3)
        sizes = [SIZE, *[CHANNELS] * len(DILATIONS)]
        self.layers = nn.ModuleList(
            nn.Conv1d(a, b, 3, padding=step, dilation=step)
            for a, b, step in zip(sizes, sizes[1:], DILATIONS, strict=False)
        )
        self.joint = nn.Linear(2 * CHANNELS, HIDDEN)
        self.out = nn.Linear(HIDDEN, 1)
        self.drop = nn.Dropout(0.1)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Log-odds of the joints, [batch, tokens - 1], of ids [batch, tokens, 3]; mask [batch, 1, tokens]."""
        x = self.word(ids[..., 0]) + self.ending(ids[..., 1]) + self.shape(ids[..., 2])
        x = self.drop(x).transpose(1, 2) * mask
        for n, layer in enumerate(self.layers):
            y = torch.relu(layer(x)) * mask
            x = y if n == 0 else x + y
        x = self.drop(x.transpose(1, 2))
        both = torch.cat([x[:, :-1], x[:, 1:]], dim=2)
        return self.out(torch.relu(self.joint(both)))[..., 0]


def vocabulary(sentences: list[list[str]]) -> BoundaryModel:
    """The most frequent words, and endings of the words, numbered; no weights yet."""
    words: Counter[str] = Counter()
    endings: Counter[str] = Counter()
    for tokens in sentences:
        for token in tokens:
            word, ends, _ = keys_of(token)
            words[word] += 1
            endings.update(ends)
    ranked = [w for w, _ in sorted(words.items(), key=lambda item: (-item[1], item[0]))]
    ends_ranked = [e for e, _ in sorted(endings.items(), key=lambda item: (-item[1], item[0]))]
    return BoundaryModel(
        {w: n for n, w in enumerate(["\t?", "\t<", "\t>", *ranked][:WORDS])},
        {e: n for n, e in enumerate(["\t?", *ends_ranked][:ENDINGS])},
        {},
    )


def example(ids: Ids, other: Ids, rng: Rng, full_stop: Ids) -> Example:
    """A sentence as it is or with a fault, and for each joint whether it is broken.

    `ids` and `other`, a sentence to take words from, have the marks of their ends.
    """
    body, foreign = ids[1:-1], other[1:-1]
    ends = len(body) > 1 and body[-1][2] == 1 and body[-1][0] == full_stop[0]
    draw, n = rng.random(), len(body) - ends
    if draw < 0.34 or n < 3:
        if ends and rng.random() < 0.2:
            body = body[:-1]
        elif not ends and rng.random() < 0.3:
            body = np.concatenate([body, full_stop[None]])
        return _whole(_recased(body, body[0], rng, 0.1), np.zeros(len(body) + 1))
    if draw >= 0.94:
        joined, broken = _salted(body[:n], foreign, rng)
    elif draw >= 0.86 and len(foreign) > 4:
        joined, broken = _glued(body[:n], foreign, rng)
        ends = False
    else:
        places, last = np.arange(n), n - 1
        if draw < 0.68:
            fault = REARRANGED[rng.choice(len(REARRANGED), p=_SHARES)][1]
            whole = bool(ends and rng.random() < 0.2)
            places, ends, last = fault(n + whole, rng), ends and not whole, last + whole
        elif draw < 0.79:
            places, ends = places[: int(rng.integers(1, n))], ends and rng.random() < 0.5  # breaks off
        else:
            places = places[int(rng.integers(1, n)) :]  # begins in the middle
        around = np.concatenate([[-1], places, [last + 1]])
        joined, broken = _recased(body[places], body[0], rng, 0.6), np.diff(around) != 1
    if ends:
        joined, broken = np.concatenate([joined, full_stop[None]]), np.concatenate([broken, [False]])
    return _whole(joined, broken)


def _salted(frame: Ids, foreign: Ids, rng: Rng) -> tuple[Ids, NDArray[np.bool_]]:
    """Some words exchanged for those of another sentence."""
    hit = rng.random(len(frame)) < rng.choice([0.06, 0.15, 0.4])
    joined = frame.copy()
    joined[hit] = foreign[rng.integers(0, len(foreign), int(hit.sum()))]
    hit &= (joined[:, :2] != frame[:, :2]).any(axis=1)
    around = np.concatenate([[False], hit, [False]])
    return joined, around[1:] | around[:-1]


def _glued(frame: Ids, foreign: Ids, rng: Rng) -> tuple[Ids, NDArray[np.bool_]]:
    """The beginning of one sentence and the rest of another, or all of it."""
    at = int(rng.integers(1, len(frame) + 1))
    rest = foreign[int(rng.integers(0, len(foreign) - 2)) if rng.random() < 0.5 else 0 :]
    joined = np.concatenate([frame[:at], rest])
    return _recased(joined, frame[0], rng, 0.5), np.arange(len(joined) + 1) == at


def _recased(tokens: Ids, head: Ids, rng: Rng, share: float) -> Ids:
    """Sometimes with the first letter made large, and the old first word's small; rarely all small."""
    tokens = tokens.copy()
    draw = rng.random()
    if draw < share and len(tokens):
        old = (tokens == head).all(axis=1) & (tokens[:, 2] == 4)
        if rng.random() < 0.7:
            tokens[old, 2] = 3
        if tokens[0, 2] == 3 and rng.random() < 0.8:
            tokens[0, 2] = 4
    elif draw > 0.95:
        tokens[tokens[:, 2] == 4, 2] = 3
    return tokens


def _whole(body: Ids, broken: NDArray[np.generic]) -> Example:
    return np.concatenate([_BEGIN, body, _END]), broken.astype(np.float32)


def batches(
    examples: list[Example], rng: Rng
) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]]:
    """Examples of like length together: ids, mask of tokens, labels, mask of joints."""
    lengths = np.array([len(e[0]) for e in examples]) + rng.random(len(examples))
    order = np.argsort(lengths, kind="stable")
    packs, pack = [], []
    for n in order:
        pack.append(n)
        if len(pack) * len(examples[n][0]) >= PER_BATCH:
            packs.append(pack)
            pack = []
    packs += [pack] if pack else []
    for at in rng.permutation(len(packs)):
        some = [examples[n] for n in packs[at]]
        longest = max(len(ids) for ids, _ in some)
        ids = np.zeros((len(some), longest, 3), np.int64)
        mask = np.zeros((len(some), longest), np.float32)
        labels = np.zeros((len(some), longest - 1), np.float32)
        joints = np.zeros((len(some), longest - 1), np.float32)
        for row, (tokens, broken) in enumerate(some):
            ids[row, : len(tokens)], mask[row, : len(tokens)] = tokens, 1
            labels[row, : len(broken)], joints[row, : len(broken)] = broken, 1
        yield tuple(map(torch.from_numpy, (ids, mask[:, None], labels, joints)))  # type: ignore[misc]


def train(coded: list[Ids], full_stop: Ids, *, epochs: int, seed: int) -> Network:
    """The network after `epochs` draws of all sentences, each time with other faults."""
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    network = Network()
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=1e-4)
    steps = epochs * (sum(len(c) + 1 for c in coded) // PER_BATCH + 2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=steps + 50)
    loss_of = nn.BCEWithLogitsLoss(reduction="none")
    done = 0
    for epoch in range(epochs):
        began, total, count = time.time(), 0.0, 0.0
        mixed = rng.permutation(len(coded))
        examples = [
            example(drop_words(coded[n], rng), coded[int(mixed[(k + 1) % len(mixed)])], rng, full_stop)
            for k, n in enumerate(mixed)
        ]
        for ids, mask, labels, joints in batches(examples, rng):
            loss = (loss_of(network(ids, mask), labels) * joints).sum() / joints.sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if done < steps:
                schedule.step()
            done += 1
            total, count = total + loss.item() * joints.sum().item(), count + joints.sum().item()
        print(f"epoch {epoch}: loss {total / count:.4f}, {time.time() - began:.0f} s", flush=True)
    return network.eval()


def drop_words(ids: Ids, rng: Rng) -> Ids:
    """A few words made unknown, so that endings are learned too."""
    ids = ids.copy()
    ids[(rng.random(len(ids)) < 0.06) & (ids[:, 2] > 1), 0] = 0
    return ids


def write(path: Path, network: Network, model: BoundaryModel) -> None:
    """Words as text, tables in 8 bits with a scale for every column, the rest in half precision."""
    state = {name: value.detach().numpy() for name, value in network.state_dict().items()}
    arrays: dict[str, NDArray[np.generic]] = {}
    for name in ("word", "ending", "shape"):
        table = state[f"{name}.weight"]
        scale = np.abs(table).max(axis=0) / 127
        arrays[name] = np.round(table / scale).astype(np.int8)
        arrays[f"scale_{name}"] = scale.astype(np.float32)
    for n in range(len(DILATIONS)):
        kernel = state[f"layers.{n}.weight"]  # [out, in, 3] -> [3 * in, out]
        arrays[f"layer{n}"] = kernel.transpose(2, 1, 0).reshape(-1, kernel.shape[0]).astype(np.float16)
        arrays[f"bias{n}"] = state[f"layers.{n}.bias"].astype(np.float16)
    for name, key in (("joint", "joint"), ("out", "out")):
        arrays[name] = state[f"{key}.weight"].T.astype(np.float16)
        arrays[f"{name}_bias"] = state[f"{key}.bias"].astype(np.float16)
    for name, names in (("words", model.words), ("endings", model.endings)):
        arrays[name] = np.frombuffer("\n".join(names).encode(), np.uint8)
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]


def encode(sentences: list[Said]) -> tuple[BoundaryModel, list[Ids]]:
    """The vocabulary, and the sentences of 2 to 80 tokens as numbers."""
    tokens = [[s.text[a:b] for a, b in token_matches(s.text)] for s in sentences]
    model = vocabulary(tokens)
    coded = []
    for said, parts in zip(sentences, tokens, strict=True):
        if 2 <= len(parts) <= 80:
            coded += [model.ids(parts)] * OFTEN.get(said.source, 1)
    return model, coded


def main() -> None:
    """Reads the arguments, trains, writes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("eirene/text/fluency.npz"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    seen: dict[str, Said] = {}
    for said in read_all(options.data):
        seen.setdefault(said.text, said)
    model, coded = encode([said for said in seen.values() if not is_aside(said)])
    full_stop = model.ids(["."])[1]
    print(len(coded), "sentences,", sum(map(len, coded)), "tokens", flush=True)
    write(options.out, train(coded, full_stop, epochs=options.epochs, seed=options.seed), model)
    print(options.out, options.out.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
