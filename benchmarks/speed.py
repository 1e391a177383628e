"""Speed: ours against the naive way or a peer, in turns in one run; writes the table of benchmarks/results/speed.md.

    python benchmarks/speed.py                      # about three minutes; prints the table
    python benchmarks/speed.py --only "selection"   # the cases whose name holds it
    python benchmarks/speed.py --write              # and puts the table into the page

Each case is two functions that do the same work. Both run once unmeasured, then `--repeats` times in turns; the median
processor time counts. Ratios travel between machines, seconds do not.
"""

from __future__ import annotations

import asyncio
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from harness import arguments, write_page

import eirene
from eirene.core.critique import Sample, Tag
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.usage import Meter
from eirene.eval.base import Case
from eirene.text.sentences import split_sentences
from eirene.text.words import lower_words, stems

PAGE = Path(__file__).parent / "results" / "speed.md"
SIDES = (
    ("pro", ("Without cars the air in district {n} becomes cleaner.",
             "Streets of zone {n} without traffic are safer for children on their way to school.",
             "Squares freed of {n} parked cars can be used by everyone.")),
    ("con", ("Shops in quarter {n} lose customers who come by car.",
             "People who can hardly walk {n} metres depend on their cars.",
             "The traffic only moves to the {n} streets around the centre.")),
)  # fmt: skip
ANSWER = (
    "The plan for {n} cities has been discussed for many years. Supporters argue that pollution in the {n} districts "
    "falls as soon as cars stay away, and that pupils reach their {n} schools without being hurt. On the other hand, "
    "owners of {n} shops fear that fewer people will buy from them. Another objection is that residents with {n} "
    "ailments cannot do without a car. Critics expect that drivers will use the {n} roads nearby instead."
)
Work = Callable[[], object]


class Pair(NamedTuple):
    """Two ways to the same result."""

    ours: Work
    theirs: Work
    peer: str
    close: Work = lambda: None


def case_of(n: int) -> Case:
    """An answer of about 80 words and six arguments, none of which another number gives."""
    groups = tuple(ArgumentGroup(name, tuple(a.format(n=n) for a in said)) for name, said in SIDES)
    return Case(f"Should city {n} ban cars?", ANSWER.format(n=n), Grounding("perspectives", groups))


def samples_of(n: int) -> list[Sample]:
    """Critiques of eight sentences, two of them incomplete, with 80 words as frequent as in a language (Zipf)."""
    rng, weights = np.random.default_rng(0), 1.0 / np.arange(1, 2001)
    found = []
    for _ in range(n):
        first = int(rng.choice(4, p=[0.7, 0.1, 0.1, 0.1]))
        words = rng.choice(2000, size=80, p=weights / weights.sum())
        tags: list[Tag] = ["Complete"] * 8
        reasons: list[str | None] = [None] * 8
        for at, half in zip((first, first + 4), np.split(words, 2), strict=True):
            tags[at], reasons[at] = "Incomplete", " ".join(f"Word{w}," for w in half)
        found.append(Sample(tags=tuple(tags), reasons=tuple(reasons)))
    return found


def equations_as_written(samples: list[Sample]) -> int:
    """The index that EIR's equations 1 and 2 choose, computed as they read."""
    shares = [sum(a.tags == b.tags for b in samples) / len(samples) for a in samples]
    left = [i for i, share in enumerate(shares) if share == max(shares)]
    said = {i: [w for reason in samples[i].reasons if reason for w in lower_words(reason)] for i in left}
    scores = [sum(word in said[s] for word in said[i] for s in left) / len(said[i]) for i in left]
    return left[scores.index(max(scores))]


def selection(n: int) -> Pair:
    from eirene.feedback_model.vote import select

    samples, sentences = samples_of(n), split_sentences(" ".join(f"Sentence {i} is here." for i in range(8)))
    if select(samples, sentences, n_requested=n).winner != equations_as_written(samples):
        raise SystemExit("selection: the equations as written choose another sample")
    naive = "the equations as written"
    return Pair(lambda: select(samples, sentences, n_requested=n), lambda: equations_as_written(samples), naive)


def rouge() -> Pair:
    from rouge_score import rouge_scorer

    from eirene.eval.detectors.rouge import score_rouge

    class OurWords:
        def tokenize(self, text: str) -> list[str]:
            return list(stems(text))

    scorer, cases = rouge_scorer.RougeScorer(["rouge1"], tokenizer=OurWords()), [case_of(n) for n in range(50)]

    def pairwise() -> None:
        for case in cases:
            sides = [group.arguments for group in case.given.groups]
            everything = " ".join(text for side in sides for text in side)
            pairs = [(everything, case.answer), *((" ".join(side), case.answer) for side in sides)]
            pairs += [(text, case.answer) for side in sides for text in side]
            pairs += [(everything, sentence.raw) for sentence in split_sentences(case.answer)]
            _ = [scorer.score(*pair) for pair in pairs]

    return Pair(lambda: [score_rouge(case) for case in cases], pairwise, "`rouge-score`, pair by pair, its stems kept")


