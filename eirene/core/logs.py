"""Logging: the library's loggers, whose lines fit into any UTF-8 log.

A line that quotes an error quotes text from outside. A lone surrogate in it would lose the line in a log file, and end
whatever sends the line to another process as UTF-8.
"""

from __future__ import annotations

import logging

from eirene.text.unicode import mend_surrogates

_PLAIN = logging.Formatter()


def get_logger(name: str) -> logging.Logger:
    """The logger of that name, with a filter that mends lone surrogates in its lines."""
    logger = logging.getLogger(name)
    logger.addFilter(_mend)  # once, however often it is asked for
    return logger


def _mend(record: logging.LogRecord) -> bool:
    """Mends the message and the traceback of a record, and keeps every record."""
    try:
        message = record.getMessage()
    except Exception:  # a format that does not fit its arguments: handlers report that themselves
        return True
    if (mended := mend_surrogates(message)) != message:
        record.msg, record.args = mended, ()
    if record.exc_info:
        traceback = record.exc_text or _PLAIN.formatException(record.exc_info)
        if (mended := mend_surrogates(traceback)) != traceback:
            record.exc_text = mended  # formatters prefer it to the exception
    return True
