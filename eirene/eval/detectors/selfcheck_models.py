"""SelfCheck by models: `selfcheck-bertscore` and `selfcheck-nli` (extra `local`), `selfcheck-prompt` by a judge."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from eirene.core.errors import InputError
from eirene.core.extras import require
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import Score, Scores, SentenceScore, Unscored
from eirene.core.usage import Meter
from eirene.eval.base import NO_COVERAGE, Case, Need
from eirene.eval.detectors.chunks import together
from eirene.eval.detectors.heads import HeadDetector
from eirene.eval.detectors.judge import asked_each
from eirene.eval.detectors.samples import SampledDetector, SampleSource, source_of
from eirene.eval.detectors.selfcheck import NO_WORDS, SAMPLED, compared_sentences, disagreement, sentence_scores, spoken
from eirene.eval.detectors.token_judge import claim_messages
from eirene.eval.registry import detector
from eirene.eval.resources import Resources
from eirene.models.faults import out_of_memory_as_error
from eirene.models.local.heads import load_head
from eirene.models.protocols import PROTOCOLS
from eirene.prompts import SHIPPED, PromptSet
from eirene.text.sentences import Sentence

if TYPE_CHECKING:
    import torch

    from eirene.eval.metrics.bootstrap import Array
    from eirene.models.chat import ChatModel

_LOCAL: frozenset[Need] = frozenset({"local_model"})
_OWN_MODEL: frozenset[Need] = frozenset({"detector_model"})
_JUDGE: frozenset[Need] = frozenset({"judge"})
_BEST_LAYER = {
    "roberta-large": 17, "roberta-base": 10, "distilroberta-base": 5, "bert-base-uncased": 9, "bert-large-uncased": 18,
    "distilbert-base-uncased": 5, "deberta-xlarge-mnli": 40, "deberta-large-mnli": 18,
}  # fmt: skip
"""By the authors' own tuning (Zhang et al. 2020, appendix B, and the layers that their package uses)."""
_BATCH = 32
_UNLIMITED = 100_000  # tokenizers without a limit say some huge number


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """A text's tokens: vectors of length 1 (tokens, width), and whether each is the text's (1.0) or a mark (0.0)."""

    vectors: Array
    weights: Array


class TokenEncoder:
    """Contextual token vectors of one layer of an encoder. Texts beyond its length are read in windows, none cut off.

    `layer` counts from 1; by default the one that BERTScore's authors found best where the model is known to them,
    else the one at three quarters of the depth, about where they found it in most.
    """

    def __init__(self, model: Any, tokenizer: Any, *, name: str, layer: int | None = None) -> None:
        self.name = name
        self._model = model
        model.train(False)
        self._tokenizer = tokenizer
        depth = int(model.config.num_hidden_layers)
        known = _BEST_LAYER.get(name.rstrip("/").rpartition("/")[2])
        self.layer = (known or max(1, round(0.75 * depth))) if layer is None else layer
        if not 1 <= self.layer <= depth:
            raise InputError(f"layer must be from 1 to {depth}, got {self.layer}", field="layer")
        # Byte-level tokenizers know a word at a text's beginning as another one than after a space.
        self._space = " " if any(k in type(tokenizer).__name__ for k in ("Roberta", "GPT2")) else ""
        self._before, self._after = _marks(tokenizer)
        self._room = _room(model, tokenizer) - len(self._before) - len(self._after)
        self._turn = threading.Lock()

    def encode(self, texts: Sequence[str]) -> list[TokenVectors]:
        """The tokens of each text."""
        windows: list[list[int]] = []
        owners: list[int] = []
        for n, text in enumerate(texts):
            body = self._tokenizer(self._space + text.strip(), add_special_tokens=False)["input_ids"]
            for at in range(0, max(1, len(body)), self._room):
                windows.append(body[at : at + self._room])
                owners.append(n)
        pieces: dict[int, list[TokenVectors]] = {n: [] for n in range(len(texts))}
        with self._turn:
            found = self._run(windows)
        for owner, piece in zip(owners, found, strict=True):
            pieces[owner].append(piece)
        return [
            TokenVectors(np.concatenate([p.vectors for p in parts]), np.concatenate([p.weights for p in parts]))
            for parts in pieces.values()
        ]

    def _run(self, windows: list[list[int]]) -> list[TokenVectors]:
        import torch

        found: list[TokenVectors | None] = [None] * len(windows)
        order = sorted(range(len(windows)), key=lambda n: len(windows[n]))
        with torch.inference_mode(), out_of_memory_as_error(self.name, f"{min(_BATCH, len(order))} texts at once"):
            for at in range(0, len(order), _BATCH):
                chosen = order[at : at + _BATCH]
                for n, piece in zip(chosen, self._batch([windows[n] for n in chosen]), strict=True):
                    found[n] = piece
        return cast("list[TokenVectors]", found)

    def _batch(self, bodies: list[list[int]]) -> list[TokenVectors]:
        import torch

        rows = [[*self._before, *body, *self._after] for body in bodies]
        ids = torch.zeros((len(rows), max(map(len, rows))), dtype=torch.long, device=self._model.device)
        mask = torch.zeros_like(ids)
        for n, row in enumerate(rows):
            ids[n, : len(row)] = torch.tensor(row, device=ids.device)
            mask[n, : len(row)] = 1
        out = self._model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        states: torch.Tensor = out.hidden_states[self.layer].float()
        states = states / states.norm(dim=-1, keepdim=True).clamp_min(1e-12)
        weights = [[0.0] * len(self._before) + [1.0] * len(b) + [0.0] * len(self._after) for b in bodies]
        return [
            TokenVectors(states[n, : len(row)].cpu().numpy().astype(np.float64), np.array(weights[n]))
            for n, row in enumerate(rows)
        ]


