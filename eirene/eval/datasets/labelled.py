"""Labelled answers of a file, in whichever known form its first row has: published, of our own, or in columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from eirene.core.errors import InputError
from eirene.core.json import parse_json
from eirene.core.records import Item, parse_item
from eirene.core.validation import validated as checked
from eirene.data import ColumnMap, Dataset, RowSource, Shape, open_source, opened
from eirene.data.json_rows import Row
from eirene.data.published import EVALUATED, READERS, has_keys
from eirene.eval.datasets import published
from eirene.eval.datasets.base import Labelled, LabelledSet, fault, marked_faults, with_own_ids


@dataclass(frozen=True)
class Form:
    """A set's form: the keys by which its rows are known (`meta`: those in their meta), and a reader.

    Commas stand between keys, `;` between the keys of several forms.

    `read` gives a labelled answer, several, or why there is none.
    `beside`: files that may stand in the same folder, and the keys by which their rows are found (commas between),
    that the reader gets as well. `by_many`: people's labels of one answer may differ.
    """

    name: str
    keys: str
    read: Callable[..., Any]
    beside: tuple[tuple[str, ...], str] | None = None
    meta: str = ""
    by_many: bool = False

    @property
    def reader(self) -> str:
        """What `--reader` calls it."""
        return self.name.split()[0].lower()


class _ArgumentPlace(BaseModel, extra="forbid", strict=True):
    group: str
    n: Annotated[int, Field(ge=1)]


class _Span(BaseModel, extra="forbid", strict=True):
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=1)]


class _MetaLabels(BaseModel, extra="forbid", strict=True):
    """`meta.labels` of a row: what is known; a key left out is not known. `missing`, `spans`: all that there are."""

    hallucination: bool | None = None
    coverage: bool | None = None
    missing: list[_ArgumentPlace] | None = None
    spans: list[_Span] | None = None
    cluster: str | None = None
    grade: Annotated[float, Field(ge=0, le=1)] | None = None
    system: str | None = None


def own(data: dict[str, Any], row: Row) -> Labelled:
    """A row of Eirene's own form with `labels` in its meta.

    `{"hallucination": bool, "coverage": bool, "missing": [{"group": name, "n": 1}], "spans": [{"start": 0, "end": 9}],
    "cluster": name, "grade": 0.5, "system": name}`, each key optional. Missing arguments and faulty spans, where they
    are listed, say whether there is an error. Rows of one question are one cluster by default.
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
    if spans and labels.hallucination is False:
        raise InputError("spans mark what 'hallucination': false denies", field="meta.labels.spans", where=where)
    return Labelled(
        item,
        cluster=labels.cluster or item.question,
        hallucination=bool(spans)
        if labels.hallucination is None and labels.spans is not None
        else labels.hallucination,
        coverage=bool(lacking) if labels.coverage is None and labels.missing is not None else labels.coverage,
        marks=None if labels.spans is None else marked_faults(item.answer, spans),
        missing={} if labels.missing is None else {place: place in lacking for place in sorted(known)},
        grade=labels.grade,
        system=labels.system,
    )


