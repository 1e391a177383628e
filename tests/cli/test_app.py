"""The command line as a whole."""

from __future__ import annotations

import re
import subprocess
import sys

from eirene import __version__
from tests.cli.run import Run
from tests.rows import each

HEAVY = {"torch", "transformers", "peft", "onnxruntime", "langchain", "langchain_core", "langgraph"}


def test_help_is_shown(run: Run) -> None:
    for arguments in (("--help",), ("refine", "--help"), ("score", "-h"), ("synth", "--help"), ()):
        result = run(*arguments)
        assert (result.code, result.err) == (0, "")
        assert "Usage: eirene" in result.out


def flags_in(shown: str) -> list[str]:
    return re.findall(r"^│ (?:[* ]  )?(--[a-z-]+)", shown, re.MULTILINE)


@each("command", ["refine", "batch run", "serve", "compare", "check", "verify", "score"])
def test_help_shows_the_main_flags_and_help_all_every_flag(command: str, run: Run) -> None:
    """The backend comes first, where there is one; no word of a type is cut."""
    short, whole = (run(*command.split(), flag).out for flag in ("--help", "--help-all"))
    main, every = map(flags_in, (short, whole))
    assert len(main) <= 12 and {"--help-all", "--help"} < set(main) < set(every)
    assert ("--backend" not in every) or main[0] == "--backend"
    assert re.search(r"Show all \d+ flags", short)
    assert ("fine-grained" in whole) == ("--mode" in every or "--modes" in every)


def test_the_version_is_shown(run: Run) -> None:
    assert run("--version").out == f"eirene {__version__}\n"


@each("arguments", [["--help"], ["refine", "--help"], ["refine", "missing.json"]])
def test_help_and_usage_errors_load_nothing_heavy(arguments: list[str]) -> None:
    code = f"import sys; from eirene.cli import main; main({arguments!r}); print(sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_help_loads_neither_data_nor_numbers() -> None:
    code = "import sys; from eirene.cli import main; main(['--help']); print({'numpy', 'eirene.data'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "set()"


def test_a_fault_of_our_own_is_one_line() -> None:
    command = "from eirene.cli import app; app.app = lambda **_: 1 / 0; import sys; sys.exit(app.main([]))"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: unexpected ZeroDivisionError")
    assert "Traceback" not in done.stderr


def test_a_full_disk_is_one_line() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "eirene", "prompts"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "error: the system: No space left on device\n")
