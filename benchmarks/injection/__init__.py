"""Prompt injection: 200 hostile texts in every place of a row; what they move, on which page or terminal they act.

`python -m benchmarks.injection` runs it; what it found stands in docs/results/injection.md.
"""

import benchmarks.faults  # noqa: F401  # whose folder of plain modules is on the path from here on
