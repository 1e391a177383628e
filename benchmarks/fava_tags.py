"""Round trips of the tag syntax and of edits, on generated texts that hold tags, halves of tags and escapes themselves.

    python benchmarks/fava_tags.py --cases 100000 --seed 0

Each case: a text with findings (nested or apart) written as tags and read back; the same findings applied and undone;
and noise (the written text with pieces cut out and put in) read, applied and undone. Prints how many cases differ.
"""

from __future__ import annotations

import argparse
import random
import time
from collections import Counter

from eirene.core.critique import HALLUCINATIONS, Finding
from eirene.core.findings.edits import apply_findings, undo
from eirene.core.findings.kinds import REMOVED, finding_of
from eirene.core.findings.tagged_reply import findings_in_reply
from eirene.core.findings.tags import in_order, parse_tagged, write_tagged

PIECES = (
    "<", ">", "</", "<entity>", "</entity>", "<mark>", "</mark>", "<delete>", "</delete>", "<Subjective >",
    "<sentence>",
    "</invented>", "<b>", "&lt;", "&amp;lt;", "&amp;", "&", "amp;", "lt;", "entity>", " ", " ", " ", "\n", "- ", ". ",
    ", ", "(", ")", "The tower", "was", "not", "built", "in", "1889", "an", "a", "Émile", "日本", "e\u0301", "🙂",
    "\u2028",
)  # fmt: skip


def text_of(rng: random.Random, most: int) -> str:
    """Up to `most` pieces in a row."""
    return "".join(rng.choices(PIECES, k=rng.randrange(most + 1)))


def findings_of(rng: random.Random, text: str) -> tuple[Finding, ...]:
    """Up to six findings that nest or stand apart."""
    found: list[Finding] = []
    for _ in range(rng.randrange(7)):
        start, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        if any(f.start < start < f.end < end or start < f.start < end < f.end for f in found):
            continue
        kind = rng.choice(HALLUCINATIONS)
        edit = rng.choice([text_of(rng, 4), "", "" if kind in REMOVED else None])
        if start < end or edit:
            found.append(finding_of(kind, start, end, text=text, edit=edit))
    return in_order(found)


def noisy(rng: random.Random, text: str) -> str:
    """The text with a stretch cut out and pieces put in."""
    a, b = sorted(rng.randrange(len(text) + 1) for _ in range(2))
    return text[:a] + text_of(rng, 6) + (text[b:] if rng.random() < 0.5 else text[a:])


def main() -> None:
    """Runs the cases and prints the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    rng, different, seen = random.Random(args.seed), Counter[str](), Counter[str]()
    began = time.process_time()
    for _ in range(args.cases):
        text = text_of(rng, 24)
        findings = findings_of(rng, text)
        written = write_tagged(text, findings)
        read = parse_tagged(written)
        different["written and read"] += (read.text, read.findings, read.stray) != (text, findings, 0)
        edited = apply_findings(text, findings, removal=rng.choice(["remove", "mark"]))
        different["applied and undone"] += undo(edited.text, edited.operations) != text
        reply = findings_in_reply(noisy(rng, written), text)
        edited = apply_findings(text, reply.findings)
        different["a noisy reply applied and undone"] += undo(edited.text, edited.operations) != text
        seen.update(findings=len(findings), **{"findings read from noise": len(reply.findings)})
    for name in ("written and read", "applied and undone", "a noisy reply applied and undone"):
        print(f"{name}: {args.cases} cases, {different[name]} differences")
    print(", ".join(f"{n} {name}" for name, n in seen.items()), f"; {time.process_time() - began:.1f} s of CPU")


if __name__ == "__main__":
    main()
