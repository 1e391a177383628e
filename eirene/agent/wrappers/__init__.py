"""Wrappers: the loop as a chat model, as an agent's middleware, and as a graph node."""