def sampling() -> Pair:
    import torch
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    from eirene.models.local.sampling import LocalSampling, prefill, sample_continuations

    torch.set_num_threads(1)
    torch.manual_seed(0)
    shape: dict[str, Any] = {
        "hidden_size": 256,
        "intermediate_size": 704,
        "num_hidden_layers": 4,
        "num_attention_heads": 8,
    }
    model: Any = LlamaForCausalLM(LlamaConfig(vocab_size=8000, max_position_embeddings=2048, **shape))
    model.eval()
    prompt = torch.randint(3, 8000, (1, 600))
    config = GenerationConfig(  # type: ignore[no-untyped-call]
        do_sample=True, top_p=0.9, top_k=0, max_new_tokens=32, min_new_tokens=32, pad_token_id=0,
                              eos_token_id=None, bos_token_id=None)  # fmt: skip

    def ours() -> None:
        start = prefill(model, prompt[0].tolist())
        sample_continuations(model, start, range(20), sampling=LocalSampling(max_new_tokens=32), end_ids=frozenset())

    def generate() -> None:
        with torch.inference_mode():
            for _ in range(20):
                model.generate(input_ids=prompt, attention_mask=torch.ones_like(prompt), generation_config=config)

    return Pair(ours, generate, "20 calls of transformers' `generate`")


def call_cache() -> Pair:
    from eirene.models.cache import CallCache
    from eirene.models.chat import ChatModel, Sampling
    from eirene.models.drawing import draw_replies
    from eirene.models.scripted import ScriptedChatModel
    from eirene.prompts import Message

    held = ExitStack()
    cache = CallCache(Path(held.enter_context(tempfile.TemporaryDirectory())) / "calls.sqlite", max_bytes=10**9)
    held.callback(cache.close)
    reply = "1. [Complete]\n2. [Incomplete] Reasons: " + "it leaves out what the other side says " * 8
    models = [ChatModel(ScriptedChatModel(lambda _: reply), name="openai:n", cache=kept) for kept in (cache, None)]

    async def drawn(chat: ChatModel) -> None:
        for n in range(50):
            asked = [Message("user", f"{n} " + "word " * 600)]
            found = draw_replies(chat, asked, sampling=Sampling(1.0, 0.9), seeds=range(20), meter=Meter())
            _ = [r async for r in found]

    cached, plain = models

    peer = "a scripted model, no cache"
    return Pair(lambda: asyncio.run(drawn(cached)), lambda: asyncio.run(drawn(plain)), peer, close=held.close)


def traced() -> Pair:
    from opentelemetry.sdk.trace import TracerProvider

    from eirene.core.tracing import Tracing

    tracing, new = Tracing(provider=TracerProvider()), iter(range(10**6))

    def refined(how: Tracing | bool) -> None:
        for _ in range(5):
            n = next(new)
            sides = [eirene.Perspective(name=name, arguments=[a.format(n=n) for a in said]) for name, said in SIDES]
            item = eirene.Item(question=f"Should city {n} ban cars?", answer=ANSWER.format(n=n), perspectives=sides)
            eirene.refine(item, tracing=how)

    return Pair(lambda: refined(False), lambda: refined(tracing), "the same rows traced")


CASES: dict[str, Callable[[], Pair]] = {
    "selection, n = 20": lambda: selection(20),
    "selection, n = 300": lambda: selection(300),
    "`rouge`, 50 answers": rouge,
    "20 samples of 32 tokens on a prompt of 600, random Llama, one thread": sampling,
    "50 votes of 20 replies that the call cache knows": call_cache,
    "five rows refined by the embedded default, untraced": traced,
}


def timed(work: Work) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def rows(only: str, repeats: int) -> Iterator[str]:
    """A line of the table for each case."""
    for name, build in CASES.items():
        if only not in name:
            continue
        pair = build()
        pair.ours(), pair.theirs()
        times = [(timed(pair.ours), timed(pair.theirs)) for _ in range(repeats)]
        pair.close()
        ours, theirs = (statistics.median(found) for found in zip(*times, strict=True))
        yield f"| {name} | {1000 * ours:,.1f} ms | {pair.peer} | {1000 * theirs:,.1f} ms | {theirs / ours:.2f} |"


def main() -> None:
    parser = arguments(__doc__, data=None)
    parser.add_argument("--only", default="")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, medians of {options.repeats}"
    table = [machine + ".\n", "| ours | | beside it | | ratio |", "| --- | --- | --- | --- | --- |"]
    for line in rows(options.only, options.repeats):
        print(line, flush=True)
        table.append(line)
    if options.write:
        write_page(PAGE, "speed.py", "\n".join(table))


if __name__ == "__main__":
    main()
