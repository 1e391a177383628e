"""Readers of published sets. The rows are invented, their form is that of the releases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eirene.core.errors import InputError
from eirene.core.records import Item
from eirene.data import open_dataset
from eirene.eval.datasets import read_labelled
from eirene.text.sentences import split_sentences

ASQA = {
    "ambiguous_question": "Who wrote the song?",
    "qa_pairs": [
        {"question": "Whose words?", "short_answers": ["Ann"], "context": "No context provided", "wikipage": None},
        {"question": "Whose tune?", "short_answers": ["Bob"], "context": "Bob wrote it.", "wikipage": "Bob"},
    ],
    "wikipages": [{"title": "Ann", "url": "https://example.org/Ann"}],
    "annotations": [
        {"knowledge": [{"content": "Ann wrote words.", "wikipage": "Ann"}, {"content": None, "wikipage": "X"}],
         "long_answer": "Ann wrote the words, Bob the tune."},
        {"knowledge": [{"content": "Bob wrote it.", "wikipage": "Bob"}], "long_answer": "It was Ann and Bob."},
    ],
}  # fmt: skip
ELI5 = {
    "q_id": "5lcm18", "title": "Why is the sky blue?", "selftext": "My child asks.", "category": "Physics",
    "subreddit": "explainlikeimfive", "title_urls": [], "selftext_urls": [],
    "answers": {"a_id": ["a", "b", "c"], "text": ["Low.", "High.", "High too."], "score": [3, 13, 13],
                "text_urls": [[], [], []]},
}  # fmt: skip
KILT = {
    "id": "k1", "input": "Why is the sky blue?", "meta": {"left_context": None},
    "output": [{"answer": "Low.", "meta": {"score": 1}, "provenance": []},
               {"answer": "High.", "meta": {"score": 5}, "provenance": []},
               {"answer": None, "meta": "none", "provenance": [{"title": "Sky"}]}],
}  # fmt: skip


def read(path: Path, reader: str | None, *columns: str, part: str = "", **options: Any) -> list[Item]:
    return open_dataset(f"{path}{part}", reader=reader, columns=columns, **options).read()


def lines(folder: Path, *rows: object) -> Path:
    path = folder / "x.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_asqa_as_on_the_hub(tmp_path: Path) -> None:
    path = tmp_path / "asqa.parquet"
    pq.write_table(pa.Table.from_pylist([{**ASQA, "sample_id": -7013890438520559398}]), path)
    (item,) = read(path, "asqa")
    assert item.id == "-7013890438520559398"
    assert (item.question, item.answer) == ("Who wrote the song?", "Ann wrote the words, Bob the tune.")
    assert item.gold is None
    assert item.context == ["Ann wrote words.", "Bob wrote it."]
    assert item.meta["annotations"][1]["long_answer"] == "It was Ann and Bob."  # type: ignore[index,call-overload]
    assert set(item.meta) == {"qa_pairs", "wikipages", "annotations"}
    assert read(path, "asqa", "meta=")[0].meta == {}


def test_asqa_as_its_authors_gave_it_out(tmp_path: Path) -> None:
    path = tmp_path / "ASQA.json"
    path.write_text(json.dumps({"dev": {"-1": ASQA, "2": ASQA}, "train": {"3": ASQA}}))
    for reader in ("asqa", None):
        assert [item.id for item in read(path, reader, part="@dev")] == ["-1", "2"]
        assert [item.id for item in read(path, reader, part="@train")] == ["3"]
        with pytest.raises(InputError, match=r"has the splits dev, train; name one: .*ASQA\.json@dev"):
            read(path, reader)


def test_a_models_answer_is_the_answer_and_the_persons_is_gold(tmp_path: Path) -> None:
    for reader, row, gold in (
        ("asqa", ASQA, "Ann wrote the words, Bob the tune."),
        ("eli5", ELI5, "High."),
        ("eli5", KILT, "High."),
    ):
        path = lines(tmp_path, {**row, "response": "A model's."})
        (item,) = read(path, reader, "answer=response", "context=")
        assert (item.answer, item.gold, item.context) == ("A model's.", gold, None)
        (item,) = read(path, reader)
        assert (item.answer, item.gold, item.meta["response"]) == (gold, None, "A model's.")
        with pytest.raises(InputError, match="the column 'response' is empty"):
            read(lines(tmp_path, {**row, "response": None}), reader, "answer=response")


def test_eli5_takes_the_answer_with_the_highest_score(tmp_path: Path) -> None:
    """Columns of lists, as `eli5` and `eli5_category` have them, and a list of objects say the same."""
    objects = [{"text": t, "score": s} for t, s in zip(("Low.", "High.", "High too."), (3, 13, 13), strict=True)]
    for row in (ELI5, {**ELI5, "answers": objects}, {**ELI5, "answers": {"text": "High.", "score": 5}}):
        (item,) = read(lines(tmp_path, row), "eli5")
        assert (item.id, item.question) == ("5lcm18", "Why is the sky blue?\n\nMy child asks.")
        assert item.answer == "High."
        assert item.meta["category"] == "Physics"
    (item,) = read(lines(tmp_path, {**ELI5, "selftext": ""}), "eli5")
    assert item.question == "Why is the sky blue?"
    (item,) = read(lines(tmp_path, ELI5), "eli5", "question=title")
    assert item.question == "Why is the sky blue?"
    (item,) = read(lines(tmp_path, KILT), "eli5")
    assert (item.id, item.answer, set(item.meta)) == ("k1", "High.", {"meta", "output"})


def test_eli5_as_the_library_saves_it(tmp_path: Path) -> None:
    import datasets

    datasets.disable_progress_bars()
    datasets.Dataset.from_list([ELI5]).save_to_disk(tmp_path / "eli5")
    datasets.enable_progress_bars()
    (item,) = read(tmp_path / "eli5", "eli5")
    assert (item.id, item.answer) == ("5lcm18", "High.")


PUBLISHED = {
    "instruction": "Judge.",
    "input": "Question: Why?\nAnswer: 1. It rains. Often.\n2. So it is wet.\n3. Really.",
    "output": "1. [Incomplete] Reasons: Where?\n2. [Complete]\n3. [Incomplete] Reasons: How wet?",
}


def test_haluquestqa_as_published_has_the_remarks_as_feedback(tmp_path: Path) -> None:
    """The file is named .jsonl and is one JSON array. Our own cut decides on which sentence a remark falls."""
    path = tmp_path / "incomplete_ans_detection_data.jsonl"
    path.write_text(
        json.dumps([PUBLISHED, {**PUBLISHED, "output": "1. [Complete]\n2. [Complete]\n3. [Complete]"}], indent=4)
    )
    item, other = open_dataset(str(path), reader="haluquestqa", columns=["id=#"]).read()
    assert (item.question, item.answer) == ("Why?", "It rains. Often. So it is wet. Really.")
    sentences = [s.text for s in split_sentences(item.answer)]
    assert sentences == ["It rains.", "Often.", "So it is wet.", "Really."]
    assert [(n.sentence, n.reason) for n in item.feedback or ()] == [(1, "Where?"), (4, "How wet?")]
    assert other.feedback is None
    assert item.meta == {"instruction": "Judge."}
    assert open_dataset(str(path), columns=["id=#"]).read() == [item, other]
    with pytest.raises(InputError, match=r"row 2: the id 'answer-.*' is taken by .*; give each an id \(--map id=#\)"):
        open_dataset(str(path)).read()


def test_haluquestqa_in_rows_with_sentences(tmp_path: Path) -> None:
    rows = [{"text": "It rains.", "tag": "Complete"}, {"text": "So.", "tag": "Incomplete", "reason": "Why?"}]
    (item,) = read(lines(tmp_path, {"row": 7, "question": "Why?", "sentences": rows, "category": "x"}), "haluquestqa")
    assert (item.id, item.answer) == ("7", "It rains. So.")
    assert [(n.sentence, n.reason) for n in item.feedback or ()] == [(2, "Why?")]
    assert set(item.meta) == {"sentences", "category"}


def complete_data(folder: Path, **change: str) -> Path:
    """The published table: called .csv, parted by tabs, its lists written as Python writes them."""
    row = {
        "": "0", "source_file": "f0.txt", "question_text": "Why?", "ans1_text": "It rains. It's \tcold.",
        "ans2_text": "It is wet.", "incomplete_ans_span": "['IT RAINS.', \"it's cold\", 'dry', 'ANSWER1:']",
        "incomplete_ans_reason": "['Where?', \"How cold?\", 'x', 'Since when?']",
        "incomplete_ans_label": "['answer1', 'answer1', 'answer2', 'answer1']", "ans1_label": "human_answer",
        "ans2_label": "model_answer", "category": "physics", **change,
    }  # fmt: skip
    quoted = ['"' + cell.replace('"', '""') + '"' for cell in row.values()]
    path = folder / "complete_data.csv"
    path.write_text("\t".join(row) + "\n" + "\t".join(quoted) + "\n")
    return path


def test_haluquestqas_table_gives_two_answers_of_a_row(tmp_path: Path) -> None:
    first, second = read(complete_data(tmp_path), "haluquestqa")
    assert (first.id, first.answer, first.meta["answer_by"]) == ("f0-answer1", "It rains. It's \tcold.", "human")
    assert (second.id, second.answer, second.meta["answer_by"]) == ("f0-answer2", "It is wet.", "model")
    notes = [(1, "Where?"), (2, "How cold?"), (1, "Since when?"), (2, "Since when?")]  # the last is on the whole answer
    assert [(n.sentence, n.reason) for n in first.feedback or ()] == notes
    assert second.feedback is None  # the marked text does not stand in the answer; meta has the remark
    assert first.meta["category"] == "physics"
    assert open_dataset(str(complete_data(tmp_path)), reader="haluquestqa").check() == 2


def test_a_list_of_remarks_that_is_wrong_is_named_and_never_run(subtests: pytest.Subtests, tmp_path: Path) -> None:
    lengths = "_span, incomplete_ans_reason, incomplete_ans_label must be lists of one length, got 4, 1, 4"
    none = "the column 'incomplete_ans_span' must be a list of texts"
    cases = [
        *(("span", cell, none) for cell in ("[1]", "[", "x", "open('x')", "[" * 500)),
        ("reason", "['Where?']", lengths),
        ("label", "['answer1', 'answer3', 'answer2', 'answer1']", "'incomplete_ans_label' names 'answer3', no answer1"),
    ]
    for column, cell, said in cases:
        with subtests.test(case=cell):
            path = complete_data(tmp_path, factuality_span="", **{f"incomplete_ans_{column}": cell})
            with pytest.raises(InputError, match=f"line 2, answer 1: .*{said}"):
                read(path, "haluquestqa")
            with pytest.raises(InputError, match=f"line 2: .*{said}"):
                read_labelled(str(path), reader="haluquestqa")


def test_haluquestqas_preferences_are_a_rejected_answer_and_a_preferred_one(tmp_path: Path) -> None:
    row = {"source_file": "f0.txt", "question_text": "Why?", "preferred_response": "Good.", "rejected_response": "Bad."}
    (item,) = read(lines(tmp_path, row), "haluquestqa")
    assert (item.id, item.question, item.answer, item.gold) == ("f0", "Why?", "Bad.", "Good.")


def test_a_row_of_another_form_says_what_it_lacks(subtests: pytest.Subtests, tmp_path: Path) -> None:
    asked = {"question": "Why?", "answer": "So."}
    squad = {"title": "A", "context": "It rains.", "question": "Why?", "answers": {"text": []}}
    ragas = "is no row of ragas: there is no column 'user_input'; columns: question"
    eli5 = "'title' and 'answers', or KILT's 'input' and 'output'"
    one, none = ({**PUBLISHED, "output": output} for output in ("1. [Complete]", "Incomplete."))
    cases: list[tuple[str | None, object, str, str | None]] = [
        ("asqa", asked, "is no row of ASQA: there is no 'ambiguous_question'; keys: question, answer", None),
        ("asqa", {**ASQA, "annotations": []}, "is no row of ASQA: 'annotations' has no 'long_answer'", None),
        ("asqa", {**ASQA, "annotations": [{"long_answer": " "}]}, "'annotations' has no 'long_answer'", None),
        ("asqa", {**ASQA, "annotations": "x"}, "of ASQA: 'annotations' must be a list of objects", "annotations"),
        ("asqa", {**ASQA, "qa_pairs": ["x"]}, "is no row of ASQA: 'qa_pairs' must be a list of objects", "qa_pairs"),
        ("asqa", {**ASQA, "ambiguous_question": 5}, "the column 'ambiguous_question' must be a text", "question"),
        ("asqa", {**ASQA, "sample_id": [1]}, "the column 'sample_id' must be", "id"),
        ("eli5", asked, f"is no row of ELI5: it needs {eli5}; keys: question, answer", None),
        ("eli5", {**ELI5, "answers": {"text": [" "], "score": [1]}}, "is a row of ELI5 without an answer", None),
        ("eli5", {**ELI5, "answers": "x"}, "is a row of ELI5 without an answer", None),
        ("eli5", {**ELI5, "title": 5}, "the column 'title' must be a text", "question"),
        ("eli5", {**ELI5, "selftext": 5}, "the column 'selftext' must be a text", "question"),
        ("eli5", {**ELI5, "q_id": [1]}, "the column 'q_id' must be", "id"),
        ("eli5", {**KILT, "input": 5}, "the column 'input' must be a text", "question"),
        ("haluquestqa", {"question": "Why?"}, "is no row of HaluQuestQA; keys: question", None),
        ("haluquestqa", one, "'output' judges 1 statements, 'input' has 3", "output"),
        ("haluquestqa", none, "'output' judges 0 statements, 'input' has 3", "output"),
        ("ragas", {"question": "Why?"}, ragas, None),
        ("ragas", {"user_input": "u", "response": 5}, "the column 'response' must be a text", "answer"),
        ("squad", squad, "is a row of SQuAD without an answer", "answers"),
        ("asqa", 5, "a row must be a JSON object", None),
        (None, {"instruction": "A", "input": "1", "output": "3"}, "; --map FIELD=COLUMN says which is which", "input"),
        *((None, {**asked, key: "c-17"}, f"unknown key {key!r}", key) for key in ("conversation", "messages")),
        (None, {**asked, "user_input": "u", "response": "r"}, "unknown key 'user_input'", "user_input"),
    ]  # fmt: skip
    for reader, row, said, field in cases:
        with subtests.test(case=reader):
            with pytest.raises(InputError) as caught:
                read(lines(tmp_path, row), reader)
            assert str(caught.value).startswith(f"{tmp_path / 'x.jsonl'}, line 1: ")
            assert said in str(caught.value) and caught.value.field == field


def test_an_unknown_reader_names_the_known_ones() -> None:
    with pytest.raises(InputError, match="there is no reader 'squadd'; readers: asqa, begin, chat, deepeval") as caught:
        open_dataset("x", reader="squadd")
    assert caught.value.field == "reader"
