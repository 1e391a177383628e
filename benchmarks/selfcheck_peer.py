"""Our SelfCheck metrics beside the authors' package `selfcheckgpt` (and `bert_score`, which it calls): equal numbers?

    pip install selfcheckgpt bert_score spacy     # in an environment that has eirene[local], for this script alone
    python benchmarks/selfcheck_peer.py [--passages FILE]

The package cuts and tokenises with spaCy's model `en_core_web_sm`. spaCy's plain English tokeniser stands in for it;
sentences are cut by Eirene's splitter on both sides, and the n-gram metric is given spaCy's tokens on both sides, so
that what is compared is the metric. BERTScore runs on a BERT of random weights made on the spot: what is compared is
the formula and the handling of layers, marks and padding, not a model. `--passages`: JSON Lines with a `passage` a
line; without it a few sentences of our own.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from eirene.eval.detectors.selfcheck import compared_sentences, disagreement, ngram_scores
from eirene.eval.detectors.selfcheck_bertscore import bertscore_f1, load_token_encoder
from eirene.text.sentences import split_sentences

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.tiny_bert import make_bert

OWN = [
    "Ada Bell was a Welsh engineer. She was born in 1871 and built bridges, most of them in steel.",
    "Ada Bell (1871-1944) was an engineer from Wales. She built bridges of steel and wrote two books.",
    "Ada Bell was a painter. She lived in Cardiff, didn't travel, and died in 1950.",
    "Bell, an engineer, was born in Wales. Her bridges were built in the 1890s; one of them still stands.",
]


def spacy_tokeniser() -> Any:
    """spaCy's English tokeniser with Eirene's sentences."""
    import spacy
    from spacy.language import Language

    @Language.component("eirene_sentences")
    def sentences(doc: Any) -> Any:
        starts = {s.text_start for s in split_sentences(doc.text)}
        for token in doc:
            token.is_sent_start = token.idx in starts
        return doc

    nlp = spacy.blank("en")
    nlp.add_pipe("eirene_sentences")
    return nlp


def groups(passages: list[str], size: int = 4) -> Iterator[tuple[str, list[str]]]:
    """An answer and its samples: neighbours in the file."""
    flat = [" ".join(p.split()) for p in passages]
    for at in range(0, len(flat) - size + 1, size):
        yield flat[at], flat[at + 1 : at + size]


def compare_ngrams(passages: list[str], nlp: Any) -> None:
    from selfcheckgpt.modeling_selfcheck import SelfCheckNgram

    def tokens(text: str) -> list[tuple[int, int]]:
        # White space that spaCy makes tokens of comes of untidy text alone; sentences' own edges are cut by both.
        stripped = text.strip()
        offset = text.find(stripped)
        return [(offset + t.idx, offset + t.idx + len(t.text)) for t in nlp(stripped)]

    for n in (1, 2, 3):
        worst, count = 0.0, 0
        for answer, samples in groups(passages):
            sentences = [s.text for s in split_sentences(answer)]
            theirs = SelfCheckNgram(n=n).predict(sentences, answer, samples)
            ours = ngram_scores(answer, samples, n=n, tokens=tokens)
            pairs = [(ours.avg, theirs["doc_level"]["avg_neg_logprob"])]
            pairs.append((ours.max, theirs["doc_level"]["avg_max_neg_logprob"]))
            for mine, avg, most in zip(
                ours.sentences, theirs["sent_level"]["avg_neg_logprob"], theirs["sent_level"]["max_neg_logprob"],
                strict=True,
            ):  # fmt: skip
                values = [t.nll for t in mine]
                pairs += [(sum(values) / len(values), avg), (max(values), most)]
            worst = max([worst, *(abs(a - b) for a, b in pairs if a is not None)])
            count += len(pairs)
        print(f"{n}-gram: {count} numbers, largest difference {worst:.1e}")


def compare_bertscore(passages: list[str], nlp: Any) -> None:
    import bert_score
    from selfcheckgpt import modeling_selfcheck

    with tempfile.TemporaryDirectory() as folder:
        path = str(make_bert(Path(folder), texts=passages, layers=4, context=512))
        score = functools.partial(bert_score.score, model_type=path, num_layers=3)
        modeling_selfcheck.bert_score.score = lambda cands, refs, **_: score(cands, refs)
        theirs = modeling_selfcheck.SelfCheckBERTScore(rescale_with_baseline=False)
        theirs.nlp = nlp
        encoder = load_token_encoder(path, layer=3)
        worst, count = 0.0, 0
        for answer, samples in list(groups(passages))[:20]:
            sentences = [s.text for s in split_sentences(answer)]
            cut = [compared_sentences(s, tokens=lambda t: [(0, 0)] * len(nlp(t))) for s in samples]
            texts = list(dict.fromkeys(sentences + [t for c in cut for t in c]))
            known = dict(zip(texts, encoder.encode(texts), strict=True))
            ours = disagreement(
                [np.array([[bertscore_f1(known[t], known[s]) for t in c] for s in sentences]) for c in cut]
            )
            expected = theirs.predict(sentences, samples)
            worst, count = max(worst, float(np.abs(ours - expected).max())), count + len(sentences)
        print(f"BERTScore: {count} sentences, largest difference {worst:.1e}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=Path)
    given = parser.parse_args()
    passages = OWN
    if given.passages:
        lines = given.passages.read_text("utf-8").splitlines()
        passages = [json.loads(line)["passage"] for line in lines if line.strip()]
    import spacy

    nlp = spacy_tokeniser()
    spacy.load = lambda *_, **__: nlp
    compare_ngrams(passages, nlp)
    compare_bertscore(passages, nlp)


if __name__ == "__main__":
    main()
