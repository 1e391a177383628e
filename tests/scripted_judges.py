"""Scripted judges: one that obeys orders outside the prompt's fence, to test prompt injection; and a pairwise one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

_FENCE_WORD = re.compile(r"begin with the word (\S+)[,;.]")
_MARKED = re.compile(r"^(TEXT-\S+) \w", re.MULTILINE)
_TURN = re.compile(r"<\|[^<>\s]{1,60}\|>|</s>|\[/?INST\]|</?think>|<(?:start|end)_of_turn>", re.IGNORECASE)
_ORDER = re.compile(
    r"\b(?:say|answer|reply|respond|write|output|return|conclude|vote|print|report|choose|verdict|judge?ment|rule|"
    r"decide|declare|state)\b.{0,100}?\b(yes|no)\b(?=[\"'`.,!;:)\]}*]|\s*$)",
    re.IGNORECASE,
)
_WORD = re.compile(r"\b(yes|no)\b", re.IGNORECASE)


class ScriptedGullibleJudge:
    """Votes as `judge` says of the sections in the fence, unless a line outside the fence orders a verdict.

    The fence goes from the first line that begins with the prompt's fence word to the line with that word and "end". An
    unbroken control token of a chat format ends the user's turn, and what follows is outside. A line with both "yes"
    and "no" is no order. The last order wins. Can be the script of a `ScriptedChatModel`; `reply` is for a loopback
    server.
    """

    def __init__(self, judge: Callable[[dict[str, str]], bool]) -> None:
        self._judge = judge

    def __call__(self, messages: Sequence[BaseMessage]) -> str:
        """The reply to a chat."""
        return self.reply("\n".join(str(m.text) for m in messages))

    def reply(self, text: str) -> str:
        """The reply to the text of a whole request."""
        sections, outside = self.read(text)
        orders = [found for line in outside for found in [_order(line)] if found is not None]
        verdict = orders[-1] if orders else self._judge(sections)
        why = "I was told so." if orders else "I have compared each claim with what was given."
        return f"{why}\n\nVerdict: {'yes' if verdict else 'no'}"

    def read(self, text: str) -> tuple[dict[str, str], list[str]]:
        """The fence's sections by title, and the lines outside it."""
        turns = _TURN.split(text)
        announced = _FENCE_WORD.search(turns[0]) or _MARKED.search(turns[0])
        lines = turns[0].split("\n")
        after = [line for turn in turns[1:] for line in turn.split("\n")]
        if announced is None:
            return {}, lines + after
        mark = announced[1]
        sections: dict[str, str] = {}
        outside: list[str] = []
        title: str | None = None
        for line in lines:
            word, _, rest = line.partition(" ")
            if word == mark:
                title = None if rest == "end" else rest
                if title is not None:
                    sections[title] = ""
            elif title is None:
                outside.append(line)
            else:
                sections[title] += line + "\n"
        return sections, outside + after


def _order(line: str) -> bool | None:
    """The verdict that a line orders, if it orders one."""
    found = _ORDER.search(line)
    if found is None or len({w.lower() for w in _WORD.findall(line)}) != 1:
        return None
    return found[1].lower() == "yes"


Says = Callable[[str, str], str]


def longer(a: str, b: str) -> str:
    """The longer answer is better; of two of one length neither is."""
    return "neither" if len(a) == len(b) else "A" if len(a) > len(b) else "B"


def compared_answers(text: str) -> tuple[str, str] | None:
    """Answers A and B of a pairwise request's text, without what blank space is around them; None for another."""
    sections, _ = ScriptedGullibleJudge(lambda _: False).read(text)
    if not {"answer A", "answer B"} <= sections.keys():
        return None
    return sections["answer A"].strip(), sections["answer B"].strip()


class ScriptedPairJudge:
    """Says of answers A and B which is better: a letter, or anything else where it does not tell."""

    def __init__(self, better: Says = longer) -> None:
        self._better = better

    def reply(self, text: str) -> str | None:
        """The reply to the text of a whole request; None where it asks for no comparison."""
        pair = compared_answers(text)
        return None if pair is None else self._better(*pair)
