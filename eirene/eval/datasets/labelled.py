"""Labelled answers of a file, in whichever known form its first row has: published, of our own, or in columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from eirene.core.errors import InputError
from eirene.core.json import parse_json
from eirene.core.records import Item, parse_item
from eirene.core.validation import validated as checked
from eirene.data import ColumnMap, Dataset, RowSource, Shape, open_source, opened
from eirene.data.json_rows import Row
from eirene.eval.datasets import published
from eirene.eval.datasets.base import Labelled, LabelledSet, marked_faults, with_own_ids


@dataclass(frozen=True)
class Form:
    """A set's form: the keys by which its rows are known (`meta`: those in their meta), commas between, and a reader.

    `read` gives a labelled answer, several, or why there is none.
    `beside`: a file in the same folder, and the key by which its rows are found, that the reader gets as well.
    """

    name: str
    keys: str
    read: Callable[..., Any]
    beside: tuple[str, str] | None = None
    meta: str = ""


class _ArgumentPlace(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    group: str
    n: Annotated[int, Field(ge=1)]


class _Span(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=1)]


class _MetaLabels(BaseModel):
    """`meta.labels` of a row: what is known; a key left out is not known. `missing`, `spans`: all that there are."""

    model_config = ConfigDict(extra="forbid", strict=True)

    hallucination: bool | None = None
    coverage: bool | None = None
    missing: list[_ArgumentPlace] | None = None
    spans: list[_Span] | None = None
    cluster: str | None = None


def own(data: dict[str, Any], row: Row) -> Labelled:
    """A row of Eirene's own form with `labels` in its meta.

    `{"hallucination": bool, "coverage": bool, "missing": [{"group": name, "n": 1}], "spans": [{"start": 0, "end": 9}],
    "cluster": name}`, each key optional. Missing arguments and faulty spans, where they are listed, say whether there
    is an error. Rows of one question are one cluster by default.
    """
    return own_item(parse_item(data, where=row.where), row.where)


def own_item(item: Item, where: str) -> Labelled:
    """An item that has been read, with `labels` in its meta as `own` has them; `where` it stood."""
    labels = checked(_MetaLabels, item.meta["labels"], where=where, under="meta.labels")
    known = {(p.name, n) for p in item.perspectives or [] for n in range(1, len(p.arguments) + 1)}
    lacking = {(a.group, a.n) for a in labels.missing or []}
    if not lacking <= known:
        group, n = sorted(lacking - known)[0]
        raise InputError(f"there is no argument {n} of {group!r}", field="meta.labels.missing", where=where)
    spans = [(s.start, s.end) for s in labels.spans or []]
    if any(not a < b <= len(item.answer) for a, b in spans):
        raise InputError("a span must lie within the answer", field="meta.labels.spans", where=where)
    return Labelled(
        item,
        cluster=labels.cluster or item.question,
        hallucination=bool(spans)
        if labels.hallucination is None and labels.spans is not None
        else labels.hallucination,
        coverage=bool(lacking) if labels.coverage is None and labels.missing is not None else labels.coverage,
        marks=None if labels.spans is None else marked_faults(item.answer, spans),
        missing={} if labels.missing is None else {place: place in lacking for place in sorted(known)},
    )


_SYNTHETIC = "has_hallucination,has_coverage_error,arguments,sentences"
FORMS: tuple[Form, ...] = (
    Form("BEGIN", "knowledge,message,response,begin_label", published.begin),
    Form("QA-Feedback", "question,passages,prediction 1,feedback", published.qa_feedback),
    Form("RAGTruth", "source_id,response,labels,task", published.ragtruth, ("sources.jsonl", "source_id")),
    Form("FacTool", "prompt,response,label,claims", published.factool),
    Form("HaluQuestQA sentences", "question,sentences", published.haluquestqa_sentences),
    Form("Eirene rows with labels", "question,answer,meta", own, meta="labels"),
    Form("Synthetic NPOV answers", "question,answer,meta", published.synthetic, meta=_SYNTHETIC),
)
"""In the order in which they are tried: the first whose keys a row has."""
_UNKNOWN = (
    "is of no known labelled form; known: {}. A row of your own needs 'labels' in its meta, a table a column "
    "hallucination or coverage, or --map meta.labels.hallucination=COLUMN"
)


def read_labelled(data: str | RowSource, shape: Shape | None = None, *, forms: Sequence[Form] = FORMS) -> LabelledSet:
    """The labelled answers of what `open_source` opens, or of a source; each has an id of its own.

    The form is that of the first row, one of `forms` (docs/evaluation/detectors.md lists them). A `shape` that maps
    columns, and a table with labels among its columns, make items as everywhere (docs/guides/datasets.md), with labels
    from `meta.labels.NAME`. Raises `InputError` that names the row for a form that is not known, a row of another
    form, and a row that cannot be read.
    """
    source = opened(data)
    mapped = shape_of(source, Shape() if shape is None else shape)
    if mapped is not None:
        name, rows = FORM, read_table(source, mapped)
    else:
        form, read = read_forms(source, forms, _UNKNOWN.format(", ".join(form.name for form in forms)))
        name = form.name
        rows = (one for found in read for one in ([found] if isinstance(found, Labelled | str) else found))
    cases: list[Labelled] = []
    left_out: Counter[str] = Counter()
    for found in rows:
        if isinstance(found, Labelled) and found.is_known:
            cases.append(found)
        else:
            left_out[found if isinstance(found, str) else "no label"] += 1
    if not cases:
        causes = "".join(f"; {n} rows: {why}" for why, n in left_out.items())
        raise InputError(f"has no labelled answer{causes}", where=source.name)
    return LabelledSet(name, tuple(with_own_ids(cases)), left_out)


def read_forms(source: RowSource, forms: Iterable[Form], unknown: str) -> tuple[Form, Iterator[Any]]:
    """The first of the forms that the first row has, and what its reader makes of each row.

    Raises `InputError`: `unknown` where it has none of them, and what `read_row` raises.
    """
    rows = iter(source.rows())
    first = next(rows, None)
    if first is None:
        raise InputError("has no rows", where=source.name)
    form = next((form for form in forms if _has(first.data, form)), None)
    if form is None:
        raise InputError(unknown, where=first.where)
    others = None if form.beside is None else rows_beside(source.name, *form.beside)
    return form, (read_row(form, row, others) for row in chain([first], rows))


def _has(data: object, form: Form) -> bool:
    there = data if isinstance(data, dict) else {}
    meta = there.get("meta")
    inner = meta if isinstance(meta, dict) else {}
    pairs = ((form.keys, there), (form.meta, inner))
    return all(key in part for keys, part in pairs for key in keys.split(",") if key)


def read_row(form: Form, row: Row, others: Mapping[str, Any] | None) -> Any:
    """What the form's reader makes of a row; raises `InputError` that names the row for whatever goes wrong."""
    if not isinstance(row.data, dict):
        raise InputError(f"is no row of {form.name}: no JSON object", where=row.where)
    try:
        return form.read(row.data, row) if others is None else form.read(row.data, row, others)
    except InputError:  # says where it stands, and what is wrong
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        said = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(f"is no row of {form.name}: {said}", where=row.where) from None


