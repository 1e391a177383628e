"""All kinds of attack, by name: importing this module registers them."""

from __future__ import annotations

from gate import attacks_foreign, attacks_form, attacks_polarity, attacks_specifics, attacks_structure  # noqa: F401
from gate.attack import ATTACKS

__all__ = ["ATTACKS"]