_BEGIN = {"not fully attributable": True, "fully attributable": False, "generic": None}
RAGTRUTH_SOURCES = (("source_info.jsonl", "sources.jsonl"), "source_id")
_SYNTHETIC = "has_hallucination,has_coverage_error,arguments,sentences"
_YES, _TRUE = {"yes": True, "no": False}, {"false": True, "true": False}
FORMS: tuple[Form, ...] = (
    *(
        Form(name, READERS[name.lower()].keys, published.labelled_by(name.lower(), label, says, spans=spans))
        for name, label, says, spans in (
            ("BEGIN", "begin_label", _BEGIN, None),
            ("FacTool", "label", _TRUE, None),
            ("HaluBench", "label", {"fail": True, "pass": False}, None),
            ("LLM-AggreFact", "label", {"0": True, "1": False}, None),
            ("HaluEval", "hallucination", _YES, "hallucination_spans"),
            ("HaluEval-QA", "hallucination", _YES, None),
            ("HaluEval-Dialogue", "hallucination", _YES, None),
            ("HaluEval-Summarization", "hallucination", _YES, None),
        )
    ),
    Form("QA-Feedback", EVALUATED["QA-Feedback"], published.qa_feedback),
    Form("RAGTruth", EVALUATED["RAGTruth"], published.ragtruth, RAGTRUTH_SOURCES),
    Form("FRANK", EVALUATED["FRANK"], published.frank, (("benchmark_data.json",), "hash,model_name")),
    Form("FRANK sentences", EVALUATED["FRANK sentences"], published.frank_sentences),
    Form("WikiBio GPT-3", EVALUATED["WikiBio GPT-3"], published.wikibio),
    Form("ExpertQA", EVALUATED["ExpertQA"], published.expertqa),
    Form(
        "HaluQuestQA answers", "question_text,ans1_text,ans2_text,factuality_span", published.haluquestqa, by_many=True
    ),
    Form("HaluQuestQA sentences", "question,sentences;instruction,input,output", published.haluquestqa_sentences),
    Form("Eirene rows with labels", "question,answer,meta", own, meta="labels"),
    Form("NPOV answers", EVALUATED["NPOV answers"], published.npov),
    Form("Synthetic NPOV answers", "question,answer,meta", published.synthetic, meta=_SYNTHETIC),
)
"""In the order in which they are tried: the first whose keys a row has."""
_UNKNOWN = (
    "is of no known labelled form; known: {}. A row of your own needs 'labels' in its meta, a table a column "
    "hallucination or coverage, or --map meta.labels.hallucination=COLUMN"
)


def read_labelled(
    data: str | RowSource, shape: Shape | None = None, *, forms: Sequence[Form] = FORMS, reader: str | None = None
) -> LabelledSet:
    """The labelled answers of what `open_source` opens, or of a source; each has an id of its own.

    The form is that of the first row, one of `forms` (docs/evaluation/detectors.md lists them), or what `reader` names.
    A `shape` that maps columns, and a table with labels among its columns, make items as everywhere
    (docs/guides/datasets.md), with labels from `meta.labels.NAME`. Raises `InputError` that names the row for a form
    that is not known, a row of another form, and a row that cannot be read.
    """
    source = opened(data)
    mapped = shape_of(source, Shape() if shape is None else shape) if reader is None else None
    if mapped is not None:
        form, rows = None, iter(read_table(source, mapped))
    else:
        form, rows = read_forms(source, forms, _UNKNOWN, reader=reader)
    cases: list[Labelled] = []
    left_out: Counter[str] = Counter()
    n = 0
    for n, row in enumerate(rows, start=1):  # noqa: B007  # the number of rows
        for found in [row] if isinstance(row, Labelled | str) else row:
            if isinstance(found, Labelled) and found.is_known:
                cases.append(found)
            else:
                left_out[found if isinstance(found, str) else "no label"] += 1
    said = {(*_judged(c.item), c.hallucination) for c in cases if not (form and form.by_many)}
    both = {(name, text) for name, text, faulty in said if faulty and (name, text, False) in said}
    cases, contrary = [[c for c in cases if (_judged(c.item) in both) is told] for told in (False, True)]
    left_out.update(["labelled both as sound and as faulty"] * len(contrary))
    if not cases:
        causes = "".join(f"; {n} rows: {why}" for why, n in left_out.items())
        raise InputError(f"has no labelled answer{causes}", where=source.name)
    return LabelledSet(FORM if form is None else form.name, tuple(with_own_ids(cases)), left_out, n)


def _judged(item: Item) -> tuple[str, str]:
    """By what a row is known, and its answer: an id that was made of a row's content holds its labels, too."""
    if not item.id.startswith("item-"):
        return item.id, item.answer
    return item.model_dump_json(include={"question", "history", "perspectives", "context"}), item.answer


