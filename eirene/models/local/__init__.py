"""Local causal models: loading, sampling, the cache of prefixes, scoring, the layout of prompts."""
