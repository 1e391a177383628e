"""Eirene with a real language model, beside other frameworks on the same server: rows, contenders, measures, page.

Each command is `python -m benchmarks.real_model.NAME`; all of them share one FOLDER and go on where they were stopped.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # `harness` and the other scripts are plain modules
