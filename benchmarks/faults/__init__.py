"""Fault injection: one command runs Eirene against a model server, disks, pipes and clients that fail by a schedule.

`python -m benchmarks.faults` runs it; what it found stands in docs/results/trust.md.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # `harness` and the other scripts are plain modules
