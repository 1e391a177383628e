"""ELI5 (Fan et al. 2019) as the hub has and had it: `eli5`, `eli5_category` and their copies, and KILT's `eli5`.

`eli5` and `eli5_category`: `q_id`, `title`, `selftext` and `answers` with `text` and `score`, each a list (or one list
of objects that have them). KILT: `id`, `input` and `output`, a list of `answer` and `meta.score`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eirene.core.errors import InputError
from eirene.core.json import jsonable
from eirene.data.columns import Fields
from eirene.data.fields import field_value


def read(data: Mapping[str, Any], where: str) -> Fields:
    """The title, below it what the asker added; the answer with the highest score (of equals the first) as `gold`."""
    if {"title", "answers"} <= set(data):
        name, question = "q_id", _question(data, where)
        used, answers = {"title", "selftext"}, _answers(jsonable(data["answers"]))
    elif {"input", "output"} <= set(data):
        name, question = "id", field_value("question", data["input"], column="input", where=where)
        used, answers = {"input"}, _kilt_answers(jsonable(data["output"]))
    else:
        raise InputError(
            "is no row of ELI5: it needs 'title' and 'answers', or KILT's 'input' and 'output'; "
            f"keys: {', '.join(data)}",
            where=where,
        )
    if not answers:
        raise InputError("is a row of ELI5 without an answer", where=where)
    gold = max(answers, key=lambda scored: scored[1])[0]
    found = Fields({"question": question, "gold": gold}, used=(used | {name}) & set(data))
    if data.get(name) is not None:
        found.values["id"] = field_value("id", data[name], column=name, where=where)
    return found


def _question(data: Mapping[str, Any], where: str) -> Any:
    title = field_value("question", data["title"], column="title", where=where)
    more = field_value("question", data.get("selftext"), column="selftext", where=where)
    return f"{title}\n\n{more}" if title and more and more.strip() else title


_Scored = list[tuple[str, float]]
"""Texts of answers and their scores."""


def _answers(found: Any) -> _Scored:
    if isinstance(found, dict):  # a list for each of its parts
        texts, scores = found.get("text") or [], found.get("score") or []
        return _scored((text, scores[at] if at < len(scores) else None) for at, text in enumerate(texts))
    return _scored((entry.get("text"), entry.get("score")) for entry in _objects(found))


def _kilt_answers(found: Any) -> _Scored:
    return _scored((entry.get("answer"), (entry.get("meta") or {}).get("score")) for entry in _objects(found))


def _objects(found: Any) -> list[dict[str, Any]]:
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _scored(pairs: Any) -> _Scored:
    """Those pairs that have a text; an answer without a score is below all that have one."""
    texts = [(text, score) for text, score in pairs if isinstance(text, str) and text.strip()]
    return [(text, score if isinstance(score, (int, float)) else float("-inf")) for text, score in texts]
