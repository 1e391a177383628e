"""All kinds of attack, by name: importing this module registers them."""

from __future__ import annotations

from gate import attacks_foreign, attacks_form, attacks_polarity, attacks_specifics, attacks_structure
from gate.attack import ATTACKS

MODULES = (attacks_form, attacks_structure, attacks_foreign, attacks_specifics, attacks_polarity)

__all__ = ["ATTACKS", "MODULES"]
