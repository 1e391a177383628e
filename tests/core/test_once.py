"""`once`: what is dear to make is made once a process, also where several threads ask for it at the same time."""

from __future__ import annotations

import threading

import pytest

from eirene.core.memo import once
from eirene.models.encoder.runtime import shipped_encoder
from eirene.models.verifier.runtime import shipped_verifier
from eirene.retrieval.encoders import encoder_named


def test_threads_that_ask_meanwhile_wait_for_the_one_that_makes_it() -> None:
    begun, go_on, made = threading.Event(), threading.Event(), []

    @once
    def thing() -> object:
        begun.set()
        go_on.wait()
        made.append(object())
        return made[0]

    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(thing())) for _ in range(4)]
    for thread in threads:
        thread.start()
    begun.wait()
    go_on.set()
    for thread in threads:
        thread.join()
    assert found == made * 4


def test_after_a_failure_the_next_caller_tries_again() -> None:
    tries: list[int] = []

    @once
    def thing() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("not yet")
        return 7

    with pytest.raises(OSError, match="not yet"):
        thing()
    assert [thing(), thing(), len(tries)] == [7, 7, 2]


def test_all_parts_of_a_process_share_one_encoder() -> None:
    assert shipped_verifier().encoder is shipped_encoder()
    assert encoder_named() is shipped_encoder()
