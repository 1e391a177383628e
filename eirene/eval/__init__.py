"""How good is an answer: detectors, metrics, statistics. Runs no loop and rewrites nothing."""
