"""How many tokens a text has, about: counted without a tokenizer, or by tiktoken where it is installed and ready."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Callable

Count = Callable[[str], int]

_PIECES = re.compile(r"[A-Za-z]+|\d+|[^\W\d_]+|\s+|.", re.DOTALL)
_WORD = 7  # letters of an English word that tokenizers keep whole, mostly


def rough_count(text: str) -> int:
    """Tokens by rule of thumb, for the tokenizers of today's chat models; docs/costs.md has its error.

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


@functools.cache
def counter_for(model: str) -> tuple[Count, str]:
    """What counts tokens for `provider:model`, and what to call it.

    tiktoken counts for OpenAI's models where it is installed and TIKTOKEN_CACHE_DIR says where their vocabularies are;
    without that it would fetch one, and nothing is to be sent.
    """
    if model.startswith("openai:") and os.environ.get("TIKTOKEN_CACHE_DIR"):
        try:
            import tiktoken

            encoding = tiktoken.encoding_for_model(model.removeprefix("openai:"))
        except (ImportError, KeyError):
            pass
        except Exception:  # no vocabulary on this machine and none to be had: its client's own kinds of error
            pass
        else:
            return lambda text: len(encoding.encode_ordinary(text)), "tiktoken"
    return rough_count, "a rule of thumb (docs/costs.md has its error)"
