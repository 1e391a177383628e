"""Prices by model: from a file, by pattern, and unknown where nobody has said."""

from __future__ import annotations

from pathlib import Path

import pytest

from eirene.cli.model_flags import CallFlags
from eirene.core.errors import InputError
from eirene.models.costs import Price, read_prices, shipped_prices
from tests.rows import each

FILE = """
date = "2026-11"
[models."openai:small"]
input = 1
output = 2.5
cached = 0.5
[models."openai:*"]
input = 3.0
output = 4.0
[models."ollama:*"]
input = 0
output = 0
"""


def written(tmp_path: Path, text: str) -> str:
    (tmp_path / "prices.toml").write_text(text, encoding="utf-8")
    return str(tmp_path / "prices.toml")


@each(
    "model, price",
    [
        ("openai:small", Price(1.0, 2.5, 0.5)),
        ("openai:other", Price(3.0, 4.0)),
        ("ollama:llama3.2", Price(0.0, 0.0)),
        ("anthropic:x", None),
        ("OPENAI:small", None),
    ],
)
def test_the_first_key_that_fits_counts_and_no_other_price_is_made_up(
    tmp_path: Path, model: str, price: Price | None
) -> None:
    """A model that no key fits has no price: not zero, and not another model's."""
    assert read_prices(written(tmp_path, FILE)).of(model) == price


def test_the_shipped_list_says_when_and_where_it_was_taken() -> None:
    """It has a date and a source, and knows nothing of models that it does not name."""
    shipped = shipped_prices()
    assert shipped.about.startswith("20") and "openai.com" in shipped.about
    assert all(price.output_usd >= price.input_usd > 0 for _, price in shipped.prices)
    assert shipped.of("openai:a-model-of-next-year") is None


@each(
    "text, said",
    [
        ("models = 3", "'models' must be a valid dictionary, got the number 3"),
        ("", "'models' is missing"),
        ('[models."a:b"]\ninput = 1', "'models.a:b.output' is missing"),
        ('[models."a:b"]\ninput = -1\noutput = 1', "'models.a:b.input' must be greater than or equal to 0, got -1"),
        ('[models."a:b"]\ninput = nan\noutput = 1', "'models.a:b.input' must be a "),
        ('[models."a:b"]\ninput = "1"\noutput = 1', "'models.a:b.input' must be a "),
        ('[models."a:b"]\ninput = true\noutput = 1', "'models.a:b.input' must be a "),
        (
            '[models."a:b"]\ninput = 1\noutput = 1\nimput = 1',
            "unknown key 'models.a:b.imput'; did you mean 'input'?; known keys: input, output, cached",
        ),
        ("[models", "is not TOML"),
    ],
)
def test_a_file_that_holds_anything_else_is_one_clear_error(tmp_path: Path, text: str, said: str) -> None:
    """It names the file and the place, and shows the form."""
    with pytest.raises(InputError) as caught:
        read_prices(written(tmp_path, text))
    assert "prices.toml" in str(caught.value) and said in str(caught.value)


def test_the_flags_go_before_the_list_that_ships(tmp_path: Path) -> None:
    """--price as two numbers or a file, else the shipped list, which knows nothing of servers of one's own."""
    file, server = written(tmp_path, FILE), "http://127.0.0.1:1/v1"
    known, shipped = "openai:gpt-4o-mini", shipped_prices()
    assert CallFlags(price="5,6").price_of(known, base_url=server) == Price(5.0, 6.0)
    assert CallFlags(price=file).price_of(known, base_url=None) == Price(3.0, 4.0)
    assert CallFlags(price=file).price_of(known, base_url=server) == Price(3.0, 4.0)
    assert CallFlags().price_of(known, base_url=None) == shipped.of(known) is not None
    assert CallFlags().price_of(known, base_url=server) is None
    assert CallFlags().price_of("embedded", base_url=None) is None
    assert CallFlags(price="5,6").listed_price(None, base_url=None) is None


@each("price", ["1", "1,2,3", "a,b", "-1,2", "nan,1", ""])
def test_a_price_of_another_form_is_refused(price: str) -> None:
    """A price is two numbers, neither negative."""
    with pytest.raises(InputError, match="price must"):
        CallFlags(price=price).price_of("openai:m", base_url=None)
