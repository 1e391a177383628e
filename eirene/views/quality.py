"""A check's report as Markdown for pull requests, as JUnit XML, and at a terminal; verified rows as the latter two.

Texts of answers are untrusted: in Markdown they stand in a fence that they cannot close, in XML they are escaped.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from eirene.core.quality import (
    CheckState,
    ConditionOutcome,
    Figure,
    QualityReport,
    RowFault,
    RowReport,
    VerifiedRow,
)
from eirene.views.facts import visible
from eirene.views.tables import simple_table

VERDICTS: dict[CheckState, str] = {"passed": "passed", "holds": "FAILED", "unmeasured": "NOT MEASURED"}
MOST_ROWS = 20
_MOST_FAULTS = 3
_LONGEST = 400
_BAD_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def figure_text(figure: Figure) -> str:
    """The value with what it was taken over: `2.0% (4 of 200)`, or a mean of so many rows."""
    if figure.value is None:
        return "not measured"
    if figure.rows is None:
        return f"{figure.value:.3f} (mean of {figure.n})"
    return f"{100 * figure.value:.1f}% ({figure.rows} of {figure.n})"


def interval_text(figure: Figure) -> str:
    """The 95 % interval, or a dash."""
    if figure.low is None or figure.high is None:
        return "-"
    if figure.rows is None:
        return f"{figure.low:.3f} to {figure.high:.3f}"
    return f"{100 * figure.low:.1f}% to {100 * figure.high:.1f}%"


def headline(report: QualityReport) -> str:
    """The verdict in one line."""
    compared = "" if report.before is None else f", compared with {report.before} of the baseline"
    answers = f"{report.checked} answer{'s' * (report.checked != 1)}{compared}"
    if not report.outcomes:
        return f"measured: {answers}; no condition was named, so none can fail"
    return f"{VERDICTS[report.state]}: {answers}; {len(report.outcomes)} condition{'s' * (len(report.outcomes) != 1)}"


def row_lines(row: RowReport) -> Iterator[str]:
    """A row with its faults, new ones first."""
    yield f"{_short(row.id)}: {', '.join(row.counted) or 'shown'}{f' ({_short(row.why)})' if row.why else ''}"
    yield from _fault_lines(row.faults, new=row.new)


def _fault_lines(faults: Sequence[RowFault], *, new: int = 0) -> Iterator[str]:
    for n, fault in enumerate(faults[:_MOST_FAULTS]):
        yield f"  {'new ' if n < new else ''}{fault.kind}: {_short(fault.text)}"
        if fault.evidence:
            yield f"    evidence: {_short(fault.evidence)}"
    if faults[_MOST_FAULTS:]:
        yield f"  and {len(faults) - _MOST_FAULTS} more"


def verified_lines(row: VerifiedRow) -> Iterator[str]:
    """A verified row with its faults: `b12: FAILED on contradicted: risk 0.91, 3 supported, 1 contradicted`."""
    failed = f"FAILED on {', '.join(row.failed)}: " if row.failed else ""
    said = f"not verified: {_short(row.why)}" if row.risk is None else f"risk {row.risk:.2f}, {_counts(row.verdicts)}"
    yield f"{_short(row.id)}: {failed}{said}"
    yield from _fault_lines(row.faults)


def _counts(found: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {word}" for word, count in sorted(found.items(), key=lambda one: -one[1]) if count)


def verified_headline(rows: Sequence[VerifiedRow], *, has_rule: bool) -> str:
    """What became of all rows, the verdict first where there is one."""
    failed = sum(bool(row.failed) for row in rows)
    reasons = Counter(row.why for row in rows if row.risk is None)
    verified = len(rows) - reasons.total()
    state: CheckState = "holds" if failed else "passed" if verified else "unmeasured"
    verdict = f"{VERDICTS[state]}: {failed:,} of " if has_rule else ""
    sentences = Counter[str]()
    for row in rows:
        sentences.update(row.verdicts)
    count = "1 row" if len(rows) == 1 else f"{len(rows):,} rows"
    parts = [f"{verdict}{count}{' failed' if has_rule else ''}", f"{verified:,} verified"]
    told = Counter(dict(reasons.most_common(3)))
    told["for other reasons"] = reasons.total() - told.total()
    parts += [f"{n:,} not verified ({_short(why)})" for why, n in told.items() if n]
    parts.append(f"sentences: {_counts(sentences) or 'none'}")
    asked = judge_line(sum(row.asked for row in rows), sum(row.unjudged for row in rows))
    return "; ".join([*parts, *([asked] if asked else [])])


def judge_line(asked: int, unjudged: int) -> str:
    """Of how many sentences a judge was asked; empty for none."""
    without = f", and gave no reading of {unjudged:,}" if unjudged else ""
    return f"the judge was asked about {asked:,}{without}" if asked else ""


def junit_of_rows(rows: Sequence[VerifiedRow], *, said: str) -> str:
    """JUnit XML: a test case for each verified row, skipped where nothing was verified."""

    def state(row: VerifiedRow) -> JunitState:
        return "failure" if row.failed else "skipped" if row.risk is None else "passed"

    cases = (JunitCase(r.id, state(r), ", ".join(r.failed) or r.why or "", verified_lines(r)) for r in rows)
    return _junit("verify", cases, [said])


def rows_lines(report: QualityReport, *, most: int = MOST_ROWS) -> Iterator[str]:
    """The rows that got worse, or that a condition which holds counts; the first `most` of them."""
    for row in report.rows[:most]:
        yield from row_lines(row)
    if report.rows[most:]:
        yield f"and {len(report.rows) - most} more rows (--json has all)"


def markdown(report: QualityReport) -> str:
    """A summary for a pull request."""
    lines = [f"### Eirene check: {headline(report)}", ""]
    if report.outcomes:
        lines += ["| fails if | is | 95 % interval | result |", "| --- | --- | --- | --- |"]
        for o in report.outcomes:
            why = f": {_cell(o.why)}" if o.why else ""
            shown = f"| `{o.condition}` | {figure_text(o.figure)} | {interval_text(o.figure)} |"
            lines.append(f"{shown} {VERDICTS[o.state]}{why} |")
        lines.append("")
    lines += [f"- {_cell(note)}" for note in report.notes]
    if report.rows:
        text = "\n".join(rows_lines(report))
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
        lines += ["", f"{fence}text", text, fence]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """A text inside a Markdown table or list, as it is: every character that could begin markup or a mention."""
    return re.sub(r"[\\`*_{}\[\]<>()#!|&@:~+]", lambda m: f"&#{ord(m.group())};", _short(text))


def _short(text: str | None) -> str:
    line = " ".join(visible(text or "").split())
    return f"{line[:_LONGEST]} …" if len(line) > _LONGEST else line


JunitState = Literal["passed", "failure", "error", "skipped"]
_JUNIT: dict[CheckState, JunitState] = {"passed": "passed", "holds": "failure", "unmeasured": "error"}


@dataclass(frozen=True, slots=True)
class JunitCase:
    """A test case: its name and state, and for one that did not pass a message and its lines."""

    name: str
    state: JunitState
    message: str
    lines: Iterable[str]


def junit(report: QualityReport) -> str:
    """JUnit XML: a test case for each condition, a failure where it holds, an error where it was not measured."""
    cases = (JunitCase(f"not {o.condition}", _JUNIT[o.state], _told(o), _lines_for(report, o)) for o in report.outcomes)
    return _junit("check", cases, [headline(report), *report.notes])


def _junit(command: str, cases: Iterable[JunitCase], said: Iterable[str]) -> str:
    root = Element("testsuites", {"name": "eirene"})
    suite = SubElement(root, "testsuite", {"name": f"eirene {command}"})
    counts = Counter[str]()
    for case in cases:
        counts.update({"tests": 1, case.state: 1})
        found = SubElement(suite, "testcase", {"classname": f"eirene.{command}", "name": _xml(case.name)})
        if case.state != "passed":
            told = SubElement(found, case.state, {"message": _xml(case.message), "type": command})
            told.text = _xml("\n".join(case.lines))
    numbers = {"tests": "tests", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for element in (root, suite):
        element.attrib.update({name: str(counts[state]) for name, state in numbers.items()})
    SubElement(suite, "system-out").text = _xml("\n".join(said))
    indent(root)
    return tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _told(outcome: ConditionOutcome) -> str:
    why = f"; {outcome.why}" if outcome.why else ""
    return f"{outcome.condition}: is {figure_text(outcome.figure)}{why}"


def _lines_for(report: QualityReport, outcome: ConditionOutcome) -> Iterator[str]:
    """The rows that a condition counts; all that are shown, where it counts no single rows."""
    yield _told(outcome)
    name = {"net": "worse"}.get(outcome.condition.quantity, outcome.condition.quantity)
    for row in report.rows:
        if name in row.counted:
            yield from row_lines(row)


def _xml(text: str) -> str:
    return _BAD_IN_XML.sub("�", visible(text))


_STYLE: dict[CheckState, str] = {"passed": "bold green", "holds": "bold red", "unmeasured": "bold yellow"}


def render(report: QualityReport) -> RenderableType:
    """Figures, conditions, rows and notes, the verdict last, where a log ends."""
    parts: list[RenderableType] = [_table(report)]
    lines = list(rows_lines(report))
    if lines:
        parts += [Text("\nRows", style="bold"), *(Text(line) for line in lines)]
    parts += [Text(), *(Text(visible(note), style="dim") for note in report.notes)]
    parts += [*_reasons(report), Text(headline(report), style=_STYLE[report.state] if report.outcomes else "bold")]
    return Group(*parts)


def _table(report: QualityReport) -> Table:
    table = simple_table("quantity", "is", "95 % interval", "fails if", "result", numbers_from=5)
    for figure in report.figures:
        own = [outcome for outcome in report.outcomes if outcome.condition.quantity == figure.quantity]
        cells = (figure.quantity, figure_text(figure), interval_text(figure))
        if not own and figure.value is not None:
            table.add_row(*cells, "", "")
        for outcome in own:
            limit = f"{outcome.condition}".removeprefix(f"{figure.quantity} ")
            table.add_row(*cells, limit, Text(VERDICTS[outcome.state], style=_STYLE[outcome.state]))
    return table


def _reasons(report: QualityReport) -> Iterator[Text]:
    for outcome in report.outcomes:
        if outcome.why is not None:
            yield Text(visible(f"{outcome.condition}: {outcome.why}"), style="dim")
