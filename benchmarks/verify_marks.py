"""What `eirene.verify` says of sentences beside what people marked, on answers that nothing was trained or fitted on.

    python benchmarks/verify_marks.py SHARED_DATA [--json OUT]

SHARED_DATA holds `ragtruth_subset` and `qa_feedback`, of which the part is read that `recipes.verifier` leaves aside.
For each verdict: its sentences, and the shares of them that people marked at all, and as contradicted; of `unsupported`
and `contradicted` together the precision and recall against any mark, with 95 % intervals by draws of whole sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np
from harness import arguments, percent, shown, write_json
from numpy.typing import NDArray

import eirene
from eirene.agent.backends import shipped_verifier
from eirene.core.verification import ClaimWord
from eirene.eval.datasets.annotated import Annotated
from eirene.models.verifier.runtime import Verifier
from recipes.verifier.splits import ANSWERS, label_of, parts

Row = tuple[str, str, str, float | None]
"""Source, verdict, what people marked, risk."""


def rows_of(cases: Sequence[Annotated], verifier: Verifier) -> list[Row]:
    """A row for every sentence."""
    rows: list[Row] = []
    for case in cases:
        found = eirene.verify(case.item.answer, case.item.context or [], verifier=verifier)
        sentences = {sentence.n: sentence for sentence in case.sentences}
        rows += [(case.cluster, c.verdict, label_of(case, sentences[c.n]), c.risk) for c in found.claims]
    return rows


def ratio(rows: Sequence[Row], of: NDArray[np.bool_], among: NDArray[np.bool_]) -> str:
    """The share of the rows `among` that are also `of`, in percent, with its interval by draws of whole sources."""
    pairs = list(zip((of & among).astype(int).tolist(), among.astype(int).tolist(), strict=True))
    return shown(percent(pairs, [row[0] for row in rows]), 1)


def report(name: str, rows: Sequence[Row]) -> None:
    """The table of a set."""
    verdict, mark = (np.array([row[k] for row in rows]) for k in (1, 2))
    marked, checked = mark != "supported", verdict != "not checked"
    print(f"\n{name}: {len(rows):,} sentences, {marked.sum()} marked, {(mark == 'contradicted').sum()} as contradicted")
    print("| verdict | sentences | marked, % | marked as contradicted, % |\n| --- | --- | --- | --- |")
    for word in get_args(ClaimWord):
        own = verdict == word
        shares = (ratio(rows, of, own) for of in (marked, mark == "contradicted"))
        print(f"| {word} | {own.sum():,} | {' | '.join(shares) if own.any() else '- | -'} |")
    faulty = np.isin(verdict, ("unsupported", "contradicted"))
    print(f"unsupported or contradicted, against any mark: precision {ratio(rows, marked, faulty)}, "
          f"recall {ratio(rows, faulty, marked & checked)}")  # fmt: skip
    risk = np.array([np.nan if row[3] is None else row[3] for row in rows])
    for low, high in ((0, 0.1), (0.1, 0.2), (0.2, 0.35), (0.35, 1.01)):
        own = (risk >= low) & (risk < high)
        print(f"risk {low:g} to {high:g}: {own.sum()} sentences, marked {ratio(rows, marked, own)} %")


def main() -> None:
    """Reads the sets and prints a table of each."""
    parser = arguments(__doc__)
    parser.add_argument("--limit", type=int, help="answers of a set")
    parser.add_argument("--part", choices=("fit", "report"), default="report", help="fit: what thresholds are set on")
    args = parser.parse_args()
    verifier = shipped_verifier()
    found = {name: rows_of(parts(args.data, name)[args.part][: args.limit], verifier) for name in ANSWERS}
    for name, rows in found.items():
        report(name, rows)
    write_json(args.json, found)


if __name__ == "__main__":
    main()
