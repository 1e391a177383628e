"""Published sets as they are given out: three made-up rows of each form, and what each says of its answers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from eirene.core.errors import InputError
from eirene.data import open_dataset
from eirene.data.published import ASKS_TEXT
from eirene.eval.datasets import FORMS, read_labelled
from eirene.eval.datasets.annotated import read_annotated
from tests.eval.datasets.labelled_rows import labels
from tests.rows import each

Json = dict[str, Any]
Said = tuple[bool | None, bool | None, list[bool | None] | None]
"""Of an answer: hallucination, coverage error, the labels of its sentences."""
RIGHT, WRONG, UNKNOWN = (False, None, None), (True, None, None), (None, None, None)
TWO = "Trams hum. Cats purr."


def squared(rows: Sequence[object]) -> str:
    """One array, as most sets come."""
    return json.dumps(list(rows))


def lines(rows: Sequence[object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def tabbed(rows: Sequence[Json]) -> str:
    """HaluQuestQA's table: tabs between columns, and lists as Python writes them."""
    quoted = ('"' + str(cell).replace('"', '""') + '"' for row in rows for cell in row.values())
    cells = list(quoted)
    width = len(rows[0])
    return "\n".join(
        "\t".join(part) for part in ([*rows[0]], *(cells[n : n + width] for n in range(0, len(cells), width)))
    )


def begin(label: str) -> Json:
    return {"model": "t5", "data_source": "wow", "knowledge": f"Crayons: {label}.", "message": " ",
            "response": "Chalk.", "begin_label": label}  # fmt: skip


def fever(label: object, kind: str = "") -> Json:
    rows = {
        "FacTool": {"prompt": f"Trams {label}?", "response": "They hum.", "label": label, "claims": []},
        "HaluBench": {"id": f"h{label}", "passage": "Trams hum.", "question": "Trams?", "answer": "They hum.",
                      "label": label, "source_ds": "covidQA"},
        "LLM-AggreFact": {"dataset": "RAGTruth", "doc": f"Trams hum: {label}.", "claim": "They hum.", "label": label,
                          "contamination_identifier": ""},
    }  # fmt: skip
    return rows[kind]


def general(label: str, *spans: str) -> Json:
    return {"ID": "", "user_query": f"Trams {label}?", "chatgpt_response": "Quiet.\nDear.\nFast.",
            "hallucination": label, "hallucination_spans": list(spans)}  # fmt: skip


def feedback(passages: list[list[str]], missing: list[Json], *kinds: str) -> Json:
    places = ((0, 10), (11, 21))
    errors = [{"error type": k, "start": a, "end": b} for k, (a, b) in zip(kinds, places, strict=False)]
    told = {"errors": errors, "missing-info": missing, "corrected-prediction": ""}
    return {"question": f"Trams {len(missing)}?", "passages": passages, "prediction 1": TWO, "prediction 2": "Yes.",
            "feedback": told}  # fmt: skip


def response(source: str, *labels: tuple[int, int]) -> Json:
    marks = [{"start": a, "end": b, "text": "", "meta": "", "label_type": "Evident Conflict"} for a, b in labels]
    return {"id": source, "source_id": source, "model": "m", "temperature": 0.7, "labels": marks, "split": "train",
            "quality": "good", "response": TWO}  # fmt: skip


SOURCES = [
    {"source_id": "1", "task_type": "QA", "source": "MARCO", "prompt": "",
     "source_info": {"question": "Trams?", "passages": "passage 1: hum\n\npassage 2: dear"}},
    {"source_id": "2", "task_type": "Summary", "source": "CNN/DM", "source_info": "A long text.", "prompt": ""},
    {"source_id": "3", "task_type": "Data2txt", "source": "Yelp", "source_info": {"name": "Caf\u00e9"}, "prompt": ""},
]  # fmt: skip


def bio(n: int, *annotation: str) -> Json:
    return {"gpt3_text": TWO, "wiki_bio_text": "Trams hum.", "gpt3_sentences": ["Trams hum.", "Cats  purr."],
            "annotation": list(annotation), "wiki_bio_test_idx": n, "gpt3_text_samples": ["A.", "B."]}  # fmt: skip


def expert(*support: str) -> Json:
    claims = [{"claim_string": text, "support": s, "evidence": ["On trams."]}
              for text, s in zip(("Trams hum.", "Cats purr."), support, strict=True)]  # fmt: skip
    return {"question": f"Trams {support}?", "answers": {"gpt4": {"answer_string": TWO, "claims": claims}},
            "metadata": {"field": "Law"}, "annotator_id": "a"}  # fmt: skip


