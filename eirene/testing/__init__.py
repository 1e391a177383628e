"""Scripted doubles (models, servers, parts) for tests and benchmarks, yours too. Nothing here is used in a run."""
