"""Makes a synthetic set: rows one after the other, and at the end the card that says what they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eirene._version import __version__
from eirene.core.records import Item
from eirene.data.topics import Topic
from eirene.synth.matching import AnswerGroup, AnswerRecipe, groups_of
from eirene.synth.material import Tally, material_of
from eirene.synth.responses import bases_of, groups_from
from eirene.synth.rows import CountedRow, CountingControl, controls, item_of

CARD_VERSION = 1


@dataclass(slots=True)
class AnswerTotals:
    """What has been made so far: the answers as the controls see them, and what was left out and why."""

    recipe: AnswerRecipe
    rows: list[CountedRow] = field(default_factory=list)
    groups: int = 0
    left_out: Tally = field(default_factory=Counter)

    def controls(self) -> list[CountingControl]:
        """The control rows of what has been made."""
        return controls(self.rows, seed=self.recipe.seed)

    def card(self, *, inputs: Sequence[Mapping[str, Any]], settings: Mapping[str, Any]) -> dict[str, Any]:
        """The card as plain JSON; the same inputs, settings and version give the same card. `inputs` names the files
        with their SHA-256, `settings` holds what the recipe does not."""
        kinds = Counter(row.kind for row in self.rows)
        return {
            "card": CARD_VERSION,
            "made_by": f"eirene {__version__}, synth npov",
            "inputs": [dict(entry) for entry in inputs],
            "seed": self.recipe.seed,
            "settings": {
                "kinds": list(self.recipe.kinds),
                "wordings": list(self.recipe.wordings),
                "per_topic": self.recipe.per_topic,
                "most": self.recipe.most,
                **settings,
            },
            "rows": len(self.rows),
            "groups": self.groups,
            "topics": len({row.topic for row in self.rows}),
            "by_kind": {kind: kinds[kind] for kind in self.recipe.kinds},
            "left_out": dict(sorted(self.left_out.items())),
            "controls": [control.to_json() for control in self.controls()],
        }


def synthesise(
    topics: Sequence[Topic],
    recipe: AnswerRecipe,
    made: AnswerTotals,
    *,
    responses: Iterable[Item] | None = None,
    balanced: bool = True,
) -> Iterator[Item]:
    """The rows, group by group in the order of the topics; `made` is kept up to date.

    Without `responses` answers are composed from the topics' arguments. With them, those responses' arguments are
    changed (see `eirene.synth.responses`); `balanced` False leaves their text as it is. The same topics, recipe and
    responses give the same rows, whatever has been made before.

    Example:
        >>> from eirene.synth import AnswerRecipe, AnswerTotals, synthesise
        >>> from eirene.data.topics import read_topics
        >>> recipe = AnswerRecipe(per_topic=1, seed=7)
        >>> made = AnswerTotals(recipe)
        >>> rows = list(synthesise(read_topics("examples/topics.jsonl"), recipe, made))
        >>> len(rows) == len(made.rows) and rows[0].meta["kind"]
        'none'
    """
    groups: Iterator[AnswerGroup]
    if responses is None:
        groups = (group for topic in topics for group in _of_topic(topic, recipe, made.left_out))
    else:
        bases = list(bases_of(responses, topics, made.left_out))
        groups = groups_from(bases, recipe, made.left_out, balanced=balanced)
    for group in groups:
        made.groups += 1
        yield from _rows(group, recipe, made)


def _of_topic(topic: Topic, recipe: AnswerRecipe, tally: Tally) -> Iterator[AnswerGroup]:
    material = material_of(topic, tally)
    if material is not None:
        yield from groups_of(material, recipe, tally)


def _rows(group: AnswerGroup, recipe: AnswerRecipe, made: AnswerTotals) -> Iterator[Item]:
    for kind in recipe.kinds:
        if kind in group.answers:
            found = group.answers[kind]
            made.rows.append(CountedRow(found.material.topic, group.name, kind, found.counts))
            yield item_of(group, kind)
        else:
            made.left_out[f"{kind}: not possible in a group"] += 1
