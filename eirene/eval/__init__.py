"""Evaluation of answers: detectors, metrics, statistics. Runs no loop and rewrites nothing."""
