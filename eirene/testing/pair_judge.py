"""A scripted pairwise judge: reads the two answers out of a request and votes as a function of them says."""

from __future__ import annotations

from collections.abc import Callable

from eirene.testing.gullible_judge import ScriptedGullibleJudge

Says = Callable[[str, str], str]


def neither(_a: str, _b: str) -> str:
    """No answer is faulty."""
    return "neither"


def longer(a: str, b: str) -> str:
    """The longer answer is better; of two of one length neither is."""
    return "tie" if len(a) == len(b) else "A" if len(a) > len(b) else "B"


def compared_answers(text: str) -> tuple[str, str] | None:
    """Answers A and B of a pairwise request's text, without what blank space is around them; None for another."""
    sections, _ = ScriptedGullibleJudge(lambda _: False).read(text)
    if not {"answer A", "answer B"} <= sections.keys():
        return None
    return sections["answer A"].strip(), sections["answer B"].strip()


class ScriptedPairJudge:
    """Says of answers A and B which is better (`A`, `B` or `tie`) and which faulty (`A`, `B`, `both` or `neither`)."""

    def __init__(self, better: Says = longer, faulty: Says = neither) -> None:
        self._better = better
        self._faulty = faulty

    def reply(self, text: str) -> str | None:
        """The reply to the text of a whole request; None where it asks for no comparison."""
        pair = compared_answers(text)
        if pair is None:
            return None
        return f"I have compared them.\n\nFaulty: {self._faulty(*pair)}\nBetter: {self._better(*pair)}"
