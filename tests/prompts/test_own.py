"""Own prompts: files that take the place of the shipped ones, checked one by one, one set for each loop."""

from __future__ import annotations

import asyncio
import os
import pickle
from pathlib import Path

import pytest

import eirene
from eirene.core.errors import InputError, PromptError
from eirene.prompts import SHIPPED, PromptSet, load_prompt, prompt_set, read_prompts
from eirene.prompts.loader import MAX_CHARACTERS, replaceable_names, shipped_names, shipped_text

OWN = "# about\nOurs.\n\n# user\nOUR WORDS {{question}} {{mark}} {{answer}} {{given}} {{rejected}}\n"


def folder(home: Path, **files: str) -> Path:
    home.mkdir(exist_ok=True)
    for name, text in files.items():
        (home / f"{name}.md").write_text(text, "utf-8")
    return home


def test_own_prompts_stand_in_for_those_of_their_name_alone(tmp_path: Path) -> None:
    found = read_prompts(folder(tmp_path, refine_improve=OWN))
    assert found.load("refine_improve").user.startswith("OUR WORDS")
    assert found.load("feedback") is load_prompt("feedback")
    assert found.load("refine_improve").digest != load_prompt("refine_improve").digest
    assert load_prompt("refine_improve").system  # and the shipped one is as it was


def test_a_prompt_names_only_the_fields_that_it_needs(tmp_path: Path) -> None:
    """As the papers' own prompts do: the refiner of EIR's listing 5 is told of question, answer and reasons alone."""
    text = "# about\nOurs.\n\n# user\n{{question}}\n{{answer}}\nNot complete because:\n{{faults}}\n"
    prompt = read_prompts(folder(tmp_path, refine_fine_grained=text)).load("refine_fine_grained")
    values = {name: name.upper() for name in load_prompt("refine_fine_grained").placeholders}
    assert prompt.fill(values)[-1].content == "QUESTION\nANSWER\nNot complete because:\nFAULTS"
    with pytest.raises(PromptError, match="unused: tone"):
        prompt.fill({**values, "tone": ""})


def test_the_shipped_prompts_read_from_a_folder_are_the_shipped_prompts(tmp_path: Path) -> None:
    found = read_prompts(folder(tmp_path, **{name: shipped_text(name) for name in replaceable_names()}))
    names = shipped_names()
    assert {prompt.name for prompt in found.own} == set(replaceable_names()) < set(names)
    assert found.digest_of(names) == SHIPPED.digest_of(names) and found.digests(names) == SHIPPED.digests(names)


def test_a_set_can_be_a_key_and_go_to_another_process(tmp_path: Path) -> None:
    found = read_prompts(folder(tmp_path, refine_improve=OWN))
    assert pickle.loads(pickle.dumps(found)) == found and len({found, SHIPPED, PromptSet()}) == 2
    assert prompt_set(None) is SHIPPED and prompt_set(found) is found and prompt_set(str(tmp_path)) == found


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    plain = read_prompts(folder(tmp_path / "a", refine_improve=OWN))
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "refine_improve.md").write_bytes(b"\xef\xbb\xbf" + OWN.replace("\n", "\r\n").encode())
    assert read_prompts(tmp_path / "b") == plain


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("refine_improv", OWN, "did you mean refine_improve.md?"),
        ("notes", OWN, "`eirene prompts` lists the names"),
        ("synth_genre", OWN, "makes data and is not to be replaced"),
        ("refine_improve", OWN.replace("{{answer}}", ""), "missing: {{answer}}; its fields are {{answer}}, {{given}}"),
        (
            "refine_improve",
            OWN + "{{tone}}",
            "unknown: {{tone}}; its fields are {{answer}}, {{given}}, {{mark}}, {{ques",
        ),
        (
            "chainpoll_correctness",
            OWN[:22] + "Ask.",
            "missing: {{material}}; its fields are {{mark}}, {{material}}, of",
        ),
        ("sample_answer", OWN[:22] + "Ask.", "missing: {{question}}; its fields are {{question}}"),
        ("refine_improve", OWN + "{{the tone}}", "unknown: {{the tone}};"),
        ("refine_improve", OWN.replace("{{answer}}", "{{anwser}}"), "missing: {{answer}}; unknown: {{anwser}}"),
        ("refine_improve", OWN + "\x00", "contains a NUL character"),
        ("refine_improve", "", "is empty"),
        ("refine_improve", " \n", "is empty"),
        ("refine_improve", OWN + "x" * MAX_CHARACTERS, "more than 40,000 characters"),
        ("refine_improve", "Improve {{answer}}", "begin with '# about'"),
        ("refine_improve", "# about\nx\n\n# user\n", "empty section 'user'"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_by_its_name(tmp_path: Path, name: str, text: str, said: str) -> None:
    folder(tmp_path, **{name: text})
    with pytest.raises(InputError) as caught:
        read_prompts(tmp_path)
    assert said in str(caught.value) and str(tmp_path / f"{name}.md") in str(caught.value)


def test_what_is_no_folder_of_prompts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "latin").mkdir()
    (tmp_path / "latin" / "feedback.md").write_bytes(b"\xe9")
    (tmp_path / "nested" / "feedback.md").mkdir(parents=True)
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "feedback.md")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "feedback.txt").write_text(shipped_text("feedback"))
    for name, said in (
        ("none", "no such folder"), ("file", "cannot be read as a folder"), ("empty", "has no prompt"),
        ("latin", "not UTF-8"), ("nested", "cannot be read"), ("pipe", "no regular file"),
        ("other", "no prompt has this name"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            read_prompts(tmp_path / name)


def test_hidden_files_are_passed_over(tmp_path: Path) -> None:
    folder(tmp_path, refine_improve=OWN)
    (tmp_path / ".DS_Store").write_bytes(b"\x00")
    assert [prompt.name for prompt in read_prompts(tmp_path).own] == ["refine_improve"]


def test_two_loops_of_one_model_ask_each_in_its_own_words_and_sign_them(tmp_path: Path) -> None:
    """Side by side in one process: nothing of one set reaches the other loop."""
    asked: dict[str, list[str]] = {"own": [], "shipped": []}
    options = {"own": {"prompts": folder(tmp_path, refine_improve=OWN)}, "shipped": None}

    async def one(which: str, n: int) -> eirene.Record:
        def reply(messages: list[object]) -> str:
            text = "\n".join(str(getattr(m, "content", "")) for m in messages)
            if "Better:" not in text:
                asked[which].append(text)
            return "Faulty: neither\nBetter: tie"

        return await eirene.arefine(
            {"id": str(n), "question": "Is homework useful?", "answer": "It depends."},
            backend=eirene.ScriptedChatModel(reply), backend_options=options[which], mode="improve", max_rounds=1,
        )  # fmt: skip

    async def both() -> list[eirene.Record]:
        return await asyncio.gather(*(one(which, n) for n in range(3) for which in asked))

    records = asyncio.run(both())
    assert asked["own"] and all("OUR WORDS" in text for text in asked["own"])
    assert asked["shipped"] and not any("OUR WORDS" in text for text in asked["shipped"])
    assert len({record.signature for record in records}) == 2
