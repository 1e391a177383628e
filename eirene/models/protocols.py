"""The protocols of published hallucination detectors: what each model reads, in which layout, and where its score is.

A row is a detector by its name. `eirene.eval.detectors.heads` runs the classifiers, and
`eirene.eval.detectors.trained_judges` the chat models.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["sequence head", "seq2seq first token", "token head", "chat first token", "chat reply"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """How one published detector is asked; `source` is the paper, and the code that was read.

    `hub`: the checkpoint, unless another is named; None where one has to be. `layout`: what a classifier reads, `end`
    is its tokenizer's end token; None is the tokenizer's own layout of a pair. `prompt`: a file of `eirene.prompts`,
    in the words of the training. `label`: the number of the label that is read, of `labels`; None is the one named
    entailment. `tokens`: the ids that a first token is chosen from, in order of labels. `is_whole`: the answer is read
    whole, not by sentences; `is_mean`: it is as its mean sentence, not as its worst; `covers`: arguments are held
    against the answer too. `window`: given text is read in chunks of whole sentences of at most so many words, or
    tokens, and the best chunk counts. `longest`: tokens that are read at once, where that is not what the tokenizer
    says. `base`: where configuration and tokenizer are, if not with the weights. `renamed`: beginnings of the tensors'
    names, and what they are here. `words`: the verdict on a supported text, and on one that is not; `verdict`: where
    it stands in a reply of up to `reply_tokens`, the last one counts.
    """

    name: str
    kind: Kind
    about: str
    source: str
    licence: str
    hub: str | None
    layout: str | None = None
    prompt: str | None = None
    label: int | None = None
    labels: int | None = None
    tokens: tuple[int, ...] = ()
    is_whole: bool = False
    is_mean: bool = False
    covers: bool = False
    window: int | None = None
    counts: Literal["words", "tokens"] = "words"
    longest: int | None = None
    base: str | None = None
    renamed: tuple[tuple[str, str], ...] = ()
    words: tuple[str, str] = ("Yes", "No")
    verdict: str = r"\b(Yes|No)\b"
    reply_tokens: int = 1


_T5_LABELS = (3, 209)
"""The first pieces of "0" and "1" in T5's vocabulary: the space mark alone, and the space mark with a 1."""
_MINICHECK = "Tang et al. 2024 (arXiv 2404.10774); github.com/Liyan06/MiniCheck: inference.py, utils.py"
_JOINED = "{premise}{end}{hypothesis}"

