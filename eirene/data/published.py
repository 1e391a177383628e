"""Readers of published forms (ASQA, ELI5, HaluQuestQA, chats, ragas, ...): their rows as fields of Eirene's rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from eirene.core.coercion import CoercionError
from eirene.core.errors import InputError
from eirene.core.history import HistoryTurn, as_turns
from eirene.core.json import NotJsonableError, jsonable
from eirene.core.validation import validated
from eirene.data import haluquestqa
from eirene.data.columns import Fields, field_value, no_column
from eirene.data.json_rows import Row

_OWN = frozenset({"question", "answer"})
_NO_CONTEXT = "No context provided"
_OPTIONAL = ("retrieved_contexts", "retrieval_context")


def spread_asqa(row: Row) -> Iterator[Row]:
    """The rows of `ASQA.json@dev`, an object of rows by their ids; any other row is itself."""
    held = row.data if isinstance(row.data, dict) else {}
    if held and all(map(_holds_asqa, held.values())):
        raise InputError(f"has the splits {', '.join(held)}; name one: {row.where}@{next(iter(held))}", where=row.where)
    if not _holds_asqa(held):
        yield row
        return
    for name, data in held.items():
        yield Row(f"{row.where}, {name}", {"sample_id": name, **data})


def _holds_asqa(held: object) -> bool:
    rows = held.values() if isinstance(held, dict) else ()
    return bool(rows) and all(isinstance(one, dict) and "ambiguous_question" in one for one in rows)


def read_asqa(data: Mapping[str, Any], where: str) -> Fields:
    """The question; the first long answer as `gold`; the passages that the annotators had as `context`.

    The passages are those of the annotations and of the question pairs, each once.
    """
    missing = [key for key in ("ambiguous_question", "annotations") if key not in data]
    if missing:
        raise InputError(f"is no row of ASQA: there is no {missing[0]!r}; keys: {', '.join(data)}", where=where)
    found = Fields(used={"ambiguous_question", "sample_id"} & set(data))
    question = field_value("question", data["ambiguous_question"], column="ambiguous_question", where=where)
    answers = [entry.get("long_answer") for entry in _entries(data, "annotations", where)]
    written = [text for text in answers if isinstance(text, str) and text.strip()]
    if not written:
        raise InputError("is no row of ASQA: 'annotations' has no 'long_answer'", where=where)
    found.values = {"question": question, "gold": written[0]}
    if data.get("sample_id") is not None:
        found.values["id"] = field_value("id", data["sample_id"], column="sample_id", where=where)
    passages = _passages(data, where)
    if passages:
        found.values["context"] = passages
    return found


def _passages(data: Mapping[str, Any], where: str) -> list[str]:
    told = [entry.get("knowledge") for entry in _entries(data, "annotations", where)]
    known = [piece.get("content") for pieces in told for piece in _objects(pieces)]
    known += [pair.get("context") for pair in _entries(data, "qa_pairs", where)]
    texts = (text.strip() for text in known if isinstance(text, str))
    return list(dict.fromkeys(text for text in texts if text and text != _NO_CONTEXT))


def _entries(data: Mapping[str, Any], key: str, where: str) -> list[dict[str, Any]]:
    found = jsonable(data.get(key))
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise InputError(f"is no row of ASQA: {key!r} must be a list of objects", field=key, where=where)
    return found


def read_eli5(data: Mapping[str, Any], where: str) -> Fields:
    """The title, below it what the asker added; the answer with the highest score (of equals the first) as `gold`."""
    if {"title", "answers"} <= set(data):
        name, question = "q_id", _question(data, where)
        used, answers = {"title", "selftext"}, _answers(jsonable(data["answers"]))
    elif {"input", "output"} <= set(data):
        name, question = "id", field_value("question", data["input"], column="input", where=where)
        given = [(entry, entry.get("meta")) for entry in _objects(jsonable(data["output"]))]
        scored = ((entry.get("answer"), meta.get("score") if isinstance(meta, dict) else None) for entry, meta in given)
        used, answers = {"input"}, _scored(scored)
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


_ScoredTexts = list[tuple[str, float]]
"""Texts of answers and their scores."""


def _answers(found: Any) -> _ScoredTexts:
    if isinstance(found, dict):  # a list for each of its parts
        parts = (found.get(name) for name in ("text", "score"))
        return _scored(zip_longest(*(part if isinstance(part, list) else [part] for part in parts)))
    return _scored((entry.get("text"), entry.get("score")) for entry in _objects(found))


def _objects(found: Any) -> list[dict[str, Any]]:
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


def _scored(pairs: Any) -> _ScoredTexts:
    """Those pairs that have a text; an answer without a score is below all that have one."""
    texts = [(text, score) for text, score in pairs if isinstance(text, str) and text.strip()]
    return [(text, score if isinstance(score, (int, float)) else float("-inf")) for text, score in texts]


_CHAT_COLUMNS = ("messages", "conversations", "conversation")
_CHAT_PAIR = ("prompt", "completion")
_CHAT = "a chat ends with a question of the user, what tools returned for it, and one answer of the assistant"


def read_chat(data: Mapping[str, Any], where: str) -> Fields:
    """The last question, the turns before it as `history`, the answer, and what tools returned for it as `context`.

    The columns in use are `messages` (OpenAI, TRL), `conversations` (ShareGPT: `from` and `value`) and `conversation`;
    or TRL's `prompt` and `completion`, two lists of messages.

    A tool's results for earlier questions stay in the history. Raises `InputError` that says what stands where
    something else is wanted.
    """
    columns: tuple[str, ...] = next(((name,) for name in _CHAT_COLUMNS if data.get(name) is not None), ())
    if not columns and all(data.get(name) is not None for name in _CHAT_PAIR):
        columns = _CHAT_PAIR
    if not columns:
        known = f"{', '.join(_CHAT_COLUMNS)}, or {' and '.join(_CHAT_PAIR)}"
        raise InputError(f"is no chat: it has no column {known}; columns: {', '.join(data)}", where=where)
    turns = [turn for name in columns for turn in _turns(data[name], name, where)]
    found = Fields(split_chat(turns, column=columns[0], where=where), used=set(columns))
    if data.get("id") is not None:
        found.values["id"] = field_value("id", data["id"], column="id", where=where)
        found.used.add("id")
    return found


def split_chat(turns: Sequence[HistoryTurn], *, column: str, where: str) -> dict[str, Any]:
    """The fields of a chat that ends with its answer."""
    asked = [n for n, turn in enumerate(turns) if turn.role == "user"]
    if not asked:
        raise _no_chat("has no message of the user", column, where)
    last = asked[-1]
    between, answer = turns[last + 1 : -1], turns[-1]
    if answer.role != "assistant":
        raise _no_chat(f"ends with a message of the role {answer.role!r}", column, where)
    others = [turn.role for turn in between if turn.role != "tool"]
    if others:
        raise _no_chat(
            f"has a message of the role {others[0]!r} between the last question and the answer", column, where
        )
    passages = [turn.content for turn in between]
    found = {"question": turns[last].content, "answer": answer.content}
    return {
        **found,
        **({"history": list(turns[:last])} if last else {}),
        **({"context": passages} if passages else {}),
    }


def _turns(value: object, column: str, where: str) -> list[HistoryTurn]:
    try:
        found = as_turns(jsonable(value)) or []
    except (NotJsonableError, CoercionError) as error:
        raise InputError(f"the column {column!r} {error}", field=column, where=where) from None
    if not found:
        raise InputError(f"the column {column!r} holds no messages", field=column, where=where)
    return [validated(HistoryTurn, turn, where=where, under=column) for turn in found]


def _no_chat(what: str, column: str, where: str) -> InputError:
    return InputError(f"the column {column!r} {what}; {_CHAT}", field=column, where=where)


ASKS_TEXT = "What does the text say?"
_ASKS_TALK = "What can be said to this?"


@dataclass(frozen=True, slots=True)
class Columns:
    """A form whose fields stand in columns of their own: field -> column. A blank question becomes `asks`."""

    title: str
    columns: Mapping[str, str]
    asks: str = ""

    def __call__(self, data: Mapping[str, Any], where: str) -> Fields:
        """The fields of a row; raises `InputError` that names the column that it lacks."""
        needed = [column for name, column in self.columns.items() if name in ("question", "answer", "context")]
        missing = [column for column in needed if column not in data and column not in _OPTIONAL]
        if missing:
            raise InputError(f"is no row of {self.title}: {no_column(missing[0], data)}", where=where)
        found = Fields(used=set(self.columns.values()) & set(data))
        for name, column in self.columns.items():
            value = field_value(name, data.get(column), column=column, where=where)
            if value is not None:
                found.values[name] = value
        if self.asks and not found.values.get("question", "").strip():
            found.values["question"] = self.asks
        return found


def spread_pairs(name: str) -> Callable[[Row], Iterator[Row]]:
    """Makes two rows of a row of HaluEval, as the hub's samples are: its sound answer and its hallucinated one."""
    right, wrong = f"right_{name}", f"hallucinated_{name}"

    def spread(row: Row) -> Iterator[Row]:
        data = row.data
        if not isinstance(data, dict) or not {right, wrong} <= set(data):
            yield row
            return
        rest = {key: value for key, value in data.items() if key not in (right, wrong)}
        for column, says in ((right, "no"), (wrong, "yes")):
            yield Row(f"{row.where}, {column}", {**rest, name: data[column], "hallucination": says})

    return spread


