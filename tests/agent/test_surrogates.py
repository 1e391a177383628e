"""Parts of anybody's own may say what no UTF-8 text can hold: it is mended before it is anywhere in the state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import eirene
from eirene.agent.state import Parts
from eirene.core.critique import Sample
from eirene.core.errors import BackendError, UnusableReplyError
from eirene.core.scores import Scores, Unscored
from tests.agent.loop import BAD, GOOD, ITEM, ORIGINAL
from tests.scripted_parts import scripted_parts

REASON = Sample(tags=("Incomplete", "Complete"), reasons=("Pollution \ud800 is missing.", None))


class Broken:
    """A refiner with a fault of its own."""

    name = "broken"

    async def refine(self, task: Any, *, meter: Any) -> str:
        raise AttributeError("no \ud800")


def parts(**more: Any) -> Parts:
    made: dict[str, Any] = {"samples": [REASON] * 20, "rewrites": ["better \ud800"]}
    made["scores"] = {ORIGINAL: BAD, "better \ufffd": GOOD}
    return scripted_parts(**{**made, **more})


UNSCORED = Scores(hallucination=Unscored(unscored="no \ud800"), coverage=Unscored(unscored="no \ud800"))


def test_a_record_can_be_written_whatever_was_said() -> None:
    for models, status in [
        (parts(), "accepted"),
        (parts(rewrites=[BackendError("no \ud800")]), "failed"),
        (parts(rewrites=[UnusableReplyError("no \ud800", reply="half \ud800")] * 3), "kept"),
        (parts(samples=[Sample(invalid="no \ud800")] * 20), "abstained"),
        (parts(scores={ORIGINAL: UNSCORED, "better \ufffd": UNSCORED}, rewrites=["better \ufffd"] * 3), "kept"),
        (replace(parts(), refiner=Broken()), "failed"),
    ]:
        record = eirene.refine(ITEM, backend=models)
        assert record.status == status
        assert "\ufffd" in record.to_json()
        record.to_json().encode("utf-8")
