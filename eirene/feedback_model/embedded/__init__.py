"""The critic that ships: judges by the encoder's alignment, and by rule."""