def spread_squad(row: Row) -> Iterator[Row]:
    """The questions of SQuAD's own JSON that have an answer, with their paragraph; any other row is itself."""
    if not isinstance(row.data, dict) or "data" not in row.data:
        yield row
        return
    try:
        for topic in row.data["data"]:
            for paragraph in topic["paragraphs"]:
                for asked in paragraph["qas"]:
                    if asked["answers"]:
                        told = {**asked, "context": paragraph["context"], "title": topic.get("title")}
                        yield Row(f"{row.where}, {asked['id']}", told)
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"is not SQuAD's JSON: {error}", where=row.where) from None


def read_squad(data: Mapping[str, Any], where: str) -> Fields:
    """The question, its paragraph as `context`, and the first of people's answers as `gold`."""
    found = _SQUAD(data, where)
    told = _answers(jsonable(data.get("answers")))
    if not told:
        raise InputError("is a row of SQuAD without an answer", field="answers", where=where)
    found.values["gold"] = told[0][0]
    return found


_SQUAD = Columns("SQuAD", {"id": "id", "question": "question", "context": "context"})


@dataclass(frozen=True, slots=True)
class Reader:
    """One published form. `read` gives a row's fields; `spread`, where there is one, makes several rows of one.

    `keys` (commas between; forms by `;`) are those by which a row of the release is known. A reader of a set whose
    answers are people's gives them as `gold` and no `answer`.
    """

    name: str
    read: Callable[[Mapping[str, Any], str], Fields]
    spread: Callable[[Row], Iterable[Row]] | None = None
    keys: str = ""

    def knows(self, data: object) -> bool:
        """Whether a row is of this form, by its keys. One with `question` and `answer` is of no form without these."""
        if not isinstance(data, dict):
            return False
        forms = (form.split(",") for form in self.keys.split(";") if form and has_keys(data, form))
        return any(_OWN.issubset(form) or not _OWN.issubset(data) for form in forms)


