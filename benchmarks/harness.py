"""What the benchmarks share: arguments, rows of JSON Lines, a journal to go on from, figures with intervals, tables."""

from __future__ import annotations

import argparse
import json
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from rich.console import Console
from rich.table import Table

from eirene.core.scores import wilson
from eirene.eval.metrics.bootstrap import Estimate, Resamples, cluster_means, cluster_sums, clusters_of, ratio
from eirene.eval.metrics.ranking import ranked
from eirene.views.tables import figure

Row = dict[str, Any]
T = TypeVar("T")
RESAMPLES = Resamples(draws=2000)


def arguments(doc: str | None, *, data: str | None = "the folder of data sets") -> argparse.ArgumentParser:
    """A parser whose help is the script's docstring, with the data's folder and `--json FILE` for every figure."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    if data is not None:
        parser.add_argument("data", type=Path, help=data)
    parser.add_argument("--json", type=Path, metavar="FILE", help="every figure")
    return parser


def read_rows(file: Path) -> list[Row]:
    """The rows of a file of JSON Lines."""
    return [json.loads(line) for line in file.read_text("utf-8").split("\n") if line.strip()]


def write_rows(file: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """A row a line."""
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")


def write_json(file: Path | None, found: object) -> None:
    """The figures, where a file is named."""
    if file is not None:
        file.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


def drawn(rows: Sequence[T], count: int | None, seed: int) -> list[T]:
    """So many of the rows, in the order in which the seed draws them."""
    return [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))[:count]]


class Journal:
    """Finished rows by their key, in a file: the same command goes on from there.

    A line that was cut off when the command was killed is no row; it is made again.
    """

    def __init__(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        self._file = file
        whole = file.read_text("utf-8").rpartition("\n")[0] if file.exists() else ""
        self.rows: dict[str, Row] = {row["key"]: row for row in map(json.loads, filter(None, whole.split("\n")))}
        write_rows(file, list(self.rows.values()))

    def add(self, key: str, **values: Any) -> None:
        """Writes a row at once."""
        self.rows[key] = {"key": key, **values}
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(self.rows[key]) + "\n")


def mean(values: Sequence[float], clusters: Sequence[Hashable]) -> Estimate:
    """The mean with its 95 % interval; what belongs to one topic, question or source is drawn together."""
    if not len(values):
        return Estimate(None, unscored="no value")
    count, metric = cluster_means(np.asarray(values, float)[:, None], clusters)
    return RESAMPLES.estimate(count, metric, n=len(values))[0].of_clusters(count)


def percent(pairs: Sequence[tuple[int, int]], clusters: Sequence[Hashable]) -> Estimate:
    """Cases in percent of what they are out of, each row's (cases, out of) given; `n` is what all are out of."""
    count, numbers = clusters_of(clusters)
    sums = cluster_sums(np.array(pairs, float).reshape(-1, 2), count, numbers)
    (found,) = RESAMPLES.estimate(
        count,
        lambda weights: 100.0 * ratio(weights @ sums[:, 0], weights @ sums[:, 1]),
        n=int(sums[:, 1].sum()),
    )
    return found.of_clusters(count)


def area(labels: Sequence[bool], scores: Sequence[float], clusters: Sequence[Hashable]) -> Estimate:
    """ROC AUC with its 95 % interval, what belongs together drawn together; `n` is how many were scored."""
    return ranked(labels, scores, clusters_of(clusters), RESAMPLES).auc


def shown(found: Estimate | Mapping[str, Any], digits: int = 3) -> str:
    """A figure with its interval."""
    return figure(found.to_json() if isinstance(found, Estimate) else found, digits)


def logistic(
    rows: Sequence[tuple[Any, bool]], names: Sequence[str], *, strength: float
) -> dict[str, dict[str, float] | float]:
    """A logistic regression as a file of constants holds it; `strength` is the inverse of the regularisation."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=strength, max_iter=1000).fit(np.array([x for x, _ in rows]), [y for _, y in rows])
    weights = {name: round(float(w), 4) for name, w in zip(names, model.coef_[0], strict=True)}
    return {"weights": weights, "bias": round(float(model.intercept_[0]), 4)}


def share(hits: int, n: int) -> str:
    """A share of independent rows in percent, with Wilson's interval."""
    if not n:
        return "-"
    low, high = wilson(hits / n, n)
    return f"{100 * hits / n:.1f} % [{100 * low:.1f}, {100 * high:.1f}] of {n}"


def write_page(page: Path, script: str, text: str) -> None:
    """Puts what a script measured into a page, between its marks; what people wrote around it stays."""
    before, mark, rest = (page.read_text("utf-8") if page.exists() else "").partition(f"<!-- {script} -->\n")
    after = rest.partition("<!-- end -->\n")[1:]
    page.write_text(before + mark + text + "\n\n" + "".join(after), "utf-8")


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, width: int = 150) -> None:
    """Prints a table; numbers stand on the right."""
    table = Table(title=title)
    for n, name in enumerate(columns):
        table.add_column(name, justify="right" if n else "left")
    for row in rows:
        table.add_row(*row)
    Console(width=width).print(table)