def remarked(factuality: list[tuple[str, str]], incomplete: list[tuple[str, str]]) -> Json:
    row = {"": "0", "source_file": "f.txt", "question_text": "Trams?", "ans1_text": TWO, "ans2_text": "Yes.",
           "ans1_label": "human_answer", "ans2_label": "model_answer"}  # fmt: skip
    for aspect, told in (("factuality", factuality), ("irrelevance", []), ("incomplete_ans", incomplete)):
        parts = {"span": [s for s, _ in told], "reason": ["Why." for _ in told], "label": [a for _, a in told]}
        row |= {f"{aspect}_{part}": repr(value) for part, value in parts.items()}
    return row


def tagged(*tags: str) -> Json:
    told = "\n".join(f"{n}. [{tag}]{' Reasons: x' * (tag == 'Incomplete')}" for n, tag in enumerate(tags, start=1))
    return {"instruction": "i", "input": "Question: Trams?\nAnswer: 1. Trams hum.\n2. Cats purr.", "output": told}


def pair(kind: str) -> Json:
    texts = {
        "qa": ("answer", {"question": "Trams?"}),
        "dialogue": ("response", {"dialogue_history": "[Human]: Trams?"}),
    }
    name, asked = texts.get(kind, ("summary", {}))
    given = {"document": "Trams hum."} if kind == "summarization" else {"knowledge": "Trams hum."}
    return {**given, **asked, f"right_{name}": "They hum.", f"hallucinated_{name}": "They bark."}


def sample(kind: str, says: str) -> Json:
    """A row of the hub's `qa_samples` (and so on): one answer of a pair, drawn."""
    row = pair(kind)
    right, wrong = (next(key for key in row if key.startswith(start)) for start in ("right_", "hallucinated_"))
    rest = {key: text for key, text in row.items() if key not in (right, wrong)}
    return {**rest, right.removeprefix("right_"): row[wrong if says == "yes" else right], "hallucination": says}


def judged(model: str, *sentences: str) -> Json:
    """A summary of `human_annotations_sentence.json`: of each sentence what the annotators say, `A B|A|A`."""
    told = [{f"annotator_{n}": said.split() for n, said in enumerate(one.split("|"))} for one in sentences]
    return {"hash": "h", "model_name": model, "article": "Dry.", "summary": TWO, "split": "valid",
            "summary_sentences": ["Trams hum.", "Cats purr."], "summary_sentences_annotations": told}  # fmt: skip


