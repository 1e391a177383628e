"""The page of the results: families, kinds, and what is to be taken."""

from __future__ import annotations

from typing import Any

from gate.report import above, family_rows, kind_rows, markdown_table, rightful_rows

Json = dict[str, Any]
SETTINGS = """- *alone*: the attack on the original; *gain*: what the answer lacks is added, as a good refiner would
- *clean*: answers that lack an argument; *had foreign*: answers that also hold something that was not given
- *passages*: QA-Feedback, with a sentence that annotators missed; a rewrite is asked for in mode `generic`, and only
  rows are used on which the gain alone passes
- *nothing given*: neither perspectives nor passages, mode `improve`, or with a critique that names what is missing, and
  `when_gain_unmeasured` set to `accept`, so that the checks alone are measured; *default*: with the default settings"""


def page(report: Json) -> str:
    """The page in Markdown."""
    settings = report["settings"]
    n = sum(report["all"]["survives"][s]["n"] for s in settings)
    head = (
        "# What the gate lets through\n\n"
        f"{n:,} rewrites that are clearly worse by construction, tried on real rows: the embedded detectors, one "
        "round, a refiner that returns just the attacked rewrite. *Survives*: the harm stands in the answer that is "
        f"shown, told from the texts alone. Up to {report['limit']} rows a kind and setting, seed {report['seed']}, "
        f"wordings `{report['wordings']}`; intervals of 95 % after Wilson. Written by `benchmarks/gate_attacks.py`."
        f"\n\n{SETTINGS}"
    )
    kinds = markdown_table(["kind", "how it is made", *settings, "gain kept"], kind_rows(report))
    over = "\n".join(f"- {line}" for line in above(report)) or "None."
    right = markdown_table(["rewrite", "at least", "what", "stands", "and also"], rightful_rows(report))
    told = (
        "What is better, or as good, and so is to be taken: of the rewrites that were asked for, those of which the "
        "good part stands in the answer that is shown. *wording*: whether the other wording or order was taken, too; "
        "it may be undone at no cost to the reader."
    )
    parts = {
        "Families": markdown_table(["family", "survives at most", *settings], family_rows(report)),
        "Kinds": kinds,
        "Above what is wanted": over,
        "Rightful rewrites": f"{told}\n\n{right}",
    }
    return head + "".join(f"\n\n## {title}\n\n{text}" for title, text in parts.items()) + "\n"
