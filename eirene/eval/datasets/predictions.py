"""Predicted findings from files: tagged texts, lists of findings, critiques or records, by id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eirene.core.critique import Critique, Finding, findings_in
from eirene.core.errors import FormError, InputError
from eirene.core.findings.tagged_reply import findings_in_reply
from eirene.data import open_source
from eirene.data.json_rows import Row
from eirene.eval.datasets.annotated import Annotated


@dataclass(frozen=True, slots=True)
class Prediction:
    """The findings of one answer, or why there are none to count; `unplaced`: some whose words are not in it."""

    findings: tuple[Finding, ...] | None
    unscored: str | None = None
    unplaced: int = 0


def findings_of(critique: Critique) -> tuple[Finding, ...]:
    """The findings of a critique; a sentence tagged Incomplete for a reason alone is one of kind `completeness`."""
    found: list[Finding] = []
    for s in critique.sentences:
        found += s.findings
        if s.tag == "Incomplete" and not s.findings:
            found.append(Finding(kind="completeness", start=s.start, end=s.end, reason=s.reason or "incomplete"))
    return tuple(dict.fromkeys(found))


def read_predictions(path: str, cases: Sequence[Annotated]) -> list[Prediction]:
    """A prediction for each case, in order, from rows with the cases' ids, or without any id in the cases' order.

    A row has `tagged` (or `annotated`), a list of `findings`, a `critique`, or is a record, whose first critique
    counts. A tagged text is laid over the answer word by word; one of another text is unscored, and so is a case
    without a row. Raises `InputError` for a row that fits no case, two of one id, and findings that do not lie in their
    answer.
    """
    rows = list(open_source(path).rows())
    by_id = {case.item.id: case for case in cases}
    named = [isinstance(row.data, dict) and "id" in row.data for row in rows]
    if rows and not any(named):
        if len(rows) != len(cases):
            raise InputError(f"{len(rows)} rows without ids for {len(cases)} answers; give rows ids", where=path)
        return [_prediction(row, case) for row, case in zip(rows, cases, strict=True)]
    found: dict[str, Prediction] = {}
    for row in rows:
        data: Mapping[str, Any] = row.data if isinstance(row.data, dict) else {}
        name = str(data.get("id"))
        if name not in by_id:
            raise InputError(f"no answer of the data has the id {name!r}", field="id", where=row.where)
        if name in found:
            raise InputError(f"the id {name!r} occurs twice", field="id", where=row.where)
        found[name] = _prediction(row, by_id[name])
    return [found.get(case.item.id, Prediction(None, "no prediction with its id")) for case in cases]


def _prediction(row: Row, case: Annotated) -> Prediction:
    data: Mapping[str, Any] = row.data if isinstance(row.data, dict) else {}
    tagged = data.get("tagged", data.get("annotated"))
    if isinstance(tagged, str):
        reply = findings_in_reply(tagged, case.item.answer)
        if reply.no_copy is not None:
            return Prediction(None, reply.no_copy, unplaced=reply.unplaced)
        return Prediction(reply.findings, unplaced=reply.unplaced)
    try:
        if "findings" in data:
            return Prediction(_inside(findings_in(data["findings"]), case))
        critique = data["critique"] if "critique" in data else _first_critique(data)
        if critique is None:
            return Prediction(None, str(data.get("why") or "no critique"))
        return Prediction(_inside(findings_of(Critique.model_validate(critique)), case))
    except (KeyError, TypeError, FormError) as error:
        said = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            f"is no prediction: it needs 'tagged', 'findings', 'critique' or 'rounds' ({said})", where=row.where
        ) from None
    except ValueError as error:
        raise InputError(str(error), where=row.where) from None


def _first_critique(record: Mapping[str, Any]) -> Any:
    """The critique of the original; None in a record that abstained or failed before there was one."""
    rounds = record["rounds"]
    return rounds[0]["critique"] if rounds else None


def _inside(findings: Iterable[Finding], case: Annotated) -> tuple[Finding, ...]:
    found = tuple(findings)
    if any(not f.start <= f.end <= len(case.item.answer) for f in found):
        raise ValueError("a finding does not lie within the answer of its id")
    return found
