"""`python -m recipes.train refiner`, from the pairs to a record; what Ctrl-C and a kill leave; nobody is called."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from recipes.fava import main as make_errors
from recipes.train.__main__ import Training
from recipes.train.recipe import TrainingRecipe
from recipes.train.run import Step, TrainingRun, last_checkpoint
from tests.cli.run import EXAMPLES, Run, assert_error
from tests.recipes.train.test_refiner import ROWS, write
from tests.tiny_llama import make_llama

QUICK = (
    "--epochs", "4", "--batch-size", "4", "--learning-rate", "0.05", "--lora-rank", "4", "--lora-alpha", "8",
    "--held-out", "0.25", "--device", "cpu",
)  # fmt: skip


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_llama(tmp_path_factory.mktemp("base"), texts=map(str, ROWS), hidden=16, layers=1)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("data") / "pairs.jsonl")


def adapter_bytes(folder: Path) -> bytes:
    return b"".join((folder / name).read_bytes() for name in ("adapter_model.safetensors", "adapter_config.json"))


@pytest.mark.slow
def test_a_refiner_is_tuned_and_then_refines(base: Path, data: Path, run: Run, train: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    tuned = train("refiner", data, "--model", f"hf:{base}", "--out", out, *QUICK)
    assert (tuned.code, tuned.out) == (0, ""), tuned
    assert "step 8 of 8, loss 0." in tuned.err
    assert "(0.6931 before), preferred reply raised more in 100.0 %" in tuned.err
    assert tuned.err.endswith(f"use it: eirene refine ITEM --backend hf:{out}\n")
    refined = run(
        "refine", "--question", "is it 3?", "--answer", "not enough 3", "--mode", "improve", "--max-rounds", "1",
        "--backend", f"hf:{base}+{out}?device=cpu", "--json",
    )  # fmt: skip
    assert refined.code == 0, refined
    assert refined.record["backend"] == f"hf:{base}+{out}"
    assert refined.record["usage"]["calls"] > 0


def test_bad_flags_say_what_to_change(base: Path, train: Run, tmp_path: Path) -> None:
    data = write(tmp_path / "pairs.jsonl")
    for n, (flags, said) in enumerate([
        (("--beta", "0"), "beta must be a number above 0"),
        (("--epochs", "0"), "epochs must be at least 1"),
        (("--prompt", "fine-grained"), "is not one of 'improve', 'generic', 'question', 'given'"),
        (("--lora-targets", "c_attn"), "the model has no layer c_attn"),
        (("--lora-targets", "q_proj,"), "lora_targets must name layers"),
        (("--layout", "chat"), "no chat template"),
        (("--model", "/nowhere"), "there is no folder '/nowhere'"),
        (("--model", "hf:a/b+c"), "merge the two first"),
        (("--device", "cuda:77"), "device 'cuda:77' cannot be used"),
        (("--held-out", "0", "--keep", "best"), "keep best chooses the checkpoint by the loss on a dev set, and there"),
        (("--max-tokens", "20"), "are longer than max_tokens = 20"),
    ]):  # fmt: skip
        result = train("refiner", data, "--model", base, "--out", tmp_path / str(n), *QUICK, *flags)
        assert_error(result, said)


@pytest.mark.slow
def test_each_command_trains_with_its_papers_settings(run: Run, train: Run, tmp_path: Path) -> None:
    """One step of each on the examples; the card has the recipe's defaults where no flag was given."""
    chat = make_llama(tmp_path / "chat", chat=True, hidden=16, layers=1)
    make_errors([str(EXAMPLES / "corpus"), "--out", str(tmp_path / "fava.jsonl")])
    run("synth", "npov", EXAMPLES / "topics.jsonl", "--out", tmp_path / "npov.jsonl", "--per-topic", "1")
    least = ("--base", chat, "--max-steps", "1", "--device", "cpu", "--max-tokens", "9000")
    for name, data, flags, expected in (
        ("feedback", EXAMPLES / "feedback.jsonl", ("--method", "lora"), {"rate": 2e-4, "batch_size": 4, "epochs": 5}),
        ("critic", tmp_path / "fava.jsonl", ("--batch-size", "2"), {"rate": 2e-5, "epochs": 2, "warmup": 0.03}),
        ("classifier", tmp_path / "npov.jsonl", ("--error", "coverage", "--batch-size", "2"), {"method": "prompt"}),
        ("generator", tmp_path / "npov.jsonl", ("--batch-size", "2"), {"rate": 0.1, "warmup": 500}),
    ):
        out = tmp_path / name
        result = train(name, data, "--out", out, *least, *flags)
        assert (result.code, result.out) == (0, ""), result
        assert f"hf:{out}" in result.err.splitlines()[-1]
        recipe = json.loads((out / "card.json").read_text("utf-8"))["run"]["recipe"]
        assert {k: recipe[k] for k in expected} == expected
    carried = json.loads((tmp_path / "critic" / "eirene_prompt.json").read_text("utf-8"))
    assert (carried["role"], carried["layout"], carried["name"]) == ("hallucination", "chat", "hallucination_tuned")


