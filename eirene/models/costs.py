"""Prices of models from a TOML file, and token counts without a tokenizer."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import resources
from typing import Annotated

from pydantic import Field

from eirene.core.errors import FormError, InputError
from eirene.core.usage import Usage
from eirene.core.validation import CheckedModel
from eirene.data.source import read_source

_Usd = Annotated[float, Field(ge=0, allow_inf_nan=False)]  # strict: a whole number is one as well, a text is none
_PIECES = re.compile(r"[A-Za-z]+|\d+|[^\W\d_]+|\s+|.", re.DOTALL)
_WORD = 7  # letters of an English word that tokenizers keep whole, mostly


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens; those read from the provider's prompt cache, and those written to it for a
    price of their own, count as input by default.
    """

    input_usd: float
    output_usd: float
    cached_usd: float | None = None
    written_usd: float | None = None

    def cost_usd(self, *, input_tokens: int, output_tokens: int, cached_tokens: int, written_tokens: int = 0) -> float:
        """The price of one call; `cached_tokens` and `written_tokens` are among the `input_tokens`."""
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        written_usd = self.input_usd if self.written_usd is None else self.written_usd
        prompt = (input_tokens - cached_tokens - written_tokens) * self.input_usd
        prompt += cached_tokens * cached_usd + written_tokens * written_usd
        return (prompt + output_tokens * self.output_usd) / 1e6


def priced(
    price: Price | None, *, input_tokens: int, output_tokens: int, cached_tokens: int = 0, written_tokens: int = 0
) -> Usage:
    """The usage of a call that took so many tokens, with its cost where there is a price."""
    cost = None
    if price is not None:
        cost = price.cost_usd(
            input_tokens=input_tokens, output_tokens=output_tokens, cached_tokens=cached_tokens,
            written_tokens=written_tokens,
        )  # fmt: skip
    return Usage(input_tokens=input_tokens, output_tokens=output_tokens, cached_tokens=cached_tokens, cost_usd=cost)


class _PriceEntry(CheckedModel, extra="forbid", strict=True):
    input: _Usd
    output: _Usd
    cached: _Usd | None = None
    written: _Usd | None = None


class _PriceFile(CheckedModel, extra="forbid", strict=True):
    date: str | None = None
    source: str | None = None
    models: dict[str, _PriceEntry]


@dataclass(frozen=True, slots=True)
class PriceList:
    """Prices by model. `name`: the file, or what stands for the list that ships; `about`: its date and source."""

    name: str
    about: str
    prices: tuple[tuple[str, Price], ...]

    def of(self, model: str) -> Price | None:
        """The price of `provider:model`: that of the first key that fits, with `*` and `?` in it; None if none does.

        Examples:
            >>> shipped_prices().of("openai:gpt-4o-mini")
            Price(input_usd=0.15, output_usd=0.6, cached_usd=None, written_usd=None)
            >>> shipped_prices().of("openai:of-my-own") is None
            True
        """
        return next((price for pattern, price in self.prices if fnmatchcase(model, pattern)), None)


def shipped_prices() -> PriceList:
    """The list that ships with the package: a few models, at the date that it names."""
    text = (resources.files("eirene.models") / "prices.toml").read_text(encoding="utf-8")
    return _parsed(text, "the list that ships")


def read_prices(path: str) -> PriceList:
    """The prices in a file; raises `InputError` for one that holds anything but prices."""
    try:
        return _parsed(read_source(path).data.decode("utf-8"), path)
    except UnicodeDecodeError:
        raise InputError("is not UTF-8; save it as UTF-8", where=path) from None


def _parsed(text: str, name: str) -> PriceList:
    try:
        file = _PriceFile.model_validate(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"is not TOML: {error}", where=name) from None
    except FormError as error:
        raise InputError(
            f'{error}; a price is written [models."provider:model"] with input, output '
            "and perhaps cached and written, in dollars for a million tokens",
            where=name,
        ) from None
    about = ", ".join(part for part in (file.date, file.source) if part)
    prices = tuple(
        (key, Price(entry.input, entry.output, entry.cached, entry.written)) for key, entry in file.models.items()
    )
    return PriceList(name, about, prices)


def rough_count(text: str) -> int:
    """Tokens by rule of thumb, for the tokenizers of today's chat models: within 4 % of a long English text.

    A word of up to 7 Latin letters is one, a longer one more; digits go by three, letters of other scripts one by one,
    marks are one each, and a single space belongs to the word behind it.
    """
    total = 0
    for piece in _PIECES.findall(text):
        if piece.isspace():
            total += piece != " "
        elif piece.isascii() and piece.isalpha():
            total += 1 + (len(piece) > _WORD) * round((len(piece) - _WORD) / 6)
        elif piece.isdigit():
            total += -(-len(piece) // 3)
        elif piece.isalpha():
            total += len(piece) if ord(piece[0]) > 0x2E7F else 1 + len(piece) // 3
        else:
            total += 1
    return total
