"""Quality check: answers measured, compared with a baseline, and judged by conditions; what `eirene check` runs."""