def bertscore_f1(candidate: TokenVectors, reference: TokenVectors) -> float:
    """BERTScore's F1 (Zhang et al. 2020, section 3) without idf weights and baseline; 0 where either has no token.

    Each token counts with its closest in the other text. As in the authors' package, marks do not count, and may be
    what a token is closest to.
    """
    if not candidate.weights.any() or not reference.weights.any():
        return 0.0
    close = candidate.vectors @ reference.vectors.T
    precision = float(close.max(axis=1) @ candidate.weights / candidate.weights.sum())
    recall = float(close.max(axis=0) @ reference.weights / reference.weights.sum())
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


class SelfCheckBertScore(SampledDetector):
    """Sentences that no sentence of the other answers matches, by BERTScore.

    Score: of a sentence, 1 - the mean over samples of the highest F1 with one of the sample's sentences; of the answer,
        the mean over its sentences; cut to [0, 1], raw `disagreement` is not. Coverage is unscored. `baseline` b
        rescales F1 to (F1 - b) / (1 - b), which spreads the scores out and keeps their order.
    Needs: a Hugging Face encoder on this machine, and samples.
    Reference: Manakul et al. 2023, section 5.1; Zhang et al. 2020.
    """

    name = "selfcheck-bertscore"

    def __init__(self, source: SampleSource, encoder: TokenEncoder, *, baseline: float = 0.0) -> None:
        if not 0.0 <= baseline < 1.0:
            raise InputError(f"baseline must lie in [0, 1), got {baseline}", field="baseline")
        super().__init__(source, how=f"{encoder.name},layer={encoder.layer},baseline={baseline:g}", also=_LOCAL)
        self._encoder = encoder
        self._baseline = baseline

    def _score(self, answer: str, samples: tuple[str, ...]) -> Scores:
        sentences = spoken(answer)
        if not sentences:
            return Scores.none(NO_WORDS)
        cut = [found for sample in samples if (found := compared_sentences(sample))]
        texts = list(dict.fromkeys([s.text for s in sentences] + [text for found in cut for text in found]))
        known = dict(zip(texts, self._encoder.encode(texts), strict=True))
        closeness = [
            np.array([[self._f1(known[text], known[s.text]) for text in found] for s in sentences]) for found in cut
        ]
        return sentence_scores(sentences, disagreement(closeness), len(samples))

    def _f1(self, candidate: TokenVectors, reference: TokenVectors) -> float:
        return (bertscore_f1(candidate, reference) - self._baseline) / (1.0 - self._baseline)


class SelfCheckNli(SampledDetector):
    """Sentences that other answers contradict, by an NLI classifier.

    Score: of a sentence, the mean over samples of P(contradiction) = exp(c) / (exp(c) + exp(e)), with the logits of
        contradiction and entailment and no other label; of the answer, the mean over its sentences. Of a sample that
        needs several windows the one that contradicts least counts. Coverage is unscored.
    Needs: a classifier with labels named entailment and contradiction (of two labels the other one), and samples.
    Reference: Manakul et al. 2023, section 5.4: the sample is the premise, the sentence the hypothesis.
    """

    name = "selfcheck-nli"

    def __init__(self, source: SampleSource, head: HeadDetector) -> None:
        super().__init__(source, how=head.version, also=_OWN_MODEL)
        self._head = head

    async def _compared(self, case: Case, samples: tuple[str, ...], meter: Meter) -> Scores:
        sentences = spoken(case.answer)
        texts = [s.text for s in sentences]
        found = await self._head.model.compute(lambda: [self._head.errors_beside(texts, s, meter) for s in samples])
        means = [together([own[n] for own in found], fmean) for n in range(len(texts))]
        return _averaged(sentences, means, samples=len(samples))


