"""What became of an answer whose errors are known by construction, told from the texts alone.

Nothing that the loop says about itself enters here: a part stands if its words still stand in a row in the final answer
(case and punctuation aside), an argument was added if its words stand there more often than before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Row = Mapping[str, Any]

MEASURES = ("restored", "removed_other", "removed_same", "lost", "added_present", "restated", "untouched", "worse")
"""What `measure` counts: missing arguments restored; foreign parts removed, of another topic and of the same; supported
parts lost; arguments added that were there already, and those of them in place of the part that said them; error-free
answers left byte for byte; answers with more errors than before."""


@dataclass
class Outcome:
    """Errors that are left in one answer, and its counts: measure -> (cases, out of)."""

    after: int
    counts: dict[str, tuple[int, int]]


def words(text: str) -> str:
    """Lower-cased words with one space around each."""
    return " " + " ".join(re.findall(r"[^\W_]+", text.casefold())) + " "


def parts_of(row: Row) -> list[dict[str, Any]]:
    """All parts of the answer, in order."""
    return [part for sentence in row["sentences"] for part in sentence["parts"]]


def arguments_of(row: Row) -> dict[str, str]:
    """The given arguments by id."""
    return {a["id"]: a["text"] for side in ("pro", "con") for a in row[f"{side}_arguments"]}


def measure(row: Row, final: str) -> Outcome:
    """What the final answer to a row is worth. Errors are missing arguments, foreign parts and needless additions.

    An argument that is said twice is lost only when neither saying stands.
    """
    before, after = words(row["response"]), words(final)
    given, missing, parts = arguments_of(row), set(row["missing_argument_ids"]), parts_of(row)
    added = Counter({i: max(after.count(words(t)) - before.count(words(t)), 0) for i, t in given.items()})
    foreign = {k: [p for p in parts if p["kind"] == f"unsupported_{k}_topic"] for k in ("other", "same")}
    gone = {k: sum(words(p["text"]) not in after for p in ps) for k, ps in foreign.items()}
    said: dict[str, list[bool]] = {}
    for part in parts:
        if part["argument_id"] is not None and part["kind"] in ("supported", "repeated"):
            said.setdefault(part["argument_id"], []).append(words(part["text"]) in after)
    lost = {i for i, stands in said.items() if not any(stands)}
    restored = sum(added[i] > 0 for i in missing)
    needless = [i for i in given if i not in missing and added[i] and i not in lost]
    twice = sum(max(n - 1, 0) for n in added.values())
    n_foreign = sum(map(len, foreign.values()))
    errors_before = len(missing) + n_foreign
    errors_after = (
        len(missing) - restored + n_foreign - sum(gone.values()) + len(needless) + twice
        + sum(not added[i] for i in lost)
    )  # fmt: skip
    clean = errors_before == 0
    return Outcome(errors_after, {
        "restored": (restored, len(missing)),
        "removed_other": (gone["other"], len(foreign["other"])),
        "removed_same": (gone["same"], len(foreign["same"])),
        "lost": (len(lost), len(said)),
        "added_present": (sum(added[i] > 0 for i in given if i not in missing), len(given) - len(missing)),
        "restated": (sum(added[i] > 0 for i in lost), len(given) - len(missing)),
        "untouched": (int(clean and final == row["response"]), int(clean)),
        "worse": (int(errors_after > errors_before), 1),
    })  # fmt: skip


def rate(outcomes: Iterable[Outcome], name: str) -> float | None:
    """Cases in percent; None where there was none to be had."""
    pairs = [o.counts[name] for o in outcomes]
    total = sum(n for _, n in pairs)
    return 100.0 * sum(k for k, _ in pairs) / total if total else None
