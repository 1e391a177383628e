"""Soak: `eirene serve`, `eirene batch` and the chat model under load for long, and whether what they hold grows."""

import benchmarks.faults  # noqa: F401  # from where `harness` and the other scripts are plain modules
