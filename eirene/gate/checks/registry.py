"""The registry of checks: their names and order, cheapest first, and where a mended fault counts as a gain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from eirene.gate.checks.attribution import attribution
from eirene.gate.checks.base import Check, EditCase
from eirene.gate.checks.form import form, torn
from eirene.gate.checks.loss import loss
from eirene.gate.checks.polarity import polarity
from eirene.gate.checks.relevance import relevance
from eirene.gate.checks.repetition import mended_repetition, repetition
from eirene.gate.checks.security import security
from eirene.gate.checks.specifics import specifics, strange_values
from eirene.gate.checks.support import support
from eirene.gate.checks.talk import talk


@dataclass(frozen=True, slots=True)
class NamedCheck:
    """A check by name.

    `mends`: whether what the edits took out counts as a gain where the check would have objected to it; "given" only
    where arguments or passages can tell that it was wrong. `reads`: its words alone, or the meaning of whole sentences
    too, by the encoder; those come last, when the others have had taken out what they object to. `mended`: what is
    asked on the swapped case, where that is not `find`. `yields`: what it objects to is a change that nobody asked for;
    that gives way where another check tells that a fault was taken out. `of_form`: it looks at form and safety, which
    no comparison of what is said makes up for; the others are asked where there is no comparison, and `beside` it what
    they have for that case.
    """

    name: str
    find: Check
    mends: Literal["always", "given", "never"] = "never"
    reads: Literal["words", "meaning"] = "words"
    mended: Check | None = None
    yields: bool = False
    of_form: bool = False
    beside: Check | None = None

    def tells(self, case: EditCase) -> bool:
        """Whether what the edits of a case took out can be told to be a fault by this check."""
        return self.mends == "always" or (self.mends == "given" and case.has_given)


CHECKS: tuple[NamedCheck, ...] = (
    NamedCheck("security", security, "always", of_form=True),
    NamedCheck("form", form, "always", mended=torn, of_form=True),
    NamedCheck("talk", talk, "always", of_form=True),
    NamedCheck("specifics", specifics, "given", beside=strange_values),
    NamedCheck("polarity", polarity, "given", yields=True),
    NamedCheck("repetition", repetition, "always", "meaning", mended_repetition, yields=True),
    NamedCheck("support", support, "given", "meaning"),
    NamedCheck("attribution", attribution, "given", "meaning"),
    NamedCheck("loss", loss, "never", "meaning"),
    NamedCheck("relevance", relevance, "never", "meaning"),
)
"""The checks that ship, in the order in which they are asked."""

VERSION = 13
"""Goes up when the same edits may be judged otherwise; part of every signature."""
