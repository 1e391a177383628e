"""Every exception that Eirene raises on purpose.

EireneError
├── InputError            what the user gave cannot be used (row, file, flag); exit code 2
│   └── FormError         a value does not have the form that a model of ours wants; a `ValueError` as well
├── PromptError           a prompt file and the values for it do not fit together
├── MissingExtraError     an optional package is needed and not installed; exit code 2
├── EncoderError          the encoder's files are missing, damaged or of the wrong kind
├── TrainingStoppedError  a training was asked to stop; a checkpoint is on disk; exit code 130
├── WorkerError           a worker process of a batch ended by itself
├── UnsupportedLanguageError  a part reads another language than the text's; the run ends abstained
├── NoTopicError          no topic of a knowledge base fits what was asked; exit code 1
└── BackendError          a model could not be reached or did not answer usefully
    ├── AuthError              the key is missing, wrong or not allowed (401, 403); never tried again
    ├── QuotaError             the account's credit or quota is used up; never tried again
    ├── RequestRefusedError    the provider will not take this request (400, 404, 422 ...); never tried again
    ├── AddressError           the server's address cannot be right: no TLS, a web page ...; nobody tries again
    ├── RedirectedError        the server sends calls on to another address; nothing goes there, nobody tries again
    ├── RateLimitError         too many requests (429), still so after the retries
    ├── BackendTimeoutError    no reply in time, still so after the retries
    ├── TooLongError           a local model's context cannot hold the text, which is never cut
    ├── UnreachableError       no connection, a dropped one, or a server's own error (5xx), still so after the retries
    ├── MalformedReplyError    what came is not what the protocol says, still so after the retries
    ├── UnusableReplyError     the model answered, but cut off or filtered: the round is lost, not the run
    │   └── ReplyTooLargeError     more bytes than any reply that was asked for; never read to its end
    └── ScriptExhaustedError   a scripted model was asked more often than its script allows

A message says what came, what was wanted and what to change. Inside the loop a `BackendError` never reaches the
user as an exception: the record gets status `failed`, the original answer and the error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol


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


class FormError(InputError, ValueError):
    """A value that does not have the form wanted, of a constructor or of data: a `ValueError` too, as pydantic's is."""


class WorkerError(EireneError):
    """A worker process of a batch ended by itself, before it could work or while it did."""


class PromptError(EireneError):
    """A prompt's placeholders and the given values differ, or its file is malformed."""


class MissingExtraError(EireneError):
    """An optional package is needed that the light install does not bring; `extra` is empty where no extra does."""

    def __init__(self, extra: str, package: str) -> None:
        self.extra = extra
        self.package = package
        wanted = f"'eirene[{extra}]'" if extra else package
        super().__init__(f"this needs the package {package!r}: pip install {wanted}")


class EncoderError(EireneError):
    """The encoder's files are missing, damaged or not what was expected."""


class TrainingStoppedError(EireneError):
    """A training was asked to stop and did, with a checkpoint on disk from which the same call goes on."""


class UnsupportedLanguageError(EireneError):
    """A part of the embedded default was asked to work on a text in a language that it does not read.

    In the loop this ends the run as abstained, with the answer as it came.
    """


class TopicLike(Protocol):
    """What was asked for is known by: a topic's id and its question."""

    @property
    def id(self) -> str: ...

    @property
    def question(self) -> str: ...


class TopicMatch(Protocol):
    """A topic, and how near it is to what was asked: a cosine similarity."""

    @property
    def topic(self) -> TopicLike: ...

    @property
    def similarity(self) -> float: ...


class NoTopicError(EireneError):
    """No topic of a knowledge base fits the query; `nearest` has those that come closest, best first."""

    def __init__(self, query: str, nearest: Sequence[TopicMatch], threshold: float) -> None:
        self.query = query
        self.nearest = tuple(nearest)
        self.threshold = threshold
        said = "; ".join(f"{m.topic.question!r} ({m.similarity:.2f})" for m in nearest)
        super().__init__(
            f"no topic fits the query (similarity {threshold:g} is wanted); nearest: {said or 'none, it is empty'}"
        )


class BackendError(EireneError):
    """A model could not be reached or gave nothing usable. `reply` holds its raw output, if there was any.

    `summary` says of each kind what may be told to people who are not to know more.
    """

    summary: ClassVar[str] = "the model gave nothing usable"

    def __init__(self, message: str, *, reply: str | None = None) -> None:
        self.reply = reply
        super().__init__(message)


class AuthError(BackendError):
    """The provider does not accept the key (HTTP 401, 403). Trying again would not help, so nobody does."""

    summary = "its provider does not accept the key"


class QuotaError(BackendError):
    """The account has no credit or quota left. Trying again would not help, so nobody does."""

    summary = "the account's credit or quota is used up"


class RequestRefusedError(BackendError):
    """The provider will not take this request: unknown model, too long, a parameter it does not know."""

    summary = "its provider refuses the request"


class AddressError(BackendError):
    """The server's address cannot be right: malformed, TLS that cannot be had or trusted, a web page there.

    Trying again would not help, so nobody does.
    """

    summary = "its server has another address, or no certificate that is trusted"


class RedirectedError(BackendError):
    """The server redirects calls to another scheme, host or port. Prompts and keys are not sent there."""

    summary = "its server redirects calls, which are not sent on"


class RateLimitError(BackendError):
    """Too many requests at once; the provider said so on the last attempt as well, or asked for too long a wait."""

    summary = "too many requests at once"


class BackendTimeoutError(BackendError):
    """No reply within the time of an attempt, on the last attempt as well."""

    summary = "no reply in time"


class TooLongError(BackendError):
    """A local model's context cannot hold prompt and text together. Nothing is cut off to make them fit."""


class UnreachableError(BackendError):
    """No connection to the server, a connection that broke, or an error of the server's own (HTTP 5xx)."""

    summary = "its server cannot be reached, or failed"


class MalformedReplyError(BackendError):
    """The server's reply does not follow its own protocol: no JSON, or JSON without choices."""

    summary = "the reply is not in the protocol's form"


class UnusableReplyError(BackendError):
    """The model answered with something that must not be used: cut off at the token limit, or filtered.

    In the loop this is a rejected round with this cause, not a failed run.
    """


class ReplyTooLargeError(UnusableReplyError):
    """A reply went on beyond what the tokens that were asked for can take; reading it was given up, for good."""


class ScriptExhaustedError(BackendError):
    """A scripted model was called more often than it has replies: the test or the script is wrong."""


PERMANENT_ERRORS = (AuthError, QuotaError, AddressError, RedirectedError, ScriptExhaustedError)
"""Errors of a model that the next call would meet as well: a draw, and a run over many rows, stops at them."""
