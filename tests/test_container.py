"""The container: what Dockerfile and compose.yaml promise, and their commands run here as processes."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from io import BytesIO
from pathlib import Path
from typing import Any

import openai
import pytest
from compose_spec import PyCompose
from dockerfile_parse import DockerfileParser

from eirene import __version__
from eirene.cli import main
from eirene.testing.loopback import LoopbackServer
from tests.agent.server.serving import ASK, GIVEN, running

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "Dockerfile").read_text("utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SERVE = ["eirene", "serve"]
DOCKER_STOP_S, MARGIN_S = 10, 2


def instructions(name: str) -> list[str]:
    parser = DockerfileParser(fileobj=BytesIO(TEXT.encode()))
    return [step["value"] for step in parser.structure if step["instruction"] == name]


def services() -> dict[str, Any]:
    text = (ROOT / "compose.yaml").read_text("utf-8")
    PyCompose.from_yaml(text).to_spec()  # raises where it is no compose file
    return dict(PyCompose.from_yaml(text).to_dict()["services"])


def entrypoint() -> list[str]:
    return list(json.loads(instructions("ENTRYPOINT")[0]))


def probe() -> list[str]:
    return list(json.loads(instructions("HEALTHCHECK")[0].partition("CMD ")[2]))


def flag(arguments: list[str], name: str) -> str:
    """The value of a flag, in either way of writing it; the last one holds."""
    joined = " ".join(arguments).replace("=", " ").split()
    return joined[len(joined) - joined[::-1].index(name)]


def healthy(address: str, command: list[str]) -> int:
    port = address.rpartition(":")[2]
    assert "8400" in command[-1]
    asked = [sys.executable, *command[1:-1], command[-1].replace("8400", port)]
    return subprocess.run(asked, timeout=60, check=False, capture_output=True).returncode


def test_no_image_can_change_under_its_tag() -> None:
    bases = instructions("FROM")
    python = re.search(r"PYTHON=((\d+\.\d+)\.\d+)-", instructions("ARG")[0])
    assert python is not None and PROJECT["requires-python"] == f">={python[2]}"
    assert [base.partition(" ")[0] for base in bases] == ["python:${PYTHON}"] * 2
    images = {name: service["image"] for name, service in services().items()}
    assert images["eirene"] == f"eirene:{__version__}"
    assert re.fullmatch(r"ghcr\.io/ggml-org/llama\.cpp:server-b\d+", images["llama"])


def test_the_extras_exist_and_bring_no_torch() -> None:
    extras = instructions("ARG")[1].removeprefix("EXTRAS=").split(",")
    wanted = [package for extra in extras for package in PROJECT["optional-dependencies"][extra]]
    assert any(package.startswith("uvicorn") for package in wanted)
    assert not any(re.match(r"torch|eirene\[|transformers", package) for package in wanted)


def test_the_context_holds_what_is_copied_and_no_more() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    taken = {rule[1:] for rule in rules if rule.startswith("!")}
    copied = [part for step in instructions("COPY") if not step.startswith("--from") for part in step.split()[:-1]]
    assert rules[0] == "*" and set(copied) == taken
    needed = [PROJECT["readme"], *PROJECT["license-files"]]
    assert all(any(fnmatch(name, f"{part}*") for part in copied) for name in ["constraints.txt", *needed])


def test_nothing_runs_as_root_and_nothing_can_become_it() -> None:
    user = instructions("USER")[-1]
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user) and TEXT.index("USER") < TEXT.index("ENTRYPOINT")
    for service in services().values():
        assert service["read_only"] and service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"] and service["tmpfs"] == ["/tmp"]
        assert service.get("user", user) == user
        assert not service.get("privileged") and not service.get("cap_add")
    assert any(mount.endswith(f":{instructions('VOLUME')[0]}") for mount in services()["eirene"]["volumes"])


def test_only_this_machine_reaches_the_server_and_only_the_server_the_model() -> None:
    eirene, llama = services()["eirene"], services()["llama"]
    port = flag(entrypoint(), "--port")
    assert eirene["ports"] == [f"127.0.0.1:8400:{port}"] and "ports" not in llama
    assert instructions("EXPOSE") == [port] and port in probe()[-1]
    inner = PyCompose.from_yaml((ROOT / "compose.yaml").read_text("utf-8")).to_dict()["networks"]["inner"]
    assert llama["networks"] == ["inner"] and "inner" in eirene["networks"] and inner["internal"] is True
    served = llama["environment"]
    assert flag(eirene["command"], "--base-url") == f"http://llama:{served['LLAMA_ARG_PORT']}/v1"
    assert flag(eirene["command"], "--backend") == f"openai:{served['LLAMA_ARG_ALIAS']}"
    assert flag(eirene["command"], "--upstream-calls") == str(served["LLAMA_ARG_N_PARALLEL"])
    assert eirene["depends_on"]["llama"]["condition"] == "service_healthy" and llama["healthcheck"]["test"]


def test_no_key_is_written_down() -> None:
    given = services()["eirene"]["environment"]
    assert given["EIRENE_API_KEY"].startswith("${EIRENE_API_KEY:?")
    secret = re.compile(r"KEY|TOKEN|SECRET|PASSWORD")
    assert not [value for name in ("ENV", "ARG") for value in instructions(name) if secret.search(value)]
    assert {"/.env", "/models/"} <= set((ROOT / ".gitignore").read_text("utf-8").split())


def test_the_grace_ends_before_the_container_is_killed() -> None:
    stop_s = int(services()["eirene"]["stop_grace_period"].removesuffix("s"))
    assert float(flag(entrypoint(), "--grace")) + MARGIN_S < DOCKER_STOP_S
    assert float(flag(services()["eirene"]["command"], "--grace")) + MARGIN_S < stop_s
    assert instructions("STOPSIGNAL") == ["SIGTERM"]


def test_without_a_key_the_entrypoint_refuses_to_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert entrypoint()[:2] == SERVE and flag(entrypoint(), "--host") == "0.0.0.0"
    assert main([*entrypoint()[1:], "--port", "0"]) == 2
    assert "EIRENE_API_KEY" in capsys.readouterr().err


@pytest.mark.usefixtures("loopback")
def test_the_commands_of_both_files_start_answer_and_stop(tmp_path: Path) -> None:
    """The entry point with the flags of compose.yaml, before a scripted model; the health check; SIGTERM."""
    said = "Supporters say that zoos teach children about animals. Critics say that cages make animals suffer."
    (tmp_path / "http.py").write_text("raise SystemExit(1)", "utf-8")  # the check imports nothing from where it is run
    with LoopbackServer(said) as model:
        theirs = [part for part in services()["eirene"]["command"] if not part.startswith(("--base-url", "--runs"))]
        flags = [*entrypoint()[2:], *theirs, "--base-url", model.base_url, "--runs", str(tmp_path / "runs.jsonl")]
        with running(*flags, "--port", "0", "--host", "127.0.0.1", EIRENE_API_KEY="k") as (process, address):
            assert healthy(address, probe()) == 0
            client = openai.OpenAI(base_url=f"{address}/v1", api_key="k", max_retries=0, timeout=60)
            reply: Any = client.chat.completions.create(model="local", messages=ASK, extra_body=GIVEN)
            client.close()
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
            assert healthy(address, probe()) != 0
    assert reply.eirene["status"] and reply.choices[0].message.content == said
    assert json.loads((tmp_path / "runs.jsonl").read_text("utf-8"))


def test_a_linter_finds_nothing() -> None:
    hadolint = shutil.which("hadolint", path=str(Path(sys.executable).parent)) or shutil.which("hadolint")
    if hadolint is None:
        pytest.skip("hadolint has no build for this system")
    done = subprocess.run([hadolint, "Dockerfile"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")
