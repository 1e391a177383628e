"""The loggers of the library: what they say fits into any UTF-8 log, whatever a model or a user's own part said.

A log line that quotes an error quotes text from outside. Half a surrogate pair in it would lose the line in a log file,
and ends whatever sends the line on to another process as UTF-8.
"""

from __future__ import annotations

import logging

from eirene.text.unicode import mend_surrogates

_PLAIN = logging.Formatter()


def get_logger(name: str) -> logging.Logger:
    """The logger of that name, with its lines mended before any handler sees them."""
    logger = logging.getLogger(name)
    logger.addFilter(_mend)  # once, however often it is asked for
    return logger


def _mend(record: logging.LogRecord) -> bool:
    """Puts `whole` texts for the message and the traceback of a record, only where they are not. Lets all pass."""
    try:
        said = record.getMessage()
    except Exception:  # wording and values that do not fit together: handlers have their own way to tell
        return True
    if (mended := mend_surrogates(said)) != said:
        record.msg, record.args = mended, ()
    if record.exc_info:
        traceback = record.exc_text or _PLAIN.formatException(record.exc_info)
        if (mended := mend_surrogates(traceback)) != traceback:
            record.exc_text = mended  # what formatters take rather than the exception
    return True
