"""Coverage-guided fuzzing of every reader of foreign text: files, rows, replies, bodies, settings, prompts, journals.

make fuzz SECONDS=900   # needs atheris, libFuzzer for Python

An input is a target's number and what that target reads. A reader may answer with a value or with one clear error;
whatever else is raised is written to build/fuzz/found, once for each place. What reached new code stays in
build/fuzz/corpus for the next run. `tests/test_fuzz.py` reads the seeds and `fuzz_corpus.json`, without atheris.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from eirene.agent.batch.journal import read_status
from eirene.agent.check.baseline import read_baseline
from eirene.agent.experiments.blind import read_key, read_marks
from eirene.agent.server.protocol import ChatRequest, EditsRequest, RunRequest, parse_body
from eirene.agent.server.runs import read_back
from eirene.cli.flags import _read_toml
from eirene.cli.review_file import read_review, write_review
from eirene.core.critique import parse_review
from eirene.core.errors import EireneError
from eirene.core.json import parse_json
from eirene.data import open_dataset, open_source
from eirene.data.journal import open_journal
from eirene.data.line_checksum import sealed
from eirene.data.published import READERS as PUBLISHED
from eirene.data.source import read_source
from eirene.data.topics import read_topics
from eirene.eval.calibration import read_calibration
from eirene.eval.datasets.annotated import read_annotated
from eirene.eval.datasets.base import read_feedback_cases
from eirene.eval.datasets.labelled import read_labelled
from eirene.eval.detectors.factscore import read_claims
from eirene.eval.pairwise import read_letter
from eirene.feedback_model.hallucination import read_hallucinations
from eirene.models.cache import CallCache
from eirene.models.costs import read_prices
from eirene.models.gguf.spec import check_file, parse_gguf
from eirene.models.replies import Reply, read_completion
from eirene.models.reply_text import UnreadableError
from eirene.prompts.loader import read_prompts, shipped_text
from eirene.refiners.asking import read_rewrite
from eirene.retrieval.passages import read_corpus
from eirene.views.report import records_in
from tests.feedback_model.test_hallucination import ENTITY, request
from tests.refiners.test_patch import ANSWER as PATCHED
from tests.refiners.test_patch import read as read_patched
from tests.refiners.test_patch import task_of
from tests.text_readers import READERS

Target = Callable[[bytes], object]
ROOT = Path(__file__).parents[1]
HOME = Path(tempfile.mkdtemp(prefix="fuzz", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
"""Where the inputs lie that a reader wants as a file."""


def in_file(name: str, read: Callable[[str], object]) -> Target:
    """A reader of a file of this name."""
    path = HOME / name if "/" in name else HOME / f"{len(list(HOME.iterdir()))}" / name
    path.parent.mkdir(exist_ok=True)

    def reads(data: bytes) -> object:
        path.write_bytes(data)
        return read(str(path))

    return reads


def text(read: Callable[[str], object]) -> Target:
    return lambda data: read(data.decode("utf-8", "replace"))


def reply(read: Callable[[Reply], object]) -> Target:
    return text(lambda told: read(Reply(told, "stop")))


def value(read: Callable[[Any], object]) -> Target:
    return lambda data: read(parse_json(data, where="here"))


def completion(data: bytes) -> object:
    try:
        return read_completion(data)
    except ValueError:  # what it promises, and LangChain's callers expect
        return None


def items(path: str, reader: str | None = None) -> object:
    return open_dataset(path, reader=reader).read()


def journal(path: str) -> None:
    with open_journal(path):
        pass


def cached(path: str) -> None:
    cache = CallCache(path)
    try:
        cache.recall_now([b"k" * 32])
    finally:
        cache.close()


CRITIQUE = task_of(PATCHED, 1, 3).critique
assert CRITIQUE is not None
TARGETS: dict[str, Target] = {
    **{f"text: {name}": text(read) for name, read in READERS.items()},
    **{f"rows: {name}": in_file("x.jsonl", lambda path, name=name: items(path, name)) for name in PUBLISHED},
    **{f"file: {name}": in_file(name, items) for name in ("x.json", "x.jsonl", "x.csv", "x.tsv", "x.json.gz", "x")},
    "labelled": in_file("labelled/x.jsonl", read_labelled),
    "labelled table": in_file("x.csv", read_labelled),
    "annotated": in_file("x.jsonl", read_annotated),
    "feedback cases": in_file("x.jsonl", lambda path: read_feedback_cases(open_source(path))),
    "topics": in_file("x.json", read_topics),
    "topics table": in_file("x.csv", read_topics),
    "corpus rows": in_file("x.jsonl", lambda path: list(read_corpus(path))),
    "corpus text": in_file("x.md", lambda path: list(read_corpus(path))),
    "records": in_file("x.jsonl", lambda path: list(records_in((r.where, r.data) for r in read_source(path).rows()))),
    "batch": in_file("x.jsonl", read_status),
    "journal": in_file("x.jsonl", journal),
    "runs": in_file("x.jsonl", lambda path: read_back(path, 5)),
    "baseline": in_file("x.jsonl", lambda path: read_baseline(path, {"a": "1"})),
    "blind key": in_file("key.jsonl", lambda path: read_key(Path(path).parent)),
    "blind marks": in_file("marks-a.jsonl", lambda path: read_marks(Path(path).parent, {})),
    "calibration": in_file("x.json", read_calibration),
    "prices": in_file("x.toml", read_prices),
    "settings": in_file("x.toml", _read_toml),
    "prompts": in_file("sample_answer.md", lambda path: read_prompts(Path(path).parent)),
    "gguf": in_file("x.gguf", lambda path: check_file(parse_gguf(path))),
    "cache": in_file("x.sqlite", cached),
    "chat body": lambda data: parse_body(data, ChatRequest),
    "run body": lambda data: parse_body(data, RunRequest),
    "edits body": lambda data: parse_body(data, EditsRequest),
    "completion": completion,
    "review": value(parse_review),
    "review file": text(lambda told: read_review(told, CRITIQUE)),
    "hallucinations": text(lambda told: read_hallucinations(told, request())),
    "patch": text(lambda told: read_patched(told, 1, 3)),
    "whole rewrite": reply(lambda told: read_rewrite(told, before=PATCHED)),
    "claims": reply(read_claims),
    "letter": reply(read_letter),
}
NAMES = list(TARGETS)
ODD = (
    None,
    True,
    0,
    -1,
    1e308,
    10**30,
    0.5,
    "",
    " ",
    "a\0",
    "a",
    [],
    [[]],
    [None],
    {},
    {"": None},
    {"a": [1]},
    "1",
    "é\u2028",
)


def seeds() -> list[tuple[str, bytes]]:
    """What each target is begun with: for rows, everything that the examples and the tests of readers have."""
    from tests.data import test_chats, test_published
    from tests.eval.datasets import test_annotated, test_labelled, test_labelled_published

    held = [v for m in (test_chats, test_published, test_annotated, test_labelled, test_labelled_published)
            for name, v in vars(m).items() if name.isupper()]  # fmt: skip
    lines = [json.dumps(row, default=str).encode() for row in held if isinstance(row, dict) and row]
    lines += [told.encode() for _, _, told, *_ in test_labelled_published.SETS]
    for *_, beside in test_labelled_published.SETS:  # what some sets have their texts in
        for name, told in beside.items():
            (HOME / "labelled" / name).write_text(told, "utf-8")
    files = {p: p.read_bytes()[:4000] for p in sorted(ROOT.joinpath("examples").iterdir()) if p.is_file()}
    lines += [line for p, data in files.items() if p.suffix == ".jsonl" for line in data.splitlines()[:2]]
    lines += [json.dumps(json.loads(p.read_bytes())).encode() for p in files if p.suffix == ".json"]
    lines += [sealed(line) for line in lines[:2]]
    rowed = [n for n in NAMES if n.startswith(("rows", "file"))] + [
        "labelled",
        "annotated",
        "records",
        "topics",
        "batch",
    ]
    found = [(name, lines[n]) for name in rowed for n in range(len(lines))]
    found += [(name, files[ROOT / "examples/table.csv"]) for name in NAMES if "table" in name or name.endswith("sv")]
    about = write_review(CRITIQUE, task_of(PATCHED).item)
    found += [("patch", b'{"changes": [{"sentence": 1, "action": "replace", "text": "Trams hum."}]}'),
              ("hallucinations", ENTITY.encode()), ("review file", about.encode()),
              ("prices", b'date = "2026"\n[models."a:b"]\ninput = 1\noutput = 2.5\n'),
              ("settings", b'samples = 3\nmode = "improve"\n'), ("prompts", shipped_text("sample_answer").encode()),
              ("completion", b'{"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}], "usage": {}}'),
              ("review", b'{"action": "go on", "add": [{"sentence": 1, "reason": "a"}], "drop": [1]}')]  # fmt: skip
    found += [("chat body", b'{"model": "m", "messages": [{"role": "user", "content": "a"}]}'),
              ("run body", b'{"question": "a", "answer": "b"}'),
              ("edits body", b'{"text": "a", "findings": []}')]  # fmt: skip
    kept = json.loads(Path(__file__).with_name("fuzz_corpus.json").read_text("utf-8"))
    return found + [(name, data.encode("latin-1")) for name, data in kept if name in TARGETS]


def run(name: str, data: bytes) -> Exception | None:
    """What a target raised that no caller could expect."""
    try:
        TARGETS[name](data)
    except (EireneError, UnreadableError) as error:  # the second is a reply's, and says why it counts for nothing
        return None if str(error).strip() else error
    except Exception as error:
        return error
    return None


def place_of(error: Exception) -> str:
    """The class of an error and the last line of ours that it passed: what makes two errors one."""
    ours = [f for f in traceback.extract_tb(error.__traceback__) if "/eirene/" in f.filename]
    last = ours[-1] if ours else None
    return f"{type(error).__name__} {'' if last is None else f'{Path(last.filename).name}:{last.lineno}'}"


def changed_json(data: bytes, seed: int) -> bytes | None:
    """JSON with one value exchanged, taken out or moved; None for what is none."""
    rng = random.Random(seed)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    places = [(found, key) for key in _keys(found)]
    for inner, key in places:  # grows while it is gone through
        if len(places) < 500:
            places += [(inner[key], k) for k in _keys(inner[key])]
    if not places:
        return None
    inner, key = rng.choice(places)
    other, at = rng.choice(places)
    if rng.random() < 0.2 and isinstance(inner, dict):
        del inner[key]
    else:
        inner[key] = json.loads(json.dumps(rng.choice([rng.choice(ODD), other[at] if at in _keys(other) else None])))
    return json.dumps(found).encode()


def _keys(found: object) -> list[Any]:
    return list(found) if isinstance(found, dict) else list(range(len(found))) if isinstance(found, list) else []


def keep(place: str, most: int = 3) -> None:
    """Puts of what reached new code the shortest of each target into `fuzz_corpus.json`, beside what is there."""
    file = Path(__file__).with_name("fuzz_corpus.json")
    kept = [(name, data) for name, data in json.loads(file.read_text("utf-8")) if name in TARGETS]
    new = [path.read_bytes() for path in Path(place, "corpus").iterdir() if not path.name.startswith("seed")]
    for data in sorted(filter(None, new), key=lambda data: (len(data), data)):
        name = NAMES[data[0] % len(NAMES)]
        if len(data) <= 300 and sum(other == name for other, _ in kept) < most:
            kept.append((name, data[1:].decode("latin-1")))
    rows = ",\n".join(json.dumps(row) for row in sorted({tuple(row) for row in kept}))
    file.write_text(f"[\n{rows}\n]\n", "utf-8", newline="\n")


def main(place: str, seconds: int) -> None:
    """Never returns: libFuzzer ends the process."""
    import atheris

    corpus, out = Path(place) / "corpus", Path(place) / "found"
    for made in (corpus, out):
        made.mkdir(parents=True, exist_ok=True)
    for n, (name, data) in enumerate(seeds()):
        (corpus / f"seed{n}").write_bytes(bytes([NAMES.index(name)]) + data)
    known: set[str] = set()

    def one(data: bytes) -> None:
        if not data:
            return
        name = NAMES[data[0] % len(NAMES)]
        error = run(name, data[1:])
        if error is not None and (place := f"{name}: {place_of(error)}") not in known:
            known.add(place)
            (out / f"{len(known)}.bin").write_bytes(data)
            with (out / "places.txt").open("a", encoding="utf-8") as told:
                print(place, repr(error)[:200], repr(data[1:])[:400], sep="\n  ", file=told)

    def mutated(data: bytes, most: int, seed: int) -> bytes:
        new = changed_json(data[1:], seed) if seed % 2 else None
        return atheris.Mutate(data, most) if new is None else (data[:1] + new)[:most]

    options = [f"-max_total_time={seconds}", f"-artifact_prefix={out}/", "-max_len=4000", "-timeout=30"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], one, custom_mutator=mutated)
    atheris.Fuzz()
