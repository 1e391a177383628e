"""The loop: its state machine, its gate, and everything that runs them. Detectors, refiners, critics are elsewhere.

It brings no names in: whoever scores or verifies alone need not load LangGraph, which takes a second.
"""
