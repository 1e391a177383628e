"""What the default loop does to other people's answers with passages: sound ones changed, marked sentences mended.

    python benchmarks/strangers.py SHARED_DATA [--sets ragtruth qa_feedback begin] [--show]

Of RAGTruth and QA-Feedback the part is read that `recipes.verifier` leaves aside for figures, with people's marks; of
BEGIN the dialogue turns that people called fully attributable or generic, which are sound as a whole. A sentence is
changed when it no longer stands in the answer that is shown. Intervals: 95 %, Wilson.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from harness import arguments, read_rows, share, write_json

from eirene.agent.backends import resolve_backend
from eirene.agent.loop import Loop
from eirene.core.records import Item, Record
from eirene.text.sentences import Sentence, split_sentences
from recipes.verifier.splits import ANSWERS, label_of, parts

Answer = tuple[Item, list[tuple[Sentence, bool]]]
"""An item, and its sentences with whether people marked them."""


def answers(data: Path, name: str) -> list[Answer]:
    """The answers of a set."""
    if name in ANSWERS:
        cases = parts(data, name)["report"]
        return [(c.item, [(s, label_of(c, s) != "supported") for s in c.sentences if s.text]) for c in cases]
    found = []
    for n, row in enumerate(read_rows(data / "begin/begin_dev.jsonl")):
        if row["begin_label"] != "Not fully attributable":
            said = row["message"].strip() or "Tell me more."
            item = Item(id=str(n), question=said, answer=row["response"], context=[row["knowledge"]])
            found.append((item, [(s, False) for s in split_sentences(item.answer) if s.text]))
    return found


def counts_of(answer: Answer, record: Record) -> Counter[str]:
    """Answers and sentences by what people said and what became of them."""
    _, sentences = answer
    marked = any(mark for _, mark in sentences)
    whole = "marked answers" if marked else "sound answers"
    found = Counter({whole: 1, f"{whole}, changed": int(record.answer != record.original)})
    critique = record.rounds[0].critique if record.rounds else None
    named = {s.start for s in critique.incomplete} if critique else set()
    for sentence, mark in sentences:
        kind = "marked sentences" if mark else "sound sentences"
        found += Counter({kind: 1, f"{kind}, changed": int(sentence.text not in record.answer),
                          f"{kind}, flagged": int(sentence.text_start in named)})  # fmt: skip
    return found


def main() -> None:
    """Runs the sets and prints a line a measure."""
    parser = arguments(__doc__)
    parser.add_argument("--sets", nargs="+", default=[*ANSWERS, "begin"], choices=[*ANSWERS, "begin"])
    parser.add_argument("--show", action="store_true", help="print each answer that was changed")
    args = parser.parse_args()
    loop, report = Loop(resolve_backend("embedded")), {}
    for name in args.sets:
        total: Counter[str] = Counter()
        for answer in answers(args.data, name):
            record = loop.run(answer[0])
            total += counts_of(answer, record)
            if args.show and record.answer != record.original:
                marks = [s.text for s, mark in answer[1] if mark]
                print(f"\n{name} {answer[0].id}: {record.why}\n- {record.original!r}\n+ {record.answer!r}\n! {marks}")
        for key in sorted(k for k in total if ", " in k or k + ", changed" not in total):
            print(f"{name:12} {key:28} {total[key]:5}, {share(total[key], total[key.partition(',')[0]])}", flush=True)
        report[name] = total
    write_json(args.json, report)


if __name__ == "__main__":
    main()
