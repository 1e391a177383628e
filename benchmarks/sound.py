"""What the default does to answers that are sound, and to faults that it ought to mend: rows written without the code.

    python benchmarks/sound.py [--rows benchmarks/sound] [--part dev|test] [--only replies ...] [--all]

Every row has `question`, `answer`, `context`. `replies`, `inferences`, `derived-values`, `greetings` and their like are
sound: each is to come back byte for byte; so are the `true` ones of `values`, whose `false` twins are to be flagged.
`csv-kind` has answers in the passages' own words, with one value changed or
one sentence invented. Nothing that the loop says about itself enters the figures, but for what it flags. `--all` prints
every row that is not as it should be.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from harness import Row, arguments, read_rows

from eirene.agent.backends import resolve_backend
from eirene.agent.loop import Loop
from eirene.agent.run import refine
from eirene.core.critique import TaggedSentence
from eirene.core.records import WITHOUT_FAULT, Item, Record
from eirene.core.verification import FAULTY
from eirene.text.sentences import split_sentences
from eirene.verification.verify import verify
from tests.scripted_parts import ScriptedRefiner

Judged = dict[str, bool]
"""What holds of a row, by the measure's name."""
SOUND = ["replies", "inferences", "derived-values", "greetings", "not-in-the-passages", "dangling", "structured"]
ROWS = Path(__file__).parent / "sound"


def faulted(record: Record) -> list[TaggedSentence]:
    """The sentences of the answer that the first critique faults."""
    critique = record.rounds[0].critique if record.rounds else None
    return list(critique.incomplete) if critique else []


def of_sound(row: Row, record: Record) -> Judged:
    """Sound answers come back as they were; a flag is tolerated, and counted."""
    return {"unchanged": record.answer == row["answer"], "no flag": not faulted(record)}


def of_passages_words(row: Row, record: Record) -> Judged:
    """Answers in the passages' own words: the fault goes and nothing else does."""
    if row["kind"] == "sound":
        return {"sound: unchanged": record.answer == row["answer"]}
    if row["kind"] == "value":
        right = row["answer"].replace(row["faulty"], row["right"], 1)
        return {
            "value: put right": " ".join(record.answer.split()) == " ".join(right.split()),
            "value: right or unchanged": record.answer in (right, row["answer"]),
        }
    rest = [s.text for s in split_sentences(row["answer"]) if s.text not in row["faulty"]]
    return {
        "invention: removed": row["faulty"] not in record.answer,
        "invention: rest stands": all(text in record.answer for text in rest),
    }


def of_thinking(row: Row, record: Record) -> Judged:
    """What stands before the last closing tag is no part of the answer."""
    answer = row["answer"]
    ends = max((answer.lower().rfind(tag) + len(tag) for tag in ("</think>", "</thinking>", "</reasoning>")
                if tag in answer.lower()), default=0)  # fmt: skip
    return {"thinking kept": record.answer.startswith(answer[:ends])}


def of_nothing_checked(row: Row, record: Record) -> Judged:
    """An answer without a claim is not called complete."""
    return {"not called complete": record.status not in WITHOUT_FAULT, "unchanged": record.answer == row["answer"]}


def of_contradicted(row: Row, record: Record) -> Judged:
    """A sentence that a passage contradicts is at least flagged, and `verify` says nothing else."""
    at = row["answer"].find(row["faulty"])
    end, found = at + len(row["faulty"]), verify(row["answer"], row["context"], question=row["question"])
    verdicts = {c.verdict for c in found.claims if c.start < end and c.end > at}
    return {
        "flagged or mended": bool(faulted(record)),
        "verify: contradicted": "contradicted" in verdicts,
        "verify: supported, wrongly": "supported" in verdicts,
        "verify and refine agree": bool(faulted(record)) == any(c.verdict in FAULTY for c in found.claims),
    }


def of_values(row: Row, record: Record) -> Judged:
    """A number that follows from the passages is neither rewritten nor flagged; its false twin is flagged."""
    verdicts = [c.verdict for c in verify(row["answer"], row["context"], question=row["question"]).claims]
    flagged = any(v in FAULTY for v in verdicts)
    if row["kind"] == "false":
        return {"false: flagged": bool(faulted(record)), "false: verify flags": flagged}
    return {
        "true: unchanged": record.answer == row["answer"],
        "true: flagged, wrongly": bool(faulted(record)),
        "true: verify flags, wrongly": flagged,
        "true: verify contradicted, wrongly": "contradicted" in verdicts,
    }


