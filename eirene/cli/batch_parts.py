"""The models of a batch, as its flags say: built in this process, and once more wherever rows are made."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from eirene.cli.call_flags import CallFlags, is_named
from eirene.cli.gate_flags import with_named
from eirene.errors import InputError

if TYPE_CHECKING:
    from eirene.agent.batch.runner import Runner
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts
    from eirene.models.cache import CallCache
    from eirene.models.chat import Price
    from eirene.models.limits import Limiter


@dataclass(frozen=True, kw_only=True)
class PartsFlags:
    """Everything that says which models a batch has. Can be pickled; holds no key."""

    backend: str
    base_url: str | None = None
    detectors: str | None = None
    judge: str | None = None
    judge_url: str | None = None
    local_model: str | None = None
    classifier: tuple[str, ...] = ()
    nli: str | None = None
    polls: int = 5
    seed: int = 0
    price: Price | None = None
    judge_price: Price | None = None
    calls: CallFlags
    timeout_s: float = 60.0

    @property
    def asks(self) -> bool:
        """Whether a server is asked, so that rows wait and many can be under way."""
        return self.judge is not None or not (self.backend == "embedded" or self.backend.startswith("hf:"))

    @property
    def without_price(self) -> list[str]:
        """The models whose tokens cost nobody knows what."""
        priced = ((self.backend, self.price), (self.judge, self.judge_price))
        return [name for name, price in priced if name is not None and is_named(name) and price is None]

    @property
    def is_embedded_alone(self) -> bool:
        """Whether nothing but the embedded backend and its own detectors has a part."""
        named = (self.detectors, self.judge, self.local_model, self.classifier, self.nli)
        return self.backend == "embedded" and not any(named)

    @property
    def has_local_model(self) -> bool:
        """Whether a model is loaded that would use a GPU."""
        return self.backend.startswith("hf:") or any((self.local_model, self.classifier, self.nli))

    def build(self, limiter: Limiter, *, cache: CallCache | None, offline: bool = False) -> Parts:
        """The models, whose calls go through the limiter; `offline`: there will be none, so that no key is missed."""
        from eirene.agent.backends import BackendOptions, resolve_backend

        if self.asks:
            # The event loop has a core of its own to fill; an encoder run on one core does more a CPU second.
            os.environ.setdefault("EIRENE_THREADS", "1")
        options = BackendOptions(base_url=self.base_url, limiter=limiter, price=self.price, cache=cache,
                                 timeout_s=self.timeout_s, offline=offline)  # fmt: skip
        parts = with_named(
            resolve_backend(self.backend, options), self.detectors, judge_model=self.judge, base_url=self.judge_url,
            local=self.local_model, cache=cache, classifiers_named=self.classifier, nli_named=self.nli,
            polls=self.polls, seed=self.seed, concurrency=limiter.max_concurrent, price=self.judge_price,
            offline=offline,
        )  # fmt: skip
        if self.detectors is None and self.judge is not None:
            from eirene.agent.judges import with_judge

            parts = with_judge(parts, self.judge, base_url=self.judge_url, polls=self.polls, seed=self.seed,
                               price=self.judge_price, cache=cache, offline=offline)  # fmt: skip
        return parts


def in_an_actor(flags: PartsFlags, concurrency: int) -> Parts:
    """The models of one actor, which may have so many calls under way; a cache is the file of its machine."""
    from eirene.models.limits import Limiter

    return flags.build(Limiter(concurrency, adaptive=True), cache=flags.calls.open_cache())


@contextmanager
def ray_runner(
    address: str,
    flags: PartsFlags,
    parts: Parts,
    settings: Settings,
    *,
    workers: int | None,
    concurrency: int,
    n_rows: int,
) -> Iterator[Runner]:
    """The runner on a Ray cluster, which is up as long as this lasts.

    `workers` None: an actor for each GPU where a local model has use for one, else for each core. `concurrency` is that
    of all actors together, and each gets the same share.
    """
    import functools

    from eirene.agent.batch.processes import CHUNK_ROWS, usable_cores
    from eirene.agent.batch.ray_runner import RayRunner, Shape
    from eirene.agent.batch.ray_session import LOCAL, cluster_slots, ray_session

    with ray_session(address, slots=workers or usable_cores()) as ray:
        gpus = cluster_slots(ray, "GPU") if flags.has_local_model else 0
        n = workers or gpus or (usable_cores() if address == LOCAL else cluster_slots(ray, "CPU"))
        n = max(1, min(n, n_rows))
        if flags.asks and n > concurrency:
            raise InputError(f"must be at least the number of actors, {n}, got {concurrency}", field="concurrency")
        share = concurrency // n if flags.asks else 1
        shape = Shape(
            side_by_side=2 * share if flags.asks else 1,  # rows that compute leave no call's place empty
            chunk_rows=max(1, min(CHUNK_ROWS, n_rows // (2 * n))) if flags.is_embedded_alone else 1,
            gpus=1.0 if gpus else 0.0,
        )
        make = functools.partial(in_an_actor, flags, share)
        yield RayRunner(ray, make, settings, parts=parts, workers=n, shape=shape)
