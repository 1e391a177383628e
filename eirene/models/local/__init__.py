"""Local causal models: loading, sampling, the prefix cache, scoring, the layout of prompts."""
