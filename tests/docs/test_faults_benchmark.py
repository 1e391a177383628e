"""The fault matrix: what is planted is found (a loss, a double, a wrong score, a hang, a leak), and else nothing is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from benchmarks.faults.__main__ import Part, run
from benchmarks.faults.ledger import COUNTS, Account, Out
from benchmarks.faults.replies import UNSOUND, opposite
from benchmarks.faults.replies import sound as sound_reply
from benchmarks.faults.rows import ADDED, KEY, answer, has_error, question, tags
from benchmarks.faults.server import FaultServer
from benchmarks.injection import loop
from benchmarks.injection.attacks import PLACES, attacks
from eirene.eval.detectors.judge import read_verdict
from eirene.feedback_model.reply import read_reply
from eirene.models.replies import Reply
from eirene.testing.script import ScriptedRequest
from eirene.text.sentences import split_sentences
from tests.rows import each

pytestmark = pytest.mark.usefixtures("loopback")
PART = Part("batch", range(20, 28), 0)
Plant = Callable[[list[Out]], list[Out]]


def sound(rows: Sequence[int], server: FaultServer) -> list[Out]:
    """What comes out where four true critiques and three true votes of a row were sent, and read."""
    server.book.sound.update({(n, "critique"): 4 for n in rows} | {(n, "verdict"): 3 for n in rows})
    return [Out(n, "{}", answer(n), _record([list(tags(n))] * 4), {"hallucination": float(has_error(n))}) for n in rows]


def _record(read: list[list[str]]) -> dict[str, object]:
    samples = [{"tags": found} for found in read]
    return {"status": "kept", "mode": "fine-grained", "rounds": [{"samples": samples, "critique": {"tags": read[0]}}]}


def planted(plant: Plant) -> Account:
    """What the matrix makes of a job in which the first row's outcome is changed."""
    return run(PART, lambda rows, server: plant(sound(rows, server)), limit_s=2.0, wait_s=0.0)


def first(**changes: object) -> Plant:
    return lambda made: [replace(made[0], **changes), *made[1:]]  # type: ignore[arg-type]


def _hangs(made: list[Out]) -> list[Out]:
    threading.Event().wait(4.0)
    return made


def _leaves_a_thread(made: list[Out]) -> list[Out]:
    threading.Thread(target=threading.Event().wait, args=(4.0,), daemon=True).start()
    return made


FALSE = ["Complete", "Complete" if tags(20)[1] == "Incomplete" else "Incomplete"]


@each(
    "plant, counts",
    [
        (lambda made: made, {}),
        (lambda made: made[1:], {"lost": 1}),
        (lambda made: [*made, made[0]], {"doubled": 1}),
        (lambda made: [*made, Out(99, "{}", answer(99))], {"doubled": 1}),
        (first(record=_record([FALSE] * 4)), {"wrongly scored": 1}),
        (first(record=_record([list(tags(20))] * 9)), {"wrongly scored": 1}),  # four sound ones are no quorum of nine
        (first(scores={"hallucination": 0.5}), {"wrongly scored": 1}),
        (first(shown=f"{answer(20)} {ADDED}"), {"wrongly scored": 1}),  # no rewrite was sent
        (_hangs, {"hung": 8, "leaked": 1}),  # and its thread is left
        (first(text=f"Bearer {KEY}"), {"leaked": 1}),
        (first(shown=f"TEXT-gola {answer(20)}"), {"leaked": 1, "wrongly scored": 1}),
        (_leaves_a_thread, {"leaked": 1}),
    ],
)
def test_what_is_planted_is_found(plant: Plant, counts: dict[str, int]) -> None:
    found = planted(plant)
    assert {name: n for name in COUNTS if (n := found.counts[name])} == counts, found.notes


def _fails() -> None:
    """A batch at a server that fails loses and invents nothing."""
    run(replace(PART, rows=range(1)))  # what is loaded once
    made = run(PART)
    assert made.faults.total() > 3
    assert (made.items, made.out, made.notes) == (8, 8, [])


def _orders() -> None:
    """A model that obeys what stands outside the fence hears no order of 20 texts, and without the fence most."""
    rows = [(attack, PLACES[n % 5]) for n, attack in enumerate(attacks(0)[:200:10])]
    assert loop.run(rows, "readers", ()) == [{}] * 20
    assert sum(map(bool, loop.run(rows, "readers", ["fence"]))) > 10


@each("check", [_fails, _orders])
def test_a_model_that_fails_or_obeys_strangers_moves_nothing(
    check: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    check()


def test_a_reply_that_is_not_sound_is_read_as_no_verdict() -> None:
    for n in range(4):
        asked = f"TEXT-gola\nQuestion: {question(n)}\nAnswer: 1. {answer(n)}"
        for job in ("critique", "verdict"):
            form = {"json_schema": {"name": job}}
            request = ScriptedRequest(1, 1, {"messages": [{"content": asked}], "response_format": form}, {})
            for kind, make in UNSOUND.items():
                said = make(request, sound_reply(request), opposite(request))
                text, why = (said, "stop") if isinstance(said, str) else (said.text, said.finish_reason)
                sample = read_reply(text, split_sentences(answer(n)), finish_reason=why)
                assert not sample.is_valid, kind
                assert read_verdict(Reply(text, why)).error is None, kind
