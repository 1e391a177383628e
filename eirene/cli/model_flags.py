"""The flags of models: backend, detectors, judge, prices, call cache; and the one road from them to a run's parts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eirene.cli.terminal import say
from eirene.core.errors import InputError
from eirene.core.loop_settings import Structured
from eirene.prompts.loader import SHIPPED, PromptSet, read_prompts

if TYPE_CHECKING:
    from eirene.agent.backends import BackendOptions
    from eirene.agent.state import Parts
    from eirene.eval.base import Need
    from eirene.eval.calibration import Calibration
    from eirene.eval.detectors.judge import ErrorJudge
    from eirene.eval.detectors.token_judge import TokenJudge
    from eirene.eval.resources import Resources
    from eirene.gate.calibration import GateCalibration
    from eirene.models.cache import CallCache
    from eirene.models.costs import Price


def checked_address(parameter: typer.CallbackParam, value: str | None) -> str | None:
    """The callback of flags that name a server: an address that is none is refused before anything is done."""
    if value is None:
        return None
    from eirene.models.address import check_address

    return check_address(value, name=parameter.opts[0])


_loop_option = partial(typer.Option, rich_help_panel="The loop")
_calls_option = partial(typer.Option, rich_help_panel="Model calls")
_detectors_option = partial(typer.Option, rich_help_panel="Detectors")
CALL_TIMEOUT_S = 60.0
_ON_THIS_MACHINE = ("hf:", "gguf:")
_PRICE_FILE = ".toml"

Backend = Annotated[
    str,
    _loop_option(
        help="Who critiques and rewrites: embedded, openai:gpt-4o-mini or another model (docs/guides/backends.md)."
    ),
]
Detectors = Annotated[str | None, _detectors_option(help="Which detectors score and decide, comma-separated.")]
LocalModel = Annotated[
    str | None,
    _detectors_option(metavar="hf:...|gguf:...", help="The local model of detectors that need one."),
]
WordMaps = Annotated[
    bool, _detectors_option("--word-maps", help="Keep salience's map of words in the scores, for pages to draw.")
]


def _read_calibration(path: str) -> Calibration | GateCalibration:
    """Read here and not where detectors are built: every worker then has the same one."""
    from eirene.core.json import parse_json
    from eirene.data.source import read_source
    from eirene.eval.calibration import parse_calibration
    from eirene.gate.calibration import FORMAT

    value = parse_json(read_source(path).data, where=path)
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        return parse_calibration(value, where=path)
    from eirene.gate.comparison import parse_gate_calibration

    return parse_gate_calibration(value, where=path)


@dataclass(frozen=True, kw_only=True)
class CallFlags:
    """What is said of model calls. `price` is the backend's, or the judge's of a command that has no backend."""

    base_url: Annotated[
        str | None,
        _calls_option(
            "--base-url",
            help="The address of the chat models' server, such as http://localhost:8080/v1.",
            callback=checked_address,
        ),
    ] = None
    timeout: Annotated[
        float, _calls_option(metavar="S", min=0.1, help="Seconds that an attempt of a call may take.")
    ] = CALL_TIMEOUT_S
    price: Annotated[
        str | None,
        _calls_option(
            metavar="IN,OUT|FILE.toml",
            help="US dollars for a million tokens in and out, or a TOML file of them (docs/guides/costs.md).",
        ),
    ] = None
    cache: Annotated[
        str | None,
        _calls_option(
            metavar="FILE[,SIZE]",
            help="Cache the model's replies in this file, of 2GB at most unless told (docs/guides/costs.md).",
        ),
    ] = None

    prompts: Annotated[
        PromptSet | None,
        _calls_option(
            metavar="FOLDER", help="Own prompts, in files named as `eirene prompts` shows.", parser=read_prompts
        ),
    ] = None
    structured: Annotated[
        Structured,
        _calls_option(help="Replies by JSON schema: if the server can (auto), always, or never (text)."),
    ] = "auto"

    @property
    def own_prompts(self) -> PromptSet:
        """The prompts that models are asked in, read when the flag was."""
        return self.prompts or SHIPPED

    def _tell_prompts(self, *, is_asked: bool) -> None:
        if self.prompts is not None and not is_asked:
            say("warning: --prompts is not used: no model is asked")

    def open_cache(self) -> CallCache | None:
        """The cache that the flags name; raises `InputError` for a file or size that cannot be used."""
        if self.cache is None:
            return None
        from eirene.models.cache import DEFAULT_SIZE, CallCache, parse_size

        path, comma, size = self.cache.rpartition(",")
        return CallCache(path if comma else size, max_bytes=parse_size(size) if comma else DEFAULT_SIZE)

    def price_of(self, model: str | None, *, base_url: str | None) -> Price | None:
        """What a model costs: as the numbers of `--price` say, else as `listed_price` does."""
        if self.price is None or self.price.endswith(_PRICE_FILE):
            return self.listed_price(model, base_url=base_url)
        return _parsed(self.price)

    def listed_price(self, model: str | None, *, base_url: str | None) -> Price | None:
        """What a model costs by the file of `--price`, else by the list that ships; None where nobody knows.

        The list that ships is for the providers' own servers and says nothing of a model at `base_url`, or at an
        address that the environment names.
        """
        from eirene.models.costs import read_prices, shipped_prices

        path = self.price or ""
        listed = read_prices(path) if path.endswith(_PRICE_FILE) else None  # what is named is looked at in any case
        if model is None or not is_named(model):
            return None
        if listed is not None:
            return listed.of(model)
        return shipped_prices().of(model) if base_url is None and not _is_elsewhere(model) else None


@dataclass(frozen=True, kw_only=True)
class BackendFlags(CallFlags):
    """The backend: who critiques and rewrites, where, and what is paid."""

    backend: Backend = "embedded"

    def options(self, **options: Any) -> BackendOptions:
        """How the backend's models are reached; `options` in place of what the flags say."""
        from eirene.agent.backends import BackendOptions

        said: dict[str, Any] = {"base_url": self.base_url, "timeout_s": self.timeout}
        said |= {"structured": self.structured, "prompts": self.prompts, **options}
        if "price" not in said:
            said["price"] = self.price_of(self.backend, base_url=self.base_url)
        if "cache" not in said:
            said["cache"] = self.open_cache()
        return BackendOptions(**said)

    def parts(self, **options: Any) -> Parts:
        """The parts of a run; `options` are those of `BackendOptions`, in place of what the flags say."""
        from eirene.agent.backends import resolve_backend

        return resolve_backend(self.backend, self.options(**options))


