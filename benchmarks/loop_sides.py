"""The loop on arguments that stand on the wrong side or are made twice: what it puts right, and what it misplaces.

    python benchmarks/loop_sides.py DATA

DATA holds `npov_perspectrum`: `cases_dev.jsonl`, of which the loop takes the answers with one argument on the wrong
side, and `mixed_dev.jsonl`, in which every argument stands on its own side and some are made twice. On which side a
part stands is read off the final text: the last opening before it that names a side ("Opponents argue that", "A further
objection is that"). A side that no opening names is unknown and counts for nothing. Before that, the detector
`arrangement` itself: how well it ranks sentences and answers with an argument on the wrong side above all others (ROC
AUC), with the number of sentences as a control. Intervals are 95 % bootstrap intervals over claims.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from harness import area as area_of
from harness import arguments, mean, show, shown, write_json
from loop_parts import item_of, read_rows
from loop_truth import Row, arguments_of, parts_of, words

from eirene.agent.run import arefine
from eirene.alignment.comparison import cue_of
from eirene.core.scores import number
from eirene.eval.base import case_of
from eirene.eval.detectors.alignment import score_arrangement
from eirene.eval.metrics.bootstrap import Estimate
from eirene.models.encoder import load_encoder
from eirene.text.clauses import opening_length
from eirene.text.sentences import split_sentences

SIDES = ("pro", "con")
Found = dict[str, list[tuple[int, bool]]]
"""By measure: the claim of each case, and whether it holds."""


def main() -> None:
    """Runs the detector and the loop, and prints."""
    parser = arguments(__doc__)
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    told, mixed = (read_rows(args.data / f"npov_perspectrum/{name}_dev.jsonl") for name in ("cases", "mixed"))
    cases = [row for row in told if row["has_stance_error"]][: args.limit]
    found = asyncio.run(outcomes(cases, mixed[: args.limit]))
    report = detected(told[: args.limit])
    for name, pairs in found.items():
        report[name] = mean([100.0 * hit for _, hit in pairs], [claim for claim, _ in pairs])
    rows = [(name, shown(one, 3 if "AUC" in name else 1), str(one.n)) for name, one in report.items()]
    show("Sides", ("measure", "% or AUC [95 %]", "of"), rows)
    write_json(args.json, {name: one.to_json() for name, one in report.items()})


async def outcomes(cases: Sequence[Row], mixed: Sequence[Row]) -> Found:
    """What the loop puts right, and what it does not."""
    found: Found = {
        "arguments on the wrong side that stand on their own in the end": [],
        "arguments on their own side that stand on the wrong one in the end": [],
        "arguments made twice that are made once in the end": [],
    }
    right, wrong, once = found.values()
    for row in cases:
        right += righted(row, (await arefine(item_of(row))).answer)
    for row in mixed:
        final = (await arefine(item_of(row))).answer
        wrong += misled(row, final)
        once += resolved(row, final)
    return found


def detected(rows: Sequence[Row]) -> dict[str, Estimate]:
    """ROC AUC of the detector's scores, and of a control, against the sentences and answers with a wrong side."""
    encoder = load_encoder()
    sentences: list[tuple[bool, float, int]] = []
    answers: list[tuple[bool, float, int]] = []
    control: list[tuple[bool, float, int]] = []
    for row in rows:
        claim, wrong = row["claim_id"], bool(row["has_stance_error"])
        scores = score_arrangement(case_of(item_of(row)), encoder)
        answers.append((wrong, number(scores.hallucination) or 0.0, claim))
        control.append((wrong, float(len(row["sentences"])), claim))
        if len(scores.sentences) == len(row["sentences"]):
            for sentence, score in zip(row["sentences"], scores.sentences, strict=True):
                if sentence["argument_id"] is not None:
                    sentences.append((sentence["kind"] == "wrong_side", number(score.hallucination) or 0.0, claim))
    tables = {"per sentence": sentences, "per answer": answers, "number of sentences (control)": control}
    return {f"AUC {name}": area_of(*zip(*table, strict=True)) for name, table in tables.items()}


def righted(row: Row, final: str) -> Iterable[tuple[int, bool]]:
    """The misplaced argument, in the answer's words or in those of the given list: on its own side, and there alone."""
    own = sides_of(row)
    for sentence in row["sentences"]:
        if sentence["kind"] == "wrong_side":
            texts = (core(sentence["text"]), arguments_of(row)[sentence["argument_id"]])
            where = {side for text in texts if (side := side_of(text, final)) is not None}
            yield row["claim_id"], where == {own[sentence["argument_id"]]}


def misled(row: Row, final: str) -> Iterable[tuple[int, bool]]:
    own = sides_of(row)
    for part in parts_of(row):
        if part["kind"] == "supported" and side_of(part["text"], row["response"]) == own[part["argument_id"]]:
            side = side_of(part["text"], final)
            yield row["claim_id"], side is not None and side != own[part["argument_id"]]


def resolved(row: Row, final: str) -> Iterable[tuple[int, bool]]:
    for part in parts_of(row):
        if part["kind"] == "repeated":
            twins = [p["text"] for p in parts_of(row) if p["argument_id"] == part["argument_id"]]
            yield row["claim_id"], sum(words(text) in words(final) for text in twins) == 1


def sides_of(row: Row) -> dict[str, str]:
    """The side of each given argument."""
    return {a["id"]: side for side in SIDES for a in row[f"{side}_arguments"]}


def core(sentence: str) -> str:
    """What a sentence says, without "Opponents argue that"."""
    return sentence[opening_length(sentence) :]


def side_of(text: str, answer: str) -> str | None:
    """The side under which a text stands in an answer; None where it does not stand there or no side is named."""
    sentences = split_sentences(answer)
    at = next((i for i, s in enumerate(sentences) if words(text) in words(s.text)), None)
    for i in range(at, -1, -1) if at is not None else ():
        cue = cue_of(sentences[i].text[: opening_length(sentences[i].text)], SIDES)
        if cue is not None:
            return SIDES[cue]
    return None


if __name__ == "__main__":
    main()
