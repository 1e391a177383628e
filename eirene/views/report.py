"""A whole run as one web page that needs nothing else: a list to filter and search, each record drawn when opened."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from markupsafe import Markup

from eirene import __version__
from eirene.records import Item, Record
from eirene.usage import Usage
from eirene.views.compare_table import STATUSES, digits_of, figure, p_value, per_accepted
from eirene.views.facts import cost
from eirene.views.html import _environment, _file, _script_safe, _source
from eirene.views.plots import forest_lines
from eirene.views.report_rows import details_of, index_of

Json = Mapping[str, Any]


def render_report(
    records: Iterable[Record],
    *,
    title: str = "Run",
    summary: Json | None = None,
    items: Mapping[str, Item] | None = None,
) -> str:
    """The page for any number of records. `summary`: a comparison's figures, shown above the list.

    `items` by id give the given arguments in words. Details are in the page as JSON, a line each, and are read when a
    record is opened: 5,000 records must not take longer to open than ten.
    """
    index: list[list[Any]] = []
    details: list[str] = []
    statuses: Counter[str] = Counter()
    modes: Counter[str] = Counter()
    signatures: dict[str, int] = {}
    usage = Usage()
    for record in records:
        index.append(index_of(record))
        item = None if items is None else items.get(record.id)
        number = signatures.setdefault(record.signature, len(signatures))
        details.append(_compact(details_of(record, item, signature=number)))
        statuses[record.status] += 1
        modes[record.mode] += 1
        usage = usage + record.usage
    css = Markup(_file("page.css") + _file("report.css"))
    js = Markup(_file("report.js"))
    policy = ["default-src 'none'", f"style-src {_source(css)}", f"script-src {_source(js)}"]
    return _environment().from_string(_file("report.html.j2")).render(
        title=title,
        total=len(index),
        statuses=[(status, statuses[status]) for status in STATUSES if statuses[status]],
        modes=sorted(modes.items()),
        cost=cost(usage),
        comparison=None if summary is None else _comparison(summary),
        index=_script_safe(_compact(index)),
        details=_script_safe("\n".join(details)),
        signatures=_script_safe(_compact(list(signatures))),
        version=__version__,
        css=css,
        js=js,
        policy=Markup("; ".join([*policy, "base-uri 'none'", "form-action 'none'"])),
    )  # fmt: skip


def report_title(path: str) -> str:
    """What a report of a file is called."""
    return PurePath(path).name or "Run"


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _comparison(summary: Json) -> dict[str, Any]:
    """The summary as the template shows it."""
    modes = list(summary["per_mode"].items())
    return {
        "items": summary["items"],
        "seeds": summary["seeds"],
        "judge": summary["judge"],
        "statistics": summary["statistics"],
        "signatures": summary["signatures"],
        "statuses": [(mode, found["rows"], [found["status"][s] for s in STATUSES]) for mode, found in modes],
        "scores": [(mode, _scores(found)) for mode, found in modes],
        "corrections": [(mode, _correction(found["judged"]["correction"])) for mode, found in modes]
        if summary["judge"]
        else [],
        "costs": [(mode, cost(Usage.model_validate(found["usage"])), per_accepted(found["per_accepted"]))
                  for mode, found in modes],
        "pairs": [_pair(pair) for pair in summary["pairs"]],
    }  # fmt: skip


def _scores(found: Json) -> list[tuple[str, ...]]:
    judged = found["judged"].get("errors", {})
    return [
        (
            score["label"],
            figure(score["before"], digits_of(name)),
            figure(score["after"], digits_of(name)),
            figure(score["change"], digits_of(name), signed=True),
            str(score["change"]["n"]),
            str(max(score["unscored_before"], score["unscored_after"])),
        )
        for name, score in [*found["scores"].items(), *judged.items()]
    ]


def _correction(found: Json) -> list[str]:
    counts = [str(found[name]) for name in ("corrected", "introduced", "left", "clean")]
    return [*counts, *(figure(found[name]) for name in ("precision", "recall", "f1")), str(found["unscored_rows"])]


def _pair(pair: Json) -> dict[str, Any]:
    lines = forest_lines(pair)
    ends = [abs(d["difference"][end]) for d in lines for end in ("low", "high")]
    reach = max(ends, default=0.0) * 1.05 or 0.1
    return {
        "a": pair["a"],
        "b": pair["b"],
        "rows": pair["rows"],
        "reach": f"{reach:.2f}",
        "lines": [_line(d, reach if d in lines else None) for d in pair["differences"]],
        "tests": [_test(test) for test in pair["tests"]],
    }


def _line(found: Json, reach: float | None) -> dict[str, Any]:
    """A difference in words and, where it shares the scale, as places on a line of 0 to 100."""
    difference, lower = found["difference"], found["lower_is_better"]
    line = {
        "label": found["label"],
        "shown": figure(difference, digits_of(found["measure"]), signed=True),
        "n": difference.get("n", 0),
        "unscored": found["unscored"],
        "verdict": _verdict(difference, lower),
        "bar": None,
    }
    if reach is not None:
        low, value, high = (50 + 50 * difference[name] / reach for name in ("low", "value", "high"))
        line["bar"] = {"low": f"{low:.1f}", "value": f"{value:.1f}", "width": f"{max(high - low, 0.6):.1f}"}
    return line


def _verdict(difference: Json, lower_is_better: bool | None) -> str:
    if "value" not in difference or lower_is_better is None or difference["low"] <= 0 <= difference["high"]:
        return ""
    return "better" if (difference["high"] < 0) == lower_is_better else "worse"


def _test(test: Json) -> Sequence[str]:
    p = (p_value(test["p"]), p_value(test["p_holm"])) if "p" in test else (test["unscored_why"], "-")
    counts = [str(test[name]) for name in ("only_a", "only_b", "ties")]
    return [test["label"], *counts, *p, str(test["unscored"])]


def records_in(values: Iterable[tuple[str, object]]) -> Iterator[Record]:
    """Records from (where, value) pairs: a record itself, or a line of a comparison, which holds one."""
    from pydantic import ValidationError

    from eirene.errors import InputError

    for where, value in values:
        data = value["record"] if isinstance(value, dict) and isinstance(value.get("record"), dict) else value
        try:
            yield Record.model_validate(data)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            place = ".".join(str(p) for p in problem["loc"]) or "the row"
            raise InputError(f"is no record of a run: {place}: {problem['msg']}", where=where) from None
