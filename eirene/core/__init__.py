"""The values that travel through everything: items, records, critiques, scores, usage, errors, seeds."""
