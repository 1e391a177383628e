"""Experiments: comparing modes, and evaluating critics and detectors, each with a journal and a table."""
