"""Refiners: an item and a critique in, a new answer out. Whether it is accepted is the gate's decision."""
