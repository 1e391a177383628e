"""Where finished rows go that the journal's disk does not take: they have been paid for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence

from eirene.agent.batch.journal import line_of
from eirene.agent.batch.runner import Outcome


def rescue(outcomes: Sequence[Outcome], error: OSError) -> OSError:
    """Writes the rows to a file in the system's folder for temporary ones; the error to raise says where it is."""
    n = len(outcomes)
    try:
        handle, name = tempfile.mkstemp(prefix="eirene-batch-", suffix=".jsonl")
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(line_of(outcome) for outcome in outcomes)
        except OSError:
            os.unlink(name)
            raise
    except OSError:
        said = f"{n} finished rows could be written nowhere and will be made again"
    else:
        said = f"{n} finished rows are in {name}; append them to the journal before the next run"
    return OSError(error.errno, f"{error.strerror}; {said}", error.filename)