def has_keys(data: Mapping[str, Any], keys: str) -> bool:
    """Whether the data have all keys of one of the forms (`;` between forms, commas between keys)."""
    return any(set(form.split(",")) <= set(data) for form in keys.split(";"))


def _columns(name: str, title: str, keys: str, *, asks: str = "", **columns: str) -> Reader:
    return Reader(name, Columns(title, columns, asks), keys=keys)


def _pairs(kind: str, name: str, **columns: str) -> Reader:
    read, given = Columns(f"HaluEval {kind}", {**columns, "answer": name}, ASKS_TEXT), ",".join(columns.values())
    keys = f"{given},right_{name},hallucinated_{name};{given},{name},hallucination"
    return Reader(f"halueval-{kind}", read, spread_pairs(name), keys)


READERS = {
    reader.name: reader
    for reader in (
        Reader("asqa", read_asqa, spread_asqa, "ambiguous_question,annotations"),
        _columns("begin", "BEGIN", "knowledge,message,response,begin_label", asks=_ASKS_TALK, question="message",
                 answer="response", context="knowledge"),
        Reader("chat", read_chat, keys=";".join(_CHAT_COLUMNS)),
        _columns("deepeval", "deepeval", "input,actual_output", question="input", answer="actual_output",
                 context="retrieval_context", gold="expected_output"),
        Reader("eli5", read_eli5, keys="title,answers,selftext"),
        _columns("factool", "FacTool", "prompt,response,label,claims", question="prompt", answer="response"),
        _columns("frank", "FRANK", "article,summary,summary_sentences", asks=ASKS_TEXT, answer="summary",
                 context="article"),
        _columns("halubench", "HaluBench", "passage,question,answer,label,source_ds", id="id", question="question",
                 answer="answer", context="passage"),
        _columns("halueval", "HaluEval", "user_query,chatgpt_response,hallucination", id="ID", question="user_query",
                 answer="chatgpt_response"),
        _pairs("qa", "answer", question="question", context="knowledge"),
        _pairs("dialogue", "response", question="dialogue_history", context="knowledge"),
        _pairs("summarization", "summary", context="document"),
        Reader("haluquestqa", haluquestqa.read, haluquestqa.spread,
               "instruction,input,output;question_text,ans1_text,ans2_text;preferred_response,rejected_response"),
        _columns("llm-aggrefact", "LLM-AggreFact", "dataset,doc,claim,label", asks=ASKS_TEXT, answer="claim",
                 context="doc"),
        _columns("ragas", "ragas", "user_input,response", question="user_input", answer="response",
                 context="retrieved_contexts", gold="reference"),
        Reader("squad", read_squad, spread_squad, "data,version;title,context,question,answers"),
    )
}  # fmt: skip


EVALUATED = {
    "QA-Feedback": "question,passages,prediction 1,feedback",
    "RAGTruth": "source_id,response,labels",
    "FRANK": "hash,model_name,Factuality",
    "FRANK sentences": "article,summary_sentences,summary_sentences_annotations",
    "WikiBio GPT-3": "gpt3_text,gpt3_sentences,annotation",
    "ExpertQA": "question,answers,metadata",
    "NPOV answers": "query,response,pro_arguments,con_arguments,error_type",
}
"""The keys of sets that `eirene evaluate detectors` reads, and no reader here."""


def reader_named(name: str) -> Reader:
    """The reader of this name; raises `InputError` that names the known ones."""
    if name not in READERS:
        raise InputError(f"there is no reader {name!r}; readers: {', '.join(READERS)}", field="reader")
    return READERS[name]
