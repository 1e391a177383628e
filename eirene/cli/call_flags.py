"""The flags of model calls: what they cost, and which replies are known already. The same in every command."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from eirene.errors import InputError

if TYPE_CHECKING:
    from eirene.models.cache import CallCache
    from eirene.models.chat import Price

_CALLS = "Model calls"

Cache = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Keep replies here; what is known is not asked for again (docs/costs.md).",
        rich_help_panel=_CALLS,
    ),
]
CacheSize = Annotated[
    str, typer.Option(metavar="SIZE", help="How large the cache may grow, such as 500MB.", rich_help_panel=_CALLS)
]
Prices = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="What models cost, as TOML (docs/costs.md).", rich_help_panel=_CALLS),
]
PriceOf = Annotated[
    str | None,
    typer.Option(
        "--price", metavar="IN,OUT", help="US dollars for a million tokens in and out.", rich_help_panel=_CALLS
    ),
]
CACHE_SIZE = "2GB"


@dataclass(frozen=True, kw_only=True)
class CallFlags:
    """What is said of model calls. `price` is the backend's, or the judge's of a command that has no backend."""

    price: PriceOf = None
    prices: Prices = None
    cache: Cache = None
    cache_size: CacheSize = CACHE_SIZE

    def open_cache(self) -> CallCache | None:
        """The cache that the flags name; raises `InputError` for a file or size that cannot be used."""
        if self.cache is None:
            if self.cache_size != CACHE_SIZE:
                raise InputError("--cache-size goes with --cache", field="cache-size")
            return None
        from eirene.models.cache import CallCache, parse_size

        return CallCache(self.cache, max_bytes=parse_size(self.cache_size))

    def price_of(self, model: str | None, *, base_url: str | None) -> Price | None:
        """What a model costs: as `--price` says, else as `listed_price` does."""
        if self.price is not None and self.prices is not None:
            raise InputError("give --price or --prices, not both", field="prices")
        return self.listed_price(model, base_url=base_url) if self.price is None else _parsed(self.price)

    def listed_price(self, model: str | None, *, base_url: str | None) -> Price | None:
        """What a model costs by the file of `--prices`, else by the list that ships; None where nobody knows.

        The list that ships is for the providers' own servers and says nothing of a model at `base_url`, or at an
        address that the environment names.
        """
        from eirene.models.prices import read_prices, shipped_prices

        listed = None if self.prices is None else read_prices(self.prices)  # what is named is looked at in any case
        if model is None or not is_named(model):
            return None
        if listed is not None:
            return listed.of(model)
        return shipped_prices().of(model) if base_url is None and not _is_elsewhere(model) else None


def is_named(model: str) -> bool:
    """Whether a backend is a chat model by name, which is what prices are known of."""
    return ":" in model and not model.startswith("hf:")


def _is_elsewhere(model: str) -> bool:
    """Whether the environment sends the provider's client to another address, as the clients read it."""
    provider = model.partition(":")[0].upper().replace("-", "_")
    return any(os.environ.get(f"{provider}_{name}", "").strip() for name in ("BASE_URL", "API_BASE", "API_URL"))


def _parsed(text: str) -> Price:
    """The price that a text such as `0.15,0.60` names; raises `InputError` for another form."""
    from eirene.models.chat import Price

    try:
        read, written = (float(part) for part in text.split(","))
    except ValueError:
        raise InputError(f"price must be two numbers, such as 0.15,0.60, got {text!r}", field="price") from None
    if not (0 <= read < float("inf") and 0 <= written < float("inf")):
        raise InputError(f"price must not be negative, got {text!r}", field="price")
    return Price(read, written)
