"""Every exception that Eirene raises on purpose.

EireneError
├── InputError            what the user gave cannot be used (row, file, flag); exit code 2
├── PromptError           a prompt file and the values for it do not fit together
├── MissingExtraError     an optional package is needed and not installed; exit code 2
├── EncoderError          the encoder's files are missing, damaged or of the wrong kind
└── BackendError          a model could not be reached or did not answer usefully
    └── ScriptExhaustedError   a scripted model was asked more often than its script allows

A message says what came, what was wanted and what to change. Inside the loop a `BackendError` never reaches the
user as an exception: the record gets status `failed`, the original answer and the error.
"""

from __future__ import annotations


class EireneError(Exception):
    """The root of all exceptions raised by Eirene on purpose."""

    @property
    def kind(self) -> str:
        """The name that a record's `error.kind` carries."""
        return type(self).__name__


class InputError(EireneError):
    """What the user gave cannot be used. `where` names the file and row, `field` the key, if known."""

    def __init__(self, message: str, *, field: str | None = None, where: str | None = None) -> None:
        self.field = field
        self.where = where
        super().__init__(f"{where}: {message}" if where else message)


class PromptError(EireneError):
    """A prompt's placeholders and the given values differ, or its file is malformed."""


class MissingExtraError(EireneError):
    """An optional package is needed that the light install does not bring."""

    def __init__(self, extra: str, package: str) -> None:
        self.extra = extra
        self.package = package
        super().__init__(f"this needs the package {package!r}: pip install 'eirene[{extra}]'")


class EncoderError(EireneError):
    """The encoder's files are missing, damaged or not what was expected."""


class BackendError(EireneError):
    """A model could not be reached or gave nothing usable. `reply` holds its raw output, if there was any."""

    def __init__(self, message: str, *, reply: str | None = None) -> None:
        self.reply = reply
        super().__init__(message)


class ScriptExhaustedError(BackendError):
    """A scripted model was called more often than it has replies: the test or the script is wrong."""
