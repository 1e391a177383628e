"""Mutation score: the share of small changes to the code that decides, keeps or hides that its tests see, by mutmut.

make mutants MUTANTS=60 SEED=0   # so many of each area, drawn by the seed; MUTANTS=0 for all

What is changed, and by which tests it is tried, stands in pyproject.toml. `mutmut results` lists what no test saw, and
`mutmut show NAME` one of them. A test that takes too long has seen the change: that is counted by itself.
"""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from pathlib import Path

from mutmut.__main__ import CatchOutput, cli, create_mutants
from mutmut.mutation.data import SourceFileMutationData
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import copy_src_dir, walk_mutatable_files
from scipy.stats import binomtest  # not the package's own: what is imported here would be tried unchanged

AREAS = {
    "vote": "feedback_model/vote feedback_model/finding_vote",
    "stop rules": "feedback_model/sampling",
    "gate verdict": "gate/verdict",
    "journal": "data/journal data/line_checksum agent/batch/journal",
    "redaction": "models/redaction",
}
REST = "readers"
"""The area of every file that is named in pyproject.toml alone."""

_SEEN = ("killed", "timeout")


def area_of(path: Path) -> str:
    """The area that a file of the package belongs to."""
    name = str(path.relative_to("eirene").with_suffix(""))
    return next((area for area, files in AREAS.items() if name in files.split()), REST)


def read() -> dict[Path, dict[str, str]]:
    """What became of each mutant, by its file and its name."""
    found = {}
    for path in sorted(walk_mutatable_files()):
        data = SourceFileMutationData(path=path)
        data.load()
        found[path] = {name: status_by_exit_code[code] for name, code in data.exit_code_by_key.items()}
    return found


def drawn(n: int, seed: int) -> dict[str, list[str]]:
    """The names of `n` mutants of each area; of all where `n` is 0, or there are fewer."""
    names: dict[str, list[str]] = {area: [] for area in (*AREAS, REST)}
    for path, made in read().items():
        names[area_of(path)] += made
    draw = random.Random(seed)
    return {area: draw.sample(all_, n) if 0 < n < len(all_) else all_ for area, all_ in names.items()}


def main(n: int, seed: int) -> None:
    """Tries the mutants; prints the score of each area with its 95 % interval (Wilson), and what no test saw."""
    Path("mutants").mkdir(exist_ok=True)
    with CatchOutput(spinner_title="Changing the code"):
        copy_src_dir()
        create_mutants(os.cpu_count() or 1)
    tried = drawn(n, seed)
    every = [name for names in tried.values() for name in names]
    cli(["run", *every], standalone_mode=False)
    became = {name: said for made in read().values() for name, said in made.items()}
    said = [f"{became[name]}: {name}" for name in every if became[name] not in _SEEN]
    for area, names in {**tried, "all": every}.items():
        counts = Counter(became[name] for name in names)
        killed = sum(counts[how] for how in _SEEN)
        low, high = (100 * end for end in binomtest(killed, len(names)).proportion_ci(method="wilson"))
        said.append(
            f"{area}: {100 * killed / len(names):.1f} % [{low:.1f}, {high:.1f}] of {len(names)}, {dict(counts)}"
        )
    sys.stdout.writelines(f"{line}\n" for line in said)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
