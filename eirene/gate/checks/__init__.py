"""The checks of the gate: each names edits that carry what they should not, and says why."""
