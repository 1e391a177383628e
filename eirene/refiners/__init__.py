"""Turns an item and a critique into a new answer. No judging of the result belongs here: the gate does that."""