Row = tuple[str, str, str, Sequence[Said], Mapping[str, str]]
PASSAGE = [["Trams", "They hum."]]
SUMMARY = {"hash": "h", "article": "Dry.", "summary": "Rain."}
SETS: tuple[Row, ...] = (
    ("BEGIN", "begin.jsonl", lines([begin("Fully attributable"), begin("Not fully attributable"), begin("Generic")]),
     [RIGHT, WRONG], {}),
    ("FacTool", "kbqa.jsonl", lines([fever(label, "FacTool") for label in (True, False, True)]),
     [RIGHT, WRONG, RIGHT], {}),
    ("HaluBench", "bench.jsonl", lines([fever(label, "HaluBench") for label in ("PASS", "FAIL", "pass")]),
     [RIGHT, WRONG, RIGHT], {}),
    ("LLM-AggreFact", "test.jsonl", lines([fever(label, "LLM-AggreFact") for label in (1, 0, "1")]),
     [RIGHT, WRONG, RIGHT], {}),
    ("HaluEval", "general_data.json",
     lines([general("no"), general("yes", "Quiet.\nFast."), general("yes", "Not there.")]),
     [(False, None, [False] * 3), (True, None, [True, False, True]), WRONG], {}),
    *((f"HaluEval-{kind}", "data.json", lines([pair(kind.lower())] * 3), [RIGHT, WRONG] * 3, {})
      for kind in ("QA", "Dialogue", "Summarization")),
    *((f"HaluEval-{kind}", f"{kind}_samples.jsonl", lines([sample(kind.lower(), says) for says in ("no", "yes", "no")]),
       [RIGHT, WRONG, RIGHT], {}) for kind in ("QA", "Dialogue", "Summarization")),
    ("QA-Feedback", "dev_feedback.json",
     squared([feedback(PASSAGE, [{"passage_id": 0}], "Irrelevant", "Unverifiable"), feedback(PASSAGE, [], "Redundant"),
              feedback([], [], "Unverifiable")]),
     [(True, True, [False, True]), (False, False, [False, False]), (None, False, None)], {}),
    ("RAGTruth", "response.jsonl", lines([response("1", (11, 21)), response("2"), response("3", (0, 5))]),
     [(True, None, [False, True]), (False, None, [False, False]), (True, None, [True, False])],
     {"source_info.jsonl": lines(SOURCES)}),
    ("FRANK", "human_annotations.json",
     squared([{"hash": "h", "model_name": m, "Factuality": f} for m, f in (("a", 0.5), ("b", 1.0), ("c", 0))]),
     [WRONG, RIGHT, WRONG],
     {"benchmark_data.json": squared([{**SUMMARY, "model_name": m} for m in "abc"])}),
    ("FRANK sentences", "human_annotations_sentence.json",
     squared([judged("a", "NoE|NoE|OutE", "EntE RelE|NoE|OutE"), judged("b", "NoE|NoE|NoE", "NoE|GramE|NoE"),
              judged("c", "OtherE|LinkE|CircE", "CorefE|NoE")]),
     [(True, None, [False, True]), (False, None, [False, False]), (True, None, [True, True])], {}),
    ("WikiBio GPT-3", "wiki.jsonl",
     lines([bio(1, "accurate", "minor_inaccurate"), bio(2, "accurate", "accurate"), bio(3, *["major_inaccurate"] * 2)]),
     [(True, None, [False, True]), (False, None, [False, False]), (True, None, [True, True])], {}),
    ("ExpertQA", "r2.jsonl",
     lines([expert("Complete", "Partial"), expert("Complete", "Complete"), expert("Complete", "N/A")]),
     [(True, None, [False, True]), (False, None, [False, False]), (None, None, [False, None])], {}),
    ("HaluQuestQA answers", "complete_data.csv",
     tabbed([remarked([("CATS  purr.", "answer1")], [("Yes.", "answer2")]), remarked([("ANSWER2:", "answer2")], []),
             remarked([("not there", "answer1")], [])]),
     [(True, False, [False, True]), (False, True, [False]), (False, False, [False, False]), (True, False, [True]),
      (True, False, None), (False, False, [False])], {}),
    ("HaluQuestQA sentences", "incomplete_ans_detection_data.jsonl",
     squared([tagged("Complete", "Incomplete"), tagged("Complete", "Complete"), tagged("Incomplete", "Incomplete")]),
     [(None, True, None), (None, False, None), (None, True, None)], {}),
)  # fmt: skip


@each("row", SETS)
def test_a_published_set_is_known_by_its_keys_and_by_its_name(row: Row, tmp_path: Path) -> None:
    """Every answer has the label that its set gives it, and an id of its own; a name of another set is refused."""
    form, file, text, said, beside = row
    place = tmp_path / form.replace(" ", "-")
    place.mkdir(exist_ok=True)
    for name, content in {**beside, file: text}.items():
        (place / name).write_text(content, "utf-8")
    found = read_labelled(str(place / file))
    judged = [(c.hallucination, c.coverage, labels(c) if c.marks is not None else None) for c in found.cases]
    assert (found.form, judged, found.rows) == (form, list(said), 3)
    assert len({case.item.id for case in found.cases}) == len(judged)
    assert found == read_labelled(str(place / file), reader=form.split(maxsplit=1)[0].lower())
    other = next(known.reader for known in FORMS if known.reader != form.split(maxsplit=1)[0].lower())
    with pytest.raises(InputError, match=r"is no row of .*: it needs "):
        read_labelled(str(place / file), reader=other)


def _file(folder: Path, row: Json) -> str:
    (folder / "rows.jsonl").write_text(lines([row]), "utf-8")
    return str(folder / "rows.jsonl")


