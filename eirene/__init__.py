"""Eirene finds what an LLM's answer lacks, has it rewritten with that critique, re-scores it, and then decides.

The public names are loaded when first used, so that `import eirene` costs next to nothing.

Examples:
    >>> import eirene
    >>> item = eirene.Item(question="Is homework useful?", answer="It depends on the child.")
    >>> eirene.refine(item).status  # nothing to compare with, so nothing is claimed
    'not_checked'
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from eirene._version import __version__
from eirene.core.display import Shown, Views

if TYPE_CHECKING:
    from eirene.agent.backends import BackendOptions, resolve_backend
    from eirene.agent.graph import initial_state
    from eirene.agent.loop import Loop
    from eirene.agent.many import batch, check, compare, score
    from eirene.agent.record import make_record
    from eirene.agent.run import arefine, build_graph, refine
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts
    from eirene.agent.wrappers.chat_model import RefiningChatModel
    from eirene.agent.wrappers.middleware import RefineMiddleware
    from eirene.agent.wrappers.node import StateKeys, StateMessages, refine_node
    from eirene.core.critique import Critique, FeedbackNote, Finding, Review, Sample, TaggedSentence
    from eirene.core.errors import (
        AddressError,
        AuthError,
        BackendError,
        BackendTimeoutError,
        EireneError,
        EncoderError,
        FormError,
        InputError,
        MalformedReplyError,
        MissingExtraError,
        NoTopicError,
        PromptError,
        QuotaError,
        RateLimitError,
        RedirectedError,
        ReplyTooLargeError,
        RequestRefusedError,
        ScriptExhaustedError,
        TooLongError,
        UnreachableError,
        UnsupportedLanguageError,
        UnusableReplyError,
        WorkerError,
    )
    from eirene.core.records import Item, Perspective, Record, Round
    from eirene.core.scores import Scores, Unscored
    from eirene.core.tracing import Tracing
    from eirene.core.usage import Meter, Usage
    from eirene.core.verification import (
        ClaimVerdict,
        Evidence,
        QuotationCheck,
        UnsaidSentence,
        Verification,
        WordChange,
    )
    from eirene.gate import Verdict, judge
    from eirene.models.cache import CallCache
    from eirene.models.costs import Price
    from eirene.models.scripted import ScriptedChatModel
    from eirene.text.sentences import Sentence, split_sentences
    from eirene.verification.verify import averify, verify

_EXPORTS = {
    "eirene.agent.backends": "BackendOptions resolve_backend",
    "eirene.gate": "Verdict judge",
    "eirene.agent.graph": "initial_state",
    "eirene.agent.loop": "Loop",
    "eirene.agent.many": "batch check compare score",
    "eirene.agent.record": "make_record",
    "eirene.agent.run": "arefine build_graph refine",
    "eirene.agent.settings": "Settings",
    "eirene.agent.state": "Parts",
    "eirene.agent.wrappers.chat_model": "RefiningChatModel",
    "eirene.agent.wrappers.middleware": "RefineMiddleware",
    "eirene.agent.wrappers.node": "StateKeys StateMessages refine_node",
    "eirene.core.critique": "Critique FeedbackNote Finding Review Sample TaggedSentence",
    "eirene.core.errors": """
        AddressError AuthError BackendError BackendTimeoutError EireneError EncoderError FormError InputError
        MalformedReplyError MissingExtraError NoTopicError PromptError QuotaError RateLimitError RedirectedError
        ReplyTooLargeError RequestRefusedError ScriptExhaustedError TooLongError
        UnreachableError UnsupportedLanguageError UnusableReplyError WorkerError
    """,
    "eirene.core.records": "Item Perspective Record Round",
    "eirene.core.scores": "Scores Unscored",
    "eirene.core.tracing": "Tracing",
    "eirene.core.usage": "Meter Usage",
    "eirene.core.verification": "ClaimVerdict Evidence QuotationCheck UnsaidSentence Verification WordChange",
    "eirene.models.cache": "CallCache",
    "eirene.models.costs": "Price",
    "eirene.models.scripted": "ScriptedChatModel",
    "eirene.text.sentences": "Sentence split_sentences",
    "eirene.verification.verify": "averify verify",
}
"""The public names by the module that defines each."""
_HOME_OF = {name: module for module, names in _EXPORTS.items() for name in names.split()}

__all__ = [
    "AddressError", "AuthError", "BackendError", "BackendOptions", "BackendTimeoutError", "CallCache", "ClaimVerdict",
    "Critique", "EireneError", "EncoderError", "Evidence", "FeedbackNote", "Finding", "FormError", "InputError",
    "Item", "Loop", "MalformedReplyError", "Meter", "MissingExtraError", "NoTopicError", "Parts", "Perspective",
    "Price", "PromptError", "QuotaError", "QuotationCheck", "RateLimitError", "Record", "RedirectedError",
    "RefineMiddleware", "RefiningChatModel", "ReplyTooLargeError", "RequestRefusedError", "Review", "Round", "Sample",
    "Scores", "ScriptExhaustedError", "ScriptedChatModel", "Sentence", "Settings", "StateKeys", "StateMessages",
    "TaggedSentence", "TooLongError", "Tracing", "UnreachableError", "UnsaidSentence",
    "Unscored", "UnsupportedLanguageError", "UnusableReplyError", "Usage", "Verdict", "Verification", "WordChange",
    "WorkerError", "__version__", "arefine", "averify", "batch", "build_graph", "check", "compare", "initial_state",
    "judge", "make_record", "refine", "refine_node", "resolve_backend", "score", "split_sentences", "verify",
]  # fmt: skip
logging.getLogger(__name__).addHandler(logging.NullHandler())
_VIEWS = {
    "Record": "terminal:render",
    "QualityReport": "quality:render",
    "Verification": "verification:render_verification",
    "BatchStatus": "tables:render_status",
    "Comparison": "comparison.tables:render_comparison",
    "AnswerScores": "tables:render_scores",
}
"""What draws a result at a terminal, by its class: module of `eirene.views` and function."""


def _drawn(value: Any) -> Any:
    drawer = next(_VIEWS[kind.__name__] for kind in type(value).__mro__ if kind.__name__ in _VIEWS)
    module, name = drawer.split(":")
    return getattr(importlib.import_module(f"eirene.views.{module}"), name)(value)


Shown.views = Views(
    terminal=_drawn, page=lambda record: importlib.import_module("eirene.views.report").render_page(record)
)


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'eirene' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
