"""A data set, refined row by row in Python, with the outcome of each and how the errors changed.

    python examples/dataset.py

`eirene batch examples/npov.jsonl --out records.jsonl` does the same for large files, side by side, with a journal to
resume from.
"""

from pathlib import Path

import eirene
from eirene.data import open_dataset

loop = eirene.Loop(eirene.resolve_backend("embedded"), eirene.Settings())
for item in open_dataset(str(Path(__file__).parent / "npov.jsonl")).items():
    record = loop.run(item)
    before, after = (scores["alignment"].coverage for scores in (record.scores.original, record.scores.final))
    print(f"{item.id}: {record.status}, coverage error {before:.2f} before, {after:.2f} after")
