"""The flags of model calls: what they cost, and which replies are known already. The same in every command."""

from __future__ import annotations

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


def open_cache(path: str | None, size: str = CACHE_SIZE) -> CallCache | None:
    """The cache that the flags name; raises `InputError` for a file or size that cannot be used."""
    if path is None:
        if size != CACHE_SIZE:
            raise InputError("--cache-size goes with --cache", field="cache-size")
        return None
    from eirene.models.cache import CallCache, parse_size

    return CallCache(path, max_bytes=parse_size(size))


def price_for(
    model: str | None, *, price: str | None = None, prices: str | None = None, base_url: str | None = None
) -> Price | None:
    """What a model costs: as `--price` says, else the file of `--prices`, else the list that ships.

    That list is for the providers' own servers and says nothing of a model at `base_url`. None where nobody knows.
    Raises `InputError` for both flags at once and for prices that cannot be read.
    """
    if price is not None and prices is not None:
        raise InputError("give --price or --prices, not both", field="prices")
    if price is not None:
        from eirene.cli.compare import price_of

        return price_of(price)
    if model is None or ":" not in model:
        return None
    from eirene.models.prices import read_prices, shipped_prices

    if prices is not None:
        return read_prices(prices).of(model)
    return shipped_prices().of(model) if base_url is None else None
