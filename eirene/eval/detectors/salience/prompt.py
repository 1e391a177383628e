"""The text whose gradients are taken: query and arguments in curly braces, then the answer, with every offset known.

Where query, arguments and answer together are longer than the model takes, the arguments are shared out over several
such texts; the answer stands whole in each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from eirene.eval.base import Case
from eirene.eval.detectors.chunks import Piece
from eirene.eval.detectors.salience.maps import Span
from eirene.prompts.curly import response_prompt

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from eirene.models.local.model import LocalModel

_ASKED = "Write a response that gives every one of these arguments, and nothing else.\n\n"


@dataclass(frozen=True, slots=True)
class Encoded:
    """A prompt and an answer as tokens. `places` has, for each piece, where in the prompt's text it stands."""

    ids: list[int]
    prompt_offsets: list[Span]
    answer_offsets: list[Span]
    places: tuple[Span, ...]


def encode(model: LocalModel, case: Case, pieces: Sequence[Piece]) -> Encoded:
    """The tokens of the prompt with these pieces, and of the answer; token offsets are those of prompt text and answer.

    Tokens that stand outside the prompt's own text, such as a chat template's, have the offsets (0, 0).
    """
    arguments = case.given.arguments
    groups = groups_of(case)
    laid_out = response_prompt(case.question, [(groups[piece.text], piece.of(arguments)) for piece in pieces])
    before, after = model.encode_frame(_ASKED if model.layout == "chat" else "")
    ids, offsets = _tokens(model.tokenizer, laid_out.text)
    # With the space that stands before it, as a tokenizer would have it in running text.
    answer_ids, offsets_with_space = _tokens(model.tokenizer, " " + case.answer)
    answer_offsets = [(max(0, start - 1), max(0, end - 1)) for start, end in offsets_with_space]
    outside: list[Span] = [(0, 0)]
    return Encoded(
        [*before, *ids, *after, *answer_ids],
        outside * len(before) + offsets + outside * len(after),
        answer_offsets,
        laid_out.places,
    )


def groups_of(case: Case) -> list[str]:
    """The name of each argument's group, in order."""
    return [group.name for group in case.given.groups for _ in group.arguments]


def _tokens(tokenizer: PreTrainedTokenizerBase, text: str) -> tuple[list[int], list[Span]]:
    """The tokens of a text from outside: special tokens that it spells out are taken letter by letter."""
    found: Any = cast(Any, tokenizer)(
        text, add_special_tokens=False, return_offsets_mapping=True, split_special_tokens=True
    )
    return list(found["input_ids"]), [(int(start), int(end)) for start, end in found["offset_mapping"]]
