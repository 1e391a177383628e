"""Backends: turns a name, or a chat model, into the models of a run."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eirene.agent.settings import MOST_BY_DEFAULT
from eirene.agent.state import Parts
from eirene.core.errors import InputError
from eirene.core.loop_settings import Readout, Structured
from eirene.core.validation import described
from eirene.models.encoder.runtime import shipped_encoder
from eirene.models.limits import DEFAULT_CONCURRENCY, Limiter
from eirene.models.verifier.runtime import shipped_verifier
from eirene.prompts import PromptSet, prompt_set
from eirene.prompts.history import HISTORY_PROMPT

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from eirene.eval.base import Detector, PairwiseJudge
    from eirene.feedback_model.base import FeedbackModel
    from eirene.models.cache import CallCache
    from eirene.models.costs import Price
    from eirene.models.encoder import Encoder
    from eirene.models.local.model import LocalModel
    from eirene.refiners.base import Refiner

    Backend = str | Parts | BaseChatModel | LocalModel

ADVISORY = frozenset({"rouge", "arrangement"})
"""Shown, not decisive. Dropping an unsupported sentence also drops words that arguments happen to share with it, and
ROUGE takes that for lost coverage (benchmarks/results/embedded.md has the figures). What `arrangement` measures of
a whole answer, the checks of the gate judge edit by edit: an argument in the wrong mouth, or made twice."""

_KNOWN = (
    "'embedded', provider:model for a chat model, such as openai:gpt-4o or ollama:llama3.2, "
    "or hf:path-or-id[+adapter] or gguf:FILE for a model on this machine"
)


@dataclass(frozen=True, slots=True)
class BackendOptions:
    """How a backend's models are reached and drawn from; each kind of backend heeds what concerns it.

    `base_url`: the server of a chat model; `concurrency`: its calls under way at most, or a `limiter` that is shared;
    `timeout_s`: seconds for one attempt; `price`: for the cost in the record; `cache`: replies that need not be asked
    for again; `offline`: a chat model that will not be called, and so needs no key. `temperature`, `top_p`: how
    critiques are drawn (EIR: nucleus 0.9). `reasons_only`: a refiner is shown the reasons alone, as in the EIR paper.
    `structured`: whether critiques and votes are asked for by JSON schema (`eirene.models.structured`). `prompts`: a
    folder of own prompts, or what `eirene.prompts.read_prompts` made of one.
    """

    base_url: str | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    limiter: Limiter | None = None
    timeout_s: float = 60.0
    price: Price | None = None
    cache: CallCache | None = None
    offline: bool = False
    temperature: float = 1.0
    top_p: float = 0.9
    reasons_only: bool = False
    structured: Structured = "auto"
    prompts: PromptSet | str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        given: object = self.concurrency  # whatever a caller gave
        if not isinstance(given, int) or isinstance(given, bool) or given < 1:
            raise InputError(
                f"concurrency must be at least 1, a whole number, got {described(given)}", field="concurrency"
            )


def resolve_backend(backend: Backend, options: BackendOptions | None = None) -> Parts:
    """The parts behind a backend: `embedded` (no key, no hub, no GPU), `provider:model`, a LangChain chat model, or
    `hf:path-or-id[+adapter]` for a model on this machine (see `eirene.models.local.spec`), or one that is loaded.

    `Parts` with models of your own are returned as they are. Raises `InputError` for a name that stands for nothing,
    `MissingExtraError` for a provider whose package is not installed.
    """
    options = BackendOptions() if options is None else options
    prompts = prompt_set(options.prompts)  # what is named is looked at, whoever has use for it
    options = replace(options, prompts=prompts)
    if isinstance(backend, Parts):
        return backend
    if options.base_url is not None and isinstance(backend, str) and backend.partition(":")[0] in ("embedded", "hf"):
        raise InputError(f"base_url goes with a chat model; the backend {backend!r} calls no server", field="base_url")
    if backend == "embedded":
        return _embedded()
    from eirene.models.local.model import LocalModel

    if isinstance(backend, LocalModel) or (isinstance(backend, str) and backend.startswith("hf:")):
        names = ("temperature", "top_p", "reasons_only", "structured", "prompts")  # all that it heeds
        return _local(backend, BackendOptions(**{name: getattr(options, name) for name in names}))
    if isinstance(backend, str):
        from eirene.models.resolve import is_chat_name

        if not is_chat_name(backend):
            raise InputError(f"unknown backend {backend!r}; known: {_KNOWN}", field="backend")
    return _chat(backend, options, prompts)


@functools.cache
def _embedded() -> Parts:
    """Loaded once a process: the encoder's session is safe to share between runs and threads."""
    from eirene.feedback_model.embedded.critic import EmbeddedFeedback, EmbeddedHallucination
    from eirene.feedback_model.embedded.evidence import load_critic
    from eirene.feedback_model.embedded.reading import VERSION as READING
    from eirene.refiners.embedded.refiner import EmbeddedRefiner

    encoder, critic = shipped_encoder(), load_critic()
    detectors = _detectors(encoder)
    return Parts(
        backend="embedded",
        feedback_model=EmbeddedFeedback(encoder, critic=critic, verifier=shipped_verifier),
        refiner=EmbeddedRefiner(encoder),
        detectors=detectors,
        advisory=ADVISORY,
        version=f"{_made_of(detectors)},critic={critic.digest},reading={READING}",
        hallucination_model=EmbeddedHallucination(encoder, critic=critic, verifier=shipped_verifier),
        encoder=encoder,
        verifier=shipped_verifier(),
        shows_evidence=False,
    )


