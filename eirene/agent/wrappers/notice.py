"""Warns once where a wrapper's replies are never judged, since nothing is given to hold them against."""

from __future__ import annotations

from eirene.core.grounding import NOTHING_GIVEN, lacks_grounding
from eirene.core.logs import get_logger
from eirene.core.records import Record

logger = get_logger(__name__)


class NothingGivenNotice:
    """One wrapper's warning. `how` says what to change there; the record of each reply says the rest."""

    def __init__(self, how: str) -> None:
        self._how = how
        self._is_told = False

    def look(self, record: Record) -> Record:
        """The record, unchanged; the first that abstained for want of anything given is logged as a warning."""
        if not self._is_told and lacks_grounding(record):
            self._is_told = True
            logger.warning("replies pass without being judged: %s; here: %s (said once)", NOTHING_GIVEN, self._how)
        return record
