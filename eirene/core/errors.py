"""Errors: every exception that Eirene raises on purpose, and the chain of causes of any exception.

EireneError
├── InputError            what the user gave cannot be used (row, file, flag); exit code 2
│   └── FormError         a value fails a model's validation; a `ValueError` as well
├── PromptError           a prompt file and the values for it do not fit together
├── MissingExtraError     an optional package is needed and not installed; exit code 2
├── EncoderError          the encoder's files are missing, damaged or of the wrong kind
├── WorkerError           a worker process of a batch ended by itself
├── UnsupportedLanguageError  a part reads another language than the text's; nothing is rewritten
├── NoTopicError          no topic of a knowledge base fits what was asked; exit code 1
└── BackendError          a model could not be reached or did not answer usefully
    ├── AuthError              the key is missing, wrong or not allowed (401, 403); never retried
    ├── QuotaError             the account's credit or quota is used up; never retried
    ├── RequestRefusedError    the provider will not take this request (400, 404, 422 ...); never retried
    ├── AddressError           the server's address cannot be right: no TLS, a web page ...; never retried
    ├── RedirectedError        the server redirects calls to another address; nothing is sent there; never retried
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

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Protocol


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
    """A value that fails validation, in a constructor or in data: a `ValueError` too, as pydantic's error is."""


class WorkerError(EireneError):
    """A worker process of a batch ended by itself."""


class PromptError(EireneError):
    """A prompt's placeholders and the given values differ, or its file is malformed."""


class MissingExtraError(EireneError):
    """An optional package is not installed; `extra` is empty where no extra brings it."""

    def __init__(self, extra: str, package: str) -> None:
        self.extra = extra
        self.package = package
        of_a_clone = f" (in a clone: pip install -c constraints.txt -e '.[{extra}]')"
        wanted = f"'eirene[{extra}]'{of_a_clone}" if extra else package
        super().__init__(f"this needs the package {package!r}: pip install {wanted}")


class EncoderError(EireneError):
    """The encoder's files are missing, damaged or not what was expected."""


class UnsupportedLanguageError(EireneError):
    """A part of the embedded default met a text in a language that it does not read. In the loop the run abstains."""


class TopicMatch(Protocol):
    """A topic (with an `id` and a `question`) and its cosine similarity to a query."""

    @property
    def topic(self) -> Any: ...

    @property
    def similarity(self) -> float: ...


class NoTopicError(EireneError):
    """No topic of a knowledge base fits the query; `nearest` has those that come closest, best first."""

    def __init__(self, query: str, nearest: Sequence[TopicMatch], threshold: float) -> None:
        self.query = query
        self.nearest = tuple(nearest)
        self.threshold = threshold
        matches = "; ".join(f"{m.topic.question!r} ({m.similarity:.2f})" for m in nearest)
        super().__init__(
            f"no topic fits the query (similarity {threshold:g} is wanted); nearest: {matches or 'none, it is empty'}"
        )


class BackendError(EireneError):
    """A model could not be reached or gave nothing usable. `reply` holds its raw output, if any.

    `summary` is what an untrusted client may be told of each class.
    """

    summary: ClassVar[str] = "the model gave nothing usable"

    def __init__(self, message: str, *, reply: str | None = None) -> None:
        self.reply = reply
        super().__init__(message)


class AuthError(BackendError):
    """The provider does not accept the key (HTTP 401, 403). Never retried."""

    summary = "its provider does not accept the key"


class QuotaError(BackendError):
    """The account has no credit or quota left. Never retried."""

    summary = "the account's credit or quota is used up"


class RequestRefusedError(BackendError):
    """The provider will not take this request: unknown model, too long, a parameter it does not know."""

    summary = "its provider refuses the request"


class AddressError(BackendError):
    """The server's address cannot be right: malformed, TLS that fails or is not trusted, a web page. Never retried."""

    summary = "its server has another address, or no certificate that is trusted"


class RedirectedError(BackendError):
    """The server redirects calls to another scheme, host or port; nothing is sent there. Never retried."""

    summary = "its server redirects calls, which are not sent on"


class RateLimitError(BackendError):
    """Too many requests, still so after the retries, or the provider asked for too long a wait."""

    summary = "too many requests at once"


class BackendTimeoutError(BackendError):
    """No reply within the time limit of an attempt, still so after the retries."""

    summary = "no reply in time"


class TooLongError(BackendError):
    """A model's context cannot hold prompt and text together. Nothing is truncated to make them fit."""


class UnreachableError(BackendError):
    """No connection to the server, a connection that broke, or an error of the server's own (HTTP 5xx)."""

    summary = "its server cannot be reached, or failed"


class MalformedReplyError(BackendError):
    """The server's reply does not follow its own protocol: no JSON, or JSON without choices."""

    summary = "the reply is not in the protocol's form"


class UnusableReplyError(BackendError):
    """A reply that must not be used: cut off at the token limit, or filtered. In the loop a rejected round."""


class ReplyTooLargeError(UnusableReplyError):
    """A reply longer than the tokens asked for can be; reading it was given up. Never retried."""


class ScriptExhaustedError(BackendError):
    """A scripted model was called more often than it has replies."""


PERMANENT_ERRORS = (AuthError, QuotaError, AddressError, RedirectedError, ScriptExhaustedError)
"""Errors that the next call would meet as well: sampling, and a run over many rows, stops at them."""


def error_chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and all that it came from, the nearest first and each once; of a group, its members too.

    What an exception came from is its cause (`raise ... from`) or else what was being handled when it was raised; also
    where `from None` keeps that out of tracebacks, as Ollama's client does with what the system said.
    """
    waiting, seen = deque([error]), {id(error)}  # an exception may be its own cause's cause
    while waiting:
        link = waiting.popleft()
        yield link
        members = link.exceptions if isinstance(link, BaseExceptionGroup) else ()
        for below in (*members, link.__cause__ or link.__context__):
            if below is not None and id(below) not in seen:
                seen.add(id(below))
                waiting.append(below)


def message_line(error: BaseException, most: int = 300) -> str:
    """What an exception says, on one line of bounded length; its class where it says nothing."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= most else text[: most - 1] + "…"


def root_cause(error: BaseException) -> BaseException:
    """Where the causes of an exception begin: what was merely being handled beside it tells of something else."""
    seen = {id(error)}
    while error.__cause__ is not None and id(error.__cause__) not in seen:
        error = error.__cause__
        seen.add(id(error))
    return error