def _chat(model: str | BaseChatModel, options: BackendOptions, own: PromptSet) -> Parts:
    """One chat model as feedback model and refiner, with one limit and one memory of what its provider takes."""
    from eirene.eval.pairwise import ChatPairwise
    from eirene.feedback_model.embedded.critic import EmbeddedFeedback
    from eirene.feedback_model.embedded.evidence import load_critic
    from eirene.feedback_model.model import HALLUCINATION, ChatFeedback
    from eirene.models.resolve import ChatOptions, resolve_chat
    from eirene.refiners.model import ChatRefiner

    chat = resolve_chat(model, options=ChatOptions.of(options))
    digest = chat.digest  # of the weights of a model that runs here
    draw = functools.partial(ChatFeedback, chat, temperature=options.temperature, top_p=options.top_p, prompts=own)
    # Which arguments are said the encoder tells better than a small model: benchmarks/results/real_model.md.
    of_sides = None if digest is None else EmbeddedFeedback(shipped_encoder())
    refiner = ChatRefiner(chat, reasons_only=options.reasons_only, prompts=own)
    return _model_parts(
        chat.name,
        (draw(of_sides=of_sides), refiner, draw(asking=HALLUCINATION)),
        how=("" if digest is None else f"{digest},critic={load_critic().digest},") + _how(options),
        own=own,
        asked=[],
        pairwise=ChatPairwise(chat, prompts=own),
        is_here=digest is not None,
        readout="vote" if digest is None else "probabilities",
    )


@functools.lru_cache(maxsize=1)  # items refined in turn share one loaded model; a second would not fit beside it
def _local(named: str | LocalModel, options: BackendOptions) -> Parts:
    from eirene.eval.pairwise import ChatPairwise
    from eirene.feedback_model.model import HALLUCINATION, LocalFeedback
    from eirene.feedback_model.request import INSTRUCT_PROMPT
    from eirene.models.local.model import load_local
    from eirene.refiners.model import local_refiner

    model = load_local(named) if isinstance(named, str) else named
    from eirene.models.local.chat import chat_of
    from eirene.models.local.sampling import LocalSampling  # imports torch: after `load_local` has looked for it

    sampling = LocalSampling(temperature=options.temperature, top_p=options.top_p)
    how = _how(options, f",layout={model.layout}")
    own = prompt_set(options.prompts)
    refiner = local_refiner(model, reasons_only=options.reasons_only, structured=options.structured, prompts=own)
    draw = functools.partial(LocalFeedback, model, sampling=sampling, structured=options.structured, prompts=own)
    return _model_parts(
        model.name,
        (draw(), refiner, draw(asking=HALLUCINATION)),
        how=f"{model.version},{how}",
        own=own,
        asked=[INSTRUCT_PROMPT],
        pairwise=ChatPairwise(chat_of(model), prompts=own),
        is_here=True,
        readout="vote",  # such a model may have been trained to tag whole answers
    )


def _model_parts(
    name: str,
    models: tuple[FeedbackModel, Refiner, FeedbackModel],
    *,
    how: str,
    own: PromptSet,
    asked: Sequence[str],
    pairwise: PairwiseJudge,
    is_here: bool,
    readout: Readout,
) -> Parts:
    """The parts of one model that critiques (`asked`: in further prompts), rewrites, finds hallucinations, compares."""
    from eirene.eval.pairwise import PAIRWISE_PROMPT
    from eirene.feedback_model.readout import READOUT_PROMPTS
    from eirene.feedback_model.request import COMPLETENESS_PROMPTS
    from eirene.refiners.asking import PARTS, PROMPTS

    prompts = [*asked, *COMPLETENESS_PROMPTS, *READOUT_PROMPTS, PAIRWISE_PROMPT, *PROMPTS.values(), *PARTS]
    feedback, refiner, hallucination = models
    encoder = shipped_encoder()
    detectors = _detectors(encoder)
    return Parts(
        backend=name,
        feedback_model=feedback,
        refiner=refiner,
        detectors=detectors,
        advisory=ADVISORY,
        version=f"{how},prompts={own.digest_of(prompts)},{_made_of(detectors)}",
        pairwise=pairwise,
        candidates=MOST_BY_DEFAULT if is_here else 1,
        rewrite="sentences" if is_here else "patch",
        readout=readout,
        hallucination_model=hallucination,
        hallucination_version=_hallucination_prompt(own),
        encoder=encoder,
        verifier=shipped_verifier(),
    )


def _how(options: BackendOptions, more: str = "") -> str:
    from eirene.models.structured import check_structured

    said = f"t={options.temperature:g},p={options.top_p:g}{more},structured={check_structured(options.structured)}"
    return said + (",reasons-only" if options.reasons_only else "")


def _detectors(encoder: Encoder) -> tuple[Detector, ...]:
    from eirene.eval.detectors.alignment import AlignmentDetector, ArrangementDetector
    from eirene.eval.detectors.rouge import RougeDetector

    return (RougeDetector(), AlignmentDetector(encoder), ArrangementDetector(encoder))


def _made_of(detectors: Iterable[Detector]) -> str:
    """What the detectors' scores hang on: rows of another encoder, or of another fit, are not rows of the same run."""
    return ",".join(dict.fromkeys(detector.version for detector in detectors if detector.version))


def _hallucination_prompt(own: PromptSet) -> str:
    """What stands for the wording of the hallucination critic's prompt, its definitions of the kinds included."""
    from eirene.core.findings.kinds import KINDS
    from eirene.feedback_model.hallucination import HALLUCINATION_JSON_PROMPT, HALLUCINATION_PROMPT

    kinds = hashlib.sha256("\n".join(kind.definition for kind in KINDS.values()).encode("utf-8")).hexdigest()[:8]
    return f"hallucination={own.digest_of([HALLUCINATION_PROMPT, HALLUCINATION_JSON_PROMPT, HISTORY_PROMPT])}/{kinds}"
