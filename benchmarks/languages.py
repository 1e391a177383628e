"""What the checks of form and of specifics catch, and leave alone, in nine languages of seven scripts.

    python benchmarks/languages.py [--part chosen|aside] [--languages NAME ...] [--verbose]

Every answer of `tests/text/edits_in_languages.toml` is harmed in nine ways and changed soundly in four; each time the
gate undoes what its checks object to, with the passages given. The texts are made: four for each language, of which two
(`aside`) were not looked at while the checks were changed. `--verbose` prints each miss and each false alarm.
"""

from __future__ import annotations

import argparse
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eirene.agent.gate.checks.registry import CHECKS
from eirene.agent.gate.edits import Rewrite, check_edits
from eirene.core.grounding import ArgumentGroup, Grounding

TEXTS = Path(__file__).parents[1] / "tests" / "text" / "edits_in_languages.toml"
LINK = "https://example.org/more"
HARMS = ("number", "exchanged", "name", "quotation", "link", "torn", "foreign", "doubled", "repeated")
SOUND = ("reworded", "added", "digits", "joined")
SPACELESS = ("Chinese", "Japanese")
ZEROS = {"Arabic": "\u0660", "Hindi": "\u0966", "Chinese": "\uff10", "Japanese": "\uff10"}


def main() -> None:
    """Reads the arguments, judges every edit, prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("chosen", "aside"), default="chosen")
    parser.add_argument("--languages", nargs="*", help="these alone")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    languages = tomllib.loads(TEXTS.read_text("utf-8"))
    print(
        f"| {options.part} | {' | '.join(HARMS)} | {' | '.join(SOUND)} |\n|{' --- |' * (1 + len(HARMS) + len(SOUND))}"
    )
    for language in options.languages or languages:
        asked, flagged = Counter[str](), Counter[str]()
        for kind, text, after in edits(languages, language, options.part):
            found = objections(text, after)
            asked[kind] += 1
            flagged[kind] += bool(found)
            if options.verbose and bool(found) is (kind in SOUND):
                print(f"  {language} {kind}: {after!r} {found}")
        cells = [_cell(asked[kind], flagged[kind], sound=kind in SOUND) for kind in (*HARMS, *SOUND)]
        print(f"| {language} | {' | '.join(cells)} |")


def _cell(asked: int, flagged: int, *, sound: bool) -> str:
    return f"{asked - flagged if sound else flagged}/{asked}" if asked else ""


def edits(languages: dict[str, Any], language: str, part: str) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Kind, text and rewrite, for every text of a language."""
    names = list(languages)
    other = languages[names[(names.index(language) + 1) % len(names)]][part]
    for n, text in enumerate(languages[language][part]):
        for kind, after in (*harms(text, language, other[n]["added"]), *sound_edits(text, language)):
            yield kind, text, after


def harms(text: dict[str, Any], language: str, foreign: str) -> Iterator[tuple[str, str]]:
    """The harms of one answer, each with its kind."""
    answer, gap = text["answer"], "" if language in SPACELESS else " "
    for key in ("numbers", "names"):
        for old, new in text[key]:
            yield key[:-1], answer.replace(old, new)
    first, second = text["numbers"][0][0], text["numbers"][1][0]
    yield "exchanged", answer.replace(first, "\0").replace(second, first).replace("\0", second)
    yield "quotation", answer.replace(*text["quote"])
    yield "link", f"{answer[:-1]}{gap}{LINK}{answer[-1]}"
    yield "torn", f"{answer}{gap}{_torn(text['added'], language)}"
    yield "foreign", f"{answer} {foreign}"
    yield "doubled", f"{answer}{gap}{answer}"
    yield "repeated", f"{answer}{gap}{text['sound'][0]}"


def sound_edits(text: dict[str, Any], language: str) -> Iterator[tuple[str, str]]:
    """The sound edits of one answer, each with its kind."""
    answer, gap = text["answer"], "" if language in SPACELESS else " "
    yield "reworded", answer.replace(*text["sound"])
    yield "added", f"{answer}{gap}{text['added']}"
    yield "joined", f"{answer.replace(*text['sound'])}{gap}{text['added']}"
    if language in ZEROS:
        yield "digits", answer.translate(_other_digits(answer, ZEROS[language]))


def _other_digits(answer: str, zero: str) -> dict[int, str]:
    """From the digits of the answer to the other ones in use: the script's own, or those of ASCII."""
    own = any(c.isdecimal() and not c.isascii() for c in answer)
    return {ord(zero) + d if own else ord("0") + d: str(d) if own else chr(ord(zero) + d) for d in range(10)}


def _torn(sentence: str, language: str) -> str:
    """The first half of a sentence: whole words, where the script has spaces between them."""
    cut = len(sentence) * 3 // 5
    while unicodedata.combining(sentence[cut]) or (language not in SPACELESS and not sentence[cut].isspace()):
        cut -= 1
    return sentence[:cut]


def objections(text: dict[str, Any], after: str) -> list[str]:
    """What the gate undoes of a rewrite, each edit with the check that objects and why."""
    given = Grounding("context", (ArgumentGroup("context", tuple(text["given"])),))
    rewrite = Rewrite(text["question"], text["answer"], after, given)
    done = check_edits(rewrite, CHECKS, None)  # the encoder and the verifier read English alone
    return [f"{decision.check}: {decision.why}" for decision in done.undone]


if __name__ == "__main__":
    main()
