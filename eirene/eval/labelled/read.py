"""Reads a file of labelled answers in whatever of the known forms its first row has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from eirene.errors import InputError
from eirene.eval.labelled import npov, open_answers, passages
from eirene.eval.labelled.base import Labelled, LabelledSet
from eirene.eval.labelled.table import FORM, read_table, shape_of
from eirene.io import Row
from eirene.reading import RowSource, Shape, open_source, opened

Found = Labelled | str | Iterable[Labelled]
"""A labelled answer, several, or why there is none."""


@dataclass(frozen=True, slots=True)
class Form:
    """A set's form: the keys by which its rows are known (`meta`: those in their meta), and what reads one.

    `beside`: a file in the same folder, and the key by which its rows are found, that the reader gets as well.
    """

    name: str
    keys: frozenset[str]
    read: Callable[..., Found]
    beside: tuple[str, str] | None = None
    meta: frozenset[str] = frozenset()


_ROW = frozenset({"question", "answer", "meta"})
FORMS: tuple[Form, ...] = (
    Form("NPOV answers", frozenset({"query", "response", "pro_arguments", "con_arguments", "error_type"}), npov.npov),
    Form("NPOV equivalence", frozenset({"claim_id", "argument", "other", "equivalent"}), npov.equivalence),
    Form("ArgKP-2021", frozenset({"key_point", "argument", "label", "topic"}), npov.key_points),
    Form("BEGIN", frozenset({"knowledge", "message", "response", "begin_label"}), passages.begin),
    Form("ExpertQA", frozenset({"question", "answer", "claims", "system"}), passages.expertqa),
    Form("FRANK", frozenset({"hash", "summary", "Factuality"}), passages.frank, ("articles.jsonl", "hash")),
    Form("QA-Feedback", frozenset({"question", "passages", "prediction 1", "feedback"}), passages.qa_feedback),
    Form(
        "RAGTruth",
        frozenset({"source_id", "response", "labels", "task"}),
        passages.ragtruth,
        ("sources.jsonl", "source_id"),
    ),
    Form("WikiBio GPT-3", frozenset({"wiki_bio_test_idx", "passage", "sentences"}), passages.wikibio),
    Form("FacTool", frozenset({"prompt", "response", "label", "claims"}), open_answers.factool),
    Form("HaluEval", frozenset({"query", "response", "hallucination", "spans"}), open_answers.halueval),
    Form("HaluQuestQA", frozenset({"answer1", "answer2", "annotations"}), open_answers.haluquestqa),
    Form("HaluQuestQA sentences", frozenset({"question", "sentences"}), open_answers.haluquestqa_sentences),
    Form("Eirene rows with labels", _ROW, npov.own, meta=frozenset({"labels"})),
    Form(
        "Synthetic NPOV answers",
        _ROW,
        npov.synthetic,
        meta=frozenset({"has_hallucination", "has_coverage_error", "arguments", "sentences"}),
    ),
)
"""In the order in which they are tried: the first whose keys a row has."""


def read_labelled(data: str | RowSource, shape: Shape | None = None) -> LabelledSet:
    """The labelled answers of what `open_source` opens, or of a source; each has an id of its own.

    The form is that of the first row (docs/evaluating_detectors.md lists them). A `shape` that maps columns, and a
    table with labels among its columns, make items as everywhere (docs/data.md), with labels from `meta.labels.NAME`.
    Raises `InputError` that names the row for a form that is not known, a row of another form, and a row that cannot be
    read.
    """
    source = opened(data)
    mapped = shape_of(source, Shape() if shape is None else shape)
    name, rows = (FORM, read_table(source, mapped)) if mapped is not None else _of_form(source)
    cases: list[Labelled] = []
    left_out: dict[str, int] = {}
    for found in rows:
        why = found if isinstance(found, str) else None if found.is_known else "no label"
        if why is not None:
            left_out[why] = left_out.get(why, 0) + 1
        elif not isinstance(found, str):
            cases.append(found)
    if not cases:
        causes = "".join(f"; {n} rows: {why}" for why, n in left_out.items())
        raise InputError(f"has no labelled answer{causes}", where=source.name)
    return LabelledSet(name, tuple(_with_own_ids(cases)), left_out)


def _of_form(source: RowSource) -> tuple[str, Iterator[Labelled | str]]:
    """The name of the form that the first row has, and what its reader makes of all rows."""
    rows = iter(source.rows())
    first = next(rows, None)
    if first is None:
        raise InputError("has no rows", where=source.name)
    form = _form_of(first)
    others = None if form.beside is None else rows_beside(source.name, *form.beside)
    return form.name, (found for row in chain([first], rows) for found in _read(form, row, others))


def _form_of(row: Row) -> Form:
    keys = set(row.data) if isinstance(row.data, dict) else set()
    for form in FORMS:
        if form.keys <= keys and form.meta <= _meta_keys(row.data):
            return form
    known = ", ".join(form.name for form in FORMS)
    raise InputError(
        f"is of no known labelled form; known: {known}. A row of your own needs 'labels' in its meta, a table a "
        "column hallucination or coverage, or --map meta.labels.hallucination=COLUMN",
        where=row.where,
    )


def _meta_keys(data: object) -> set[str]:
    meta = data.get("meta") if isinstance(data, dict) else None
    return set(meta) if isinstance(meta, dict) else set()


def _read(form: Form, row: Row, others: Mapping[str, Any] | None) -> Iterator[Labelled | str]:
    if not isinstance(row.data, dict):
        raise InputError(f"is no row of {form.name}: no JSON object", where=row.where)
    try:
        found = form.read(row.data, row) if others is None else form.read(row.data, row, others)
        yield from [found] if isinstance(found, Labelled | str) else found
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


def _with_own_ids(cases: Iterable[Labelled]) -> Iterator[Labelled]:
    """The second case of an id becomes `id#2`, the third `id#3`."""
    seen: dict[str, int] = {}
    for case in cases:
        n = seen[case.item.id] = seen.get(case.item.id, 0) + 1
        yield case if n == 1 else replace(case, item=case.item.model_copy(update={"id": f"{case.item.id}#{n}"}))
