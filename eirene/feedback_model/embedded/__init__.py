"""The embedded critic, which ships with Eirene: the encoder's alignment, and rules."""
