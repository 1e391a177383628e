"""Passages with errors of known kind and place (FAVA, section 5.1), made by rule: for tests and for tiny models."""

from __future__ import annotations

from eirene.synth.fava.run import Made, Recipe, synthesise

__all__ = ["Made", "Recipe", "synthesise"]