def rows_beside(path: str, name: str, key: str) -> dict[str, Any]:
    """The rows of the file that the set's texts stand in, in the folder of the file `path`, by their key."""
    if not Path(path).is_file():
        raise InputError(f"these rows need {name} beside them; name their file", where=path)
    found: dict[str, Any] = {}
    for row in open_source(str(Path(path).with_name(name))).rows():
        if not isinstance(row.data, dict) or key not in row.data:
            raise InputError(f"has no {key!r}", where=row.where)
        found[str(row.data[key])] = row.data
    return found


FORM = "Rows with labels in columns"
LABELS = ("hallucination", "coverage", "missing", "spans", "cluster")
_TARGET = "meta.labels."
_KEY = "labels."
_SAID: dict[str, bool] = {
    "1": True, "1.0": True, "true": True, "yes": True, "0": False, "0.0": False, "false": False, "no": False,
}  # fmt: skip


def shape_of(source: RowSource, shape: Shape) -> Shape | None:
    """How the rows of a source become items with labels; None for rows of one of the known forms.

    Where columns are mapped, and in a table that has `question`, `answer` and a label among its columns, a column with
    a label's own name is that label.
    """
    there = source.columns() or ()
    own = {f"{_TARGET}{name}": name for name in LABELS if name in there}
    if not shape.columns and not (source.is_table and own and {"question", "answer"} <= set(there)):
        return None
    mapped = shape.columns.columns
    taken = set(mapped.values())
    more = {target: name for target, name in own.items() if target not in mapped and name not in taken}
    return replace(shape, columns=ColumnMap({**mapped, **more}))


def read_table(source: RowSource, shape: Shape) -> Iterator[Labelled | str]:
    """The labelled answers of rows with labels in columns, and why others are none."""
    for where, item in Dataset(source, shape).placed():
        meta = _gathered(item.meta, where)
        yield (
            own_item(item.model_copy(update={"meta": meta}), where)
            if isinstance(meta.get("labels"), dict)
            else "no label"
        )


def _gathered(meta: dict[str, Any], where: str) -> dict[str, Any]:
    """The meta with what stands under `labels.NAME` as one object of labels; empty cells are no labels."""
    found = {name.removeprefix(_KEY): value for name, value in meta.items() if name.startswith(_KEY)}
    if not found:
        return meta
    rest = {name: value for name, value in meta.items() if not name.startswith(_KEY)}
    labels = {name: _label(name, value, where) for name, value in found.items() if value not in (None, "")}
    return {**rest, "labels": {**rest.get("labels", {}), **labels}}


def _label(name: str, value: Any, where: str) -> Any:
    """A cell as the label wants it: yes and no in the usual words, lists as JSON, a cluster as text."""
    if name not in LABELS:
        raise InputError(f"no label is called {name!r}; labels: {', '.join(LABELS)}", field=name, where=where)
    if name in ("hallucination", "coverage"):
        said = _SAID.get(str(value).strip().lower())
        if said is None:
            raise InputError(
                f"{value!r} says neither that there is an error nor that there is none; use true or false, 1 or 0",
                field=name,
                where=where,
            )
        return said
    if name == "cluster":
        return str(value)
    at = f"{where}, label {name!r}"
    return parse_json(value.encode("utf-8", "surrogatepass"), where=at) if isinstance(value, str) else value
