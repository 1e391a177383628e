"""Verification: which sentences of an answer the given texts carry, which they contradict, and by which sentence."""
