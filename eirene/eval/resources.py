"""Resources of detectors: the encoder, a judge, local models, each loaded once and shared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from eirene.core.errors import InputError
from eirene.core.loop_settings import Structured
from eirene.core.signature import check_seed
from eirene.eval.base import RESOURCE_NEEDS, Need
from eirene.models.address import check_address
from eirene.models.limits import DEFAULT_CONCURRENCY
from eirene.models.protocols import split_name
from eirene.prompts import SHIPPED, PromptSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from langchain_core.language_models import BaseChatModel

    from eirene.eval.calibration import Calibration
    from eirene.models.cache import CallCache
    from eirene.models.chat import ChatModel
    from eirene.models.costs import Price
    from eirene.models.encoder.runtime import Encodes
    from eirene.models.local.model import LocalModel
    from eirene.models.token_scores import TokenScorer

T = TypeVar("T")
POLLS = 5
SAMPLES = 20
"""As in the experiments of SelfCheckGPT (Manakul et al. 2023, section 6)."""


@dataclass(frozen=True, kw_only=True)
class Resources:
    """Where detectors get what they work with; nothing is loaded before a detector asks for it.

    `judge_model`: a chat model, or its name (`provider:model`, reached at `base_url`; `hf:...`, `gguf:...`). `local`: a
    causal LM on this machine, or its name, `hf:path-or-id[+adapter]` or `gguf:FILE`. `classifiers_named`: causal LMs
    tuned to tell errors, one an error type. `detector_models`: those of published detectors
    (`eirene.models.protocols`), `NAME=MODEL`, or a model alone for all without one of their own. A judge that runs here
    and the local model stand in for each other where one of them alone is named. `polls`: how often a judge is asked
    about one answer (ChainPoll: 5).
    `samples`: how many other answers are drawn where the row brings none (SelfCheckGPT: 20). `own_encoder` None: the
    shipped one. `concurrency`: calls of the judge under way at most. `cache`: what the judge said before.
    `offline`: the judge will not be called, and so needs no key. `word_maps`: whether salience's scores keep their map
    of words. `structured`: whether the judge is asked for replies by JSON schema. `prompts`: own wording.
    `calibration`: what `eirene calibrate` fitted, or its file. `timeout_s`: seconds for one attempt of a call of the
    judge.
    """

    judge_model: str | BaseChatModel | ChatModel | None = None
    base_url: str | None = None
    local: str | LocalModel | None = None
    classifiers_named: Sequence[str | LocalModel] = ()
    detector_models: Sequence[str] = ()
    polls: int = POLLS
    samples: int = SAMPLES
    seed: int = 0
    own_encoder: Encodes | None = None
    concurrency: int = DEFAULT_CONCURRENCY
    price: Price | None = None
    cache: CallCache | None = None
    offline: bool = False
    word_maps: bool = False
    structured: Structured = "auto"
    prompts: PromptSet = SHIPPED
    calibration: str | Calibration | None = None
    timeout_s: float = 60.0
    _loaded: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("polls", "samples", "concurrency"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, got {getattr(self, name)}", field=name)
        check_seed(self.seed)
        if self.base_url is not None:
            check_address(self.base_url)

    def lacks(self, needs: frozenset[Need]) -> list[Need]:
        """Those of the needs that no case can bring and that are not here, sorted."""
        here = dict.fromkeys(("judge", "local_model"), self.runs_here is not None)
        here["judge"] |= self.judge_model is not None
        here |= {"classifier": bool(self.classifiers_named), "detector_model": bool(self.detector_models)}
        here |= {"calibration": self.calibration is not None}
        return sorted(need for need in needs & RESOURCE_NEEDS if not here[need])

    def once(self, key: str, load: Callable[[], T]) -> T:
        """What `load` gives the first time that `key` is asked for; all detectors of a family share it."""
        if key not in self._loaded:
            self._loaded[key] = load()
        found: T = self._loaded[key]
        return found

    def idle(self, needs: frozenset[Need]) -> list[Need]:
        """Those of the models here that none of the needs asks for, sorted."""
        named = RESOURCE_NEEDS - set(self.lacks(RESOURCE_NEEDS))
        if self.judge_model is None or self.local is None:  # the one may stand in for the other
            named -= {"local_model"} if self.local is None else {"judge"}
            if needs & {"judge", "local_model"}:
                needs |= {"judge", "local_model"}
        if needs & {"samples", "token_logprobs"}:  # which the judge or the local model brings
            needs |= {"judge", "local_model"}
        if "hub_model" in needs:
            needs |= {"detector_model"}
        return sorted(named - needs)

    @property
    def runs_here(self) -> str | LocalModel | None:
        """The model on this machine: the local one, else a judge named `hf:...` or `gguf:...`; None where none is."""
        if self.local is not None:
            return self.local
        judge = self.judge_model
        return judge if isinstance(judge, str) and judge.startswith(("hf:", "gguf:")) else None

    @cached_property
    def encoder(self) -> Encodes:
        """The sentence encoder; it keeps the vectors of the latest few thousand texts."""
        if self.own_encoder is not None:
            return self.own_encoder
        from eirene.models.encoder.runtime import shipped_encoder

        return shipped_encoder()

    @cached_property
    def judge(self) -> ChatModel:
        """The judge. Raises `InputError` where none is named, or for a name that stands for nothing."""
        from eirene.models.chat import ChatModel

        if self.judge_model is None and self.local is not None:
            return self.local_chat
        if self.judge_model is None:
            raise InputError("no judge is named", field="judge")
        return (
            self.judge_model if isinstance(self.judge_model, ChatModel) else self.chat(self.judge_model, field="judge")
        )

    def detector_model(self, detector: str) -> str | None:
        """The model that is named for a detector, or for all without one of their own; None where none is.

        Raises `InputError` where there are several.
        """
        named = [split_name(spec) for spec in self.detector_models]
        own = [model for name, model in named if name == detector]
        found = own or [model for name, model in named if name is None]
        if len(found) > 1:
            raise InputError(f"{' and '.join(found)} are both for {detector}; name one", field="detector-model")
        return found[0] if found else None

    def chat(self, model: str | BaseChatModel, *, field: str) -> ChatModel:
        """The chat model that an option names, on the judge's server if on any. Raises what `judge` raises."""
        from eirene.models.resolve import ChatOptions, is_chat_name, resolve_chat

        if isinstance(model, str) and not is_chat_name(model):
            known = "provider:model, hf:path-or-id or gguf:FILE"
            raise InputError(f"a {field.replace('-', ' ')} is named {known}, got {model!r}", field=field)
        base_url = None if field != "judge" and str(model).startswith(("hf:", "gguf:")) else self.base_url
        return resolve_chat(model, options=ChatOptions.of(self, base_url=base_url))

    @cached_property
    def local_model(self) -> LocalModel:
        """The local model's weights. Raises `InputError` where none is named, and for a GGUF file, whose layers nobody
        can look into; `MissingExtraError` without the extra `local`.
        """
        from eirene.models.local.model import load_local

        model = self.runs_here
        if model is None:
            raise InputError("no local model is named", field="local-model")
        if not isinstance(model, str):
            return model
        if not model.startswith(("hf:", "gguf:")):
            raise InputError(
                f"a local model is named hf:path-or-id[+adapter] or gguf:FILE, got {model!r}", field="local-model"
            )
        return load_local(model)

    @property
    def _gguf(self) -> str | None:
        """The GGUF file that is the local model, as it is named."""
        return self.runs_here if isinstance(self.runs_here, str) and self.runs_here.startswith("gguf:") else None

    @cached_property
    def local_chat(self) -> ChatModel:
        """The local model as one that replies. Raises what `local_model` raises, but for a GGUF file."""
        from eirene.models.resolve import ChatOptions, resolve_chat

        if self._gguf is not None:
            return resolve_chat(self._gguf, options=ChatOptions(structured=self.structured, cache=self.cache))
        model = self.local_model  # before the import below, which needs torch: this says which extra is missing
        from eirene.models.local.chat import chat_of

        return chat_of(model, structured=self.structured)

    @cached_property
    def token_scorer(self) -> TokenScorer:
        """The local model as what tells how likely each token of a text is. Raises what `local_chat` raises."""
        if self._gguf is not None:
            from eirene.models.gguf.chat import GgufScorer

            return GgufScorer(self._gguf)
        model = self.local_model  # before the import below, which needs torch: this says which extra is missing
        from eirene.models.local.scoring import LocalScorer

        return LocalScorer(model)

    @cached_property
    def fitted(self) -> Calibration:
        """The calibration. Raises `InputError` where none is named, and what `read_calibration` raises."""
        from eirene.eval.calibration import read_calibration

        if self.calibration is None:
            raise InputError("no calibration is named", field="calibration")
        return read_calibration(self.calibration) if isinstance(self.calibration, str) else self.calibration

    @cached_property
    def classifiers(self) -> list[LocalModel]:
        """The classifiers. Raises what `load_local` raises."""
        from eirene.models.local.model import load_local

        return [load_local(model) if isinstance(model, str) else model for model in self.classifiers_named]
