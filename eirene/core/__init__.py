"""Core values: items, records, critiques, scores, usage, errors, seeds; validation, JSON and caches."""
