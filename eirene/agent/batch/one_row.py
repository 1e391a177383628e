"""One row of a batch, whatever comes of it."""

from __future__ import annotations

from typing import cast

from eirene.agent.batch.runner import Outcome, Work
from eirene.agent.graph import initial_state
from eirene.agent.hopeless import raise_hopeless
from eirene.agent.run import arefine, make_record
from eirene.agent.settings import Settings
from eirene.agent.state import Parts, State
from eirene.errors import EireneError
from eirene.logs import get_logger
from eirene.records import Record
from eirene.texts import whole

logger = get_logger(__name__)


async def one_row(work: Work, *, parts: Parts, settings: Settings) -> Outcome:
    """The row's outcome. Raises what every other row would meet as well, such as a refused key."""
    try:
        record = await arefine(work.item, backend=parts, settings=settings)
    except EireneError:
        raise
    # A fault of ours, or of a model of the user's own, that one text among a million brings out: the others go on.
    except Exception as error:
        logger.warning("row %r failed unexpectedly: %s: %s", work.item.id, type(error).__name__, error, exc_info=True)
        record = failed_record(work, error, parts=parts, settings=settings)
    raise_hopeless(record)
    return Outcome(work, record)


def failed_record(work: Work, error: Exception, *, parts: Parts, settings: Settings) -> Record:
    """The row as it was, and why nothing came of it."""
    message = whole(str(error)) or "no message"
    state = initial_state(work.item, settings.seed) | {
        "status": "failed",
        "why": f"failed, the original stands: {type(error).__name__}: {message}",
        "error": {"kind": type(error).__name__, "message": message},
        "rounds": [],  # a graph's input has LangGraph's mark around these two
        "usage": {},
    }
    return make_record(cast(State, state), parts=parts, settings=settings)