def test_what_a_set_lacks_is_named(tmp_path: Path) -> None:
    """A file that is to stand beside it, a label of no known word, half a row, a label beyond its range."""
    wrong: list[tuple[Json, str]] = [
        (response("1"), r"need source_info\.jsonl or sources\.jsonl beside"),
        (begin("Maybe"), "'begin_label' must be one of not fully attributable, .*, got the text 'Maybe'"),
        ({**bio(1, "accurate")}, "'annotation' has 1 labels for 2 sentences"),
        (bio(1, "accurate", "wrong"), "'annotation' must be one of accurate, .*, got the text 'wrong'"),
        ({**bio(1, "accurate", "accurate"), "gpt3_text_samples": "A."}, "'gpt3_text_samples' must be a list of texts"),
        ({**general("yes"), "hallucination_spans": "Quiet."}, "'hallucination_spans' must be a list of texts, got the"),
        (feedback(["Trams", "Hum."], []), "'passages' must be a list of lists"),  # type: ignore[list-item]
        (feedback([["Trams", ["Hum."]]], []), "'passages' must be a list of texts"),  # type: ignore[list-item]
        (feedback(PASSAGE, [], "Wrong"), "'error type' must be one of Unverifiable, .*, got the text 'Wrong'"),
        ({**general("no", "Quiet."), "chatgpt_response": " "}, "'answer' must not be blank"),
        (sample("qa", "maybe"), "'hallucination' must be one of yes, no, got the text 'maybe'"),
        (judged("a", "NoE"), "'summary_sentences_annotations' judges 1 of 2 sentences"),
        (judged("a", "NoE|", "NoE|NoE"), "lacks what an annotator says of sentence 1"),
        (judged("a", "NoE|Bad", "NoE|NoE"), "'annotator' must be one of RelE, .*, got the text 'Bad'"),
    ]
    (tmp_path / "samples.csv").write_text("knowledge,question,answer,hallucination\nTrams hum.,Trams?,They hum.,no\n")
    assert (
        read_labelled(str(tmp_path / "samples.csv")).cases == read_labelled(_file(tmp_path, sample("qa", "no"))).cases
    )
    for row, message in wrong:
        with pytest.raises(InputError, match=message):
            read_labelled(_file(tmp_path, row))
    with pytest.raises(InputError, match="no reader 'x' of labelled answers; readers: begin, factool"):
        read_labelled(str(tmp_path / "rows.jsonl"), reader="x")
    outside: list[tuple[Json, list[Json], str]] = [
        ({**response("1"), "labels": {}}, SOURCES, "'labels' must be a list of objects, got the object {}"),
        (response("4"), SOURCES, r"source_info\.jsonl or .* has no row with its source_id"),
        (response("1"), [*SOURCES, {**SOURCES[1], "source_id": 1}], "another row has the same source_id, and says som"),
        ({**response("1", (0, 3)), "labels": [{"start": "0", "end": 3}]}, SOURCES, "not of the kind that the set has"),
    ]
    for row, sources, message in outside:
        (tmp_path / "rows.jsonl").write_text(lines([row]), "utf-8")
        (tmp_path / "source_info.jsonl").write_text(lines(sources), "utf-8")
        with pytest.raises(InputError, match=message):
            read_labelled(str(tmp_path / "rows.jsonl"))


def test_grades_and_systems_are_those_of_frank_and_wikibio(tmp_path: Path) -> None:
    """FRANK: 1 - Factuality. WikiBio GPT-3: the mean over sentences of 0, 0.5 and 1 (SelfCheckGPT, section 6)."""
    for form, file, text, _, beside in SETS:
        if form in ("FRANK", "FRANK sentences", "WikiBio GPT-3"):
            for name, content in {**beside, file: text}.items():
                (tmp_path / name).write_text(content, "utf-8")
            cases = read_labelled(str(tmp_path / file)).cases
            grades = [0.25, 0.0, 1.0] if form == "WikiBio GPT-3" else [0.5, 0.0, 1.0]
            assert [case.grade for case in cases] == grades
            assert [case.system for case in cases] == ([None] * 3 if form == "WikiBio GPT-3" else ["a", "b", "c"])


FAVA_PAIR = {
    "prompt": "Read the following references:\nReference [1]: Trams hum.\nReference [2]: Cats purr.\nPlease identify "
    "all the errors in the following text and suggest edits:\n[Text] Trams bark.\n[Edited] ",
    "input": "",
    "completion": "Trams <relation><mark>hum</mark><delete>bark</delete></relation>.",
}