def read_forms(
    source: RowSource, forms: Iterable[Form], unknown: str, *, reader: str | None = None
) -> tuple[Form, Iterator[Any]]:
    """The first of the forms that the first row has, of those that `reader` names, and what is made of each row.

    Raises `InputError`: `unknown` (with the forms in place of {}) where it has none, and what `read_row` raises.
    """
    known = list(forms)
    chosen = [form for form in known if reader in (None, form.reader)]
    if not chosen:
        names = ", ".join(dict.fromkeys(form.reader for form in known))
        raise InputError(f"there is no reader {reader!r} of labelled answers; readers: {names}", field="reader")
    rows = iter(source.rows())
    first = next(rows, None)
    if first is None:
        raise InputError("has no rows", where=source.name)
    form = next((form for form in chosen if _has(first.data, form)), None)
    if form is None and reader is not None:
        keys = " or ".join(form.keys + (f" and in meta {form.meta}" if form.meta else "") for form in chosen)
        raise InputError(f"is no row of {chosen[0].name}: it needs {keys}", where=first.where)
    if form is None:
        names = ", ".join(dict.fromkeys(form.name for form in known))
        raise InputError(unknown.format(names) + _nearest(first.data, known), where=first.where)
    others = {} if form.beside is None else rows_beside(source.name, *form.beside)
    return form, (read_row(form, row, others) for row in chain([first], rows))


def _nearest(data: object, forms: Sequence[Form]) -> str:
    """What a row lacks of the form of which it has the most keys; "" where that is half of them."""
    there = set(data) if isinstance(data, dict) else set()
    wanted = [(set(keys.split(",")), form.name) for form in forms for keys in form.keys.split(";")]
    keys, name = min(wanted, key=lambda one: len(one[0] - there) / len(one[0]))
    lacks = sorted(keys - there)
    return f". For {name} it lacks {', '.join(lacks)}" if 0 < 2 * len(lacks) < len(keys) else ""


def _has(data: object, form: Form) -> bool:
    there = data if isinstance(data, dict) else {}
    inner = there.get("meta")
    return has_keys(there, form.keys) and (not form.meta or (isinstance(inner, dict) and has_keys(inner, form.meta)))


def read_row(form: Form, row: Row, others: Mapping[str, Any]) -> Any:
    """What the form's reader makes of a row; raises `InputError` that names the row for whatever goes wrong."""
    if not isinstance(row.data, dict):
        raise InputError(f"is no row of {form.name}: no JSON object", where=row.where)
    try:
        told = [others.get(_name(row.data, form.beside[1]))] if form.beside else []
        if form.beside and None in told:
            raise ValueError(f"{' or '.join(form.beside[0])} has no row with its {form.beside[1]}")
        found = form.read(row.data, row, *told)
        return list(found) if isinstance(found, Iterator) else found
    except InputError:  # says where it stands, and what is wrong
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        raise InputError(f"is no row of {form.name}: {fault(error)}", where=row.where) from None


def _name(data: Mapping[str, Any], keys: str) -> str:
    return "-".join(str(data[key]) for key in keys.split(","))


def rows_beside(path: str, names: Sequence[str], key: str) -> dict[str, Any]:
    """The rows of the file that the set's texts stand in, in the folder of the file `path`, by their keys."""
    there = [place for name in names if (place := Path(path).with_name(name)).is_file()] if Path(path).is_file() else []
    if not there:
        raise InputError(f"these rows need {' or '.join(names)} beside them", where=path)
    found: dict[str, Any] = {}
    for row in open_source(str(there[0])).rows():
        for name in key.split(","):
            if not isinstance(row.data, dict) or name not in row.data:
                raise InputError(f"has no {name!r}", where=row.where)
        told: Any = row.data
        if found.setdefault(_name(told, key), told) != told:
            raise InputError(f"another row has the same {key}, and says something else", where=row.where)
    return found


FORM = "Rows with labels in columns"
LABELS = tuple(_MetaLabels.model_fields)
_OWN_NAMED = ("hallucination", "coverage", "missing", "spans", "cluster")  # others are common names of other columns
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
    there = dict.fromkeys(source.columns() or ())
    own = {f"{_TARGET}{name}": name for name in _OWN_NAMED if name in there}
    is_labelled = source.is_table and own and {"question", "answer"} <= set(there)
    if not shape.columns and (not is_labelled or any(_has(there, form) for form in FORMS)):
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
            what = f"{value!r} says neither that there is an error nor that there is none; use true or false, 1 or 0"
            raise InputError(what, field=name, where=where)
        return said
    if name in ("cluster", "system"):
        return str(value)
    at = f"{where}, label {name!r}"
    return parse_json(value.encode("utf-8", "surrogatepass"), where=at) if isinstance(value, str) else value