class SelfCheckPrompt(SampledDetector):
    """Sentences that other answers do not support, by a judge that is asked about each sentence and each sample.

    Score: of a sentence, the mean over samples of 0 for yes and 1 for no; of the answer, the mean over its sentences.
        Replies that are neither are left out, raw `unread` has their number (the paper counts each as 0.5); a sentence
        of which less than half could be read is unscored, and with it the answer. Coverage is unscored.
    Needs: a judge, asked at temperature 0 once for each sentence and sample, and samples.
    Reference: Manakul et al. 2023, section 5.5; EIR (Sachdeva et al. 2024), table 6. Worded as the detector `judge`.
    """

    name = "selfcheck-prompt"

    def __init__(self, source: SampleSource, chat: ChatModel, *, prompts: PromptSet = SHIPPED) -> None:
        wording = prompts.digests(["judge_adherence"])
        super().__init__(source, how=f"{chat.version},prompt={wording},structured={chat.structured},t=0", also=_JUDGE)
        self._chat = chat
        self._prompts = prompts

    async def _compared(self, case: Case, samples: tuple[str, ...], meter: Meter) -> Scores:
        sentences = spoken(case.answer)
        beside = [replace(case, given=Grounding("context", (ArgumentGroup("context", (s,)),))) for s in samples]
        requests = [claim_messages(one, s.text, self._prompts) for one in beside for s in sentences]
        polls = await asked_each(self._chat, requests, meter=meter)
        by_sentence = (polls[n :: len(sentences)] for n in range(len(sentences)))
        read = [[0.0 if p.error else 1.0 for p in own if p.error is not None] for own in by_sentence]
        means: list[Score] = [
            fmean(own)
            if 2 * len(own) >= len(samples)
            else Unscored(unscored=f"{len(own)} of {len(samples)} replies could be read, half of them are needed")
            for own in read
        ]
        return _averaged(sentences, means, samples=len(samples), unread=len(polls) - sum(map(len, read)))


def _averaged(sentences: Sequence[Sentence], means: Sequence[Score], **raw: float) -> Scores:
    return Scores(
        hallucination=together(means, fmean) if means else Unscored(unscored=NO_WORDS),
        coverage=NO_COVERAGE,
        sentences=tuple(SentenceScore(n=s.n, hallucination=m) for s, m in zip(sentences, means, strict=True)),
        raw={name: float(value) for name, value in raw.items()},
    )


def load_token_encoder(path: str, *, layer: int | None = None, device: str = "cpu") -> TokenEncoder:
    """The encoder in a folder, or of a hub's name. Raises `MissingExtraError`, and `InputError` for a bad one."""
    require("torch", "transformers")
    from transformers import AutoModel

    from eirene.models.local.loading import load_model, load_tokenizer

    tokenizer = load_tokenizer(path, field="local-model")
    # A pooler is often not saved: the vectors of the tokens are asked for, and never it.
    model = load_model(AutoModel, path, what="encoder", field="local-model", may_lack=("pooler.",))
    return TokenEncoder(model.to(device), tokenizer, name=path, layer=layer)


def _marks(tokenizer: Any) -> tuple[list[int], list[int]]:
    """The tokens that the tokenizer puts before and after a text."""
    body = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    at = next(n for n in range(len(whole)) if whole[n : n + len(body)] == body)
    return whole[:at], whole[at + len(body) :]


def _room(model: Any, tokenizer: Any) -> int:
    """Most tokens of one pass, marks included."""
    limits = [int(tokenizer.model_max_length), int(getattr(model.config, "max_position_embeddings", _UNLIMITED))]
    padding = getattr(model.config, "pad_token_id", None) or 0
    # RoBERTa's positions begin after its padding token's number.
    shift = padding + 1 if "roberta" in str(model.config.model_type) else 0
    return min(min(limits) - shift, _UNLIMITED)


@detector("selfcheck-bertscore", needs=SAMPLED | _LOCAL, about="the same by BERTScore, on the local model's encoder")
def _build(resources: Resources) -> SelfCheckBertScore:
    from eirene.models.local.spec import parse_spec

    # The local model is the encoder: other answers come from the rows or the judge.
    source = source_of(resources) if resources.judge_model is not None else SampleSource()
    if isinstance(resources.runs_here, str):
        return SelfCheckBertScore(source, load_token_encoder(parse_spec(resources.runs_here).model))
    model = resources.local_model
    return SelfCheckBertScore(source, TokenEncoder(model.model.base_model, model.tokenizer, name=model.name))


@detector("selfcheck-nli", needs=SAMPLED | _OWN_MODEL, about=PROTOCOLS["selfcheck-nli"].about)
def _build_nli(resources: Resources) -> SelfCheckNli:
    head = load_head(PROTOCOLS["selfcheck-nli"], resources.detector_model("selfcheck-nli"))
    return SelfCheckNli(source_of(resources), HeadDetector(head))


@detector("selfcheck-prompt", needs=SAMPLED | _JUDGE, about="sentences that other answers do not support, by a judge")
def _build_prompt(resources: Resources) -> SelfCheckPrompt:
    return SelfCheckPrompt(source_of(resources), resources.judge, prompts=resources.prompts)