def test_annotated_sets_as_published(tmp_path: Path) -> None:
    """FAVA's training pairs, RAGTruth, QA-Feedback without ids and both of HaluQuestQA's files give findings."""
    cases: dict[str, list[list[str]]] = {
        "RAGTruth": [["contradictory"], [], ["contradictory"]],
        "QA-Feedback": [["relevance", "unverifiable"], ["repeated"]],
        "HaluQuestQA answers": [["contradictory"], ["completeness"], [], ["contradictory"], [], []],
        "HaluQuestQA sentences": [["completeness"], [], ["completeness", "completeness"]],
    }
    for form, file, text, _, beside in SETS:
        if form in cases:
            for name, content in {**beside, file: text}.items():
                (tmp_path / name).write_text(content, "utf-8")
            found = read_annotated(str(tmp_path / file))
            assert [[f.kind for f in case.findings] for case in found.cases] == cases[form]
            assert (found.taxonomy.name, found.rows) == (form, 3)
    (tmp_path / "response.jsonl").write_text(lines([response("1", (90, 99)), response("2", (0, 5))]), "utf-8")
    away = read_annotated(str(tmp_path / "response.jsonl"))
    assert [len(case.findings) for case in away.cases] == [0, 1]
    assert away.left_out == {"the marked text does not stand in the answer": 1}
    labelled = read_labelled(str(tmp_path / "response.jsonl")).cases
    assert [(case.hallucination, case.marks is None) for case in labelled] == [(True, True), (True, False)]
    other = {**FAVA_PAIR, "completion": "Another text."}
    broken = [
        {"annotated": text} for text in ("<entity>It hums.", "It <entity>hums</entity> </relation> so.", "Sound.")
    ]
    (tmp_path / "bench.jsonl").write_text(lines(broken), "utf-8")
    bench = read_annotated(str(tmp_path / "bench.jsonl"))
    assert [len(case.findings) for case in bench.cases] == [1, 0] and sum(bench.left_out.values()) == 2
    (tmp_path / "training.json").write_text(squared([FAVA_PAIR, FAVA_PAIR, other]), "utf-8")
    read = read_annotated(str(tmp_path / "training.json"), reader="fava")
    assert (read.rows, len(read.cases), sum(read.left_out.values())) == (3, 2, 1)
    assert (read.cases[0].item.context, read.cases[0].item.answer) == (["Trams hum.", "Cats purr."], "Trams bark.")
    assert [(f.kind, f.edit) for f in read.cases[0].findings] == [("relation", "hum")]


SQUAD = {"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": "Trams hum.", "qas": [
    {"id": "a", "question": "Trams?", "answers": [{"text": "hum", "answer_start": 6}]},
    {"id": "b", "question": "Who?", "answers": [], "is_impossible": True},
    {"id": "c", "question": "What?", "answers": [{"text": "Trams", "answer_start": 0}]}]}]}]}  # fmt: skip
RAGAS = {"user_input": "Trams?", "response": "They hum.", "retrieved_contexts": ["Trams hum."], "reference": "Hum."}
DEEPEVAL = {
    "input": "Trams?",
    "actual_output": "They hum.",
    "retrieval_context": ["Trams hum."],
    "expected_output": "Hum.",
}
AS_ITEM = ("Trams?", "They hum.", ["Trams hum."], "Hum.")
READ: tuple[tuple[str, str, str, tuple[Any, ...], int], ...] = (
    ("squad", "dev-v1.1.json", json.dumps(SQUAD), ("Trams?", "hum", ["Trams hum."], None), 2),
    ("ragas", "ragas.jsonl", lines([{**RAGAS, "response": text} for text in ("They hum.", "A.", "B.")]), AS_ITEM, 3),
    ("deepeval", "a.json", squared([{**DEEPEVAL, "input": text} for text in ("Trams?", "A?", "B?")]), AS_ITEM, 3),
    *(
        (
            f"halueval-{kind}",
            f"{kind}.jsonl",
            lines([sample(kind, says) for says in ("no", "yes")]),
            (asks, "They hum.", ["Trams hum."], None),
            2,
        )
        for kind, asks in (("qa", "Trams?"), ("dialogue", "[Human]: Trams?"), ("summarization", ASKS_TEXT))
    ),
    (
        "frank",
        "human_annotations_sentence.json",
        squared([judged("a", "NoE", "NoE")]),
        (ASKS_TEXT, TWO, ["Dry."], None),
        1,
    ),
    ("halubench", "bench.jsonl", SETS[2][2], ("Trams?", "They hum.", ["Trams hum."], None), 3),
)


@each("row", READ)
def test_items_of_published_forms_are_known_by_their_keys(
    row: tuple[str, str, str, tuple[Any, ...], int], tmp_path: Path
) -> None:
    """What `refine` and `score` take: with and without the reader's name it is the same."""
    reader, file, text, first, n = row
    (tmp_path / file).write_text(text, "utf-8")
    found = open_dataset(str(tmp_path / file))
    items = found.read()
    assert found.shape.reader is not None and found.shape.reader.name == reader
    item = items[0]
    assert ((item.question, item.answer, item.context, item.gold), len(items)) == (first, n)
    assert open_dataset(str(tmp_path / file), reader=reader).read() == items