def test_numbers_without_a_default_may_stand_in_a_file(base: Path, train: Run, tmp_path: Path) -> None:
    data, file = write(tmp_path / "pairs.jsonl"), tmp_path / "eirene.toml"
    file.write_text("max-steps = 1\nmicro-batch = 2\nlearning-rate = 1\n")
    tuned = train("refiner", data, "--model", base, "--out", tmp_path / "out", *QUICK[:-4], "--config", file)
    assert tuned.code == 0, tuned
    assert json.loads((tmp_path / "out" / "card.json").read_text())["figures"]["steps"] == 1
    file.write_text('max-steps = "1"')
    result = train("refiner", data, "--model", base, "--out", tmp_path / "out", "--config", file)
    assert_error(result, "'max-steps' must be an integer, got str '1'")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_lets_the_step_end_and_keeps_it(
    base: Path, data: Path, train: Run, tmp_path: Path, number: signal.Signals
) -> None:
    """Exit code 130, a whole checkpoint at the step where it stopped, and the handler from before is back."""
    before = signal.getsignal(number)
    checkpoints = tmp_path / "out" / "checkpoints"

    over = threading.Event()

    def press() -> None:
        while not over.wait(0.01):
            if any(checkpoints.glob("checkpoint-*")):
                os.kill(os.getpid(), number)
                return

    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    stopped = train(
        "refiner", data, "--model", base, "--out", tmp_path / "out", *QUICK, "--epochs", "10000",
        "--checkpoint-steps", "5",
    )  # fmt: skip
    over.set()
    thread.join()
    assert (stopped.code, stopped.out) == (130, ""), stopped
    assert "stopping after this step; Ctrl-C again stops at once" in stopped.err
    said = stopped.err.rstrip().splitlines()[-1]
    assert said.startswith("stopped at step ") and said.endswith("the same command goes on there")
    step = int(said.split()[3])
    assert (checkpoints / f"checkpoint-{step}" / "trainer_state.json").is_file()
    assert not (tmp_path / "out" / "card.json").exists()
    assert signal.getsignal(number) is before


def test_ctrl_c_stops_at_once_before_the_first_step_and_the_second_time(capsys: pytest.CaptureFixture[str]) -> None:
    with Training() as training:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        training.on_step(Step(1, 9, 0.1, 0.5))
        assert not training.should_stop()
        signal.raise_signal(signal.SIGINT)
        assert training.should_stop()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert capsys.readouterr().err.splitlines()[0] == "step 1 of 9, loss 0.500"


@contextmanager
def hub() -> Iterator[tuple[str, list[str]]]:
    """A hub on loopback that has nothing, and remembers what it was asked for."""
    asked: list[str] = []

    class Nothing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            self.send_error(404)

        do_HEAD = do_POST = do_GET  # noqa: N815  # the names that the server looks for

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Nothing) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


@pytest.mark.slow
@pytest.mark.usefixtures("loopback")
def test_a_run_that_was_killed_goes_on_to_the_same_bytes_and_calls_nobody(
    base: Path, data: Path, train: Run, tmp_path: Path
) -> None:
    """`kill -9` in the middle of the real program, which may reach the hub if it wants to: it does not."""
    arguments = ["refiner", str(data), "--model", str(base), *QUICK, "--epochs", "200", "--max-steps", "20"]
    often = ("--checkpoint-steps", "2")
    killed = TrainingRun(str(base), tmp_path / "killed", TrainingRecipe())
    with hub() as (address, asked):
        environment = {k: v for k, v in os.environ.items() if k not in ("HF_HUB_OFFLINE", "CI")}
        environment |= {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "cache"), "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "recipes.train", *arguments, *often, "--out", str(tmp_path / "killed")],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while process.poll() is None and last_checkpoint(killed) is None:
            time.sleep(0.01)
        process.kill()
        out, err = process.communicate()
    assert process.returncode == -signal.SIGKILL, err
    assert (out, asked) == ("", [])
    assert err.splitlines()[0].startswith("step 1 of 20, loss 0.693")
    assert train(*arguments, *often, "--out", tmp_path / "killed").code == 0
    assert json.loads((tmp_path / "killed" / "card.json").read_text())["figures"]["resumed_at_step"] >= 2
    assert train(*arguments, "--out", tmp_path / "straight").code == 0
    assert adapter_bytes(tmp_path / "killed") == adapter_bytes(tmp_path / "straight")