@dataclass(frozen=True, kw_only=True)
class DetectorFlags(CallFlags):
    """The models that detectors work with."""

    judge: Annotated[
        str | None, _detectors_option(help="The model to ask as a judge: provider:model, hf:... or gguf:...")
    ] = None
    judge_base_url: Annotated[
        str | None, _detectors_option(help="The judge's server (default: --base-url).", callback=checked_address)
    ] = None
    local_model: LocalModel = None
    classifier: Annotated[
        list[str] | None, _detectors_option(help="A tuned classifier, hf:path-or-id+adapter; give one for each error.")
    ] = None
    detector_model: Annotated[
        list[str] | None,
        _detectors_option(metavar="[NAME=]MODEL", help="The model of a published detector, in place of the hub's."),
    ] = None
    polls: Annotated[int, _detectors_option(help="Polls of the judge for each answer.")] = 5
    calibration: Annotated[
        Any,  # a `Calibration` or `GateCalibration`, whose modules are heavy
        _detectors_option(
            metavar="FILE", help="What `eirene calibrate` fitted: for the detector calibrated, or for the gate.",
            parser=_read_calibration,
        ),
    ] = None  # fmt: skip

    @property
    def gate_calibration(self) -> GateCalibration | None:
        """The calibration, where it is the gate's."""
        from eirene.gate.calibration import GateCalibration

        return self.calibration if isinstance(self.calibration, GateCalibration) else None

    @property
    def judge_url(self) -> str | None:
        """The judge's server; a judge on this machine has none, unless one is named for it by mistake."""
        runs_here = self.judge is not None and self.judge.startswith(_ON_THIS_MACHINE)
        return self.judge_base_url or (None if runs_here else self.base_url)

    def _resources(self, **more: Any) -> Resources:
        from eirene.eval.resources import Resources

        return Resources(
            judge_model=self.judge, local=self.local_model, detector_models=tuple(self.detector_model or ()),
            classifiers_named=tuple(self.classifier or ()), polls=self.polls,
            calibration=None if self.gate_calibration else self.calibration, structured=self.structured,
            prompts=self.own_prompts, **more,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ScoreFlags(DetectorFlags):
    """What detectors work with, where they run alone."""

    samples: Annotated[int, _detectors_option("--samples", help="Other answers to sample for rows without any.")] = 20
    seed: Annotated[int, _detectors_option(help="The same seed gives the same scores.")] = 0

    def resources(self, names: Iterable[str], **more: Any) -> Resources:
        """What these detectors are built from; nothing is loaded yet. Raises `InputError` where one lacks its model."""
        from eirene.eval.registry import DETECTORS, check_detectors

        found = self._resources(
            base_url=self.judge_url, samples=self.samples, seed=self.seed, cache=self.open_cache(),
            price=self.price_of(self.judge, base_url=self.judge_url), timeout_s=self.timeout, **more,
        )  # fmt: skip
        names = list(names)
        check_detectors(names, found)
        self._tell_prompts(is_asked=self.judge is not None or self.local_model is not None)
        warn_of_unused(found, [DETECTORS[name].needs for name in names])
        return found

    def cascade(self, concurrency: int) -> TokenJudge | None:
        """The judge of what the verifier is unsure of; None where none is named."""
        from eirene.eval.detectors.token_judge import cascade_of

        return None if self.judge is None else cascade_of(self.resources(["cascade"], concurrency=concurrency))


@dataclass(frozen=True, kw_only=True)
class ModelFlags(DetectorFlags, BackendFlags):
    """All models of a run: the backend, and the detectors that score and decide. Can be pickled; holds no key."""

    detectors: Detectors = None
    word_maps: WordMaps = False

    @property
    def judge_price(self) -> Price | None:
        """What the judge costs, as a list of prices says."""
        return self.listed_price(self.judge, base_url=self.judge_url)

    def error_judge(self, **options: Any) -> ErrorJudge | None:
        """What the judge lists errors by; None where none is named. `options` are those of `Resources`."""
        from eirene.eval.detectors.judge import ErrorJudge

        asked = {"base_url": self.judge_url, "price": self.judge_price, "timeout_s": self.timeout, **options}
        return None if self.judge is None else ErrorJudge(self._resources(**asked).judge, prompts=self.own_prompts)

    @property
    def asks_a_server(self) -> bool:
        """Whether calls go out, so that rows wait and many can be under way."""
        named = [self.backend, *([] if self.judge is None else [self.judge]), *self._detector_models]
        return any(name != "embedded" and not name.startswith(_ON_THIS_MACHINE) for name in named)

    @property
    def is_embedded_alone(self) -> bool:
        """Whether nothing but the embedded backend and its own detectors has a part."""
        named = (self.detectors, self.judge, self.local_model, self.classifier, self.detector_model)
        return self.backend == "embedded" and not any(named)

    @property
    def has_local_model(self) -> bool:
        """Whether a model is loaded that would use a GPU."""
        named = (self.backend, self.judge or "", *self._detector_models)
        return any(n.startswith(_ON_THIS_MACHINE) for n in named) or any((self.local_model, self.classifier))

    @property
    def _detector_models(self) -> list[str]:
        """The models of published detectors, as they are named; what the hub has is loaded on this machine."""
        from eirene.models.protocols import PROTOCOLS, split_name

        named = [split_name(spec) for spec in self.detector_model or ()]
        wanted = {name.strip() for name in (self.detectors or "").split(",")} & PROTOCOLS.keys()
        own = {name for name, _ in named}
        fetched = None not in own and not wanted <= own
        return [*(model for _, model in named), *(["hf:"] if fetched else [])]

    def parts(self, *, seed: int = 0, word_maps: bool = False, judges_elsewhere: bool = False, **options: Any) -> Parts:
        """The parts of a run: the backend's, with the detectors named and a judge beside them.

        `options` are those of `BackendOptions`, and `judge_price`. `judges_elsewhere`: the judge has other work, and
        has a part here only where a detector that is named asks it. A model that nothing uses is warned about.
        """
        from eirene.agent.detectors import with_detectors, with_judge
        from eirene.eval.registry import parse_names

        given = {"judge_price": options.pop("judge_price")} if "judge_price" in options else {}
        if "cache" not in options:
            options["cache"] = self.open_cache()
        parts = replace(super().parts(**options), gate_calibration=self.gate_calibration)
        judge_price = given["judge_price"] if given else self.judge_price
        shared: dict[str, Any] = {"base_url": self.judge_url, "seed": seed, "price": judge_price}
        shared["timeout_s"] = options.get("timeout_s", self.timeout)
        shared |= {name: options[name] for name in ("cache", "offline") if name in options}
        if options.get("limiter") is not None:
            options["concurrency"] = options["limiter"].max_concurrent
        calls = {name: options[name] for name in ("concurrency",) if name in options}
        resources = self._resources(word_maps=self.word_maps or word_maps, **shared, **calls)
        if self.detectors is not None:
            parts = with_detectors(parts, parse_names(self.detectors), resources)
        elif self.judge is not None and not judges_elsewhere:
            parts = with_judge(
                parts, self.judge, polls=self.polls, structured=self.structured, prompts=self.own_prompts, **shared
            )
        needs: list[frozenset[Need]] = [getattr(detector, "needs", frozenset()) for detector in parts.detectors]
        warn_of_unused(resources, needs, but_judge=judges_elsewhere)
        models = (self.judge, self.local_model)
        self._tell_prompts(is_asked=self.backend != "embedded" or any(model is not None for model in models))
        return parts


def warn_of_unused(resources: Resources, needs: Iterable[frozenset[Need]], *, but_judge: bool = False) -> None:
    """Warns of models that were named and that nothing uses."""
    for need in resources.idle(frozenset().union(*needs)):
        if need != "judge" or not but_judge:
            flag = need.replace("_", "-")
            say(f"warning: --{flag} is not used: none of the detectors needs it (see --detectors)")


def is_named(model: str) -> bool:
    """Whether a backend is a chat model by name, which is what prices are known of."""
    return ":" in model and not model.startswith(_ON_THIS_MACHINE)


def _is_elsewhere(model: str) -> bool:
    """Whether the environment sends the provider's client to another address, as the clients read it."""
    provider = model.partition(":")[0].upper().replace("-", "_")
    return any(os.environ.get(f"{provider}_{name}", "").strip() for name in ("BASE_URL", "API_BASE", "API_URL"))


def _parsed(text: str) -> Price:
    """The price that a text such as `0.15,0.60` names; raises `InputError` for another form."""
    from eirene.models.costs import Price

    try:
        read, written = (float(part) for part in text.split(","))
    except ValueError:
        forms = "two numbers, such as 0.15,0.60, or a .toml file"
        raise InputError(f"price must be {forms}, got {text!r}", field="price") from None
    if not (0 <= read < float("inf") and 0 <= written < float("inf")):
        raise InputError(f"price must not be negative, got {text!r}", field="price")
    return Price(read, written)