KINDS: dict[str, Callable[[Row, Record], Judged]] = {
    "values": of_values,
    **dict.fromkeys(SOUND, of_sound),
    "csv-kind": of_passages_words,
    "thinking": of_thinking,
    "nothing-checked": of_nothing_checked,
    "contradicted": of_contradicted,
}


def frames(row: Row) -> Judged:
    """A claim that a passage denies, asks or supposes is not supported by it."""

    def verdict(answer: str, passage: str) -> str:
        return verify(answer, [passage]).claims[0].verdict

    return {
        "denied or supposed: supported, wrongly": verdict(row["claim"], row["passage"]) == "supported",
        "the frame kept: supported": verdict(row["kept"], row["passage"]) == "supported",
        "said plainly: supported": verdict(row["claim"], row["plain"]) == "supported",
    }


def fields(row: Row) -> Judged:
    """What one row of an answer, or sentence, says of data: JSON or tables, of the passage or of the answer."""
    right, wrong = (verify(row[said], [row["passage"]]).claims[-1].verdict for said in ("right", "wrong"))
    return {
        "right: supported": right == "supported",
        "right: flagged, wrongly": right in FAULTY,
        "wrong: flagged": wrong in FAULTY,
        "wrong: supported, wrongly": wrong == "supported",
    }


def quotations(row: Row) -> Judged:
    """Quotations by verdict, in order."""
    found = [q.verdict for q in verify(row["answer"], row["context"]).quotations]
    wanted = row["right"] if isinstance(row["right"], list) else [row["right"]]
    return {"verdicts right": found == wanted}


def languages(row: Row) -> Judged:
    """Sentences by number."""
    return {"number of sentences": len(split_sentences(row["text"])) == row["sentences"]}


def notations(row: Row) -> Judged:
    """The gate takes an argument that is said in another notation, and undoes one with another value."""
    answer = "Supporters say that it is good for the town. Opponents say that it takes too long."
    sides = {"pro": ["It is good for the town."], "con": ["It takes too long."]}
    sides["con" if row["added"].startswith("Opponents") else "pro"].append(row["given"])

    def taken(said: str) -> bool:
        parts = replace(resolve_backend("embedded"), backend="own", refiner=ScriptedRefiner([f"{answer} {said}"]))
        item = {"question": "Should the town do it?", "answer": answer, "perspectives": sides}
        return refine(item, backend=parts, mode="improve", max_rounds=1).status == "accepted"

    return {"same value: taken": taken(row["added"]), "other value: taken, wrongly": taken(row["wrong"])}


ALONE: dict[str, Callable[[Row], Judged]] = {
    "fields": fields,
    "frames": frames,
    "quotations": quotations,
    "same-value-gate": notations,
    "split-languages": languages,
}


def run(name: str, rows: list[Row], loop: Loop, *, show: bool) -> None:
    """Prints a line a measure."""
    counts: dict[str, list[bool]] = {}
    for row in rows:
        record = None
        if name in ALONE:
            judged = ALONE[name](row)
        else:
            record = loop.run(Item(**{k: row[k] for k in ("id", "question", "answer", "context")}))
            judged = KINDS[name](row, record)
        for measure, holds in judged.items():
            counts.setdefault(measure, []).append(holds)
        missed = [measure for measure, holds in judged.items() if holds == ("wrongly" in measure)]
        if show and missed:
            print(f"  {row['id']} {missed}")
            told = row if record is None else {"why": record.why, "before": record.original, "after": record.answer}
            print("     ", json.dumps(told, ensure_ascii=False))
    for measure, found in counts.items():
        print(f"{name:20} {measure:40} {sum(found):4} of {len(found)}", flush=True)


def main() -> None:
    """Reads the flags and prints the table."""
    parser = arguments(__doc__, data=None)
    parser.add_argument("--rows", type=Path, default=ROWS)
    parser.add_argument("--part", choices=("dev", "test"), default="test")
    parser.add_argument("--only", nargs="+", choices=sorted({*KINDS, *ALONE}))
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    loop = Loop(resolve_backend("embedded"))
    for path in sorted((args.rows / args.part).glob("*.jsonl")):
        if path.stem in (args.only or {*KINDS, *ALONE}):
            run(path.stem, read_rows(path), loop, show=args.all)


if __name__ == "__main__":
    main()
