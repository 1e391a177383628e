"""Seeds, digests and signatures: streams of one seed, hashes of JSON values, and the settings behind a figure."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from eirene.core.errors import InputError

if TYPE_CHECKING:
    import numpy as np

MAX_SEED = 2**63 - 1


def check_seed(seed: int) -> int:
    """Returns `seed` if it is an integer from 0 to 2**63 - 1; raises `InputError` otherwise."""
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MAX_SEED:
        raise InputError(f"seed must be an integer from 0 to {MAX_SEED}, got {seed!r}", field="seed")
    return seed


def derive_seed(seed: int, *names: object) -> int:
    """A seed for one purpose (an item, a round, a role): a hash of the run's seed and the names, in [0, 2**63).

    It does not depend on the order in which parts run, so that concurrency changes no record.
    """
    text = "\x1f".join([str(seed), *(str(n) for n in names)])
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big") >> 1


def rng_for(seed: int, *names: object) -> np.random.Generator:
    """A NumPy generator on the derived seed."""
    import numpy as np

    return np.random.default_rng(derive_seed(seed, *names))


def signature(**settings: object) -> str:
    """Settings as one line, `n:20|stop:none|seed:0|v:0.1.0`, in the order given; None is left out."""
    return "|".join(f"{name}:{value}" for name, value in settings.items() if value is not None)


_FLAGS = {
    "n": "samples", "min": "min-consistency", "rounds": "max-rounds", "after": "after-accept", "v": "version",
    "gate": "gate-risk/tolerance/min-gain/unmeasured gain", "rewrite": "rewrite/candidates/temperatures",
    "judge": "judge-risk",
}  # fmt: skip
"""What the flag is called of a setting whose name a signature shortens."""


def settings_changed(was: str, now: str) -> str:
    """What two signatures differ in: `samples: 20 there, 10 now; seed: 0 there, 1 now`."""
    old, new = (dict(setting.partition(":")[::2] for setting in line.split("|")) for line in (was, now))
    changed = [name for name in {**old, **new} if old.get(name) != new.get(name)]
    return "; ".join(
        f"{_FLAGS.get(name, name)}: {old.get(name, 'none')} there, {new.get(name, 'none')} now" for name in changed
    )


def digest(value: Any) -> str:
    """SHA-256 of a JSON value in canonical form (see `canonical`), as 64 hex digits."""
    return hashlib.sha256(canonical(value).encode("utf-8")).hexdigest()


def canonical(value: Any) -> str:
    """A JSON value as canonical text: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
