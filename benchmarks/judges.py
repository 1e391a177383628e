"""Judges by one token beside the shipped verifier, and the cascade of the two: AUC, share asked, seconds.

    python benchmarks/judges.py --base-url http://127.0.0.1:8080/v1 --model qwen --data DATA --out FILE
    python benchmarks/judges.py --judge gguf:MODEL.gguf --data DATA --out FILE [--claims 500 --answers 200 --pairs 100]

`claims`: rows of DATA/claim_verification/dev.jsonl that people labelled, each claim asked about once. `answers`: of
RAGTruth's answers that `recipes.verifier` keeps apart, asked about whole and by sentence (an answer is as its worst
one). `pairs`: two answers to an open question, of which people preferred one (DATA/haluquestqa/preference.jsonl).

`--prompts FOLDER` asks in own words. What is done stands in FILE.rows.jsonl and is not asked again: a killed run goes
on. FILE has every figure. The server must give token probabilities (`logprobs`), as llama-server does.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from harness import Journal, area, drawn, mean, read_rows, show, shown, write_json

from eirene.core.errors import RequestRefusedError
from eirene.core.grounding import ArgumentGroup, Grounding
from eirene.core.scores import PairJudgement, number
from eirene.core.usage import Meter
from eirene.eval.base import Case, Pair, case_of
from eirene.eval.detectors.token_judge import BAND, claim_messages, risk_by
from eirene.eval.detectors.verifier import VerifierDetector
from eirene.eval.pairwise import ChatPairwise
from eirene.models.chat import ChatModel
from eirene.models.resolve import ChatOptions, resolve_chat
from eirene.models.token_choice import TokenChoice
from eirene.models.verifier.runtime import shipped_verifier
from eirene.prompts import SHIPPED, read_prompts
from recipes.verifier.splits import label_of, parts

Row = dict[str, Any]
ALONE = (-1.0, 2.0)
BANDS = (ALONE, (0.0, 1.0), (0.02, 0.9), (0.05, 0.75), BAND, (0.1, 0.4), (0.2, 0.6), (0.3, 0.5))
"""Risks by the verifier between which the model is asked; the first leaves the verifier out."""
RISKS = (0.4, 0.3, 0.25, 0.2, 0.1, 0.05)


class Bench:
    """One model, its verifier, and the journal of what was asked."""

    def __init__(self, chat: ChatModel, journal: Journal, args: argparse.Namespace) -> None:
        self.prompts = read_prompts(args.prompts) if args.prompts else SHIPPED
        self.choice, self.pairwise = TokenChoice(chat), ChatPairwise(chat, prompts=self.prompts)
        self.cheap, self.journal = VerifierDetector(shipped_verifier()), journal
        self._slots = asyncio.Semaphore(args.concurrency)
        self._begun = time.perf_counter()

    async def all(self, kind: str, rows: Sequence[Any], key: Callable[[Any], str], one: Callable[..., Any]) -> None:
        """The values that `one` gives each row, in the journal, unless they stand there."""
        missing = [(f"{kind}/{key(row)}", row) for row in rows if f"{kind}/{key(row)}" not in self.journal.rows]

        async def do(name: str, row: Any) -> None:
            async with self._slots:
                self.journal.add(name, kind=kind, **await one(row))
            done = sum(other["kind"] == kind for other in self.journal.rows.values())
            print(f"\r{kind}: {done} of {len(rows)}, {time.perf_counter() - self._begun:.0f} s", end="", flush=True)

        await asyncio.gather(*(do(*pair) for pair in missing))
        print()

    async def ask(self, case: Case, claim: str) -> tuple[float | None, float]:
        """The log-odds that the claim is supported, None where unscored; and the seconds that it took."""
        begun = time.perf_counter()
        try:
            found = await self.choice.ask(claim_messages(case, claim, self.prompts), meter=Meter())
        except RequestRefusedError as error:  # the texts are too long for the model; a server that is down ends the run
            print(f"\nunscored: {error}")
            return None, 0.0
        return (found if isinstance(found, float) else None), time.perf_counter() - begun

    async def claim(self, row: Row) -> Row:
        """One claim, by the verifier and by the model."""
        premise = row["premise"] if isinstance(row["premise"], list) else [row["premise"]]
        case = Case("", row["claim"], Grounding("context", (ArgumentGroup("context", tuple(premise)),)))
        scores, cheap_s = await timed(self.cheap.score(case, meter=Meter()))
        odds, seconds = await self.ask(case, row["claim"])
        return {
            "faulty": row["label"] != "supported", "cluster": row["group"], "odds": odds, "seconds": seconds,
            "cheap": number(scores.hallucination), "cheap_s": cheap_s,
        }  # fmt: skip

    async def answer(self, annotated: Any) -> Row:
        """One answer, whole and by sentence."""
        case = case_of(annotated.item)
        scores, cheap_s = await timed(self.cheap.score(case, meter=Meter()))
        cheap = {s.n: number(s.hallucination) for s in scores.sentences}
        whole, whole_s = await self.ask(case, case.answer)
        sentences = []
        for sentence in annotated.sentences:
            if cheap.get(sentence.n) is not None:
                odds, seconds = await self.ask(case, sentence.text)
                faulty = label_of(annotated, sentence) != "supported"
                sentences.append({"cheap": cheap[sentence.n], "odds": odds, "seconds": seconds, "faulty": faulty})
        faulty = any(label_of(annotated, s) != "supported" for s in annotated.sentences)
        return {"cluster": annotated.cluster, "faulty": faulty, "whole": whole, "whole_s": whole_s,
                "cheap": number(scores.hallucination), "cheap_s": cheap_s, "sentences": sentences}  # fmt: skip

    async def pair(self, row: Row) -> Row:
        """How likely the answer that people preferred is the better one; it stands second where the seed says so."""
        pair = Pair(row["question"], row["rejected_response"], row["preferred_response"])
        found, seconds = await timed(self.pairwise.compare(pair, seed=0, meter=Meter()))
        assert isinstance(found, PairJudgement)
        return {"cluster": row["source_file"], "better": number(found.better), "odds": found.odds,
                "bias": found.bias, "seconds": seconds}  # fmt: skip


async def timed(work: Awaitable[Any]) -> tuple[Any, float]:
    """What it gives, and the seconds that it took."""
    begun = time.perf_counter()
    return await work, time.perf_counter() - begun


def risk_of(claim: Row, band: tuple[float, float]) -> float | None:
    """The cascade's score of a claim: the verifier's outside of the band, both within; None where unscored."""
    cheap = None if band == ALONE else claim["cheap"]
    if cheap is not None and not band[0] < cheap < band[1]:
        return float(cheap)
    return None if claim["odds"] is None else risk_by(claim["odds"], cheap)


def cascades(rows: Sequence[Row], of: Callable[[Row], Sequence[Row]]) -> list[Row]:
    """For each band: the area by the worst claim of a row, the share of the claims asked about, and the seconds."""
    found = []
    for band in BANDS:
        scored = [(row, [risk_of(claim, band) for claim in of(row)]) for row in rows]
        told = [(row, [risk for risk in risks if risk is not None], len(risks)) for row, risks in scored]
        kept = [(row, max(risks)) for row, risks, count in told if risks and len(risks) == count]
        claims = [claim for row, _ in kept for claim in of(row)]
        asked = [c for c in claims if c["cheap"] is None or band[0] < c["cheap"] < band[1]]
        auc = area([row["faulty"] for row, _ in kept], [risk for _, risk in kept], [row["cluster"] for row, _ in kept])
        found.append({
            "band": band, "auc": auc.to_json(), "asked": len(asked) / max(1, len(claims)), "claims": len(claims),
            "model_s": sum(c["seconds"] for c in asked), "cheap_s": sum(row["cheap_s"] for row, _ in kept),
        })  # fmt: skip
    return found


def auc_of(rows: Sequence[Row], score: Callable[[Row], float | None]) -> Any:
    """The area of a score over the rows that have one."""
    kept = [(row, value) for row in rows if (value := score(row)) is not None]
    return area([r["faulty"] for r, _ in kept], [v for _, v in kept], [r["cluster"] for r, _ in kept]).to_json()


def figures(rows: Sequence[Row]) -> Row:
    """Every figure of what the journal holds."""
    by_kind = {kind: [row for row in rows if row["kind"] == kind] for kind in ("claims", "answers", "pairs")}
    claims, answers, pairs = by_kind.values()
    sentences = [{**s, "cluster": row["cluster"], "cheap_s": 0.0} for row in answers for s in row["sentences"]]
    found: Row = {"n": {kind: len(own) for kind, own in by_kind.items()}}
    for kind, own, of in (
        ("claims", claims, lambda row: [row]),
        ("answers", answers, lambda row: row["sentences"]),
        ("sentences", sentences, lambda row: [row]),
    ):
        if own:
            found[kind] = {"verifier": auc_of(own, lambda row: row["cheap"]), "cascade": cascades(own, of)}
    if answers:
        found["answers"]["whole"] = auc_of(answers, lambda row: None if row["whole"] is None else -row["whole"])
        found["answers"]["whole_s"] = sum(row["whole_s"] for row in answers)
    told = [row for row in pairs if row["better"] is not None]
    if told:
        at = [row["cluster"] for row in told]
        found["pairs"] = {
            "right": mean([row["better"] > 0.5 for row in told], at).to_json(), "told": len(told),
            "bias": mean([row["bias"] for row in told], at).to_json(), "seconds": sum(row["seconds"] for row in told),
            "accepted": {risk: [sum(row["better"] >= 1 - risk for row in told) / len(told),
                                sum(row["better"] <= risk for row in told) / len(told)] for risk in RISKS},
        }  # fmt: skip
    return found


def tell(found: Row) -> None:
    """Prints the tables."""
    for kind in ("claims", "answers", "sentences"):
        if kind in found:
            lines = [("the verifier alone", shown(found[kind]["verifier"]), "0", "-")]
            if "whole" in found[kind]:
                lines.append(("the model, answers whole", shown(found[kind]["whole"]), "-",
                              f"{found[kind]['whole_s']:.0f}"))  # fmt: skip
            for row in found[kind]["cascade"]:
                name = "the model alone" if row["band"] == ALONE else "asked from {:g} to {:g}".format(*row["band"])
                lines.append((name, shown(row["auc"]), f"{100 * row['asked']:.0f}", f"{row['model_s']:.0f}"))
            show(kind, ("judge", "AUC", "asked, %", "seconds of the model"), lines)
    if "pairs" in found:
        pairs = found["pairs"]
        print(
            f"pairs: {pairs['told']} told; right {shown(pairs['right'])}, bias to the first {shown(pairs['bias'])} nats"
        )
        for risk, (right, wrong) in pairs["accepted"].items():
            print(
                f"  judge_risk {risk:g}: {100 * right:.0f} % accepted as people would, {100 * wrong:.0f} % against them"
            )


async def run(args: argparse.Namespace) -> None:
    """Asks what is missing, and writes the figures."""
    options = ChatOptions(base_url=args.base_url, timeout_s=600.0)
    chat = resolve_chat(args.judge or f"openai:{args.model}", options=options)
    bench = Bench(chat, Journal(args.out.with_suffix(args.out.suffix + ".rows.jsonl")), args)
    labelled = [row for row in read_rows(args.data / "claim_verification/dev.jsonl") if row["by"] == "human"]
    await bench.all("claims", drawn(labelled, args.claims, 0), lambda row: str(row["id"]), bench.claim)
    answers = drawn(parts(args.data, "ragtruth")["report"], args.answers, 0)
    await bench.all("answers", answers, lambda a: str(a.item.id), bench.answer)
    preferred = drawn(read_rows(args.data / "haluquestqa/preference.jsonl"), args.pairs, 0)
    await bench.all("pairs", preferred, lambda row: str(row["source_file"]), bench.pair)
    found = {"model": chat.name, **figures(list(bench.journal.rows.values()))}
    write_json(args.out, found)
    tell(found)


def main() -> None:
    """Reads the flags."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", metavar="URL", help="a server with OpenAI's protocol")
    parser.add_argument("--model", default="judge", help="what the server calls its model")
    parser.add_argument("--judge", help="in place of both: gguf:FILE or hf:path-or-id")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, metavar="FILE")
    parser.add_argument("--concurrency", type=int, default=1, help="rows under way at once")
    parser.add_argument("--prompts", metavar="FOLDER", help="own prompts, as of `eirene prompts`")
    for name, count in (("claims", 500), ("answers", 200), ("pairs", 100)):
        parser.add_argument(f"--{name}", type=int, default=count)
    asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    main()