_ROWS = (
    Protocol(
        name="nli", kind="sequence head", about="entailment by a sequence classifier, in the manner of TRUE",
        source="Honovich et al. 2022 (TRUE)", licence="the model's", hub=None, covers=True,
    ),
    Protocol(
        name="hhem", kind="sequence head", about="HHEM-2.1-Open by Vectara, the answer as a whole",
        source="model card and modeling_hhem_v2.py: a T5 encoder, the label of whose first token counts; no limit to "
        "its context, and ours spares memory",
        licence="Apache-2.0", hub="vectara/hallucination_evaluation_model", base="google/flan-t5-base",
        renamed=(("t5.", ""),), label=1, labels=2, is_whole=True, longest=4096,
        layout="<pad> Determine if the hypothesis is true given the premise?\n\nPremise: {premise}\n\n"
        "Hypothesis: {hypothesis}",
    ),
    Protocol(
        name="minicheck", kind="seq2seq first token", about="MiniCheck on Flan-T5-large, by sentence",
        source=_MINICHECK, licence="MIT", hub="lytang/MiniCheck-Flan-T5-Large",
        layout="predict: " + _JOINED, label=1, tokens=_T5_LABELS, window=500, longest=2048,
    ),
    Protocol(
        name="minicheck-roberta", kind="sequence head", about="MiniCheck on RoBERTa-large, by sentence",
        source=_MINICHECK, licence="MIT", hub="lytang/MiniCheck-RoBERTa-Large",
        layout=_JOINED, label=1, labels=2, window=400, counts="tokens", longest=512,
    ),
    Protocol(
        name="minicheck-deberta", kind="sequence head", about="MiniCheck on DeBERTa-v3-large, by sentence",
        source=_MINICHECK, licence="MIT", hub="lytang/MiniCheck-DeBERTa-v3-Large",
        layout=_JOINED, label=1, labels=2, window=400, counts="tokens", longest=2048,
    ),
    Protocol(
        name="alignscore", kind="sequence head", about="AlignScore's three-way head, mean of the sentences",
        source="Zha et al. 2023 (arXiv 2305.16739), section 3.3; github.com/yuh-zha/AlignScore: inference.py, nli_sp. "
        "Label 0 is aligned; a linear layer over RoBERTa's pooler is the same as RoBERTa's classification head",
        licence="MIT", hub=None, label=0, labels=3, window=350, longest=512, is_mean=True,
        renamed=(("base_model.pooler.", "classifier."), ("tri_layer.", "classifier.out_proj."),
                 ("base_model.", "roberta.")),
    ),
    Protocol(
        name="true-t5", kind="seq2seq first token", about="TRUE's T5-11B, by sentence",
        source="Honovich et al. 2022 (TRUE); by sentence as in ALCE (Gao et al. 2023), whose eval.py has the prompt",
        licence="see its card", hub="google/t5_xxl_true_nli_mixture",
        layout="premise: {premise} hypothesis: {hypothesis}", label=1, tokens=_T5_LABELS, longest=2048,
    ),
    Protocol(
        name="lettucedetect", kind="token head", about="LettuceDetect's token classes, by word",
        source="Kovacs and Recski 2025 (arXiv 2502.17125); github.com/KRLabsOrg/LettuceDetect: transformer.py. Label 1 "
        "is a hallucination; a token counts as beside the chunk of passages that speaks most against it",
        licence="MIT", hub="KRLabsOrg/lettucedect-base-modernbert-en-v1", prompt="trained_lettucedetect",
        label=1, labels=2, longest=4096,
    ),
    Protocol(
        name="bespoke-minicheck", kind="chat first token", about="Bespoke-MiniCheck-7B, by sentence",
        source=_MINICHECK, licence="CC BY-NC 4.0", hub="bespokelabs/Bespoke-MiniCheck-7B",
        prompt="trained_bespoke_minicheck",
    ),
    Protocol(
        name="lynx", kind="chat reply", about="Lynx by Patronus, the answer as a whole",
        source="Ravi et al. 2024 (arXiv 2407.08488); model card", licence="CC BY-NC 4.0",
        hub="PatronusAI/Llama-3-Patronus-Lynx-8B-Instruct-v1.1", prompt="trained_lynx", is_whole=True,
        words=("PASS", "FAIL"), verdict=r'"SCORE"\s*:\s*"?(PASS|FAIL)\b', reply_tokens=1024,
    ),
    Protocol(
        name="granite-guardian", kind="chat reply", about="Granite Guardian 4.1 by IBM, the answer as a whole",
        source="Padhi et al. 2024 (arXiv 2412.07724); github.com/ibm-granite/granite-guardian: cookbooks of 4.1",
        licence="Apache-2.0", hub="ibm-granite/granite-guardian-4.1-8b", prompt="trained_granite_guardian",
        is_whole=True, words=("no", "yes"), verdict=r"<score>\s*(yes|no)\s*</score>", reply_tokens=32,
    ),
)  # fmt: skip
PROTOCOLS: dict[str, Protocol] = {row.name: row for row in _ROWS}
"""Every protocol by the name of its detector."""


def split_name(spec: str) -> tuple[str | None, str]:
    """Reads `NAME=MODEL`, the model of one detector; None and the model where no detector is named."""
    name, _, model = spec.partition("=")
    return (name, model) if name in PROTOCOLS else (None, spec)
