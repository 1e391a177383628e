"""Names of GGUF models, and files that are none, cut off, too large or without a template."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

import pytest

from eirene.agent.backends import BackendOptions, resolve_backend
from eirene.cli.papers import folder_name, shown_name
from eirene.core.errors import InputError
from eirene.models.gguf import spec as module
from eirene.models.gguf.spec import (
    DEFAULT_CONTEXT,
    DEFAULT_TOKENS,
    GgufSpec,
    check_file,
    file_digest,
    idle_threads,
    parse_gguf,
    template_text,
)
from tests.rows import each


def test_a_name_has_a_path_and_perhaps_options_and_a_template() -> None:
    assert parse_gguf("gguf:a.gguf") == GgufSpec("a.gguf", None, DEFAULT_CONTEXT, DEFAULT_TOKENS, None)
    assert parse_gguf("gguf:a.gguf?threads=2&context=4096&tokens=9#chatml") == GgufSpec("a.gguf", 2, 4096, 9, "chatml")
    drive = r"C:\models\a.gguf"  # as Windows writes paths
    assert parse_gguf(f"gguf:{drive}?threads=2#chatml") == GgufSpec(drive, 2, template="chatml")


def test_a_file_that_exists_is_taken_whole(tmp_path: Path) -> None:
    file = tmp_path / "a?b#c.gguf"
    file.write_bytes(b"GGUF")
    assert parse_gguf(f"gguf:{file}") == GgufSpec(str(file))


def test_a_package_that_holds_one_file_may_stand_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "eirene_test_weights"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('it is looked up, and not imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert parse_gguf("gguf:eirene_test_weights").path == "eirene_test_weights"
    (package / "model.gguf").touch()
    assert parse_gguf("gguf:eirene_test_weights?threads=2") == GgufSpec(str(package / "model.gguf"), 2)


@each(
    "option, said",
    [
        ("context=1", "context must be from 256 to"),
        ("context=99999999999999", "16777216, got 99999999999999"),
        ("threads=0", "threads must be from 1 to 512"),
        ("tokens=" + "9" * 5000, "tokens must be from 1 to"),
    ],
)
def test_numbers_out_of_bounds_are_refused(option: str, said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        parse_gguf(f"gguf:a.gguf?{option}")
    assert len(str(caught.value)) < 6000


def test_a_mistyped_name_is_told_the_nearest_ones(tmp_path: Path) -> None:
    write_gguf(tmp_path / "model.gguf")
    (tmp_path / "chat.jinja").write_text("{{ messages[0].content }}")
    with pytest.raises(InputError, match=r"cannot be read: No such file.*did you mean .*model\.gguf\?"):
        check_file(GgufSpec(str(tmp_path / "modle.gguf")))
    with pytest.raises(
        InputError, match=r"chat template .* cannot be read: No such file.*did you mean .*chat\.jinja\?"
    ):
        template_text(str(tmp_path / "chta.jinja"))
    (tmp_path / "none.jinja").write_text(" \n")
    with pytest.raises(InputError, match=r"chat template .*none\.jinja' is an empty file"):
        template_text(str(tmp_path / "none.jinja"))
    assert template_text("chatml") == "chatml"
    assert template_text(str(tmp_path / "chat.jinja")) == "{{ messages[0].content }}"


@each("name", ["gguf:", "gguf:?threads=2", "gguf:a?thread=1", "gguf:a?gpu=1", "gguf:a?threads=x"])
def test_a_name_that_says_something_else_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"write gguf:FILE\.gguf"):
        parse_gguf(name)


def write_gguf(path: Path, *, template: bool = True) -> Path:
    """A GGUF file with a tensor of no use, as the library writes it."""
    np = pytest.importorskip("numpy")
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(path, "llama")
    if template:
        writer.add_chat_template("{{ messages }}")
    writer.add_tensor("w", np.zeros((64, 64), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_whole_file_passes(tmp_path: Path) -> None:
    check_file(GgufSpec(str(write_gguf(tmp_path / "a.gguf"))))


def test_files_that_are_no_model_say_what_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = write_gguf(tmp_path / "whole.gguf")
    other, empty = tmp_path / "other.gguf", tmp_path / "empty.gguf"
    other.write_bytes(b"PK\x03\x04 weights")
    empty.touch()
    pipe = tmp_path / "pipe.gguf"
    os.mkfifo(pipe)
    blank = write_gguf(tmp_path / "blank.gguf", template=False)
    cases = [
        (tmp_path / "absent.gguf", "cannot be read: No such file"),
        (tmp_path, "cannot be read: Is a directory"),
        (pipe, "is a named pipe"),
        (empty, "is no GGUF file"),
        (other, "is no GGUF file"),
        (blank, "has no chat template.*#chatml"),
    ]
    for file, said in cases:
        with pytest.raises(InputError, match=said):
            check_file(GgufSpec(str(file)))
    check_file(GgufSpec(str(blank), template="chatml"))
    monkeypatch.setattr(module, "memory_of_machine", lambda: 100)
    with pytest.raises(InputError, match="memory; take a smaller one"):
        check_file(GgufSpec(str(whole)))


def test_a_file_that_llama_cpp_cannot_run_is_one_clear_error(tmp_path: Path) -> None:
    """Whole or not: another process tries it, so that neither a crash nor a header without end reaches this one."""
    pytest.importorskip("xllamacpp")
    whole, bomb = write_gguf(tmp_path / "whole.gguf"), tmp_path / "bomb.gguf"
    many = struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"a" + struct.pack("<IIQ", 9, 0, 2**60)
    bomb.write_bytes(b"GGUF" + many + b"tokenizer.chat_template")
    for file in (whole, bomb):
        with pytest.raises(
            InputError, match=rf"llama\.cpp cannot load .*{file.name}|{file.name}' makes llama\.cpp crash"
        ):
            resolve_backend(f"gguf:{file}")


def test_no_server_goes_with_a_model_on_this_machine() -> None:
    with pytest.raises(InputError, match="calls no server"):
        resolve_backend("gguf:a.gguf", BackendOptions(base_url="http://127.0.0.1:1/v1"))


def test_the_digest_changes_with_the_file(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_bytes(b"a" * 100)
    other.write_bytes(b"a" * 99 + b"b")
    assert file_digest(str(one)) != file_digest(str(other))
    assert file_digest(str(one)) == file_digest(str(one))


def test_two_files_of_one_name_have_folders_of_their_own(tmp_path: Path) -> None:
    """Figures of a model are kept in a folder of its name, which does not tell where the file lies."""
    names = set()
    for n in (1, 2):
        file = tmp_path / str(n) / "m.gguf"
        file.parent.mkdir()
        file.write_bytes(b"GGUF tokenizer.chat_template %d" % n)
        assert shown_name(f"gguf:{file}?threads=1") == "gguf:m.gguf?threads=1"
        names.add(folder_name(f"gguf:{file}?threads=1"))
    assert len(names) == 2 and all(re.fullmatch("gguf-m.gguf-threads-1-[0-9a-f]{12}", name) for name in names)


@each("load, threads", [(0.0, 4), (1.2, 3), (3.9, 1), (40.0, 1)])
def test_threads_are_the_cores_that_are_idle(load: float, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)))
    assert idle_threads() == threads
