"""Rows and replies of the benchmarks with a scripted server on loopback, and what a process uses.

A row has two sides of three arguments, and an answer of some seventy words that gives two a side. Its subject carries
its number, so that a server can tell from a prompt which row is meant.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from eirene.core.records import Item
from eirene.testing.script import ScriptedRequest

SUBJECTS = ("trams", "ferries", "libraries", "solar farms", "night trains", "allotments", "museums", "footpaths")
CLAIMS = {
    "for": ("{s} bring money into the district", "{s} are used by people of every age", "{s} last for decades"),
    "against": (
        "{s} cost more than was promised",
        "{s} take room that homes need",
        "{s} are noisy while they are built",
    ),
}
_DISTRICT = re.compile(r"of district (\d+)")


def subject(n: int) -> str:
    """The subject that no other row has."""
    return f"{SUBJECTS[n % len(SUBJECTS)]} of district {n}"


def number_in(text: str) -> int:
    """The number of the row that a prompt is about."""
    found = _DISTRICT.search(text)
    if found is None:
        raise ValueError("a request that is about no row of the benchmark")
    return int(found.group(1))


def sentences(n: int) -> list[str]:
    """The answer of row `n`."""
    pro, con = ([claim.format(s=f"the {subject(n)}") for claim in claims] for claims in CLAIMS.values())
    return [
        f"People disagree about the {subject(n)}.",
        f"Supporters say that {pro[0]}, and they add that {pro[1]}.",
        f"Opponents reply that {con[0]}.",
        f"They also point out that {con[1]}, which matters to those who look for a flat.",
        "Both sides have asked the council for figures.",
    ]


def row(n: int) -> dict[str, Any]:
    """Row number `n`, as an item's fields."""
    sides = {side: [claim.format(s=f"the {subject(n)}") for claim in claims] for side, claims in CLAIMS.items()}
    given = [{"name": side, "arguments": arguments} for side, arguments in sides.items()]
    question = f"Should we have more {subject(n)}?"
    return {"id": f"i{n}", "question": question, "answer": " ".join(sentences(n)), "perspectives": given}


def item(n: int) -> Item:
    """Row number `n`."""
    return Item.model_validate(row(n))


def reply(request: ScriptedRequest, _: int) -> str:
    """A critique of five statements, or a rewrite that gives what was missing."""
    text = request.text
    if "Write the improved answer now" not in text:
        return "\n".join(f"{n}. [Complete]" for n in (1, 2, 3, 5)).replace(
            "3. [Complete]", "3. [Complete]\n4. [Incomplete] Reasons: The noise is missing."
        )
    begin, end = text.index("People disagree about"), text.index("for figures.") + len("for figures.")
    answer = text[begin:end]
    about = answer.removeprefix("People disagree about the ").split(".", 1)[0]
    kind = "generic" if "This answer is not complete." in text else "fine" if "Statement" in text else "improve"
    added = f"Supporters say as well that the {about} last for decades, opponents that the {about} are noisy while "
    return f"{answer} {added}they are built ({kind})."


def uses(pid: int) -> dict[str, float]:
    """What a process has: resident memory in MiB, open handles, threads, child processes, CPU seconds so far."""
    folder = Path(f"/proc/{pid}")
    fields, children = (folder / "stat").read_text().rpartition(")")[2].split(), 0
    for task in folder.glob("task/*/children"):
        with suppress(OSError):  # the thread has ended meanwhile
            children += len(task.read_text().split())
    resident = int((folder / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return {
        "memory": resident / 2**20, "handles": len(os.listdir(folder / "fd")), "threads": int(fields[17]),
        "children": children, "cpu_s": (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"),
    }  # fmt: skip
