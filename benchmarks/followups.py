"""What a follow-up question is searched with: the right passage among sixty, by what of the conversation goes in.

    python benchmarks/followups.py

The 20 conversations of `benchmarks/followups.jsonl` were written for this project: each ends with a question that says
little by itself. Its passage is ranked by the shipped encoder among those of all, two of which share its words.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from eirene.core.records import Item
from eirene.models.encoder import load_encoder

ROWS = Path(__file__).parent / "followups.jsonl"


def said(item: Item, roles: tuple[str, ...], last: int) -> list[str]:
    """The last turns of these roles."""
    return [turn.content for turn in item.history or () if turn.role in roles][-last:]


WAYS: dict[str, Callable[[Item], list[str]]] = {
    "the question alone": lambda item: [item.question],
    "after the user's last words (as shipped)": lambda item: [item.query],
    "after the user's last two": lambda item: [*said(item, ("user",), 2), item.question],
    "after the last answer": lambda item: [*said(item, ("assistant",), 1), item.question],
    "after the last two turns": lambda item: [*said(item, ("user", "assistant"), 2), item.question],
}


def main() -> None:
    """Prints a table: how often the passage is first, and among the first three, without and with the answer."""
    items = [Item.model_validate(json.loads(line)) for line in ROWS.read_text("utf-8").splitlines()]
    passages = [text for item in items for text in (item.meta["about"], *item.meta["beside"])]  # type: ignore[misc]
    encoder = load_encoder()
    vectors = encoder.encode([str(text) for text in passages])
    print(f"n = {len(items)} questions, {len(passages)} passages")
    for name, way in WAYS.items():
        shown = []
        for more in ([], ["answer"]):
            ranks = []
            for n, item in enumerate(items):
                query = "\n".join([*way(item), *(item.answer for _ in more)])
                cosines = vectors @ encoder.encode([query])[0]
                ranks.append(1 + int((cosines > cosines[3 * n]).sum()))
            shown.append(f"{sum(r == 1 for r in ranks):2d} first, {sum(r <= 3 for r in ranks):2d} of the first three")
        print(f"{name:42s} {shown[0]}; with the answer {shown[1]}")


if __name__ == "__main__":
    main()
